import { performance } from "node:perf_hooks";
import { CROWDS, crowdOf, memberOf as memberBy } from "./crowds.mjs";
import { note, round, valueRow } from "./harness.mjs";
import { loadPlanning, quoteAndDeed, quoteRows } from "./quotes.mjs";
import { Oracle, seeded, World } from "./world.mjs";

export const name = "refresh";

const PEOPLE = 200_000;
const LIST_SIZE = 1_000;

export async function measure({ quick }) {
  const planning = await loadPlanning();
  const quotes = [];
  for (const kind of CROWDS) {
    note(`R6: quotes of ${kind}`);
    for (const churn of [0, 0.01, 0.05, 0.2]) quotes.push(await quoted(kind, churn, planning));
  }
  const points = [];
  for (const size of quick ? [1_000, 10_000] : [1_000, 10_000, 100_000]) {
    for (const churn of [0.01, 0.05, 0.2]) {
      for (const callsPerCredit of [5, 1]) {
        note(
          `R1, R2: a list of ${size.toLocaleString("en")}, ${churn * 100} % churn, ${callsPerCredit} calls a credit`,
        );
        points.push(await week({ size, churn, callsPerCredit }, planning));
      }
    }
  }
  const wrong = points.filter(({ exact }) => !exact);
  if (wrong.length > 0) throw new Error(`not exact: ${JSON.stringify(wrong)}`);
  const series = points.map(({ exact, ...point }) => point);
  return {
    rows: [...quoteRows("R6", quotes), ...rowsOf(points)],
    series: { quotes, refresh: series },
  };
}

/** One quote of a crowd after a week, and what is then done; minutes go by the calls. */
async function quoted(kind, churn, planning) {
  const crowd = await crowdOf(kind);
  const members = crowd.start.map((person) => memberBy(person, false));
  const quote = await quoteAndDeed(crowd.week(churn), members, planning);
  return { crowd: kind, churn: round(churn * 100), ...quote };
}

function rowsOf(points) {
  const worst = (list, of) => Math.max(...list.map(of));
  const at = (calls, small) =>
    points.filter(
      (point) =>
        point["calls a credit"] === calls && (point.churn <= 5 && point.list < 50_000) === small,
    );
  const row = (id, part, work, target, unit, value, remark) =>
    valueRow({ id, part, work, target: { atMost: target }, unit, value, ours: [value], remark });
  const large = at(5, false);
  return [
    row(
      "R1",
      undefined,
      "counts that find who is gone / (0.8 d log2(n/d) + n/1000 + 20), the worst list",
      1,
      "x",
      worst(points, (point) => point["of the bound"]),
    ),
    row(
      "R2",
      "5 calls a credit",
      "credits / new people, churn up to 5 %, lists up to 10,000, the worst",
      1.05,
      "x",
      worst(at(5, true), (point) => point["x new"]),
    ),
    ...(large.length === 0
      ? []
      : [
          row(
            "R2",
            "5 calls a credit, 20 % or 100,000",
            "credits / new people, the worst",
            1.15,
            "x",
            worst(large, (point) => point["x new"]),
          ),
        ]),
    row(
      "R2",
      "1 call a credit",
      "credits / new people, the worst",
      3,
      "x",
      worst([...at(1, true), ...at(1, false)], (point) => point["x new"]),
    ),
    row(
      "R2",
      "against buying again",
      "credits / people of the segment, the worst",
      1,
      "x",
      worst(points, (point) => point.credits / point.list),
    ),
  ];
}

/** One list after one week. */
async function week(
  { size, churn, callsPerCredit },
  { lookFor, tellApart, findNew, isWholeSegment },
) {
  const world = new World(PEOPLE, { seed: 5 });
  const segment = segmentOf(world, size);
  const bought = new Oracle(world.people.values(), segment).people.map((person) => ({ ...person }));
  evolve(world, segment, bought, churn, seeded(size + churn * 1_000));
  const oracle = new Oracle(world.people.values(), segment);
  const counts = countsOf(oracle);
  const members = bought.map(memberOf);
  const started = performance.now();
  const look = await lookFor(segment, members, counts);
  const { owned: kept } = await tellApart(look, counts);
  const left = new Set(kept);
  const gone = members.filter((member) => !left.has(member));
  const removing = counts.calls;
  const allowed = {
    callsPerCredit,
    maxCalls: 1e9,
    maxRows: look.total,
    maxWaste: look.present,
    maxRenamed: 0.005,
  };
  const { leaves } = await findNew(look, kept, allowed, counts);
  const adding = counts.calls - removing;
  const rows = new Map(
    leaves.flatMap(({ filters }) => oracle.matching(filters)).map((person) => [person.id, person]),
  );
  const credits = leaves.reduce((sum, { count }) => sum + count, 0);
  const stays = new Set(kept.map(({ identity }) => identity));
  const now = [...oracle.people];
  const fresh = now.filter(({ id }) => !stays.has(id));
  const after = await lookFor(
    segment,
    [...kept, ...[...rows.values()].filter(({ id }) => !stays.has(id)).map(memberOf)],
    counts,
  );
  const there = new Set(now.map(({ id }) => id));
  const exact =
    isWholeSegment(after) &&
    gone.every(({ identity }) => !there.has(identity)) &&
    kept.every(({ identity }) => there.has(identity)) &&
    fresh.every(({ id }) => rows.has(id)) &&
    leaves.reduce((sum, each) => sum + each.fresh, 0) >= fresh.length;
  const bound =
    0.8 * gone.length * Math.log2(bought.length / gone.length) + bought.length / 1_000 + 20;
  return {
    list: bought.length,
    churn: round(churn * 100),
    "calls a credit": callsPerCredit,
    removed: gone.length,
    "calls, removed": removing - 1,
    "of the bound": round((removing - 1) / bound),
    added: fresh.length,
    "calls, added": adding,
    credits,
    "x new": round(credits / fresh.length),
    "to buy again": now.length,
    "minutes at 60": Math.round(counts.calls / 48),
    "own, s": round((performance.now() - started) / 1_000),
    exact,
  };
}

const memberOf = (person) => ({
  identity: person.id,
  address: person.network_url,
  name: person.name,
  values: person,
  isNamed: false,
  isKnown: false,
});

function countsOf(oracle) {
  return {
    calls: 0,
    listSize: LIST_SIZE,
    async count(filters) {
      this.calls++;
      return oracle.count(filters);
    },
    async countAt(filters, addresses) {
      let sum = 0;
      for (let at = 0; at < addresses.length; at += LIST_SIZE)
        sum += await this.count({ ...filters, network_url: addresses.slice(at, at + LIST_SIZE) });
      return sum;
    },
  };
}

/** Countries that have about so many people together. */
function segmentOf(world, size) {
  const sizes = new Map();
  for (const { country } of world.people.values())
    if (country !== null) sizes.set(country, (sizes.get(country) ?? 0) + 1);
  const chosen = [];
  let left = size;
  for (const [country, count] of [...sizes].sort(([, a], [, b]) => b - a)) {
    if (count > left) continue;
    chosen.push(country);
    left -= count;
  }
  return { country: chosen };
}

/** A week: attributes drift, so many leave the segment (some of them the service), and as many come. */
function evolve(world, segment, bought, churn, random) {
  world.drift();
  const inside = (person) => person !== undefined && segment.country.includes(person.country);
  const elsewhere = [...world.people.values()]
    .map(({ country }) => country)
    .filter((country) => country !== null && !segment.country.includes(country));
  const pick = (list) => list[Math.floor(random() * list.length)];
  const wanted = Math.round(bought.length * churn);
  let gone = bought.filter(({ id }) => !inside(world.people.get(id))).length;
  while (gone < wanted) {
    const person = world.people.get(pick(bought).id);
    if (!inside(person)) continue;
    if (random() < 0.4) world.people.delete(person.id);
    else person.country = pick(elsewhere);
    gone++;
  }
  const before = new Set(bought.map(({ id }) => id));
  let come = [...world.people.values()].filter(
    (person) => inside(person) && !before.has(person.id),
  ).length;
  const others = [...world.people.values()].filter(
    (person) => !inside(person) && !before.has(person.id),
  );
  for (; come < wanted; come++) {
    const country = pick(segment.country);
    if (random() < 0.5 && others.length > 0) pick(others).country = country;
    else world.add({ country });
  }
}
