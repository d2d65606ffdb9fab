// What is quoted for finding the new people of a segment by counts, and what is then done. Exact: nothing is timed.
import { join } from "node:path";
import { countsOf, LIST_SIZE, SEGMENT } from "./crowds.mjs";
import { ROOT, round, valueRow } from "./harness.mjs";

export async function loadPlanning() {
  const modules = ["cost", "descent", "likeness", "presence", "new-people"].map(
    (name) => `engine/planning/${name}`,
  );
  return Object.assign(
    {},
    ...(await Promise.all(modules.map((path) => import(join(ROOT, `dist/${path}.js`))))),
  );
}

/** @param members who is owned, as they were bought; @param oracle the segment as it is now */
export async function quoteAndDeed(
  oracle,
  members,
  { costOf, likenessIn, lookFor, tellApart, findNew },
) {
  const counts = countsOf(oracle);
  const look = await lookFor(SEGMENT, members, counts);
  const likeness = await likenessIn(look, members, counts, Number.POSITIVE_INFINITY);
  const cost = await costOf({ ...look, ...likeness, members, listSize: LIST_SIZE }, 5);
  const before = counts.calls;
  const { owned } = await tellApart(look, counts);
  const allowed = {
    maxCalls: 1e6,
    maxRows: look.total,
    maxWaste: cost.rows - look.others,
    maxRenamed: 0.005,
  };
  const { leaves, unreached } = await findNew(
    look,
    owned,
    { ...allowed, callsPerCredit: look.others === 0 ? 5 : cost.callsPerCredit },
    counts,
  );
  await lookFor(SEGMENT, owned, counts);
  const done = counts.calls - before;
  const rows = leaves.reduce((sum, { count }) => sum + count, 0);
  return {
    new: look.others,
    "calls, quoted": cost.calls,
    "calls, done": done,
    "calls, off": round(Math.max(cost.calls / done, done / cost.calls)),
    "credits, quoted": cost.rows,
    "credits, done": rows,
    "credits, off": rows === cost.rows ? 1 : round(Math.max(cost.rows / rows, rows / cost.rows)),
    left: unreached.reduce((sum, { count }) => sum + count, 0),
  };
}

export function quoteRows(id, quotes) {
  const worst = (what) => Math.max(...quotes.map((quote) => quote[what]));
  const over = quotes.filter((quote) => quote["calls, off"] > 1.5).length;
  const row = (part, work, unit, target, value, remark) =>
    valueRow({
      id,
      part,
      work,
      target: { atMost: target },
      unit,
      value,
      ours: [value],
      remark,
    });
  const factor = "the larger of quoted and done / the smaller, the worst case";
  return [
    row(
      "calls and minutes",
      factor,
      "x",
      1.5,
      worst("calls, off"),
      `over 1.5x in ${over} of ${quotes.length}`,
    ),
    row("credits", factor, "x", 1.5, worst("credits, off")),
    row(
      "left",
      "new people who are not bought for what was quoted, the worst case",
      "people",
      0,
      worst("left"),
    ),
  ];
}
