import type { Context } from "../context.ts";
import { DEPARTMENTS, SENIORITY_LEVELS } from "../contract/departments.ts";
import { checkFilters, FILTER_SPECS, type FilterKeySpec, type Filters, filterSpec } from "../contract/filters.ts";
import { normalForm } from "../contract/normalise.ts";
import { nearest } from "../contract/suggest.ts";
import { grouped } from "../contract/text.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import type { CountOptions } from "./count.ts";
import { countAll, formatOf } from "./count-many.ts";
import type { NamedFilters } from "./filter-options.ts";
import { withSession } from "./session.ts";

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
    const format = formatOf(options, context, "csv");
    if (format === "json") {
      const document = { count: whole.count, by: spec.key, parts, unexplained, filters: segment.filters };
      context.stdout.write(`${JSON.stringify(document)}\n`);
    } else if (format === "csv") {
      const { csvDocument } = await import("../output/csv.ts");
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

/** What the parts do not add up to, as a sentence for a person. */
function remainderText({ key }: FilterKeySpec, whole: number, unexplained: number): string | undefined {
  const number = grouped(Math.abs(unexplained));
  if (unexplained === 0) return undefined;
  if (unexplained < 0) return `the parts overlap: together they have ${number} more than the segment`;
  return `${number} of ${grouped(whole)} have another ${key.replaceAll("_", " ")} or none`;
}

async function printParts(
  spec: FilterKeySpec,
  whole: number,
  parts: readonly Part[],
  unexplained: number,
  options: CountOptions,
  context: Context,
): Promise<void> {
  const [{ percent }, { renderTable }, { bar }, { hasColor, hasUnicode, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/numbers.ts"),
    import("../terminal/table.ts"),
    import("../terminal/bars.ts"),
    import("../terminal/style.ts"),
  ]);
  const width = widthOfStream(context.stdout);
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  const unicode = hasUnicode(context.env, context.platform);
  const rows: Part[] = unexplained > 0 ? [...parts, { value: "(another or none)", count: unexplained }] : [...parts];
  // The remainder is no part: its bar would only flatten those of the parts.
  const longest = Math.max(1, ...parts.map((part) => part.count));
  const barWidth = Math.max(4, Math.min(BAR_WIDTH, width - 50));
  context.stdout.write(
    renderTable(
      [
        { title: spec.key.replaceAll("_", " ") },
        { title: "people", align: "right", fixed: true },
        { title: "share", align: "right", fixed: true },
        { title: "", fixed: true, paint: style.bar },
      ],
      rows.map(({ value, count }, index) => [
        value,
        grouped(count),
        percent(count, whole),
        index < parts.length ? bar(count / longest, barWidth, unicode) : "",
      ]),
      { width, style },
    ),
  );
  context.stdout.write(`${style.strong(grouped(whole))} ${whole === 1 ? "person" : "people"} in all\n`);
  if (unexplained < 0) context.stdout.write(`${remainderText(spec, whole, unexplained)}\n`);
}
