import type { Command } from "commander";
import type { Context } from "../context.ts";
import { canonicalJson, isUnfiltered } from "../contract/filters.ts";
import { usageError } from "../errors.ts";
import type { Target } from "../runs/plan.ts";
import { addExportOptions, type ExportFlags, readExportOptions, sameCommand } from "./export-options.ts";
import { addFilterOptions, type FilterOptions, lowerCaseHint, readFilters } from "./filter-options.ts";

/** The options of `search`, filters aside. */
export interface SearchOptions extends ExportFlags {
  /** Consent to a purchase without any filter. */
  readonly all?: boolean;
}

export function register(program: Command, context: Context): void {
  const command = program
    .command("search")
    .summary("export the people of a segment")
    .description(
      "Count a segment, price it, ask, then buy and write exactly that. Every paid page is kept in a run: the same command again goes on where this one stopped, and buys nothing twice.",
    );
  addFilterOptions(command);
  addExportOptions(command, "profiles")
    .option("--all", "buy without any filter: the whole dataset, up to --limit or --max-credits")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample search --department Legal --limit 20 --yes -o legal.csv --overwrite
  $ headcount -c sample search --department Sales --seniority-level vp --dry-run
  $ headcount -c sample search --title-prefix "chief" --max-credits 10 --fields name,title,company_name | head -3
  $ headcount -c sample search --department Sales --country france --max-credits 25 --json --receipt receipt.json`,
    )
    .action(async (_: unknown, self: Command) => {
      await run(self.optsWithGlobals<SearchOptions & FilterOptions>(), context);
    });
}

async function run(flags: SearchOptions & FilterOptions, context: Context): Promise<void> {
  const { filters, canonical } = await readFilters(context, flags);
  if (isUnfiltered(canonical) && flags.all !== true) {
    throw usageError(
      "no filter is given, so this would buy the whole dataset",
      `give a filter (headcount filters lists them), or agree with: ${sameCommand(context, "--all")}`,
      "unfiltered",
    );
  }
  const options = await readExportOptions(context, flags, "person");
  const target: Target = { kind: "search", filters, canonical: canonicalJson(canonical) };
  const [{ withSession }, { runExport }, { exportTerminal, PROFILES, printResult }] = await Promise.all([
    import("./session.ts"),
    import("../purchase/purchase.ts"),
    import("./export-run.ts"),
  ]);
  await withSession(context, flags, async (session) => {
    const terminal = await exportTerminal(session, context, flags, PROFILES);
    try {
      const result = await runExport("search", target, options, terminal.deps);
      terminal.stop();
      await printResult(result, target, options, flags, context, PROFILES);
      const hint = result.quote.matches === 0 ? lowerCaseHint(filters) : undefined;
      if (hint !== undefined) session.notice(`hint: ${hint}`);
    } finally {
      terminal.stop();
    }
  });
}
