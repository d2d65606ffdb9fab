// The results of a run: a table on the terminal, Markdown and JSON under results/. A file holds one form (quick or full) of one
// day; parts that are run one by one gather in it. What was measured is never overwritten: a part that is run again begins the
// next file of the day (2026-11-21-2), which carries the other parts over until they are run again themselves.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { growthPlot } from "./svg.mjs";

export const RESULTS = fileURLToPath(new URL("results/", import.meta.url));

export const rowName = ({ id, part }) => (part === undefined ? id : `${id} ${part}`);

/** Names of all results, the oldest first: 2026-11-20, 2026-11-21, 2026-11-21-2, ... 2026-11-21-10. */
export function resultNames(folder = RESULTS) {
  if (!existsSync(folder)) return [];
  const parts = (name) => [name.slice(0, 10), Number(name.slice(11) || 1)];
  return readdirSync(folder)
    .filter((entry) => /^\d{4}-\d\d-\d\d(-\d+)?\.json$/.test(entry))
    .map((entry) => basename(entry, ".json"))
    .sort((a, b) => {
      const [[dayA, a1], [dayB, b1]] = [parts(a), parts(b)];
      return dayA < dayB ? -1 : dayA > dayB ? 1 : a1 - b1;
    });
}

/** "quick" or "full", also of files from before this was written into them. */
export const formOf = (results) => results?.form ?? results?.rows[0]?.form;

/** The newest results; of those of the newest day a full form goes before a quick one. Undefined where there are none. */
export function newestResults(folder = RESULTS) {
  const names = resultNames(folder);
  const day = names.at(-1)?.slice(0, 10);
  const ofDay = names
    .filter((name) => name.startsWith(day))
    .map((name) => loadResults(name, folder));
  return ofDay.findLast((results) => formOf(results) === "full") ?? ofDay.at(-1);
}

/** The full forms of earlier days, the newest first. */
export function earlierResults({ date }, folder = RESULTS) {
  const names = resultNames(folder).filter((name) => name.slice(0, 10) < date);
  return names
    .map((name) => loadResults(name, folder))
    .filter((results) => formOf(results) === "full")
    .reverse();
}

/**
 * Where a run puts what it measures, and what is there already.
 * @param families the parts that are about to be run; a whole run begins a file of its own
 * @param covers the ids and the names of series that each family measures
 */
export function openResults({ date, form, families, whole, covers }, folder = RESULTS) {
  const ofDay = resultNames(folder).filter((name) => name.startsWith(date));
  const next = ofDay.length === 0 ? date : `${date}-${Number(ofDay.at(-1).slice(11) || 1) + 1}`;
  const latest = ofDay
    .map((name) => ({ name, results: loadResults(name, folder) }))
    .findLast(({ results }) => formOf(results) === form);
  if (whole || latest === undefined) return { name: next, results: undefined };
  const own = ({ rows = [], series = {}, carried = [] }) =>
    new Set(
      [...rows.map(({ id }) => id), ...Object.keys(series)].filter(
        (name) => !carried.includes(name),
      ),
    );
  const measured = own(latest.results);
  const again = families.some((family) => covers[family].some((name) => measured.has(name)));
  if (!again) return latest;
  const everything = [
    ...latest.results.rows.map(({ id }) => id),
    ...Object.keys(latest.results.series),
  ];
  return { name: next, results: { ...latest.results, carried: [...new Set(everything)] } };
}

/** Puts the rows of the families that ran in the place of their earlier ones, in the order of `order`. */
export function mergeResults(earlier, { date, form, machine, rows, series, seconds }, order) {
  const ran = new Set(rows.map(({ id }) => id));
  const kept = (earlier?.rows ?? []).filter(({ id }) => !ran.has(id));
  const place = ({ id }) => order.indexOf(id);
  const carried = (earlier?.carried ?? []).filter((name) => !ran.has(name) && !(name in series));
  return {
    date,
    ...(form === undefined ? {} : { form }),
    machine,
    rows: [...kept, ...rows].sort((a, b) => place(a) - place(b)),
    series: { ...earlier?.series, ...series },
    // How long each part took: what the next run says beforehand.
    seconds: { ...earlier?.seconds, ...seconds },
    ...(carried.length === 0 ? {} : { carried }),
  };
}

export function saveResults(results, folder = RESULTS, name = results.date) {
  mkdirSync(folder, { recursive: true });
  const base = join(folder, name);
  writeFileSync(`${base}.json`, `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(`${base}.md`, markdown(results));
  const plot = growthPlot(results.series, `${results.date}, ${machineText(results.machine)}`);
  // The one plot is that of the newest results.
  const newest = newestResults(folder);
  if (plot !== undefined && formOf(newest) === formOf(results))
    writeFileSync(join(folder, "growth.svg"), plot);
  return base;
}

export function loadResults(name, folder = RESULTS) {
  const file = join(folder, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

const figure = (value) =>
  value === undefined || value === null
    ? "-"
    : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1_000 ? 4 : 3 });

const range = (summary) =>
  summary === undefined
    ? "-"
    : `${figure(summary.median)} (${figure(summary.min)}–${figure(summary.max)})`;

const measuredText = (row) => {
  if (row.measured === undefined) return "-";
  const unit = row.target.endsWith("x") ? "x" : ` ${row.unit}`;
  const bounds =
    row.measured_min === undefined
      ? ""
      : ` (${figure(row.measured_min)}–${figure(row.measured_max)})`;
  return `${figure(row.measured)}${unit}${bounds}`;
};

export const machineText = (machine) =>
  `${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, ${machine.system}, Node ${machine.node}, commit ${machine.commit}`;

/** The whole table as Markdown. */
export function markdown({ date, machine, rows, series, carried = [], ...rest }) {
  const form = formOf({ rows, ...rest });
  const lines = [
    `# Figures of ${date}${form === undefined ? "" : `, ${form} form`}`,
    "",
    machineText(machine),
    "",
    "Every figure is a ratio of medians taken in turn in the same run; in parentheses the least and the greatest of the single",
    "pairs. Times are medians with least and greatest.",
    "",
    "| # | work | yardstick | target | measured | verdict | ours | yardstick | unit | form | load | fsync ms |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
  ];
  for (const row of rows) {
    const cells = [
      rowName(row),
      row.work,
      row.yardstick,
      row.target,
      measuredText(row),
      row.verdict,
    ];
    cells.push(
      range(row.ours),
      range(row.theirs),
      row.unit ?? "",
      row.form,
      figure(row.load_1m),
      figure(row.fsync_ms),
    );
    lines.push(`| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`);
  }
  const remarks = rows.filter(({ remark }) => remark !== undefined);
  if (remarks.length > 0) {
    lines.push("", "## Remarks", "");
    for (const row of remarks) lines.push(`- **${rowName(row)}**: ${row.remark}`);
  }
  if (carried.length > 0)
    lines.push("", `Carried over from an earlier run of the day: ${carried.join(", ")}.`);
  for (const [title, points] of Object.entries(series ?? {}))
    lines.push("", ...seriesTable(title, points));
  return `${lines.join("\n")}\n`;
}

/** One series of growth as Markdown. */
export function seriesTable(title, points) {
  const columns = [...new Set(points.flatMap((point) => Object.keys(point)))];
  return [
    `## Growth: ${title}`,
    "",
    `| ${columns.join(" | ")} |`,
    `|${columns.map(() => "---").join("|")}|`,
    ...points.map((point) => `| ${columns.map((column) => figure(point[column])).join(" | ")} |`),
  ];
}

/** The rows as a table of text for the terminal. */
export function terminalTable(rows) {
  const table = rows.map((row) => [
    rowName(row),
    row.target,
    measuredText(row),
    row.verdict,
    range(row.ours),
    range(row.theirs),
    row.unit ?? "",
  ]);
  table.unshift(["#", "target", "measured", "verdict", "ours", "yardstick", "unit"]);
  const widths = table[0].map((_, column) =>
    Math.max(...table.map((cells) => cells[column].length)),
  );
  return table
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
