import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compareResults, comparisonText, namedResults } from "../../bench/compare.mjs";
import { figuresBlock, withFigures } from "../../bench/readme.mjs";
import {
  loadResults,
  markdown,
  mergeResults,
  newestResults,
  openResults,
  type Results,
  type Row,
  resultNames,
  saveResults,
  terminalTable,
} from "../../bench/results.mjs";

const MACHINE = {
  cpu: "A CPU",
  cores: 2,
  memory_gib: 24,
  system: "Debian",
  node: "v20.20.2",
  commit: "abc1234",
};
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
const results = (
  rows: readonly Row[],
  series: Results["series"] = {},
  date = "2026-11-21",
): Results => ({
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
    const earlier = results([row("S1"), row("E1"), row("L1", { part: "old" })], {
      ledger: [{ size: 1 }],
    });
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
    const {
      measured: _,
      unit: __,
      ...bare
    } = row("E3", { part: "bash", verdict: "not measured", remark: reason });
    const text = markdown(results([bare]));
    expect(text).toContain("| E3 bash | work | node -e 0 | <= 1.15x | - | not measured |");
    expect(text).toContain(`- **E3 bash**: ${reason}`);
    expect(terminalTable([bare])).toMatch(/E3 bash\s+<= 1\.15x\s+-\s+not measured/);
  });
});

describe("several runs on one day", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "headcount-results-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const COVERS = { startup: ["S1"], export: ["E1", "export"], growth: ["ledger"] };
  const DATE = "2026-11-21";
  /** One call of the bench: what it measures, and where it put it. */
  function bench(
    families: readonly string[],
    value: number,
    over: { form?: string; whole?: boolean } = {},
  ): string {
    const { form = "full", whole = false } = over;
    const opened = openResults({ date: DATE, form, families, whole, covers: COVERS }, folder);
    let all = opened.results;
    for (const family of families) {
      const rows =
        family === "growth"
          ? []
          : [row(family === "startup" ? "S1" : "E1", { measured: value, form })];
      const series =
        family === "startup"
          ? {}
          : { [family === "growth" ? "ledger" : "export"]: [{ size: value }] };
      const run = { ...results(rows, series, DATE), form, seconds: { [family]: value } };
      all = mergeResults(all, run, ["S1", "E1"]);
      saveResults(all, folder, opened.name);
    }
    return opened.name;
  }
  const measured = (name: string): unknown[] =>
    (loadResults(name, folder)?.rows ?? []).map(({ id, measured: value }) => [id, value]);

  it("parts that are run one by one gather in one file, with the time that each took", () => {
    expect(bench(["startup"], 1)).toBe(DATE);
    expect(bench(["growth"], 2)).toBe(DATE);
    expect(bench(["export"], 3)).toBe(DATE);
    expect(measured(DATE)).toEqual([
      ["S1", 1],
      ["E1", 3],
    ]);
    expect(loadResults(DATE, folder)).toMatchObject({
      series: { ledger: [{ size: 2 }], export: [{ size: 3 }] },
      seconds: { startup: 1, growth: 2, export: 3 },
    });
  });

  it("a part that is run again begins the next file, keeps the first, and the others follow it there", () => {
    bench(["startup", "export", "growth"], 1, { whole: true });
    expect(bench(["export"], 2)).toBe(`${DATE}-2`);
    expect(measured(DATE)).toEqual([
      ["S1", 1],
      ["E1", 1],
    ]);
    expect(measured(`${DATE}-2`)).toEqual([
      ["S1", 1],
      ["E1", 2],
    ]);
    expect(loadResults(`${DATE}-2`, folder)?.carried).toEqual(["S1", "ledger"]);
    // What is only carried over stands in the first file too: it may be replaced.
    expect(bench(["startup"], 3)).toBe(`${DATE}-2`);
    expect(bench(["growth"], 3)).toBe(`${DATE}-2`);
    expect(loadResults(`${DATE}-2`, folder)?.carried).toBeUndefined();
    expect(bench(["startup"], 4)).toBe(`${DATE}-3`);
  });

  it("a whole run and the other form have files of their own, and the tenth comes after the ninth", () => {
    expect(bench(["startup"], 1, { form: "quick" })).toBe(DATE);
    expect(bench(["startup"], 2)).toBe(`${DATE}-2`);
    expect(bench(["export"], 2, { form: "quick" })).toBe(DATE);
    for (let number = 3; number <= 10; number++) {
      expect(bench(["startup"], number, { whole: true })).toBe(`${DATE}-${number}`);
    }
    expect(resultNames(folder).at(-1)).toBe(`${DATE}-10`);
    expect(bench(["startup"], 11, { form: "quick", whole: true })).toBe(`${DATE}-11`);
    expect(newestResults(folder)?.rows[0]?.measured).toBe(10);
  });
});

describe("the comparison of two results", () => {
  const older = results([
    row("S1"),
    row("S3", { measured: 3.6, verdict: "misses" }),
    row("E1"),
    row("L1"),
  ]);
  const newer = results([
    row("S1", { measured: 1.21, verdict: "misses" }),
    row("S3", { measured: 1.8 }),
    row("E1"),
  ]);

  it("tells each figure in both, and which verdicts differ", () => {
    const { rows, differing } = compareResults(older, newer);
    expect(differing.map(({ name }) => name)).toEqual(["S1", "S3"]);
    expect(rows.map(({ name }) => name)).toEqual(["S1", "S3", "E1", "L1"]);
    const text = comparisonText(older, newer);
    expect(text).toMatch(/^S3 .* 3\.6x +1\.8x +-50% +misses -> meets$/m);
    expect(text).toMatch(/^L1 .* 1\.1x +not there +meets$/m);
    expect(text).toMatch(/2 verdicts differ: S1; S3$/);
    expect(comparisonText(newer, newer)).toMatch(/The verdicts are the same\.$/);
  });

  it("finds results by name, by file and by age, and says what there is", () => {
    const folder = mkdtempSync(join(tmpdir(), "headcount-results-"));
    try {
      saveResults(older, folder);
      saveResults(newer, folder, "2026-11-21-2");
      expect(namedResults("previous", folder).rows).toHaveLength(4);
      expect(namedResults("newest", folder).rows).toHaveLength(3);
      expect(namedResults("2026-11-21", folder).rows).toHaveLength(4);
      expect(namedResults(join(folder, "2026-11-21-2.json"), folder).rows).toHaveLength(3);
      expect(() => namedResults("2020-01-01", folder)).toThrow(
        /there are: 2026-11-21, 2026-11-21-2/,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
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
    expect(block).toMatch(
      /\| L2 \| .* \| <= 400 us; <= 0 answers \| 316 us; 0 answers \| meets \|/,
    );
  });

  it("tell what was not measured since from an earlier day, and say which", () => {
    const later = { ...results([row("S1")]), date: "2026-11-23" };
    const older = {
      ...results([
        row("S1", { measured: 9 }),
        row("L2", { target: "<= 400 us", unit: "us", measured: 316 }),
      ]),
    };
    const told = figuresBlock(later, [older]);
    expect(told).toMatch(/\| S1 \| [^(]* \| <= 1\.15x \| 1\.1x \| meets \|/);
    expect(told).toMatch(/\| L2 \| .* \(2026-11-21\) \| <= 400 us \| 316 us \| meets \|/);
  });

  it("replace what stands between the markers and nothing else, and are the same the second time", () => {
    const before = "# x\n<!-- bench:begin -->\nold\n<!-- bench:end -->\ntail\n";
    const after = withFigures(before, block);
    expect(after).toBe(`# x\n<!-- bench:begin -->\n${block}\n<!-- bench:end -->\ntail\n`);
    expect(withFigures(after, block)).toBe(after);
    expect(() => withFigures("no markers", block)).toThrow(/bench:begin/);
  });
});
