import type { Command } from "commander";
import { Option } from "commander";
import type { Context } from "../context.ts";
import type { Target } from "../runs/plan.ts";
import { type CompanyFlags, readCompanies } from "./company-args.ts";
import { addExportOptions, type ExportFlags, readExportOptions, wholeNumber } from "./export-options.ts";

export interface EmployeesOptions extends ExportFlags, CompanyFlags {
  /** At most so many people of each company. */
  readonly perCompany?: number;
  readonly misses?: string;
}

export function register(program: Command, context: Context): void {
  const command = program
    .command("employees")
    .argument("[company...]", "domain, profile address or slug of a company")
    .summary("export the people of a company")
    .description(
      "Buy the people of companies. Where a company is named by its profile address or slug the price is known beforehand, by a free count; otherwise --max-credits, --limit or --per-company bounds it.",
    )
    .option("--input <file>", "more companies from a file (- for stdin): one a line, CSV or NDJSON")
    .option("--column <name>", "the column of the file that names the company")
    .option("--name", "the arguments are names of companies")
    .option("--id", "the arguments are ids of companies")
    .addOption(
      new Option("--per-company <n>", "at most so many people of each company").argParser(
        wholeNumber("--per-company", 1, 1e9),
      ),
    )
    .option("--misses <file>", "list the companies that are not known in a file");
  addExportOptions(command, "profiles")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample employees zephyr-pulse-co --dry-run --limit 50
  $ headcount -c sample employees zephyr-pulse-co --limit 10 --yes
  $ echo zephyr-pulse-co | headcount -c sample employees --input - --per-company 5 --yes -o people.csv --overwrite`,
    )
    .action(async (companies: readonly string[], _: unknown, self: Command) => {
      await run(companies, self.optsWithGlobals<EmployeesOptions>(), context);
    });
}

async function run(names: readonly string[], flags: EmployeesOptions, context: Context): Promise<void> {
  const companies = await readCompanies(context, names, flags);
  const options = await readExportOptions(context, flags, "person");
  const target: Target = { kind: "employees", companies, perCompany: flags.perCompany ?? null };
  const [{ withSession }, { runExport }, { exportTerminal, PROFILES, printResult }] = await Promise.all([
    import("./session.ts"),
    import("../purchase/purchase.ts"),
    import("./export-run.ts"),
  ]);
  await withSession(context, flags, async (session) => {
    const terminal = await exportTerminal(session, context, flags, PROFILES);
    try {
      const result = await runExport("employees", target, options, terminal.deps);
      terminal.stop();
      await printResult(result, target, options, flags, context, PROFILES);
    } finally {
      terminal.stop();
    }
  });
}
