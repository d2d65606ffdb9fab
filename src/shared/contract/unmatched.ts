// Tested by test/unit/shared/unmatched.test.ts.
import { otherNames, usualName } from "./aliases.ts";
import { normalForm } from "./normalise.ts";
import { nearest } from "./suggest.ts";
import { counted, echo, isObject, whole } from "./text.ts";
import { type FilterKey, type Filters, filterSpec, knownValues } from "./vocabulary.ts";

/** What somebody has, near a value that nobody has: several values where one text held them. */
export interface Near {
  readonly key: FilterKey;
  readonly value: string | readonly string[];
  /** People with it, whatever the other filters say. */
  readonly count: number;
}

/** A value of a filter that nobody has, whatever the other filters say. */
export interface Unmatched {
  readonly key: FilterKey;
  readonly value: string | number;
  readonly near: Near | null;
}

/** Whoever knows the dataset, or may ask it. */
export interface Asked {
  /** Undefined where it cannot be asked any more. */
  count(filters: Filters): Promise<number | undefined>;
  /** Values of a key within filters, as far as they are told for less than a count of each. */
  values(filters: Filters, key: string): Promise<readonly string[]>;
}

export interface Looked {
  readonly unmatched: readonly Unmatched[];
  /** Values that nobody could be asked about. */
  readonly open: readonly (readonly [key: FilterKey, value: string])[];
}

type Value = Unmatched["value"];

/** Values for which another is looked for: a list of a thousand mistakes is no typing mistake. */
const MOST_NEAR = 10;
/** Other names of one value that are counted. */
const MOST_NAMES = 4;

/**
 * Values that nobody has: of every filter where the segment is empty, else of lists, whose other
 * values find somebody.
 */
export async function unmatchedIn(
  filters: Filters,
  isEmpty: boolean,
  asked: Asked,
): Promise<Looked> {
  const entries = Object.entries(filters) as [FilterKey, Filters[FilterKey]][];
  const unmatched: Unmatched[] = [];
  const open: [FilterKey, string][] = [];

  for (const [key, value] of entries) {
    const values = [value ?? []].flat() as Value[];
    if (key === "department" || (!isEmpty && values.length < 2)) continue;

    // Of one filter it is known already.
    const isKnown = isEmpty && entries.length === 1;
    const { missing, unknown } = isKnown
      ? { missing: values, unknown: [] }
      : await missingOf(key, values, asked);
    open.push(...unknown.map((text) => [key, String(text)] as [FilterKey, string]));

    for (const text of missing) {
      const near =
        unmatched.length < MOST_NEAR ? await nearOf(key, text, values, asked) : undefined;
      unmatched.push({ key, value: text, near: near ?? null });
    }
  }

  return { unmatched, open };
}

async function missingOf(key: FilterKey, values: readonly Value[], asked: Asked) {
  const isList = values.length > 1;
  const told = new Set(isList ? await asked.values({ [key]: values } as Filters, key) : []);
  const rest = values.filter((value) => !told.has(normalForm(String(value))));
  if (rest.length > 1 && (await asked.count({ [key]: rest } as Filters)) === 0)
    return { missing: rest, unknown: [] };

  const missing: Value[] = [];
  const unknown: Value[] = [];
  for (const value of rest) {
    const count = await asked.count({ [key]: value });
    if (count === undefined) unknown.push(value);
    else if (count === 0) missing.push(value);
  }
  return { missing, unknown };
}

/** What may have been meant, which somebody has; what stands beside it in its list is not. */
async function nearOf(
  key: FilterKey,
  value: Value,
  values: readonly Value[],
  asked: Asked,
): Promise<Near | undefined> {
  if (typeof value === "number") return undefined;

  const others = values.flatMap((each) => (each === value ? [] : normalForm(`${each}`)));
  // It is the name of what stands there already, and no slip of another.
  if (otherNames(key, value).some((name) => others.includes(name))) return undefined;

  const tried = async (at: FilterKey, text: Near["value"]): Promise<Near | undefined> => {
    const count = await asked.count({ [at]: text });
    return count ? { key: at, value: text, count } : undefined;
  };

  for (const text of otherTexts(key, value)) {
    const near = await tried(key, text);
    if (near !== undefined) return near;
  }

  const prefix = filterSpec(`${key}_prefix`)?.key;
  const begun = values.length === 1 && prefix ? await tried(prefix, value) : undefined;
  if (begun !== undefined) return begun;

  const alike = nearest(normalForm(value), await likely(key, value, asked));
  return alike === undefined || others.includes(alike) ? undefined : tried(key, alike);
}

/** Other names; the values of a list that came as one text; lower case, for who folds none. */
function otherTexts(key: FilterKey, value: string): readonly Near["value"][] {
  const parts = value.split(",").flatMap((part) => part.trim() || []);
  const list = parts.map((part) => usualName(key, part));
  const lower = value.toLowerCase();
  return [
    ...otherNames(key, value).slice(0, MOST_NAMES),
    ...(filterSpec(key)?.list && parts.length > 1 ? [list, parts] : []),
    ...(lower === value ? [] : [lower]),
  ];
}

/** Values that are told; of a beginning, what they begin with in as many words. */
async function likely(key: FilterKey, value: string, asked: Asked): Promise<readonly string[]> {
  const told = (field: string) => asked.values({}, field);
  if (!key.endsWith("_prefix")) return [...knownValues(key), ...(await told(key))];

  const words = normalForm(value).split(" ").length;
  const beginnings = (await told(key.slice(0, -"_prefix".length))).map((text) =>
    text.split(" ").slice(0, words).join(" "),
  );
  return [...new Set(beginnings)];
}

const MOST_NOTICES = 5;
const quoted = (value: Near["value"] | number): string =>
  [value]
    .flat()
    .map((text) => (typeof text === "number" ? `${text}` : `"${echo(text)}"`))
    .join(", ");

/**
 * In words for whoever reads the reply of a count; programs read `unmatched`.
 * @returns none where nothing is amiss
 */
export function noticesOf(
  filters: Filters,
  count: number,
  unmatched: readonly Unmatched[],
): readonly string[] {
  const lines = unmatched.slice(0, MOST_NOTICES).map(({ key, value, near }) => {
    const other = near?.key === key ? "" : `${near?.key} `;
    const instead =
      near === null
        ? ""
        : `; ${other}${quoted(near.value)} has ${counted(near.count, "person", "people")}`;
    return `${key} ${quoted(value)} matches nobody${instead}`;
  });

  const more = unmatched.length - lines.length;
  if (more > 0) lines.push(`${counted(more, "other value matches", "other values match")} nobody`);
  if (count === 0 && lines.length === 0 && Object.keys(filters).length > 1)
    return ["each filter matches somebody, all of them together nobody"];
  return lines;
}

/** What a service tells of it; null where it tells nothing that can be read. */
export function readUnmatched(told: unknown): readonly Unmatched[] | null {
  if (!Array.isArray(told)) return null;
  return told.flatMap((each: unknown) => {
    if (!isObject(each)) return [];
    const key = filterSpec(String(each.key))?.key;
    const { value } = each;
    if (key === undefined || (typeof value !== "string" && typeof value !== "number")) return [];
    return [{ key, value, near: readNear(each.near) }];
  });
}

function readNear(told: unknown): Near | null {
  if (!isObject(told)) return null;
  const key = filterSpec(String(told.key))?.key;
  const count = whole(told.count, 1);
  const { value } = told;
  const isText = [value].flat().every((each) => typeof each === "string");
  return key === undefined || count === undefined || !isText
    ? null
    : { key, value: value as Near["value"], count };
}
