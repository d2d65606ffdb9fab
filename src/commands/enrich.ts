import type { Command } from "commander";
import type { Context } from "../context.ts";
import { harmlessJson } from "../contract/text.ts";
import { spokenValue } from "../output/table.ts";
import { type ExportDeps, type ExportOptions, runExport } from "../purchase/purchase.ts";
import { type JsonRecord, parseExact } from "../render/values.ts";
import type { Target } from "../runs/plan.ts";
import type { Printer } from "../terminal/printer.ts";
import { buy, type Purchase } from "./buy.ts";
import { addCompanyOptions, type CompanyFlags, readCompanies } from "./company-args.ts";
import { addExportOptions, type ExportFlags, readExportOptions } from "./export-options.ts";
import { buyParsed } from "./unattended.ts";

export type EnrichOptions = ExportFlags & CompanyFlags;

/** @param run what is done with a purchase: tests of parsing hand in another */
export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("enrich")
    .argument("[company...]", "domain, profile address or slug of a company")
    .summary("look companies up")
    .description(
      "Look companies up. A match is charged, a miss is free. One company is looked up at once; for several the price is shown and agreed to first, as with search.",
    );
  addCompanyOptions(command);
  addExportOptions(command, "company")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample enrich zephyr-pulse-co.example
  $ headcount -c sample enrich zephyr-pulse-co --json
  $ echo zephyr-pulse-co.example | headcount -c sample enrich --input - --max-credits 5 -o companies.csv --overwrite`,
    )
    .action(async (companies: readonly string[], _: unknown, self: Command) => {
      const flags = self.optsWithGlobals<EnrichOptions>();
      await buyParsed("enrich", flags, context, () => parse(companies, flags, context), run);
    });
}

async function parse(names: readonly string[], flags: EnrichOptions, context: Context): Promise<Purchase> {
  const companies = await readCompanies(context, names, flags);
  const options = readExportOptions(context, flags, "company");
  const target: Target = { kind: "enrich", companies };
  const small = companies.length === 1 && flags.input === undefined && flags.dryRun !== true;
  // One company for a person or as one JSON document, rather than an export with a file or a format of its own.
  const lookUp = small && flags.output === undefined && flags.format === undefined;
  const view: ExportOptions = lookUp ? { ...options, format: "ndjson", fresh: true } : options;
  const buying = { target, flags, view, small, buy: (deps: ExportDeps) => runExport("enrich", target, view, deps) };
  return lookUp ? { ...buying, show: printCompany } : buying;
}

/** A card to a terminal, the record as JSON otherwise. */
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
