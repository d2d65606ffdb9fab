// npm run bench [-- NAME...] [--quick]: measures the figures of docs/explanation/performance.md, prints one table, keeps it under results/.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compareResults, comparisonText, namedResults } from "./compare.mjs";
import { absentRow, closeAll, conditions, machine, note, quiet, ROOT } from "./harness.mjs";
import {
  formOf,
  loadResults,
  machineText,
  mergeResults,
  openResults,
  resultNames,
  rowName,
  saveResults,
  seriesTable,
  terminalTable,
} from "./results.mjs";

/** What each part measures, rows and series of growth, and how many minutes it takes on two cores with its data made before. */
const PARTS = {
  startup: { covers: ["S1", "S2", "S3"], minutes: { full: 1, quick: 0.5 } },
  export: { covers: ["E1", "E2", "E3", "E4", "E5", "export"], minutes: { full: 9, quick: 3 } },
  count: { covers: ["C1", "C2", "C3", "C4", "C5", "dataset"], minutes: { full: 20, quick: 4 } },
  shapes: { covers: ["C6", "C7"], minutes: { full: 3, quick: 1 } },
  sets: { covers: ["C8"], minutes: { full: 2, quick: 0.5 } },
  import: { covers: ["I1", "I1d", "I1u", "import"], minutes: { full: 25, quick: 3 } },
  disk: { covers: ["I2"], minutes: { full: 1, quick: 0.3 } },
  clickhouse: { covers: ["I3", "clickhouse"], minutes: { full: 12, quick: 1.5 } },
  console: { covers: ["W1", "W2", "W3"], minutes: { full: 1, quick: 0.5 } },
  service: { covers: ["L1", "L2", "L3"], minutes: { full: 5, quick: 2 } },
  neighbours: { covers: ["L4"], minutes: { full: 3, quick: 1 } },
  library: { covers: ["R3"], minutes: { full: 8, quick: 1 } },
  sketch: { covers: ["R5"], minutes: { full: 1, quick: 0.3 } },
  refresh: { covers: ["R1", "R2", "R6", "quotes", "refresh"], minutes: { full: 15, quick: 1.5 } },
  "growth-ledger": { covers: ["ledger"], minutes: { full: 14, quick: 1.5 } },
  "new-only": { covers: ["R4", "R6n", "new-only"], minutes: { full: 1, quick: 0.3 } },
  "growth-runs": { covers: ["runs"], minutes: { full: 2, quick: 1 } },
};
/** Names of several parts at once. The other two series of growth come with `export` and `count`. */
const GROUPS = { growth: ["growth-ledger", "growth-runs"] };
const FAMILIES = Object.keys(PARTS);
const COVERS = Object.fromEntries(
  Object.entries(PARTS).map(([name, { covers }]) => [name, covers]),
);
const ORDER = [
  "S1",
  "S2",
  "S3",
  "E1",
  "E2",
  "E3",
  "E4",
  "E5",
  "C1",
  "C2",
  "C3",
  "C4",
  "C5",
  "C6",
  "C7",
  "C8",
  "I1",
  "I1d",
  "I1u",
  "I2",
  "I3",
  "L1",
  "L2",
  "L3",
  "L4",
  "R1",
  "R2",
  "R3",
  "R4",
  "R5",
  "R6",
  "R6n",
  "W1",
  "W2",
  "W3",
];
const USAGE = `usage: npm run bench [-- NAME...] [--quick] [--people N[,N...]] [--wait MIN] [--no-save]
       node bench/run.mjs compare OLD NEW
names: ${[...FAMILIES, ...Object.keys(GROUPS)].join(", ")} (all where none is given)
--quick       minutes instead of an hour: smaller data, fewer rounds
--people N    sizes of the datasets of count, of the files of import and clickhouse (count in full form: 1,000,000 and
              10,000,000; with 50,000,000 behind them the growth goes on, at half an hour and 40 GB for making them once)
--wait MIN    before each part, wait up to so many minutes until the load is below 1
--no-save     leave bench/results/ as it is

Parts that are run one by one gather in the newest results of the day and of their form. A part that is there already begins the
next file of the day; the others are carried over, so nothing that was measured is lost.
compare       each row's figure in both results and the verdicts that differ; exit 1 where some do. OLD and NEW are names
              (2026-11-21-2), files, or "previous" and "newest"`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    people: { type: "string" },
    wait: { type: "string", default: "0" },
    "no-save": { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (positionals[0] === "compare" && !values.help) process.exit(compare(positionals.slice(1)));
const unknown = positionals.filter((name) => !FAMILIES.includes(name) && !(name in GROUPS));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) note(`no such part: ${unknown.join(", ")}`);
  process.stdout.write(`${USAGE}\n`);
  process.exit(unknown.length > 0 ? 2 : 0);
}
if (!existsSync(join(ROOT, "dist", "program", "main.cjs"))) {
  note("there is no dist/: run npm run build first");
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await closeAll();
    process.exit(130);
  });
}

const people = values.people?.split(",").map((text) => Number(text.replaceAll("_", "")));
const date = new Date().toISOString().slice(0, 10);
const about = machine();
note(machineText(about));
const form = values.quick ? "quick" : "full";
const whole = positionals.length === 0;
const families = whole
  ? FAMILIES
  : [...new Set(positionals.flatMap((name) => GROUPS[name] ?? [name]))];
const opened = openResults({ date, form, families, whole, covers: COVERS });
let { results } = opened;
const expected = expectedSeconds();
const startedAt = performance.now();
let failed = false;
for (const [index, family] of families.entries()) {
  await quiet(Number(values.wait) * 60_000);
  const state = conditions();
  note(
    `\n${family} (${form}; load ${state.load_1m}, fsync ${state.fsync_ms} ms); ${timeLeft(index)}`,
  );
  const from = performance.now();
  const { rows, series } = await measureOne(family);
  const seconds = { [family]: Math.round((performance.now() - from) / 1_000) };
  const at = new Date().toISOString();
  for (const row of rows) Object.assign(row, { form, at, commit: about.commit, ...state });
  if (rows.length > 0) process.stdout.write(`${terminalTable(rows)}\n`);
  for (const [title, points] of Object.entries(series))
    process.stdout.write(`${seriesTable(title, points).join("\n")}\n`);
  for (const row of rows)
    if (row.remark !== undefined) process.stdout.write(`  ${rowName(row)}: ${row.remark}\n`);
  results = mergeResults(results, { date, form, machine: about, rows, series, seconds }, ORDER);
  if (!values["no-save"]) saveResults(results, undefined, opened.name);
}
note(`\n${minutesText((performance.now() - startedAt) / 1_000)} in all`);
if (!values["no-save"]) note(`kept as bench/results/${opened.name}.md and .json`);
process.exitCode = failed ? 1 : 0;

/** The rows and series of one part; where it fails, rows that say so. */
async function measureOne(family) {
  const [file, what] = family.startsWith("growth-") ? family.split("-") : [family];
  const { measure } = await import(`./${file}.mjs`);
  try {
    const measured = await measure({ quick: values.quick, people, what });
    const { rows, series = {} } = Array.isArray(measured) ? { rows: measured } : measured;
    return { rows, series };
  } catch (error) {
    failed = true;
    note(error.stack);
    const reason = `failed: ${error.message.split("\n")[0]}`;
    const ids = COVERS[family].filter((id) => ORDER.includes(id));
    return {
      rows: ids.map((id) => absentRow({ id, work: family, yardstick: "", target: "", reason })),
      series: {},
    };
  } finally {
    await closeAll();
  }
}

/** How long each part took the last time in this form, or may take. */
function expectedSeconds() {
  const earlier = resultNames().map((name) => loadResults(name));
  const known = Object.assign(
    {},
    ...earlier.filter((each) => formOf(each) === form).map(({ seconds }) => seconds),
  );
  return Object.fromEntries(
    FAMILIES.map((family) => [family, known[family] ?? PARTS[family].minutes[form] * 60]),
  );
}

/** What is left, by what was expected and by how far the parts before were off that. */
function timeLeft(index) {
  const sum = (names) => names.reduce((total, name) => total + expected[name], 0);
  const before = sum(families.slice(0, index));
  const pace = before === 0 ? 1 : (performance.now() - startedAt) / 1_000 / before;
  const rest = sum(families.slice(index)) * pace;
  return `part ${index + 1} of ${families.length}, ${minutesText(expected[families[index]] * pace)} of ${minutesText(rest)} left`;
}

function minutesText(seconds) {
  return seconds < 90
    ? `about ${Math.max(1, Math.round(seconds))} s`
    : `about ${Math.round(seconds / 60)} min`;
}

function compare(names) {
  if (names.length !== 2) {
    note(USAGE);
    return 2;
  }
  try {
    const [older, newer] = names.map((name) => namedResults(name));
    process.stdout.write(`${comparisonText(older, newer)}\n`);
    return compareResults(older, newer).differing.length === 0 ? 0 : 1;
  } catch (error) {
    note(error.message);
    return 2;
  }
}
