// npm run bench [-- NAME...] [--quick]: measures the figures of docs/performance.md, prints one table, keeps it under results/.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { absentRow, closeAll, conditions, machine, note, quiet, ROOT } from "./harness.mjs";
import { loadResults, machineText, mergeResults, rowName, saveResults, terminalTable } from "./results.mjs";

const FAMILIES = ["startup", "export", "count", "service", "growth"];
const ORDER = ["S1", "S2", "S3", "E1", "E2", "E3", "E4", "E5", "C1", "C2", "C3", "C4", "C5", "L1", "L2", "L3"];
const USAGE = `usage: npm run bench [-- NAME...] [--quick] [--people N[,N...]] [--wait MIN] [--no-save]
names: ${FAMILIES.join(", ")} (all where none is given)
--quick       minutes instead of an hour: smaller data, fewer rounds
--people N    sizes of the datasets of count and growth (full form: 10,000,000; growth up to 50,000,000)
--wait MIN    before each part, wait up to so many minutes until the load is below 1
--no-save     leave bench/results/ as it is`;

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
const unknown = positionals.filter((family) => !FAMILIES.includes(family));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) note(`no such part: ${unknown.join(", ")}`);
  process.stdout.write(`${USAGE}\n`);
  process.exit(unknown.length > 0 ? 2 : 0);
}
if (!existsSync(join(ROOT, "dist", "cli", "main.cjs"))) {
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
let results = loadResults(date);
let failed = false;
for (const family of positionals.length > 0 ? positionals : FAMILIES) {
  await quiet(Number(values.wait) * 60_000);
  const state = conditions();
  note(`\n${family} (${form}; load ${state.load_1m}, fsync ${state.fsync_ms} ms)`);
  const { measure, covers } = await import(`./${family}.mjs`);
  let measured;
  try {
    measured = await measure({ quick: values.quick, people, series: results?.series });
  } catch (error) {
    failed = true;
    note(error.stack);
    const reason = `failed: ${error.message.split("\n")[0]}`;
    measured = covers.map((id) => absentRow({ id, work: family, yardstick: "", target: "", reason }));
  }
  await closeAll();
  const { rows, series = {} } = Array.isArray(measured) ? { rows: measured } : measured;
  const at = new Date().toISOString();
  for (const row of rows) Object.assign(row, { form, at, ...state });
  process.stdout.write(`${terminalTable(rows)}\n`);
  for (const row of rows) if (row.remark !== undefined) process.stdout.write(`  ${rowName(row)}: ${row.remark}\n`);
  results = mergeResults(results, { date, machine: about, rows, series }, ORDER);
  if (!values["no-save"]) saveResults(results);
}
if (!values["no-save"]) note(`\nkept as bench/results/${date}.md and .json`);
process.exitCode = failed ? 1 : 0;
