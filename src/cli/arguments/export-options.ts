import { fstatSync } from "node:fs";
import { outputGuard, outputView } from "../../app/buy/options.ts";
import { CSV_STYLES, FORMATS } from "../../engine/output/formats.ts";
import { pathNamed } from "../../engine/output/named.ts";
import { resolveOutput } from "../../engine/output/tables/target.ts";
import type { ExportOptions } from "../../engine/purchase/order.ts";
import type { Guard } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { echo, whole } from "../../shared/contract/text.ts";
import { shellWord, usageError } from "../../shared/errors.ts";
import { checkFields, publishedFields } from "../../shared/rows/columns.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { creditAmount } from "./settings.ts";

/** What a purchase of people touches. */
export const BUYING = `asks account key count search facets sketch people
  reads connection given segments runs library suppression register
  writes output runs library register pacing
  exits 3 4 5 6 7 8 9 10 130`;

export interface ViewFlags extends GlobalOptions {
  readonly output?: string;
  readonly format?: string;
  readonly fields?: string;
  readonly csv?: "excel" | "raw";
}

export type GuardFlags = Partial<Pick<Guard, "overwrite" | "minRows" | "maxShrink">>;

type BuyingFlags =
  | "maxCredits"
  | "limit"
  | "perPage"
  | "onNewDataset"
  | "requireComplete"
  | "receipt"
  | "wait";

export interface ExportFlags
  extends ViewFlags,
    GuardFlags,
    Partial<Pick<ExportOptions, BuyingFlags>> {
  readonly concurrency: number;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly again?: boolean;
}

/** `--fields` of every one, where a table would show the main ones. */
export const ALL = "all";

function share(text: string): number {
  const percent = whole(text.replace(/%$/, ""), 0, 100);
  if (percent !== undefined) return percent / 100;
  throw usageError(
    `--max-shrink takes a percentage from 0% to 100%, not "${echo(text)}"`,
    "for example --max-shrink 50%",
  );
}

export const addGuardOptions = (command: Command): Command =>
  command
    .option("--overwrite", "replace an existing file, once the new one is whole")
    .number(
      "--min-rows <n>",
      "exit 5 and keep the file where fewer rows come; 0: none may replace some",
      [0, 1e12],
    )
    .option("--max-shrink <n%>", "exit 5 and keep the file where it would lose more", share);

/** @param rows what `--limit` bounds: `buy at most so many rows` */
export function addBuyingOptions(command: Command, rows: string): Command {
  return addGuardOptions(command)
    .option("--max-credits <n>", "spend at most this, all told (decimals allowed)", creditAmount)
    .number("--limit <n>", rows, [1, 1e12])
    .number("--per-page <n>", "rows a request", [1, 100_000])
    .number("--concurrency <n>", "pages in flight", [1, 16], 4)
    .option("-y, --yes", "buy without asking")
    .option("--require-complete", "exit 5 where a limit or cap left something out")
    .option("--wait", "wait for another run at the same output instead of ending with exit 9");
}

export const addViewOptions = (
  command: Command,
  fields: readonly string[],
  output = "write a file, or a table: duckdb:FILE#TABLE, " +
    "postgres://HOST/DB#TABLE (default: stdout)",
): Command =>
  command
    .option("-o, --output <file>", output)
    .offers(
      "--format <format>",
      `${FORMATS.join(", ")}; csv.gz and the like compress (default: by the file's ending)`,
      {
        kind: "list",
        values: FORMATS,
      },
    )
    .offers("--fields <a,b,c>", "only these, in this order; all: in a table too", {
      kind: "commas",
      values: [...fields, ALL],
    })
    .oneOf(
      "--csv <how>",
      "for spreadsheets, with byte order mark and CRLF; without the guard against formulas",
      CSV_STYLES,
    );

export const addExportOptions = (command: Command, kind: RecordKind): Command =>
  addBuyingOptions(
    addViewOptions(command, publishedFields(kind)),
    kind === "person" ? "buy at most so many profiles" : "look up at most so many companies",
  )
    .option("--dry-run", "show the quote and buy nothing")
    .option("--again", "begin anew, and pay again for what you own already")
    .oneOf(
      "--on-new-dataset <how>",
      "where an unfinished run's dataset is gone: begin anew, or end with 10",
      ["fresh", "fail"],
      "fresh",
    )
    .option("--receipt <file>", "write the receipt (counts, credits, SHA-256) as JSON");

const STDOUT = /^(?:-|\/dev\/stdout)$/;

/**
 * How the flags want rows written. `fields` are split and not yet checked.
 * @throws CliError exit 2
 */
export function readView(
  { cwd, stdout, stderr }: Context,
  { csv, fields, format, json, output: to, quiet }: ViewFlags,
) {
  const output = to === undefined || STDOUT.test(to) ? undefined : resolveOutput(to, cwd);
  const implied = json === true && output === undefined ? "json" : undefined;
  const choice = { csv, format: format ?? implied, fields: fields === ALL ? undefined : fields };
  const isUnsaid = output === undefined && choice.format === undefined && quiet !== true;
  // As by `> people.csv`: nobody tells a program the name.
  if (isUnsaid && stderr.isTTY === true && stdout.fd !== undefined && fstatSync(stdout.fd).isFile())
    stderr.write("notice: the rows are NDJSON; CSV with --format csv, or -o people.csv\n");
  return outputView(choice, output, stdout.isTTY === true);
}

/** The flags as an export wants them, checked before any request. @throws CliError exit 2 */
export function readExportOptions(
  context: Context,
  flags: ExportFlags & { readonly misses?: string },
  kind: RecordKind,
): ExportOptions {
  const view = readView(context, flags);
  if (view.fields !== undefined) checkFields(view.fields, kind);

  const all = flags.fields === ALL && view.format === "table";
  const file = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : pathNamed(name, context.cwd);

  return {
    ...view,
    fields: all ? [...publishedFields(kind)] : view.fields,
    ...readBuyingOptions(flags),
    fresh: flags.again === true,
    onNewDataset: flags.onNewDataset ?? "fresh",
    receipt: file(flags.receipt),
    misses: file(flags.misses),
  };
}

export const readBuyingOptions = (flags: ExportFlags) => ({
  maxCredits: flags.maxCredits,
  limit: flags.limit,
  perPage: flags.perPage,
  concurrency: flags.concurrency,
  ...outputGuard(flags),
  requireComplete: flags.requireComplete === true,
  wait: flags.wait === true,
});

export const sameCommand = (context: Context, ...more: readonly string[]): string =>
  ["headcount", ...[...context.argv, ...more].map(shellWord)].join(" ");
