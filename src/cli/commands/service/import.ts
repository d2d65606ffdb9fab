import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImportInput, ImportReport } from "../../../dataset/build/import.ts";
import type { FileReport, TableReport } from "../../../dataset/build/import-stage.ts";
import type { Context } from "../../../shared/context.ts";
import {
  counted,
  echo,
  grouped,
  harmless,
  harmlessJson,
  harmlessLine,
  present,
  whenGiven,
} from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, wholeNumber } from "../../options.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";
import { addTextFlags, type BuildSetup, type TextFlags, textOptions, withBuild } from "./build.ts";
import { addDataOption, type FolderOptions, folderOf, LEDGER } from "./folder.ts";

interface ImportOptions extends FolderOptions, TextFlags {
  readonly people?: string[];
  readonly companies?: string[];
  readonly map?: string;
  readonly maxRefused?: string;
  readonly keep?: number;
  readonly dryRun?: boolean;
  readonly dataset?: string;
}

export function register(service: Command, context: Context): void {
  const command = service
    .command("import")
    .description(
      "Replace the dataset of a data folder by the rows of files: Parquet, CSV (with a " +
        "header) or NDJSON, the last two also as .gz. Columns are named as the fields of the " +
        "records, or mapped. Rows that cannot be taken go to import-rejects.ndjson in the " +
        "data folder with the reason, values that cannot be used are left out and counted. " +
        "A running service takes the new dataset over by itself. Into ClickHouse the files " +
        "go one by one, and the same command goes on with a load that was cut off.",
    )
    .option("--people <file...>", "files or patterns with people")
    .option(
      "--companies <file...>",
      "files or patterns with companies (default: derived from people)",
    )
    .option("--map <file>", 'column map: {"people": {"title": "Job Title"}}')
    .option(
      "--max-refused <n>",
      "keep the old dataset (exit 5) where more rows are refused: 100, or 1%",
    )
    .number(
      "--keep <n>",
      "how many versions that were served before stay to go back to (default: 1)",
      [0, 100],
    )
    .option("--dry-run", "read and check the files, and leave the dataset as it is");

  addDataOption(
    addTextFlags(command).option(
      "--dataset <url>",
      "load into clickhouse://... instead of the data folder",
    ),
  )
    .examples(`
  $ headcount -c sample search --all --limit 1000 --yes -o people.csv --overwrite
  $ headcount service import --people people.csv --data ./demo
  $ headcount service import --people 'people-*.parquet' --companies companies.csv.gz --map \
map.json --data ./demo
  $ headcount service import --people people.csv --max-refused 1% --data ./demo
  $ headcount service import --people people.ndjson --data ./demo --json | jq .people.reasons

Columns of other names are named with the map that takes them; "headcount service dataset \
rollback" takes an import back.`)
    .does(
      `reads data given
      writes data
      exits 1 5 8 9 130`,
      atDesk(context, run),
    );
}

function refusedLimit(text: string): { readonly rows: number } | { readonly share: number } {
  const [, percent = "none"] = /^(\d{1,3}(?:\.\d{1,6})?)%$/.exec(text) ?? [];
  const share = Number(percent) / 100;
  if (share <= 1) return { share };
  if (/^\d{1,15}$/.test(text)) return { rows: Number(text) };
  throw usageError(
    `--max-refused takes a number of rows or a percentage, not "${echo(text)}"`,
    "for example --max-refused 1%",
  );
}

const GOES_ON = "the same command makes and sends what is missing";

async function run(desk: Desk<ImportOptions>) {
  const { context, options, printer } = desk;
  const { people, companies = [], map } = options;
  if (people === undefined)
    throw usageError("--people is missing", "for example --people people.csv");
  if (options.dataset !== undefined && options.keep !== undefined) {
    throw usageError(
      "--keep is for a data folder; servers keep one version before",
      "leave --keep or --dataset out",
    );
  }

  const folder = await folderOf(options, context);
  const input: ImportInput = {
    people,
    companies,
    cwd: context.cwd,
    rejects: join(folder, "import-rejects.ndjson"),
    dryRun: options.dryRun === true,
    ...textOptions(options),
    ...present({ map, maxRefused: whenGiven(options.maxRefused, refusedLimit) }),
  };

  const began = context.now();
  const { dataset: servers } = options;
  const report =
    servers === undefined
      ? await withBuild(desk, (setup) => intoFolder(input, setup, options.keep), undefined)
      : await withBuild(desk, (setup) => intoServers(servers, input, setup, desk), GOES_ON);
  const seconds = (context.now() - began) / 1_000;
  if (printer.json) printer.document({ ...report, seconds });
  else printer.note(summary(report, seconds, options.dryRun === true));
}

async function intoFolder(
  input: ImportInput,
  setup: BuildSetup,
  keep: number | undefined,
): Promise<ImportReport> {
  const { importDataset } = await import("../../../dataset/build/import.ts");
  if (!input.dryRun || existsSync(setup.datasetDir))
    return importDataset(input, { ...setup, ...present({ keep }) });

  // What only tries leaves no folder behind.
  const datasetDir = await mkdtemp(join(tmpdir(), "headcount-"));
  try {
    return await importDataset(input, { ...setup, datasetDir });
  } finally {
    await rm(datasetDir, { recursive: true, force: true });
  }
}

async function intoServers(
  servers: string,
  input: ImportInput,
  setup: BuildSetup,
  { context, options }: Desk<ImportOptions>,
): Promise<ImportReport> {
  const { suppressionDir } = await import("../../../dataset/suppression.ts");
  const { importIntoClickHouse } = await import("../../../dataset/clickhouse/load/import.ts");
  const password = context.env.HEADCOUNT_CLICKHOUSE_PASSWORD ?? "";

  return importIntoClickHouse(servers, password, input, {
    ...setup,
    // What is known of a load that is under way; the dataset that the data folder serves stays.
    datasetDir: join(await folderOf(options, context), "clickhouse-import"),
    suppression: suppressionDir(setup.datasetDir),
  });
}

function summary(report: ImportReport, seconds: number, isDryRun: boolean): string {
  const { people, companies, departments } = report;
  const leftOut = report.suppressed ?? 0;
  const rate = grouped(Math.round(people.rows / Math.max(seconds, 0.001)));
  const verb = isDryRun ? "Would import" : "Imported";
  const version = isDryRun ? "the dataset is as it was" : `dataset ${report.version}`;
  const lines = [
    `${verb} ${counted(people.taken - leftOut, "person", "people")} in ` +
      `${seconds.toFixed(1)} s, ${rate} rows/s (${version}).`,
    ...(leftOut > 0 ? [`Left out, as they are suppressed: ${grouped(leftOut)}.`] : []),
    companies.files === 0
      ? `Companies: ${grouped(companies.derived)} derived from people.`
      : `Companies: ${grouped(companies.taken)}.`,
    ...[...people.read, ...companies.read].flatMap(assumptions),
    ...Object.entries({ people, companies }).flatMap(([kind, { read }]) =>
      read.flatMap((file) => proposal(kind, file)),
    ),
    ...refusals("people", people),
    ...refusals("companies", companies),
  ];

  if (report.rejects !== null)
    lines.push(`Refused rows, with reasons: ${harmless(report.rejects)}`);

  const such = (examples: readonly { readonly value: string; readonly count: number }[]): string =>
    examples.map(({ value, count }) => `${harmlessLine(value, 40)} (${grouped(count)})`).join(", ");

  if (departments.unknown > 0) {
    const examples = departments.examples
      .slice(0, 5)
      .map(({ value, people: count }) => ({ value, count }));

    lines.push(
      `Departments read as Other: ${grouped(departments.unknown)}, such as ${such(examples)}`,
    );
    lines.push(
      '  "values" in the map says what they are: {"values": {"department": ' +
        '{"Tech": "Engineering and Technical"}}}',
    );
  }

  if (departments.missing > 0)
    lines.push(`People without a department, now Other: ${grouped(departments.missing)}`);

  for (const [field, { values, examples }] of Object.entries(report.cleared)) {
    const samples = examples.slice(0, 3).map(({ value, rows }) => ({ value, count: rows }));
    lines.push(
      `Unusable values left out of ${field}: ${grouped(values)}, such as ${such(samples)}`,
    );
    if (examples.some(({ value }) => /^\d{1,3}[.,]\d{3}$/.test(value))) {
      lines.push(
        '  "numbers": "en" in the map reads 1,234 as 1234, "numbers": "de" reads 1.234 so',
      );
    }
  }

  return lines.join("\n");
}

const DELIMITERS: Readonly<Record<string, string>> = {
  "\t": "tabs",
  ";": "semicolons",
  "|": "bars",
};

function assumptions({ file, encoding, delimiter, skipped_lines, repaired }: FileReport): string[] {
  const notes: string[] = [];
  if (encoding !== undefined && encoding !== "utf-8") notes.push(encoding);
  if (delimiter !== undefined && delimiter !== ",")
    notes.push(`${DELIMITERS[delimiter] ?? delimiter} between cells`);
  if (skipped_lines) notes.push(`${counted(skipped_lines, "line")} before the header left out`);
  if (repaired) notes.push(`half characters in ${counted(repaired, "line")} replaced by U+FFFD`);
  return notes.length === 0 ? [] : [`${harmless(file)} was read as: ${notes.join(", ")}`];
}

function proposal(kind: string, { file, proposed }: FileReport): string[] {
  if (proposed === undefined) return [];
  const map = harmlessJson(JSON.stringify({ [kind]: proposed }));
  return [
    `${harmless(file)} has columns that are not read; a file for --map that takes them: ${map}`,
  ];
}

function refusals(what: string, { refused, reasons, examples }: TableReport): string[] {
  if (refused === 0) return [];
  const parts = Object.entries(reasons).map(([reason, count]) => `${reason} ${grouped(count)}`);
  const shown = examples.slice(0, 3).map(({ file, line, row_number, detail }) => {
    const place = line === undefined ? `row ${row_number}` : `line ${line}`;
    return `  ${harmless(file)}, ${place}: ${harmlessLine(detail, 100)}`;
  });
  return [`Refused ${counted(refused, "row")} of ${what}: ${parts.join(", ")}`, ...shown];
}

type GenerateOptions = FolderOptions & { readonly people?: string; readonly seed: string };

export function registerGenerate(service: Command, context: Context): void {
  addDataOption(service.command("generate"))
    .description(
      "Replace the dataset of a data folder by synthetic people, and about one company " +
        "for seven of them. The same number and seed give the same people on every machine. " +
        "A running service takes it over by itself.",
    )
    .option("--people <n>", "how many people, 1 to 4000000000")
    .option("--seed <s>", "another seed gives other people, 0 to 4294967295", "1")
    .examples(`
  $ headcount service generate --people 1000 --data ./demo
  $ headcount service generate --people 100000 --seed 7 --data ./demo --json`)
    .does(LEDGER, atDesk(context, generate));
}

async function generate(desk: Desk<GenerateOptions>) {
  const { context, options, printer } = desk;
  if (options.people === undefined)
    throw usageError("--people is missing", "for example --people 50000");

  const people = wholeNumber("--people", 1, 4_000_000_000)(options.people);
  const seed = wholeNumber("--seed", 0, 4_294_967_295)(options.seed);
  const began = context.now();

  const meta = await withBuild(desk, async (setup) => {
    const { generateDataset } = await import("../../../dataset/build/sample.ts");
    return generateDataset({ people, seed }, setup);
  });
  const seconds = (context.now() - began) / 1_000;
  const { version, companies } = meta;
  const amounts =
    `${counted(people, "person", "people")} and ` + `${counted(companies, "company", "companies")}`;

  if (printer.json)
    printer.document<"service generate">({ version, people, companies, seed, seconds });
  else printer.note(`Generated ${amounts} in ${seconds.toFixed(1)} s (dataset ${version}).`);
}
