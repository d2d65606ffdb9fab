import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { type Context, canPrompt } from "../context.ts";
import { type Credits, parseCredits } from "../contract/money.ts";
import { echo, whole } from "../contract/text.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import type { RecordKind } from "../output/values.ts";
import type { ExportOptions } from "../purchase/purchase.ts";

/** The options that every export shares, as commander parsed them (cli.md, "Export options"). */
export interface ExportFlags extends GlobalOptions {
  readonly output?: string;
  readonly format?: string;
  readonly fields?: string;
  readonly allFields?: boolean;
  readonly maxCredits?: Credits;
  readonly limit?: number;
  readonly perPage?: number;
  readonly concurrency: number;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly fresh?: boolean;
  readonly overwrite?: boolean;
  readonly requireComplete?: boolean;
  readonly excel?: boolean;
  readonly raw?: boolean;
  readonly receipt?: string;
  readonly wait?: boolean;
}

/** A parser of whole numbers for an option. */
export function wholeNumber(flag: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = whole(text, least, most);
    if (value !== undefined) return value;
    throw usageError(
      `${flag} takes a whole number from ${least} to ${most}, not "${echo(text)}"`,
      `for example ${flag} ${Math.max(least, Math.min(most, 100))}`,
    );
  };
}

function creditAmount(text: string): Credits {
  const amount = parseCredits(text);
  if (amount !== undefined && amount >= 0n) return amount;
  throw usageError(
    `--max-credits takes an amount of credits with at most six decimals, not "${echo(text)}"`,
    "for example --max-credits 500 or --max-credits 12.5",
  );
}

/** Options of buying alone: what `resume` takes too. */
export function addBuyingOptions(command: Command, unit: string): Command {
  return command
    .addOption(
      new Option("--max-credits <n>", "spend at most this, all told (decimals allowed)").argParser(creditAmount),
    )
    .addOption(new Option("--limit <n>", `buy at most so many ${unit}`).argParser(wholeNumber("--limit", 1, 1e12)))
    .addOption(new Option("--per-page <n>", "rows a request").argParser(wholeNumber("--per-page", 1, 100_000)))
    .addOption(
      new Option("--concurrency <n>", "pages in flight").argParser(wholeNumber("--concurrency", 1, 16)).default(4),
    )
    .option("-y, --yes", "buy without asking")
    .option("--overwrite", "replace an existing file, once the new one is whole")
    .option("--require-complete", "exit 5 where a limit or cap left something out")
    .option("--wait", "wait for another run at the same output instead of ending with exit 9");
}

export function addExportOptions(command: Command, unit: string): Command {
  command
    .option("-o, --output <file>", "write a file (default: stdout)")
    .option("--format <format>", "csv, ndjson, json, parquet or table (default: by the file's ending)")
    .option("--fields <a,b,c>", "only these fields, in this order")
    .option("--all-fields", "all fields in a table too");
  return addBuyingOptions(command, unit)
    .option("--dry-run", "show the quote and buy nothing")
    .option("--fresh", "begin anew instead of continuing an unfinished run")
    .option("--excel", "CSV for spreadsheets: byte order mark and CRLF")
    .option("--raw", "CSV without the guard against formulas")
    .option("--receipt <file>", "write the receipt (counts, credits, SHA-256) as JSON");
}

/**
 * The flags as an export wants them, checked before any request.
 * @throws CliError exit 2
 */
export async function readExportOptions(
  context: Context,
  flags: ExportFlags & { readonly misses?: string },
  kind: RecordKind,
): Promise<ExportOptions> {
  const [{ checkFields, parseFields, publishedFields }, { chooseFormat }] = await Promise.all([
    import("../output/columns.ts"),
    import("../output/formats.ts"),
  ]);
  const output = flags.output === undefined || flags.output === "-" ? undefined : resolve(context.cwd, flags.output);
  const named = flags.format ?? (flags.json === true && output === undefined ? "json" : undefined);
  const format = chooseFormat(named, output, context.stdout.isTTY === true);
  if (flags.fields !== undefined && flags.allFields === true)
    throw usageError("--fields and --all-fields exclude each other");
  if (format !== "csv" && (flags.excel === true || flags.raw === true)) {
    throw usageError(`--${flags.excel === true ? "excel" : "raw"} is about CSV, not ${format}`, "add --format csv");
  }
  let fields = flags.fields === undefined ? undefined : parseFields(flags.fields);
  if (fields !== undefined) checkFields(fields, kind);
  if (flags.allFields === true && format === "table") fields = [...publishedFields(kind)];
  const file = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : resolve(context.cwd, name);
  return {
    output,
    format,
    fields,
    excel: flags.excel === true,
    raw: flags.raw === true,
    maxCredits: flags.maxCredits,
    limit: flags.limit,
    perPage: flags.perPage,
    concurrency: flags.concurrency,
    dryRun: flags.dryRun === true,
    fresh: flags.fresh === true,
    overwrite: flags.overwrite === true,
    requireComplete: flags.requireComplete === true,
    wait: flags.wait === true,
    receipt: file(flags.receipt),
    misses: file(flags.misses),
  };
}

const SAFE_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The user's own command with one more option, ready to be pasted into a shell. */
export function sameCommand(context: Context, ...more: readonly string[]): string {
  const quoted = [...context.argv, ...more].map((word) =>
    SAFE_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
  );
  return ["headcount", ...quoted].join(" ");
}

/** Whether the user is asked, has agreed in advance, or must be told how to agree. */
export function consentMode(
  context: Context,
  flags: Pick<ExportFlags, "yes" | "maxCredits">,
): "ask" | "given" | "missing" {
  if (flags.yes === true) return "given";
  if (canPrompt(context)) return "ask";
  return flags.maxCredits === undefined ? "missing" : "given";
}
