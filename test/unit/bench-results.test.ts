import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { figuresBlock, withFigures } from "../../bench/readme.mjs";
import {
  loadResults,
  markdown,
  mergeResults,
  newestResults,
  type Results,
  type Row,
  saveResults,
  terminalTable,
} from "../../bench/results.mjs";

const MACHINE = { cpu: "A CPU", cores: 2, memory_gib: 24, system: "Debian", node: "v20.20.2", commit: "abc1234" };
const row = (id: string, over: Partial<Row> = {}): Row => ({
  id,
  work: "work",
  yardstick: "node -e 0",
  target: "<= 1.15x",
  unit: "ms",
  measured: 1.1,
  verdict: "meets",
  form: "quick",
  ...over,
});
const results = (rows: readonly Row[], series: Results["series"] = {}, date = "2026-11-21"): Results => ({
  date,
  machine: MACHINE,
  rows,
  series,
});

describe("the results of the bench", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "headcount-results-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("replaces the rows of what ran again and keeps the others, in the order of the figures", () => {
    const earlier = results([row("S1"), row("E1"), row("L1", { part: "old" })], { ledger: [{ size: 1 }] });
    const again = results([row("L1", { part: "new" }), row("C1")], { runs: [{ size: 2 }] });
    const merged = mergeResults(earlier, again, ["S1", "E1", "C1", "L1"]);
    expect(merged.rows.map(({ id, part }) => [id, part])).toEqual([
      ["S1", undefined],
      ["E1", undefined],
      ["C1", undefined],
      ["L1", "new"],
    ]);
    expect(Object.keys(merged.series)).toEqual(["ledger", "runs"]);
  });

  it("finds the newest results file, and writes the plot where something grew", () => {
    expect(newestResults(join(folder, "missing"))).toBeUndefined();
    saveResults(results([row("S1")], {}, "2026-11-20"), folder);
    expect(existsSync(join(folder, "growth.svg"))).toBe(false);
    const points = [
      { size: 10, "list, ms": 50, "search, ms": 100 },
      { size: 1000, "list, ms": 90, "search, ms": 110 },
    ];
    saveResults(results([row("S2")], { runs: points }, "2026-11-21"), folder);
    expect(newestResults(folder)?.rows[0]?.id).toBe("S2");
    expect(loadResults("2026-11-20", folder)?.rows[0]?.id).toBe("S1");
    expect(existsSync(join(folder, "growth.svg"))).toBe(true);
  });

  it("tells a row that was not measured, and why, without inventing a figure", () => {
    const reason = "needs jq: apt-get install jq";
    const { measured: _, unit: __, ...bare } = row("E3", { part: "bash", verdict: "not measured", remark: reason });
    const text = markdown(results([bare]));
    expect(text).toContain("| E3 bash | work | node -e 0 | <= 1.15x | - | not measured |");
    expect(text).toContain(`- **E3 bash**: ${reason}`);
    expect(terminalTable([bare])).toMatch(/E3 bash\s+<= 1\.15x\s+-\s+not measured/);
  });
});

describe("the figures in the README", () => {
  const block = figuresBlock(
    results([
      row("S1", { part: "plain" }),
      row("S1", { part: "other", measured: 1.3, verdict: "misses" }),
      row("L2", { target: "<= 400 us", unit: "us", measured: 316 }),
      row("L2", { target: "<= 0 answers", unit: "answers", measured: 0 }),
    ]),
  );

  it("say date and machine, and the worst verdict of all parts", () => {
    expect(block).toContain("Measured on 2026-11-21");
    expect(block).toContain("A CPU, 2 cores");
    expect(block).toMatch(/\| S1 \| .* \| <= 1\.15x \| 1\.1–1\.3x \| misses \|/);
    expect(block).toMatch(/\| L2 \| .* \| <= 400 us; <= 0 answers \| 316 us; 0 answers \| meets \|/);
  });

  it("replace what stands between the markers and nothing else, and are the same the second time", () => {
    const before = "# x\n<!-- bench:begin -->\nold\n<!-- bench:end -->\ntail\n";
    const after = withFigures(before, block);
    expect(after).toBe(`# x\n<!-- bench:begin -->\n${block}\n<!-- bench:end -->\ntail\n`);
    expect(withFigures(after, block)).toBe(after);
    expect(() => withFigures("no markers", block)).toThrow(/bench:begin/);
  });
});
