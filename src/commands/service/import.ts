import type { Command } from "commander";
import type { Context } from "../../context.ts";
import { grouped } from "../../contract/text.ts";
import type { ImportReport } from "../../dataset/build/import.ts";
import type { TableReport } from "../../dataset/build/import-stage.ts";
import { usageError } from "../../errors.ts";
import { withBuild } from "./build.ts";
import { type FolderOptions, folderOf } from "./folder.ts";

interface ImportOptions extends FolderOptions {
  readonly people?: string[];
  readonly companies?: string[];
  readonly map?: string;
  readonly rejects?: string;
  readonly dataset?: string;
}

export function register(service: Command, context: Context): void {
  service
    .command("import")
    .summary("load people and companies from Parquet, CSV or NDJSON")
    .description(
      "Replace the dataset of a data folder by the rows of files: Parquet, CSV (any dialect, with a header) or NDJSON, the last two also as .gz and .zst. Columns are named as the fields of the records, or mapped. Rows that cannot be taken go to a reject file with the reason. A running service takes the new dataset over by itself.",
    )
    .option("--people <file...>", "files or patterns with people")
    .option("--companies <file...>", "files or patterns with companies (default: derived from people)")
    .option("--map <file>", 'column map: {"people": {"title": "Job Title"}}')
    .option("--rejects <file>", "where refused rows go (default: import-rejects.ndjson in the data folder)")
    .option("--dataset <url>", "load into clickhouse://... instead of the data folder")
    .option("--data <dir>", "data folder with the dataset and the accounts (default: the XDG data folder)")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample search --all --limit 1000 --yes -o people.csv --overwrite
  $ headcount service import --people people.csv --data ./demo
  $ headcount service import --people 'people-*.parquet' --companies companies.csv.gz --map map.json --data ./demo
  $ headcount service import --people people.ndjson --data ./demo --json | jq .people.reasons

"headcount service map --suggest FILE" proposes a map.`,
    )
    .action((_: unknown, command: Command) => run(command.optsWithGlobals<ImportOptions>(), context));
}

async function run(options: ImportOptions, context: Context): Promise<void> {
  const { people, companies = [], map } = options;
  if (people === undefined) throw usageError("--people is missing", "for example --people people.csv");
  const { join, resolve } = await import("node:path");
  const folder = await folderOf(options, context);
  const rejects =
    options.rejects === undefined ? join(folder, "import-rejects.ndjson") : resolve(context.cwd, options.rejects);
  const began = context.now();
  const report = await withBuild(options, context, async (setup) => {
    const input = { people, companies, cwd: context.cwd, rejects, ...(map === undefined ? {} : { map }) };
    if (options.dataset === undefined) {
      const { importDataset } = await import("../../dataset/build/import.ts");
      return importDataset(input, setup);
    }
    const { importIntoClickHouse } = await import("../../dataset/clickhouse/import.ts");
    const password = context.env.HEADCOUNT_CLICKHOUSE_PASSWORD ?? "";
    // Built here first, in a folder of its own: the one that the data folder serves stays.
    const datasetDir = join(folder, "clickhouse-import");
    return importIntoClickHouse(options.dataset, password, input, { ...setup, datasetDir });
  });
  const seconds = (context.now() - began) / 1_000;
  if (options.json) context.stdout.write(`${JSON.stringify({ ...report, seconds })}\n`);
  else if (!options.quiet) context.stderr.write(summary(report, seconds));
}

function summary(report: ImportReport, seconds: number): string {
  const { people, companies, departments } = report;
  const rate = grouped(Math.round(people.rows / Math.max(seconds, 0.001)));
  const lines = [
    `Imported ${grouped(people.taken)} people in ${seconds.toFixed(1)} s, ${rate} rows/s (dataset ${report.version}).`,
    companies.files === 0
      ? `Companies: ${grouped(companies.derived)} derived from people.`
      : `Companies: ${grouped(companies.taken)}.`,
    ...refusals("people", people),
    ...refusals("companies", companies),
  ];
  if (report.rejects !== null) lines.push(`Refused rows, with reasons: ${report.rejects}`);
  if (departments.unknown > 0) {
    const examples = departments.examples.slice(0, 5).map(({ value, people: count }) => `${value} (${grouped(count)})`);
    lines.push(`Departments read as Other: ${grouped(departments.unknown)}, such as ${examples.join(", ")}`);
  }
  if (departments.missing > 0) lines.push(`People without a department, now Other: ${grouped(departments.missing)}`);
  for (const [field, count] of Object.entries(report.cleared)) {
    lines.push(`Unusable values left out of ${field}: ${grouped(count)}`);
  }
  return `${lines.join("\n")}\n`;
}

function refusals(what: string, { refused, reasons }: TableReport): string[] {
  if (refused === 0) return [];
  const parts = Object.entries(reasons).map(([reason, count]) => `${reason} ${grouped(count)}`);
  return [`Refused ${grouped(refused)} rows of ${what}: ${parts.join(", ")}`];
}
