// R4: buying only the new people of a segment, on made-up people with long tails. Credits and calls are exact, so one round tells them.
import { join } from "node:path";
import { countsOf, LIST_SIZE, memberOf, SEGMENT } from "./crowds.mjs";
import { note, ROOT, valueRow } from "./harness.mjs";
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

export async function measure({ quick }) {
  const { descend } = await import(join(ROOT, "dist/engine/planning/descent.js"));
  const { costOf } = await import(join(ROOT, "dist/engine/planning/cost.js"));
  const rows = [];
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
    const look = { segment: SEGMENT, total, others: fresh, chunks: [], calls: 0, alike: 0, still: 1, members: owned };
    const agreed = await costOf({ ...look, listSize: LIST_SIZE }, 5);
    const counts = countsOf(oracle);
    const { leaves, unreached } = await descend(
      { segment: SEGMENT, total, owned, callsPerCredit: 5, maxCalls: 1e6, maxWaste: agreed.rows - fresh, maxRows: 1e9 },
      counts,
    );
    const credits = leaves.reduce((sum, { count }) => sum + count, 0);
    const found = leaves.reduce((sum, leaf) => sum + leaf.fresh, 0);
    if (found !== fresh || unreached.length > 0) throw new Error(`${found} of ${fresh} new people were found`);
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
  return rows;
}
