import { ladderOf, staffOf } from "../../app/buy/staff.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { usageError } from "../../shared/errors.ts";
import { addCompanyOptions, readCompanies } from "../arguments/companies.ts";
import { addExportOptions, readExportOptions } from "../arguments/export-options.ts";
import { addFilterOptions, type FilterOptions, readFilters } from "../arguments/filter-options.ts";
import { addTableOptions, readKeptTable, type TableFlags } from "../arguments/kept-table.ts";
import { addNewOnlyOptions, type NewOnlyFlags } from "../arguments/sampling-options.ts";
import type { Command } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";

export interface EmployeesOptions extends TableFlags, NewOnlyFlags {
  readonly perCompany?: number;
  readonly titleLadder?: readonly string[];
}

export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("employees")
    .argument("[company...]", "domain, address or slug; the file with --keep-input")
    .description(
      "Buy people of companies, with filters those who match. By address or slug the price " +
        "is known; otherwise --max-credits, --limit or --per-company bounds it.",
    );

  addTableOptions(addCompanyOptions(addFilterOptions(command)))
    .number("--per-company <n>", "at most so many people of each company", [1, 1e9])
    .option("--title-ladder <titles>", "'cro; vp sales': the best title somebody has", ladderOf);

  addNewOnlyOptions(addExportOptions(command, "person"))
    .examples(`
  $ headcount -c sample employees zephyr-pulse-co --dry-run --limit 50
  $ headcount -c sample employees zephyr-pulse-co --limit 10 --yes
  $ headcount -c sample employees zephyr-pulse-co --seniority-level entry --yes
  $ headcount -c sample employees zephyr-pulse-co --title-ladder 'general counsel; lawyer' \
--per-company 1 --dry-run
  $ headcount -c sample employees zephyr-pulse-co --new-only --dry-run
  $ echo zephyr-pulse-co | headcount -c sample employees --input - --per-company 5 --yes -o \
people.csv --overwrite`)
    .does(
      `asks account key count enrich employees counts sketch people search
      reads connection given segments runs library suppression register
      writes output runs library register pacing
      exits 3 4 5 6 7 8 9 10 130`,
      async (flags: EmployeesOptions & FilterOptions, companies: readonly string[]) =>
        run(await parse(companies, flags, context), context),
    );
}

async function parse(
  names: readonly string[],
  flags: EmployeesOptions & FilterOptions,
  context: Context,
): Promise<ParsedPurchase> {
  const table = await readKeptTable(context, names, flags, "person");
  const companies = table?.companies ?? (await readCompanies(context, names, flags));
  const { canonical, filters } = await readFilters(context, flags);
  const segment = isUnfiltered(canonical) ? undefined : { canonical, filters };
  const view = table?.view ?? readExportOptions(context, flags, "person");
  const { titleLadder: ladder } = flags;
  if ((segment ?? ladder ?? table) !== undefined && flags.misses !== undefined) {
    throw usageError(
      "--misses lists companies that the service does not know, and with filters nobody asks that",
      "leave --misses out: the summary says at how many companies nobody matches",
    );
  }

  const staffing = {
    most: flags.perCompany ?? null,
    segment,
    ladder,
    keep: table?.keep,
    newOnly: flags.newOnly,
  };
  const target = staffOf(companies, staffing);
  const accounts = target.kind === "search" ? { companies, staffing } : undefined;

  return {
    order: { ...view, target, accounts, maxCalls: flags.maxCalls },
    flags,
    notice: table?.notice,
  };
}
