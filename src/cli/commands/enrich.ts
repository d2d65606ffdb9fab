import { spokenValue } from "../../engine/output/table.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { harmlessJson } from "../../shared/contract/text.ts";
import { type JsonRecord, parseExact } from "../../shared/rows/values.ts";
import { addCompanyOptions, readCompanies } from "../arguments/companies.ts";
import { addExportOptions, readExportOptions } from "../arguments/export-options.ts";
import { addTableOptions, readKeptTable, type TableFlags } from "../arguments/kept-table.ts";
import type { Command } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";
import type { Printer } from "../terminal/printer.ts";

export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("enrich")
    .argument("[company...]", "domain, address or slug; the file with --keep-input")
    .description(
      "Look companies up. A match is charged, a miss is free. One company is looked up at " +
        "once; for several the price is shown and agreed to first, as with search.",
    );
  addTableOptions(addCompanyOptions(command));

  addExportOptions(command, "company")
    .examples(`
  $ headcount -c sample enrich zephyr-pulse-co.example
  $ printf 'Account,Website\\nZephyr,zephyr-pulse.example\\nNobody,\\n' > crm.csv
  $ headcount -c sample enrich crm.csv --keep-input --max-credits 5 --fields name,employee_count
  $ headcount -c sample enrich crm.csv --column Website --keep-input --max-credits 5 -o \
crm-enriched.csv --overwrite
  $ headcount -c sample enrich zephyr-pulse-co --json
  $ echo zephyr-pulse-co.example | headcount -c sample enrich --input - --max-credits 5 -o \
companies.csv --overwrite`)
    .does(
      `asks account key enrich
      reads connection given segments runs library suppression register
      writes output runs library register pacing
      exits 3 4 5 6 7 8 9 10 130`,
      async (flags: TableFlags, companies: readonly string[]) =>
        run(await parse(companies, flags, context), context),
    );
}

async function parse(
  names: readonly string[],
  flags: TableFlags,
  context: Context,
): Promise<ParsedPurchase> {
  const table = await readKeptTable(context, names, flags, "company");
  if (table !== undefined) {
    const { companies, keep, view, notice } = table;
    return { order: { ...view, target: { kind: "enrich", companies, keep } }, flags, notice };
  }

  const companies = await readCompanies(context, names, flags);
  const options = readExportOptions(context, flags, "company");
  const target: Target = { kind: "enrich", companies };
  const small = companies.length === 1 && flags.input === undefined && flags.dryRun !== true;
  // One company for a person or as one JSON document, rather
  // than an export with a file or a format of its own.
  const lookUp = small && flags.output === undefined && flags.format === undefined;
  if (!lookUp) return { order: { ...options, target }, flags, small };

  return { order: { ...options, format: "ndjson", target }, flags, small, show: printCompany };
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
