// node bench/readme.mjs [--check]: writes the figures of the newest results file into docs/explanation/performance.md, between its two markers.
// --check changes nothing and fails where the page says something else (for CI).
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { worst } from "./arithmetic.mjs";
import { earlierResults, machineText, newestResults } from "./results.mjs";

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

/** What the page tells, in its order: a sentence for each figure, from the rows of the results. */
const LINES = [
  ["S1", "`headcount --version` against `node -e 0`"],
  ["S2", "`headcount --help` against `node -e 0`"],
  ["S3", "one `count` against a loopback service, against `node -e 0`"],
  [
    "E1",
    "CSV export, 50 ms a page, one in flight, every page kept and synced, against fetching and discarding",
  ],
  ["E2", "the same with four pages in flight, against a python3 loop"],
  ["E3", "CSV export without latency, against a python3 loop and a bash loop of curl and jq"],
  ["E4", "NDJSON export without latency, against a python3 loop"],
  ["E5", "peak memory of an export, from the smallest to the largest"],
  ["C1", "uncached counts over HTTP, against the same SQL straight on DuckDB"],
  ["C2", "the eight reference counts, against the best of PostgreSQL, SQLite and unsorted DuckDB"],
  ["C3", "growth of the counts with the dataset"],
  ["C4", "page 10,000 of a segment, against page 1"],
  ["C5", "a company; the first page of its employees"],
  ["C6", "the slowest shapes of filters, p99, and counts with 1,000 addresses, in the engine"],
  ["C7", "the values of a key in a segment with their counts, in the engine"],
  [
    "C8",
    "random sets of filters over dirty people, against DuckDB and against bitmaps, in the engine",
  ],
  [
    "I1",
    "import of people from Parquet, against raw DuckDB sorting the same file; disk at the highest",
  ],
  ["I2", "bytes a person on disk, served, against the same people as zstd Parquet"],
  ["I3", "people a second into ClickHouse, against its own INSERT SELECT"],
  ["L1", "synced charges in groups, against one commit a charge"],
  ["L2", "charged searches of 25 rows over HTTP, 64 clients"],
  ["L3", "free calls, against a bare Fastify route"],
  [
    "L4",
    "a paid search beside the heaviest neighbour, p99 against the same search alone; the event loop for any one request",
  ],
];

/**
 * The block between the markers, without them.
 * @param earlier full forms of other days, the newest first: rows that were not measured since are told from there, with their day
 */
export function figuresBlock(results, earlier = []) {
  const lines = [
    `Measured on ${results.date}, if no other day is said, by \`npm run bench\`: ${machineText(results.machine)}. Ratios of medians`,
    "taken in turn in the same run. Every part of a row has to meet its target.",
    "",
    "| # | figure | target | measured | |",
    "|---|---|---|---|---|",
  ];
  for (const [id, name] of LINES) {
    const from = [results, ...earlier].find((one) => one.rows.some((row) => row.id === id));
    if (from === undefined) continue;
    const rows = from.rows.filter((row) => row.id === id);
    const text = from.date === results.date ? name : `${name} (${from.date})`;
    const targets = [...new Set(rows.map(({ target }) => target))].filter(Boolean).join("; ");
    lines.push(
      `| ${id} | ${text} | ${targets} | ${measuredOf(rows)} | ${worst(rows.map(({ verdict }) => verdict))} |`,
    );
  }
  return lines.join("\n");
}

const figure = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

/** Parts with one target are told as a range; different targets are told one by one. */
function measuredOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    if (row.measured === undefined) continue;
    const values = groups.get(row.target) ?? [];
    values.push(row);
    groups.set(row.target, values);
  }
  const texts = [...groups].map(([target, members]) => {
    const values = members.map(({ measured }) => measured);
    const unit = target.endsWith("x") ? "x" : ` ${members[0].unit}`;
    const low = figure(Math.min(...values));
    const high = figure(Math.max(...values));
    return low === high ? `${low}${unit}` : `${low}–${high}${unit}`;
  });
  return texts.length === 0 ? "-" : texts.join("; ");
}

/** The page's text with the block renewed. @throws where the markers are missing */
export function withFigures(readme, block) {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error(`docs/explanation/performance.md has no ${BEGIN} ... ${END}`);
  return `${readme.slice(0, begin + BEGIN.length)}\n${block}\n${readme.slice(end)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL("../docs/explanation/performance.md", import.meta.url));
  const results = newestResults();
  if (results === undefined) {
    process.stderr.write("no results under bench/results/: run npm run bench first\n");
    process.exit(2);
  }
  const before = readFileSync(path, "utf8");
  const after = withFigures(before, figuresBlock(results, earlierResults(results)));
  if (process.argv.includes("--check")) {
    if (before !== after) {
      process.stderr.write(
        `docs/explanation/performance.md does not tell the figures of ${results.date}: run node bench/readme.mjs\n`,
      );
      process.exitCode = 1;
    }
  } else if (before !== after) {
    writeFileSync(path, after);
    process.stderr.write(`docs/explanation/performance.md tells the figures of ${results.date}\n`);
  }
}
