import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { checkPrefix, DEFAULT_PREFIX, readKept } from "../../app/buy/input-table.ts";
import { openRuns } from "../../app/keep/store.ts";
import type { CompanyQuery } from "../../engine/client/types.ts";
import { JOINED } from "../../engine/output/join.ts";
import { spokenValue } from "../../engine/output/table.ts";
import type { ExportOptions } from "../../engine/purchase/order.ts";
import { isSuppressedCompany } from "../../engine/purchase/unnamed.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { shellWord } from "../../shared/contract/command-line.ts";
import { counted, echo, harmlessJson } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { inputName, readInput } from "../../shared/input.ts";
import { type JsonRecord, parseExact } from "../../shared/rows/values.ts";
import { addCompanyOptions, type CompanyFlags, MAX_INPUT_BYTES, readCompanies } from "../arguments/companies.ts";
import { addExportOptions, type ExportFlags, readExportOptions } from "../arguments/export-options.ts";
import type { Command } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";
import { buyParsed } from "../purchase/unattended.ts";
import type { Printer } from "../terminal/printer.ts";

export interface EnrichOptions extends ExportFlags, CompanyFlags {
  readonly keepInput?: boolean;
  readonly prefix?: string;
}

export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("enrich")
    .argument("[company...]", "domain, profile address or slug of a company; with --keep-input the file")
    .description(
      "Look companies up. A match is charged, a miss is free. One company is looked up at once; for several the price is shown and agreed to first, as with search.",
    );
  addCompanyOptions(command)
    .option("--keep-input", "write the file's own rows and columns, with the companies beside them")
    .option(
      "--prefix <text>",
      `with --keep-input: what the names of our columns begin with (${DEFAULT_PREFIX})`,
      checkPrefix,
    );
  addExportOptions(command, "company")
    .examples(`
  $ headcount -c sample enrich zephyr-pulse-co.example
  $ headcount -c sample enrich zephyr-pulse-co --json
  $ echo zephyr-pulse-co.example | headcount -c sample enrich --input - --max-credits 5 -o companies.csv --overwrite
  $ printf 'Account,Website\\nZephyr,zephyr-pulse.example\\nNobody,\\n' > crm.csv
  $ headcount -c sample enrich crm.csv --keep-input --max-credits 5 --fields name,employee_count
  $ headcount -c sample enrich crm.csv --column Website --keep-input --max-credits 5 -o crm-enriched.csv --overwrite`)
    .does((flags: EnrichOptions, companies: readonly string[]) =>
      buyParsed("enrich", flags, context, () => parse(companies, flags, context), run),
    );
}

async function parse(names: readonly string[], flags: EnrichOptions, context: Context): Promise<ParsedPurchase> {
  if (flags.keepInput === true) return parseKept(names, flags, context);
  if (flags.prefix !== undefined) throw usageError("--prefix goes with --keep-input", "add --keep-input");
  const file = names.find((name) => FILE.test(name) && existsSync(resolve(context.cwd, name)));
  if (file !== undefined) {
    throw usageError(
      `"${echo(file)}" is a file, and names no company`,
      `--input ${shellWord(file)} takes companies from it; --keep-input keeps its rows and columns`,
    );
  }
  const companies = await readCompanies(context, names, flags);
  const options = readExportOptions(context, flags, "company");
  const target: Target = { kind: "enrich", companies };
  const small = companies.length === 1 && flags.input === undefined && flags.dryRun !== true;
  // One company for a person or as one JSON document, rather than an export with a file or a format of its own.
  const lookUp = small && flags.output === undefined && flags.format === undefined;
  if (!lookUp) return { order: { ...options, target }, flags, small };
  return { order: { ...options, format: "ndjson", target }, flags, small, show: printCompany };
}

const FILE = /\.(csv|tsv|txt|ndjson|jsonl)$/i;

/** The rows of a table with the companies beside them: of `--input`, or of the one file that is named instead. */
async function parseKept(names: readonly string[], flags: EnrichOptions, context: Context): Promise<ParsedPurchase> {
  const [input, ...others] = flags.input === undefined ? names : [flags.input, ...names];
  if (input === undefined || others.length > 0) {
    throw usageError(
      `--keep-input takes one file, not ${input === undefined ? "none" : others.length + 1}`,
      "for example: headcount enrich crm.csv --keep-input -o crm-enriched.csv",
    );
  }
  const text = await readInput(context, input, "companies", MAX_INPUT_BYTES);
  const how = { column: flags.column ?? null, by: flags.by ?? null, prefix: flags.prefix ?? DEFAULT_PREFIX } as const;
  const list = await openRuns(context).suppression();
  const isLeftOut = (company: CompanyQuery): boolean => isSuppressedCompany(company, list);
  const { companies, keep, join, leftOut } = await readKept(text, inputName(input), how, isLeftOut);
  const toPipe =
    flags.output === undefined && flags.template === undefined && context.stdout.isTTY !== true && flags.json !== true;
  const implied = toPipe ? (join.json ? "ndjson" : "csv") : undefined;
  const format = flags.format ?? implied;
  const view = { ...readExportOptions(context, format === undefined ? flags : { ...flags, format }, "company"), join };
  if (!JOINED.includes(view.format)) {
    throw usageError(`--keep-input writes ${JOINED.join(", ")}, not ${view.format}`, "add --format csv");
  }
  await requireApart(input, view, context);
  const target: Target = { kind: "enrich", companies, keep };
  const told = `notice: ${counted(leftOut, "row")} with a company on the suppression list: neither asked for nor paid`;
  return { order: { ...view, target }, flags, notice: leftOut > 0 ? told : undefined };
}

/** @throws CliError exit 2 where something would take the place of the table itself */
async function requireApart(
  input: string,
  { output, receipt, misses }: Pick<ExportOptions, "output" | "receipt" | "misses">,
  context: Context,
): Promise<void> {
  const real = async (path: string): Promise<string> => realpath(path).catch(() => path);
  const own = await real(resolve(context.cwd, input));
  for (const [option, path] of Object.entries({ "-o": output, "--receipt": receipt, "--misses": misses })) {
    if (input === "-" || path === undefined || (await real(path)) !== own) continue;
    throw usageError(
      `${option} names the table that is read: it stays as it is`,
      "choose another name; the same table can then be read again",
      "same_file",
    );
  }
}

async function printCompany(json: string, printer: Printer): Promise<void> {
  // Into a pipe every token as the service sent it.
  if (!printer.terminal) return printer.text(json);
  if (printer.json) return printer.text(harmlessJson(json));
  const { name, ...fields } = parseExact(json) as JsonRecord;
  await printer.card([["name", spokenValue("name", name)]]);
  await printer.card(
    Object.entries(fields).map(([field, value]) => [field, spokenValue(field, value)]),
    2,
  );
}
