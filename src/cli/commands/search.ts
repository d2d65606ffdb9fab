import { narrowed } from "../../app/buy/options.ts";
import { searchTarget } from "../../engine/purchase/joined.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { usageError } from "../../shared/errors.ts";
import {
  addExportOptions,
  BUYING,
  type ExportFlags,
  readExportOptions,
  sameCommand,
} from "../arguments/export-options.ts";
import {
  addExceptOption,
  addFilterOptions,
  type FilterOptions,
  readSegmentSet,
} from "../arguments/filter-options.ts";
import {
  addNewOnlyOptions,
  addSamplingOptions,
  type NewOnlyFlags,
  readSampling,
  type SamplingFlags,
} from "../arguments/sampling-options.ts";
import type { Command } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";

export interface SearchOptions
  extends ExportFlags,
    NewOnlyFlags,
    Omit<SamplingFlags, "limit" | "perPage"> {
  readonly all?: boolean;
  readonly ids?: string;
  readonly strict?: boolean;
}

export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("search")
    .description(
      "Count a segment, price it, ask, then buy and write exactly that. " +
        "Every paid page is kept in a run: the same command again goes on " +
        "where this one stopped, and buys nothing twice.",
    );

  addExceptOption(addFilterOptions(command));
  addNewOnlyOptions(addSamplingOptions(addExportOptions(command, "person")))
    .option("--new-anywhere", "as --new-only, and nobody whom you own from another service")
    .option("--with-owned", "as --new-only, and write those you own beside them at 0 credits")
    .option("--ids <file>", "buy nobody: write the ids that a vendor finds for nothing")
    .option("--all", "buy without any filter: the whole dataset, up to --limit or --max-credits")
    .option(
      "--strict",
      "buy nothing where nobody matches one of several values of a filter (exit 5)",
    )
    .examples(`
  $ headcount -c sample search --department Sales --seniority-level vp --dry-run
  $ headcount -c sample search --department Legal --limit 20 --yes -o legal.csv --overwrite
  $ headcount -c sample search --department Sales --country france --new-only --dry-run
  $ headcount -c sample search --department Legal --limit 20 --yes -o duckdb:crm.duckdb#people
  $ headcount -c sample search --department Sales --sample 25 --seed 7 --max-credits 25 --fields \
name,title
  $ headcount -c sample search --title-prefix "chief" --max-credits 10 --fields \
name,title,company_name | head -3
  $ headcount -c sample search --department Sales --country france --max-credits 25 --json \
--receipt receipt.json
  $ echo '{"country": "france"}' > fr.json
  $ echo '{"department": "Legal"}' > legal.json
  $ headcount -c sample search -f fr.json --except legal.json --dry-run

Of several segments (-s, -f) everybody is bought once.`)
    .does(BUYING, async (flags: SearchOptions & FilterOptions) => {
      if (flags.ids === undefined) return await run(await parse(flags, context), context);
      return await (await import("./ids.ts")).findIds(flags.ids, flags, context);
    });
}

async function parse(
  flags: SearchOptions & FilterOptions,
  context: Context,
): Promise<ParsedPurchase> {
  const { segments, except } = await readSegmentSet(context, flags);
  const sample = readSampling(flags);
  const everybody = segments.some(({ canonical }) => isUnfiltered(canonical));
  if (everybody && flags.all !== true && sample === undefined) {
    throw usageError(
      "no filter is given, so this would buy the whole dataset",
      "give a filter (headcount filters lists them), or agree with: " +
        `${sameCommand(context, "--all")}`,
      "unfiltered",
    );
  }

  const options = readExportOptions(context, flags, "person");
  const segment = searchTarget(segments, except);
  const target = narrowed(sample === undefined ? segment : { ...segment, sample }, flags);
  return {
    order: { ...options, target, maxCalls: flags.maxCalls, strict: flags.strict === true },
    flags,
  };
}
