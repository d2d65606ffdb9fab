import type { AccountView } from "../client/types.ts";
import type { Context } from "../context.ts";
import { DEPARTMENTS, SENIORITY_LEVELS } from "../contract/departments.ts";
import { checkFilters, FILTER_SPECS, type FilterKeySpec, type Filters, filterSpec } from "../contract/filters.ts";
import { creditsToNumber, formatCreditsGrouped, priceOf } from "../contract/money.ts";
import { normalForm } from "../contract/normalise.ts";
import { nearest } from "../contract/suggest.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import type { Progress } from "../terminal/progress.ts";
import { type CountOptions, noticeUnknownCost } from "./count.ts";
import type { NamedFilters } from "./filter-options.ts";
import { type Session, withSession } from "./session.ts";

// Counts are free but take turns in the rate limit; a few in flight hide the latency of each.
const IN_FLIGHT = 4;
const BAR_WIDTH = 24;

interface Part {
  readonly value: string;
  readonly count: number;
}

/** `count --by KEY`: one free count for each value of the key, and what they leave unexplained. */
export async function countBreakdown(
  segment: NamedFilters,
  by: string,
  options: CountOptions,
  context: Context,
): Promise<void> {
  const spec = breakdownKey(by);
  const values = breakdownValues(spec, segment.filters, options.values);
  await withSession(context, options, async (session) => {
    const whole = await session.client.count(segment.filters, context.interrupted);
    const counts = await countAll(
      session,
      values.map((value) => ({ ...segment.filters, [spec.key]: value })),
      options,
      context,
    );
    const parts = values
      .map((value, index): Part => ({ value, count: counts[index] ?? 0 }))
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    const unexplained = whole.count - parts.reduce((sum, part) => sum + part.count, 0);
    const format = formatOf(options, context);
    if (format === "json") {
      const document = { count: whole.count, by: spec.key, parts, unexplained, filters: segment.filters };
      context.stdout.write(`${JSON.stringify(document)}\n`);
    } else if (format === "csv") {
      const { csvDocument } = await import("../export/views/csv.ts");
      context.stdout.write(
        csvDocument(
          [spec.key, "count"],
          parts.map((part) => [part.value, part.count]),
        ),
      );
    } else await printParts(spec, whole.count, parts, unexplained, options, context);
    if (format !== "table") {
      const text = remainderText(spec, whole.count, unexplained);
      if (text !== undefined) session.notice(text);
    }
  });
}

/** `count -f A -f B`: one row for each file. */
export async function countFiles(
  sets: readonly NamedFilters[],
  options: CountOptions,
  context: Context,
): Promise<void> {
  if (options.values !== undefined) throw usageError("--values goes with --by");
  await withSession(context, options, async (session) => {
    const format =
      options.json || options.format !== undefined || context.stdout.isTTY === true
        ? formatOf(options, context)
        : "tsv";
    const priced = format === "json" || format === "table";
    const account = priced ? await session.client.account(context.interrupted) : undefined;
    const counts = await countAll(
      session,
      sets.map((set) => set.filters),
      options,
      context,
    );
    const rows = sets.map((set, index) => ({ file: set.name, filters: set.filters, count: counts[index] ?? 0 }));
    if (format === "json") context.stdout.write(`${JSON.stringify(rows.map((row) => fileDocument(row, account)))}\n`);
    else if (format === "csv") {
      const { csvDocument } = await import("../export/views/csv.ts");
      context.stdout.write(
        csvDocument(
          ["file", "count"],
          rows.map((row) => [row.file, row.count]),
        ),
      );
    } else if (format === "tsv") {
      const { tsv } = await import("../terminal/tsv.ts");
      context.stdout.write(tsv(rows.map((row) => [row.file, row.count])));
    } else await printFiles(rows, account, options, context);
    noticeUnknownCost(account, session);
  });
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
      `--by ${spec.key} needs --values: the service does not list what a ${spec.key.replaceAll("_", " ")} can be`,
      `for example --by ${spec.key} --values ${spec.key === "country" ? "france germany" : "A B"}`,
    );
  }
  const inside = inFilters === undefined ? undefined : new Set(inFilters.map(normalForm));
  const distinct = new Map(values.map((value) => [normalForm(value), value]));
  for (const [normal, value] of distinct) {
    const checked = checkFilters({ [spec.key]: value });
    if (!checked.ok) {
      const [first, ...others] = checked.issues.map((issue) => issue.message);
      throw new CliError({
        code: "invalid_filter",
        category: "usage",
        exitCode: EXIT.usage,
        message: `--values: ${first ?? "invalid"}`,
        details: others,
      });
    }
    if (inside !== undefined && !inside.has(normal)) {
      throw usageError(
        `--values ${value} is outside the segment: its filters have ${spec.key} ${[...inside].join(", ")}`,
      );
    }
  }
  return [...distinct.values()];
}

async function countAll(
  session: Session,
  segments: readonly Filters[],
  options: CountOptions,
  context: Context,
): Promise<number[]> {
  const progress = await progressOf(options, context);
  const counts = new Array<number>(segments.length).fill(0);
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  let next = 0;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < segments.length; index = next++) {
      counts[index] = (await session.client.count(segments[index] ?? {}, signal)).count;
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
    progress.stop();
  }
  return counts;
}

async function progressOf(options: CountOptions, context: Context): Promise<Progress> {
  const [{ openProgress }, { hasColor, styleFor }] = await Promise.all([
    import("../terminal/progress.ts"),
    import("../terminal/style.ts"),
  ]);
  // Off a terminal a breakdown is over before its milestones would be read.
  const enabled = options.quiet !== true && context.stderr.isTTY === true;
  const style = styleFor(hasColor(context.stderr, context.env, options.color));
  return openProgress({ stream: context.stderr, enabled, now: context.now, style, unit: "count" });
}

const formatOf = (options: CountOptions, context: Context): "table" | "csv" | "json" =>
  options.json === true ? "json" : (options.format ?? (context.stdout.isTTY === true ? "table" : "csv"));

/** What the parts do not add up to, as a sentence for a person. */
function remainderText({ key }: FilterKeySpec, whole: number, unexplained: number): string | undefined {
  const number = Math.abs(unexplained).toLocaleString("en-US");
  if (unexplained === 0) return undefined;
  if (unexplained < 0) return `the parts overlap: together they have ${number} more than the segment`;
  return `${number} of ${whole.toLocaleString("en-US")} have another ${key.replaceAll("_", " ")} or none`;
}

async function printParts(
  spec: FilterKeySpec,
  whole: number,
  parts: readonly Part[],
  unexplained: number,
  options: CountOptions,
  context: Context,
): Promise<void> {
  const [{ grouped, percent }, { renderTable }, { bar }, { hasColor, hasUnicode, styleFor, widthOfStream }] =
    await Promise.all([
      import("../terminal/numbers.ts"),
      import("../terminal/table.ts"),
      import("../terminal/bars.ts"),
      import("../terminal/style.ts"),
    ]);
  const width = widthOfStream(context.stdout);
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  const unicode = hasUnicode(context.env, context.platform);
  const rows: Part[] = unexplained > 0 ? [...parts, { value: "(another or none)", count: unexplained }] : [...parts];
  const longest = Math.max(1, ...rows.map((row) => row.count));
  const barWidth = Math.max(4, Math.min(BAR_WIDTH, width - 50));
  context.stdout.write(
    renderTable(
      [
        { title: spec.key.replaceAll("_", " ") },
        { title: "people", align: "right", fixed: true },
        { title: "share", align: "right", fixed: true },
        { title: "", fixed: true },
      ],
      rows.map(({ value, count }) => [
        value,
        grouped(count),
        percent(count, whole),
        bar(count / longest, barWidth, unicode),
      ]),
      { width, style },
    ),
  );
  context.stdout.write(`${style.strong(grouped(whole))} ${whole === 1 ? "person" : "people"} in all\n`);
  if (unexplained < 0) context.stdout.write(`${remainderText(spec, whole, unexplained)}\n`);
}

interface FileRow {
  readonly file: string;
  readonly filters: Filters;
  readonly count: number;
}

function fileDocument({ file, filters, count }: FileRow, account: AccountView | undefined) {
  const unit = account?.costs.personSearch;
  return {
    file,
    count,
    filters,
    unit_cost: unit === undefined ? null : creditsToNumber(unit),
    max_cost: unit === undefined ? null : creditsToNumber(priceOf(count, unit)),
  };
}

async function printFiles(
  rows: readonly FileRow[],
  account: AccountView | undefined,
  options: CountOptions,
  context: Context,
): Promise<void> {
  const [{ grouped }, { renderTable }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/numbers.ts"),
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const unit = account?.costs.personSearch;
  context.stdout.write(
    renderTable(
      [
        { title: "file" },
        { title: "people", align: "right", fixed: true },
        { title: "credits at most", align: "right", fixed: true },
      ],
      rows.map(({ file, count }) => [
        file,
        grouped(count),
        unit === undefined ? "" : formatCreditsGrouped(priceOf(count, unit)),
      ]),
      {
        width: widthOfStream(context.stdout),
        style: styleFor(hasColor(context.stdout, context.env, options.color)),
      },
    ),
  );
}
