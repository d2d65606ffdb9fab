// The results of a run: a table on the terminal, Markdown and JSON under results/. One file a day; a part that is run again
// replaces its rows and leaves the others.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { growthPlot } from "./svg.mjs";

export const RESULTS = fileURLToPath(new URL("results/", import.meta.url));

export const rowName = ({ id, part }) => (part === undefined ? id : `${id} ${part}`);

/** The newest results file, or undefined where there is none. */
export function newestResults(folder = RESULTS) {
  if (!existsSync(folder)) return undefined;
  const file = readdirSync(folder)
    .filter((entry) => /^\d{4}-\d\d-\d\d\.json$/.test(entry))
    .sort()
    .at(-1);
  return file === undefined ? undefined : JSON.parse(readFileSync(join(folder, file), "utf8"));
}

/** Puts the rows of the families that ran in the place of their earlier ones, in the order of `order`. */
export function mergeResults(earlier, { date, machine, rows, series }, order) {
  const ran = new Set(rows.map(({ id }) => id));
  const kept = (earlier?.rows ?? []).filter(({ id }) => !ran.has(id));
  const place = ({ id }) => order.indexOf(id);
  return {
    date,
    machine,
    rows: [...kept, ...rows].sort((a, b) => place(a) - place(b)),
    series: { ...earlier?.series, ...series },
  };
}

export function saveResults(results, folder = RESULTS) {
  mkdirSync(folder, { recursive: true });
  const base = join(folder, results.date);
  writeFileSync(`${base}.json`, `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(`${base}.md`, markdown(results));
  const plot = growthPlot(results.series, `${results.date}, ${machineText(results.machine)}`);
  if (plot !== undefined) writeFileSync(join(folder, "growth.svg"), plot);
  return base;
}

export function loadResults(date, folder = RESULTS) {
  const file = join(folder, `${date}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

const figure = (value) =>
  value === undefined || value === null
    ? "-"
    : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1_000 ? 4 : 3 });

const range = (summary) =>
  summary === undefined ? "-" : `${figure(summary.median)} (${figure(summary.min)}–${figure(summary.max)})`;

const measuredText = (row) => {
  if (row.measured === undefined) return "-";
  const unit = row.target.endsWith("x") ? "x" : ` ${row.unit}`;
  const bounds = row.measured_min === undefined ? "" : ` (${figure(row.measured_min)}–${figure(row.measured_max)})`;
  return `${figure(row.measured)}${unit}${bounds}`;
};

export const machineText = (machine) =>
  `${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, ${machine.system}, Node ${machine.node}, commit ${machine.commit}`;

/** The whole table as Markdown. */
export function markdown({ date, machine, rows, series }) {
  const lines = [
    `# Figures of ${date}`,
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
    const cells = [rowName(row), row.work, row.yardstick, row.target, measuredText(row), row.verdict];
    cells.push(range(row.ours), range(row.theirs), row.unit ?? "", row.form, figure(row.load_1m), figure(row.fsync_ms));
    lines.push(`| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`);
  }
  const remarks = rows.filter(({ remark }) => remark !== undefined);
  if (remarks.length > 0) {
    lines.push("", "## Remarks", "");
    for (const row of remarks) lines.push(`- **${rowName(row)}**: ${row.remark}`);
  }
  for (const [title, points] of Object.entries(series ?? {})) lines.push("", ...seriesTable(title, points));
  return `${lines.join("\n")}\n`;
}

function seriesTable(title, points) {
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
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  return table
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
