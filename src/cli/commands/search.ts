import { searchTarget } from "../../engine/purchase/joined.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { usageError } from "../../shared/errors.ts";
import { addExportOptions, type ExportFlags, readExportOptions, sameCommand } from "../arguments/export-options.ts";
import {
  addExceptOption,
  addFilterOptions,
  type FilterOptions,
  readFilters,
  readSegmentSet,
  valuesGiven,
} from "../arguments/filter-options.ts";
import {
  addNewOnlyOptions,
  addSamplingOptions,
  boundsOf,
  type NewOnlyFlags,
  narrowed,
  readSampling,
  type SamplingFlags,
} from "../arguments/sampling-options.ts";
import { type Command, Option } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";
import { buyParsed } from "../purchase/unattended.ts";

export interface SearchOptions extends ExportFlags, NewOnlyFlags, Omit<SamplingFlags, "limit" | "perPage"> {
  readonly all?: boolean;
  readonly strict?: boolean;
  readonly owned?: boolean;
  readonly test?: boolean;
}

export function register(program: Command, context: Context, run: typeof buy = buy): void {
  const command = program
    .command("search")
    .description(
      "Count a segment, price it, ask, then buy and write exactly that. Every paid page is kept in a run: the same command again goes on where this one stopped, and buys nothing twice.",
    );
  addExceptOption(addFilterOptions(command));
  addNewOnlyOptions(addSamplingOptions(addExportOptions(command, "person")))
    .option("--all", "buy without any filter: the whole dataset, up to --limit or --max-credits")
    .option("--strict", "buy nothing where nobody matches one of several values of a filter (exit 5)")
    .option("--owned", "write who you own instead: offline, 0 credits")
    .addOption(new Option("--test", "with --owned: what test keys bought").implies({ owned: true }))
    .examples(`
  $ headcount -c sample search --department Sales --seniority-level vp --dry-run
  $ headcount -c sample search --department Legal --limit 20 --yes -o legal.csv --overwrite
  $ headcount -c sample search --department Sales --country france --new-only --dry-run
  $ headcount -c sample search --department Legal --limit 20 --yes -o duckdb:crm.duckdb#people
  $ headcount -c sample search --department Sales --sample 25 --seed 7 --max-credits 25 --fields name,title
  $ headcount -c sample search --country france --spread seniority_level:2 --dry-run
  $ headcount -c sample search --title-prefix "chief" --max-credits 10 --fields name,title,company_name | head -3
  $ headcount -c sample search --department Sales --country france --max-credits 25 --json --receipt receipt.json
  $ echo '{"country": "france"}' > fr.json
  $ echo '{"department": "Legal"}' > legal.json
  $ headcount -c sample search -f fr.json --except legal.json --dry-run

Of several segments (-s, -f) everybody is bought once.`)
    .does(async (flags: SearchOptions & FilterOptions) => {
      if (flags.owned === true) await searchOwned(flags, context);
      else await buyParsed("search", flags, context, () => parse(flags, context), run);
    });
}

const OF_BUYING = [
  "sample",
  "spread",
  "seed",
  "maxCredits",
  "yes",
  "dryRun",
  "again",
  "receipt",
  "requireComplete",
  "strict",
  "newOnly",
  "withOwned",
] as const;

async function searchOwned(flags: SearchOptions & FilterOptions, context: Context): Promise<void> {
  const wrong = OF_BUYING.find((name) => flags[name as keyof typeof flags] !== undefined);
  if (wrong !== undefined) {
    const flag = `--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw usageError(`${flag} is about buying, and --owned buys nothing`, `leave one of them out`);
  }
  if (flags.except !== undefined)
    throw usageError("--except goes with buying, not with --owned", "leave one of them out");
  const { exportOwned } = await import("./owned/export.ts");
  await exportOwned((await readFilters(context, flags)).canonical, flags, context);
}

async function parse(flags: SearchOptions & FilterOptions, context: Context): Promise<ParsedPurchase> {
  const { segments, except } = await readSegmentSet(context, flags);
  const values = flags.values === undefined ? {} : { values: await valuesGiven(context, "--values", flags.values) };
  const sample = readSampling({ ...flags, ...values }, segments, except);
  const everybody = segments.some(({ canonical }) => isUnfiltered(canonical));
  if (everybody && flags.all !== true && sample === undefined) {
    throw usageError(
      "no filter is given, so this would buy the whole dataset",
      `give a filter (headcount filters lists them), or agree with: ${sameCommand(context, "--all")}`,
      "unfiltered",
    );
  }
  const options = readExportOptions(context, flags, "person");
  const segment = searchTarget(segments, except);
  const target = narrowed(sample === undefined ? segment : { ...segment, sample }, flags);
  return { order: { ...options, target, looking: boundsOf(flags), strict: flags.strict === true }, flags };
}
