import fc from "fast-check";
import { test } from "vitest";
import { habits, tell } from "../engine/runs/hidden-truth.ts";
test("find", () => {
  let n = 0;
  for (const h of fc.sample(habits, { numRuns: Number(process.env.RUNS ?? 8000), seed: Number(process.env.SEED ?? 5) })) {
    let bad = "";
    const r = tell(h, ({ books, truth, cap, beyond, facts }) => { if (bad) return; if (books.told > truth) bad = "told " + books.told + " truth " + truth + " at " + facts.length; else if (truth > books.atMost + beyond.untold) bad = "atMost " + books.atMost + " truth " + truth + " beyond " + beyond.untold + " at " + facts.length; else if (truth > cap + beyond.ever) bad = "cap"; });
    if (bad && n++ < 2) console.log(bad, JSON.stringify(h), "\n" + r.facts.slice(0, 40).map((f, i) => (i + 1) + " " + JSON.stringify(f, (_, v) => typeof v === "bigint" ? Number(v) / 1e6 : v)).join("\n"));
  }
  console.log("bad", n);
});
