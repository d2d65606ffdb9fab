import type { CountedSegment } from "../../../app/count/hints.ts";
import { type Context, canPrompt } from "../../../shared/context.ts";
import type { CheckedFilters } from "../../../shared/contract/filters.ts";
import { type Credits, creditsText, formatCredits } from "../../../shared/contract/money.ts";
import { FILTER_KEYS } from "../../../shared/contract/vocabulary.ts";
import { declined, failed, option, say, usageError } from "../../../shared/errors.ts";
import {
  addExceptOption,
  addFilterOptions,
  type FilterOptions,
  readSegmentSet,
} from "../../arguments/filter-options.ts";
import { creditAmount } from "../../arguments/settings.ts";
import { type Command, collect, modeOption, Option, offering } from "../../options.ts";
import { withSession } from "../../session.ts";
import { Printer } from "../../terminal/printer.ts";
import {
  type CountDesk,
  type CountOptions,
  type CountRequest,
  countOne,
  countSet,
  pricesFor,
  tell,
} from "./one.ts";

export function register(program: Command, context: Context, run = runCount): void {
  const by = new Option(
    "--by <key>",
    "break it down by a filter key, or by KEY=VALUE again and again",
  ).argParser(collect);
  const command = program
    .command("count")
    .description(
      "Count the people that match the filters, exactly and for free, " +
        "with what buying them would cost at most.",
    )
    .addOption(offering(by, { kind: "list", values: FILTER_KEYS }))
    .number("--top <n>", "with --by: the n most frequent values (20)", [1, 1_000])
    .option(
      "--strict",
      "end with 5 where nobody matches, or nobody matches one of several values of a filter",
    )
    .option("--union", "one count of several segments: whoever is in at least one of them")
    .option("--owned", "count who you own instead: offline")
    .option("--max-credits <n>", "where a count costs credits: spend at most this", creditAmount)
    .option("-y, --yes", "where a count costs credits: buy it without asking")
    .addOption(modeOption().implies({ owned: true }));

  addExceptOption(addFilterOptions(command))
    .examples(`
  $ headcount -c sample count --department Sales
  $ headcount -c sample count --department Sales --department Marketing --connections-min 500 --json
  $ headcount -c sample count --seniority-level director --by department
  $ headcount -c sample count --by country=france --by country=germany
  $ headcount -c sample count --owned --by country
  $ echo '{"department": "Legal"}' | headcount -c sample count -f -
  $ printf 'france\\ngermany\\n' | headcount -c sample count --department Legal --country @-

A pipe gets the bare number. Of several segments (-s, -f) there is one row each, and with --union \
or --except one number.`)
    .does(
      `asks account key count facets
      reads connection given segments runs library suppression
      writes library runs pacing
      exits 3 4 5 7 8 9 10 130`,
      async (options: CountOptions & FilterOptions) => run(await parse(options, context), context),
    );
}

async function parse(
  options: CountOptions & FilterOptions,
  context: Context,
): Promise<CountRequest> {
  const set = await readSegmentSet(context, options);
  const { segments, except } = set;
  const [segment, ...others] = segments;

  if (options.union === true || except.length > 0) {
    const wrong = (["by", "owned"] as const).find((name) => options[name] !== undefined);
    if (wrong === undefined) return { kind: "set", set, options };
    throw usageError(`--${wrong} does not go with --union and --except`, "these make one number");
  }

  if (options.by !== undefined) {
    if (segment === undefined || others.length > 0)
      throw usageError("--by breaks one segment down; name one with -f or -s");
    const { readByKey } = await import("./by.ts");
    return {
      kind: "parts",
      segment,
      by: await readByKey(context, options, segment.filters),
      options,
    };
  }

  if (options.top !== undefined)
    throw usageError("--top goes with --by", "for example --by country --top 10");
  if (segment === undefined || others.length > 0) return { kind: "files", segments, options };

  return { kind: "one", segment, options };
}

async function runCount(request: CountRequest, context: Context): Promise<void> {
  const { options } = request;
  if (options.owned === true && request.kind !== "set") return countOwnedAs(request, context);

  const printer = new Printer(context, options);
  await withSession(context, options, async (session) => {
    const segments = await countAs(request, { options, session, printer, context });
    const strict = options.strict === true;

    const suspect = ({ filters, count = 0 }: CountedSegment): boolean =>
      count === 0 ||
      Object.values(filters).some((value) => Array.isArray(value) && value.length > 1);

    if (!strict && !segments.some(suspect)) return;

    const { tellHints } = await import("../../../app/count/hints.ts");
    await tellHints(
      segments,
      { strict, session, say: printer.quiet ? undefined : (text) => printer.note(text) },
      context.interrupted,
    );
  });
}

async function countAs(
  request: CountRequest,
  counting: CountDesk,
): Promise<readonly CountedSegment[]> {
  if (request.kind === "set") return await countSet(request.set, counting);
  const { counting: price } = counting.session.client.dialect;
  if (request.kind === "one" && price !== undefined)
    return await countPaid(request.segment, counting);
  if (request.kind === "one") return await countOne(request.segment, counting);
  if (request.kind === "files") {
    const { countFiles } = await import("./several.ts");
    return await countFiles(request.segments, counting);
  }
  const { countParts } = await import("./by.ts");
  return await countParts(request, counting);
}

/** @returns nobody of whom hints would be looked for: those are found by counts */
async function countPaid(
  segment: CheckedFilters,
  desk: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { context, options, session } = desk;
  const [{ countBought }, { buy }, { worldOf }] = await Promise.all([
    import("../../../app/count/bought.ts"),
    import("../../../app/buy/buy.ts"),
    import("../../../app/buy/order.ts"),
  ]);
  const agree = (price: Credits): Promise<void> => agreeToCount(price, desk);
  const terms = { maxCredits: options.maxCredits, agree, buy };

  const count = await countBought(segment, terms, worldOf(session, context));
  await tell({ count }, await pricesFor(desk), segment.filters, desk);
  if (count === 0 && options.strict === true)
    throw failed.incomplete(say`nobody matches (${option("strict")})`);
  return [];
}

async function agreeToCount(price: Credits, { context, options }: CountDesk): Promise<void> {
  const asks = canPrompt(context);
  if (options.yes === true || (!asks && options.maxCredits !== undefined)) return;

  const cost = creditsText(price);
  if (!asks) {
    const { sameCommand } = await import("../../arguments/export-options.ts");
    throw usageError(
      `this count costs ${cost}, and there is no terminal to ask at; nothing was spent`,
      sameCommand(context, "--max-credits", formatCredits(price)),
      "consent_needed",
    );
  }

  if (!(await context.confirm(`Count for ${cost}? [y/N]`)))
    throw declined("declined; nothing was spent");
}

async function countOwnedAs(
  request: Exclude<CountRequest, { kind: "set" }>,
  context: Context,
): Promise<void> {
  const { options } = request;
  const segments = request.kind === "files" ? request.segments : [request.segment];
  const { spec: by, values = [] } = request.kind === "parts" ? request.by : {};
  const [{ countOwned }, { atLibrary }] = await Promise.all([
    import("./parts.ts"),
    import("../owned/shelf.ts"),
  ]);
  await atLibrary(context, countOwned)(options, { segments, by, values, top: options.top });
}
