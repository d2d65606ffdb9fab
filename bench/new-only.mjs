// R6: quotes of --new-only against what is then done, whatever was bought before. R4: buying only the new people of a segment, on made-up people with long tails. Credits and calls are exact, so one round tells them.
import { CROWDS, countsOf, crowdOf, LIST_SIZE, memberOf, SEGMENT } from "./crowds.mjs";
import { note, valueRow } from "./harness.mjs";
import { loadPlanning, quoteAndDeed, quoteRows } from "./quotes.mjs";
import { Oracle, seeded, World } from "./world.mjs";

export const name = "new-only";

const CASES = [
  { owned: 0.99, weeks: 0, most: 1.1 },
  { owned: 0.9, weeks: 0, most: 1.1 },
  { owned: 0.5, weeks: 0, most: 1.2 },
  { owned: 0.99, weeks: 1, most: 1.1 },
  { owned: 0.9, weeks: 1, most: 1.1 },
  { owned: 0.5, weeks: 1, most: 1.2 },
];

const share = (of) => () => {
  const random = seeded(9);
  return () => random() < of;
};
const most = (key) => (people) => {
  const value = commonest(people, key);
  return (person) => person[key] === value;
};
const others = (key) => (people) => {
  const isMost = most(key)(people);
  return (person) => !isMost(person);
};

/** Who was bought before: some of everybody, or people of another kind than those who are new. */
const HISTORIES = {
  "99 %": share(0.99),
  "90 %": share(0.9),
  "50 %": share(0.5),
  "20 %": share(0.2),
  "few followers": (people) => {
    const at = middle(people);
    return ({ followers }) => followers !== null && followers < at;
  },
  "many followers": (people) => {
    const at = middle(people);
    return ({ followers }) => (followers ?? 0) >= at;
  },
  "the commonest country": most("country"),
  "all but the commonest country": others("country"),
  "the commonest industry": most("industry"),
  "all but the commonest industry": others("industry"),
  "the commonest level": most("seniority_level"),
  "all but the commonest area": others("functional_area"),
};

export async function measure({ quick }) {
  const planning = await loadPlanning();
  const { costOf, descend, UNLIKE } = planning;
  const quotes = [];
  for (const kind of CROWDS) {
    note(`R6: quotes of --new-only, ${kind}`);
    for (const history of Object.keys(HISTORIES))
      quotes.push(await quoted(kind, history, planning));
  }
  const rows = quoteRows("R6n", quotes);
  for (const { owned: share, weeks, most } of CASES) {
    const world = new World(quick ? 50_000 : 200_000);
    const random = seeded(5);
    const bought = new Oracle(world.people.values(), SEGMENT).people
      .filter(() => random() < share)
      .map((one) => ({ ...one }));
    for (let week = 0; week < weeks; week++) world.drift({ name: 0 });
    const oracle = new Oracle(world.people.values(), SEGMENT);
    const there = new Set(oracle.people.map(({ id }) => id));
    const known = weeks === 0;
    const owned = bought.filter(({ id }) => there.has(id)).map((one) => memberOf(one, known));
    const total = oracle.people.length;
    const fresh = total - owned.length;
    // Only what a rehearsal reads: nobody is looked for here.
    const look = {
      segment: SEGMENT,
      total,
      others: fresh,
      chunks: [],
      calls: 0,
      ...UNLIKE,
      members: owned,
    };
    const agreed = await costOf({ ...look, listSize: LIST_SIZE }, 5);
    const counts = countsOf(oracle);
    const { leaves, unreached } = await descend(
      {
        segment: SEGMENT,
        total,
        owned,
        callsPerCredit: 5,
        maxCalls: 1e6,
        maxWaste: agreed.rows - fresh,
        maxRows: 1e9,
      },
      counts,
    );
    const credits = leaves.reduce((sum, { count }) => sum + count, 0);
    const found = leaves.reduce((sum, leaf) => sum + leaf.fresh, 0);
    if (found !== fresh || unreached.length > 0)
      throw new Error(`${found} of ${fresh} new people were found`);
    const when = known ? "the dataset as it was" : "a week later";
    note(
      `R4: ${share * 100} % of ${total} owned, ${when}: ${credits} credits for ${fresh} new, ${oracle.calls} free counts`,
    );
    rows.push(
      valueRow({
        id: "R4",
        part: `${share * 100} % owned, ${when}`,
        work: `buy the ${fresh} new of ${total} people at 5 calls a credit`,
        yardstick: "a credit for each new person",
        target: { atMost: most },
        unit: "x",
        value: credits / fresh,
        remark: `${credits} credits, ${oracle.calls} free counts (${(oracle.calls / fresh).toFixed(1)} for each), ${total} credits without`,
      }),
    );
  }
  return { rows, series: { "new-only": quotes } };
}

async function quoted(kind, history, planning) {
  const crowd = await crowdOf(kind, { people: 600 });
  const oracle = crowd.week(0, false);
  const isOwned = HISTORIES[history](oracle.people);
  const members = oracle.people.filter(isOwned).map((person) => memberOf(person, true));
  const owned = members.length;
  return { crowd: kind, history, owned, ...(await quoteAndDeed(oracle, members, planning)) };
}

function commonest(people, key) {
  const times = new Map();
  for (const { [key]: value } of people)
    if (value !== null) times.set(value, (times.get(value) ?? 0) + 1);
  return [...times].sort(([, a], [, b]) => b - a)[0][0];
}

function middle(people) {
  const followers = people.map((person) => person.followers ?? 0).sort((a, b) => a - b);
  return followers[followers.length >> 1];
}
