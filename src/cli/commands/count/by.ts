import type { CountedSegment } from "../../../app/count/hints.ts";
import type { KnownValues } from "../../../app/count/values.ts";
import type { Context } from "../../../shared/context.ts";
import { aside, nearest } from "../../../shared/contract/suggest.ts";
import {
  FILTER_SPECS,
  type FilterKeySpec,
  type Filters,
  filterSpec,
} from "../../../shared/contract/vocabulary.ts";
import { type CliError, usageError } from "../../../shared/errors.ts";
import { keyName, valuesGiven, valuesWithin } from "../../arguments/filter-options.ts";
import type { ByKey, CountDesk, CountOptions, CountRequest } from "./one.ts";
import { largest, printParts, words } from "./parts.ts";
import { countAll } from "./several.ts";

const TOP = 20;

/** The key of --by with the values to count. @throws CliError (exit 2) before any request */
export async function readByKey(
  context: Context,
  { by = [], owned }: CountOptions,
  filters: Filters,
): Promise<ByKey> {
  const keys = new Map<FilterKeySpec, readonly string[]>();
  for (const word of by) {
    const [key = "", value] = word.split(/=(.*)/s, 2);
    const spec = breakdownKey(key);
    const before = keys.get(spec);
    if (before !== undefined && value === undefined) throw wrongKeys();
    const values = value === undefined ? [] : await valuesGiven(context, "--by", [value]);
    keys.set(spec, [...(before ?? []), ...values]);
  }

  const [first, another] = keys;
  if (first === undefined || another !== undefined) throw wrongKeys();

  const [spec, own] = first;
  const values = own.length === 0 ? undefined : own;
  if (owned === true && values === undefined) return { spec, values };

  return { spec, values: valuesWithin(spec.key, filters, values) };
}

const wrongKeys = (): CliError =>
  usageError(
    "--by takes one key, again for more of its values",
    "--by KEY=VALUE; of two keys, a value of one as a filter: --country france --by department",
  );

function breakdownKey(by: string): FilterKeySpec {
  const key = keyName(by);
  const spec = filterSpec(key);
  const usable = FILTER_SPECS.filter(({ match }) => match !== "range").map((spec) => spec.key);

  if (spec === undefined) {
    throw usageError(
      `--by takes a filter key, not "${by}"${aside(nearest(key, usable))}; ` +
        `keys: ${usable.join(", ")}`,
    );
  }
  if (spec.match === "range") {
    throw usageError(`--by ${key} makes no parts: it is a range; keys: ${usable.join(", ")}`);
  }

  return spec;
}

export async function countParts(
  { segment, by }: CountRequest & { readonly kind: "parts" },
  counting: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { options, printer, session } = counting;
  const { filters } = segment;
  const { spec } = by;
  const facet = by.values === undefined ? await listedFor(spec, filters, counting) : undefined;
  if (facet?.from === "service") {
    const { values: parts, whole = 0, others, missing } = facet;
    await printParts({ by: spec, whole, parts, filters, rest: { others, missing } }, printer);
    return [{ filters, count: whole }];
  }

  const values = by.values ?? facet?.values.map(({ value }) => value) ?? [];
  const each = values.map((value) => ({ ...filters, [spec.key]: value }));
  for (const part of each) session.client.dialect.tries?.(part);
  const [total = { count: 0 }, ...counts] = await countAll([filters, ...each], counting);
  const parts = values.map((value, index) => ({ value, count: counts[index]?.count ?? 0 }));
  await printParts(
    { by: spec, whole: total.count, parts: largest(parts, options.top), filters },
    printer,
  );

  return [{ filters, count: total.count }];
}

/** @throws CliError exit 2 where nobody knows any values of the key */
async function listedFor(
  spec: FilterKeySpec,
  filters: Filters,
  { context, options: { top = TOP, json }, printer, session }: CountDesk,
): Promise<KnownValues> {
  const { valuesIn } = await import("../../../app/count/values.ts");
  const facet = await valuesIn(session, context, { spec, filters, limit: top });
  if (facet?.from === "owned" && facet.values.length > 0 && json !== true) {
    const which =
      facet.values.length === 1
        ? "the one value"
        : `the ${facet.values.length} most frequent values`;
    printer.note(
      "the service lists no values: " +
        `counted ${facet.values.length === 1 ? "is" : "are"} ${which} among who you own`,
    );
  }

  if (facet !== undefined && (facet.from === "service" || facet.values.length > 0)) return facet;

  const example = spec.key === "country" ? "france --by country=germany" : `A --by ${spec.key}=B`;
  throw usageError(
    `--by ${spec.key} needs values: neither the service nor what ` +
      `you own lists what a ${words(spec)} can be`,
    `for example --by ${spec.key}=${example}, or --by ${spec.key}=@FILE with one a line`,
  );
}
