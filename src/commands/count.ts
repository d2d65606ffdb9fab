import { type Command, Option } from "commander";
import type { AccountView, CountView } from "../client/types.ts";
import type { Context } from "../context.ts";
import { DEPARTMENTS, SENIORITY_LEVELS } from "../contract/departments.ts";
import {
  checkFilters,
  FILTER_KEYS,
  FILTER_SPECS,
  type FilterKeySpec,
  type Filters,
  filterSpec,
} from "../contract/filters.ts";
import { affordableRows, type Credits, creditsToNumber, formatCreditsGrouped, priceOf } from "../contract/money.ts";
import { normalForm } from "../contract/normalise.ts";
import { nearest } from "../contract/suggest.ts";
import { counted, grouped } from "../contract/text.ts";
import { usageError } from "../errors.ts";
import { collect, type GlobalOptions, offering } from "../options.ts";
import { Printer } from "../terminal/printer.ts";
import { type Part, printParts, words } from "./count-parts.ts";
import {
  addExceptOption,
  addFilterOptions,
  type FilterOptions,
  invalidFilter,
  type NamedFilters,
  readSegmentSet,
  type SegmentSet,
} from "./filter-options.ts";
import { type Session, withSession } from "./session.ts";

const FORMATS = ["table", "csv", "json"] as const;

export interface CountOptions extends GlobalOptions {
  readonly by?: string;
  readonly values?: readonly string[];
  readonly format?: (typeof FORMATS)[number];
  readonly union?: boolean;
  readonly owned?: boolean;
  readonly test?: boolean;
}

export type CountRequest =
  | { readonly kind: "one"; readonly segment: NamedFilters; readonly options: CountOptions }
  | { readonly kind: "files"; readonly segments: readonly NamedFilters[]; readonly options: CountOptions }
  /** One number of several: whoever is in at least one of them, without those of others. */
  | { readonly kind: "set"; readonly set: SegmentSet; readonly options: CountOptions }
  | {
      readonly kind: "parts";
      readonly segment: NamedFilters;
      readonly by: FilterKeySpec;
      readonly values: readonly string[];
      readonly options: CountOptions;
    };

/** @param run what is done with a request: tests of parsing hand in another */
export function register(program: Command, context: Context, run = runCount): void {
  const by = new Option("--by <key>", "break the segment down by this filter key, with one free count a value");
  const command = program
    .command("count")
    .summary("count the people in a segment (free)")
    .description(
      "Count the people that match the filters, exactly and for free, with what buying them would cost at most.",
    )
    .addOption(offering(by, { kind: "list", values: FILTER_KEYS }))
    .addOption(
      new Option(
        "--values <value>",
        "a value to break down by; again for more (department and seniority-level need none)",
      ).argParser(collect),
    )
    .addOption(
      new Option("--format <format>", "of a breakdown or of several segments: table, csv or json").choices(FORMATS),
    )
    .option("--union", "one count of several segments: whoever is in at least one of them")
    .option("--owned", "count who you own instead: offline, and --by needs no values")
    .addOption(new Option("--test", "with --owned: what test keys bought").implies({ owned: true }));
  addExceptOption(addFilterOptions(command))
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample count --department Sales
  $ headcount -c sample count --department Sales --department Marketing --connections-min 500 --json
  $ headcount -c sample count --seniority-level director --by department
  $ headcount -c sample count --owned --by country
  $ echo '{"department": "Legal"}' | headcount -c sample count -f -
  $ printf 'france\\ngermany\\n' | headcount -c sample count --department Legal --country @-

A pipe gets the bare number. Of several segments (-s, -f) there is one row each, and with --union or --except one number.`,
    )
    .action(async (_: unknown, self: Command) => {
      await run(await parse(self.optsWithGlobals<CountOptions & FilterOptions>(), context), context);
    });
}

async function parse(options: CountOptions & FilterOptions, context: Context): Promise<CountRequest> {
  const set = await readSegmentSet(context, options);
  const { segments, except } = set;
  const [segment, ...others] = segments;
  if (options.union === true || except.length > 0) {
    const wrong = (["by", "values", "format", "owned"] as const).find((name) => options[name] !== undefined);
    if (wrong === undefined) return { kind: "set", set, options };
    throw usageError(`--${wrong} does not go with --union and --except`, "these make one number");
  }
  if (options.by !== undefined) {
    if (segment === undefined || others.length > 0)
      throw usageError("--by breaks one segment down; name one with -f or -s");
    const by = breakdownKey(options.by);
    const isKnown = options.owned === true && options.values === undefined;
    const values = isKnown ? [] : breakdownValues(by, segment.filters, options.values);
    return { kind: "parts", segment, by, values, options };
  }
  if (options.values !== undefined)
    throw usageError("--values goes with --by", "for example --by country --values france");
  if (segment === undefined || others.length > 0) return { kind: "files", segments, options };
  if (options.format !== undefined) {
    throw usageError("--format goes with --by or several segments", "--json prints the count as a JSON document");
  }
  return { kind: "one", segment, options };
}

function breakdownKey(by: string): FilterKeySpec {
  const key = by.trim().toLowerCase().replaceAll("-", "_");
  const spec = filterSpec(key);
  const usable = FILTER_SPECS.filter(({ match }) => match !== "range").map((known) => known.key);
  if (spec === undefined) {
    const near = nearest(key, usable);
    const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
    throw usageError(`--by takes a filter key, not "${by}"${hint}; keys: ${usable.join(", ")}`);
  }
  if (spec.match === "range") {
    throw usageError(`--by ${key} makes no parts: it is a range; keys: ${usable.join(", ")}`);
  }
  return spec;
}

/** The values to count: as given, else those of the filters themselves, else all that the key can have. */
function breakdownValues(spec: FilterKeySpec, filters: Filters, given: readonly string[] | undefined): string[] {
  const own = filters[spec.key];
  const inFilters = own === undefined ? undefined : [own].flat().map(String);
  const known = spec.key === "department" ? DEPARTMENTS : spec.key === "seniority_level" ? SENIORITY_LEVELS : undefined;
  const values = given ?? inFilters ?? known;
  if (values === undefined) {
    throw usageError(
      `--by ${spec.key} needs --values: the service does not list what a ${words(spec)} can be`,
      `for example --by ${spec.key} --values ${spec.key === "country" ? "france --values germany" : "A --values B"}`,
    );
  }
  const inside = inFilters === undefined ? undefined : new Set(inFilters.map(normalForm));
  const distinct = new Map(values.map((value) => [normalForm(value), value]));
  for (const [normal, value] of distinct) {
    const checked = checkFilters({ [spec.key]: value });
    if (!checked.ok) throw invalidFilter(checked.issues, "--values: ");
    if (inside !== undefined && !inside.has(normal)) {
      throw usageError(
        `--values ${value} is outside the segment: its filters have ${spec.key} ${[...inside].join(", ")}`,
      );
    }
  }
  return [...distinct.values()];
}

async function runCount(request: CountRequest, context: Context): Promise<void> {
  const { options } = request;
  if (options.owned === true && request.kind !== "set") return countOwnedAs(request, context);
  const printer = new Printer(context, options);
  await withSession(context, options, async (session) => {
    if (request.kind === "set") await countSet(request.set, session, printer, context);
    else if (request.kind === "one") await countOne(request.segment.filters, session, printer, context);
    else if (request.kind === "files") await countFiles(request.segments, options, session, printer, context);
    else await countParts(request, session, printer, context);
  });
}

async function countOwnedAs(request: Exclude<CountRequest, { kind: "set" }>, context: Context): Promise<void> {
  const segments = request.kind === "files" ? request.segments : [request.segment];
  const { by, values } = request.kind === "parts" ? request : { by: undefined, values: [] };
  const { countOwned } = await import("./owned/count.ts");
  await countOwned({ segments, by, values, format: request.options.format }, request.options, context);
}

async function countOne(filters: Filters, session: Session, printer: Printer, context: Context): Promise<void> {
  const priced = printer.json || printer.terminal;
  const [count, account] = await Promise.all([
    session.client.count(filters, context.interrupted),
    priced ? session.client.account(context.interrupted) : undefined,
  ]);
  if (account === undefined) printer.text(`${count.count}\n`);
  else if (printer.json) printer.document(countDocument(count, account, filters));
  else await printCount(count, account, printer);
  noticeUnknownCost(account, session);
  if (count.count > 0 || printer.quiet || Object.keys(filters).length === 0) return;
  const { whyEmpty } = await import("./empty-count.ts");
  for (const hint of await whyEmpty(filters, session, context.interrupted)) printer.note(`hint: ${hint}`);
}

async function countSet(
  { segments, except }: SegmentSet,
  session: Session,
  printer: Printer,
  context: Context,
): Promise<void> {
  const { countJoined, isSet, searchTarget } = await import("../purchase/joined.ts");
  const target = searchTarget(segments, except);
  if (!isSet(target)) return countOne(target.filters, session, printer, context);
  const people = await countJoined(target, { count: (filters) => session.client.count(filters, context.interrupted) });
  const account = printer.json || printer.terminal ? await session.client.account(context.interrupted) : undefined;
  const { filters, union = [filters], except: without = [] } = target;
  if (account === undefined) return printer.text(`${people}\n`);
  const count = { count: people, cached: undefined, asOf: undefined, meta: account.meta };
  if (printer.json) printer.document(countDocument(count, account, { union, except: without }));
  else await printCount(count, account, printer);
  noticeUnknownCost(account, session);
}

function noticeUnknownCost(account: AccountView | undefined, session: Session): void {
  if (account?.unknownCosts.some((call) => call.includes("search"))) {
    session.notice("warning: the account does not say what a profile costs; 1 credit is assumed");
  }
}

/** `count --json`. Credits are JSON numbers; what the service does not tell is null. */
function countDocument(count: CountView, account: AccountView, filters: unknown) {
  const unit = account.costs.personSearch;
  const balance = account.balance ?? count.meta.creditsRemaining;
  return {
    count: count.count,
    cached: count.cached ?? null,
    as_of: count.asOf ?? null,
    filters,
    unit_cost: creditsToNumber(unit),
    max_cost: creditsToNumber(priceOf(count.count, unit)),
    credits_remaining: balance === undefined ? null : creditsToNumber(balance),
  };
}

async function printCount({ count, cached, asOf }: CountView, account: AccountView, printer: Printer): Promise<void> {
  const { balance, costs } = account;
  const most = priceOf(count, costs.personSearch);
  const credits = (amount: Credits): string =>
    `${formatCreditsGrouped(amount)} ${formatCreditsGrouped(amount) === "1" ? "credit" : "credits"}`;
  const enough = (): string =>
    `, enough for ${counted(affordableRows(balance ?? most, costs.personSearch), "profile")}`;
  const short = balance !== undefined && balance < most ? enough() : "";
  printer.text(`${printer.style.strong(grouped(count))} ${count === 1 ? "person" : "people"}\n`);
  await printer.card(
    [
      ["price", `${credits(costs.personSearch)} a profile`],
      ["at most", credits(most)],
      ["balance", balance === undefined ? undefined : `${credits(balance)}${short}`],
      ["counted", cached === true && asOf !== undefined ? `${asOf} (from the service's cache)` : undefined],
    ],
    2,
  );
}

async function countFiles(
  segments: readonly NamedFilters[],
  options: CountOptions,
  session: Session,
  printer: Printer,
  context: Context,
): Promise<void> {
  const format = formatOf(options, printer);
  const account =
    format === "json" || format === "table" ? await session.client.account(context.interrupted) : undefined;
  const unit = account?.costs.personSearch;
  const counts = await countAll(
    session,
    segments.map(({ filters }) => filters),
    options,
    context,
  );
  const rows = segments.map(({ name, filters }, index) => ({ segment: name, filters, count: counts[index] ?? 0 }));
  const cost = (count: number): number | null => (unit === undefined ? null : creditsToNumber(priceOf(count, unit)));
  if (format === "json") {
    const unitCost = unit === undefined ? null : creditsToNumber(unit);
    const documents = rows.map(({ segment, count, filters }) => {
      return { segment, count, filters, unit_cost: unitCost, max_cost: cost(count) };
    });
    printer.document(documents);
  } else if (format === "csv") {
    const { csvDocument } = await import("../render/csv.ts");
    printer.text(
      csvDocument(
        ["segment", "count"],
        rows.map(({ segment, count }) => [segment, count]),
      ),
    );
  } else {
    const price = (count: number): string => (unit === undefined ? "" : formatCreditsGrouped(priceOf(count, unit)));
    await printer.rows(
      [
        { title: "segment" },
        { title: "people", align: "right", fixed: true, show: (count) => grouped(Number(count)) },
        { title: "credits at most", align: "right", fixed: true, only: "terminal" },
      ],
      rows.map(({ segment, count }) => [segment, count, price(count)]),
    );
  }
  noticeUnknownCost(account, session);
}

/** `count --by KEY`: one free count for each value of the key, and what they leave unexplained. */
async function countParts(
  { segment, by, values, options }: CountRequest & { readonly kind: "parts" },
  session: Session,
  printer: Printer,
  context: Context,
): Promise<void> {
  const { filters } = segment;
  const whole = await session.client.count(filters, context.interrupted);
  const segments = values.map((value) => ({ ...filters, [by.key]: value }));
  const counts = await countAll(session, segments, options, context);
  const parts = values.map((value, index): Part => ({ value, count: counts[index] ?? 0 }));
  const found = { by, whole: whole.count, parts, filters };
  await printParts(found, formatOf(options, printer) ?? "csv", printer);
}

/** The form of a breakdown or of several files: as asked, else a table on a terminal; undefined is what the pipe gets. */
const formatOf = (options: CountOptions, printer: Printer): CountOptions["format"] =>
  printer.json ? "json" : (options.format ?? (printer.terminal ? "table" : undefined));

// Counts are free but take turns in the rate limit; a few in flight hide the latency of each.
const IN_FLIGHT = 4;

/** One free count for each segment, in their order, with a spinner. The first failure ends all of them. */
async function countAll(
  session: Session,
  segments: readonly Filters[],
  options: CountOptions,
  context: Context,
): Promise<number[]> {
  const { openProgress } = await import("../terminal/progress.ts");
  const { noteStyle: style, unicode } = new Printer(context, options);
  const enabled = options.quiet !== true && context.stderr.isTTY === true;
  const progress = openProgress({ stream: context.stderr, enabled, now: context.now, style, unicode, unit: "count" });
  session.pauses.show = progress.wait;
  const counts = new Array<number>(segments.length).fill(0);
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  let next = 0;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < segments.length; index = next++) {
      counts[index] = (await session.client.count(segments[index] ?? {}, signal)).count;
      progress.wait(undefined);
      progress.update({ done: ++done, total: segments.length });
    }
  };
  const workers = Array.from({ length: Math.min(IN_FLIGHT, segments.length) }, worker);
  try {
    await Promise.all(workers);
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(workers);
    throw error;
  } finally {
    session.pauses.show = undefined;
    progress.stop();
  }
  return counts;
}
