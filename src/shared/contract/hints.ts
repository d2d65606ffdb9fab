// Tested by test/cli/count-hints.test.ts.
import { flagOf } from "./command-line.ts";
import { FACET_VALUES_MAX } from "./facets.ts";
import { checkFilters } from "./filters.ts";
import { canonicalAddress, canonicalDomain } from "./naming/address.ts";
import { normalForm } from "./normalise.ts";
import { nearest } from "./suggest.ts";
import { counted, echo } from "./text.ts";
import {
  type FacetKey,
  type FilterKey,
  type Filters,
  filterSpec,
  isFacetKey,
  knownValues,
} from "./vocabulary.ts";

const MOST_CALLS = 10;
const MOST_LISTS = 3;
const MOST_NAMES = 5;

/**
 * What people write for a value that goes by another
 * name; two-letter countries are in the system's list.
 */
const ALIASES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  country: {
    "united states": ["usa", "u.s.", "u.s.a.", "america", "united states of america"],
    "united kingdom": ["uk", "u.k.", "britain", "great britain", "england"],
    "united arab emirates": ["uae"],
    netherlands: ["holland", "the netherlands"],
    germany: ["deutschland"],
    czechia: ["czech republic"],
  },
  title: {
    "chief executive officer": ["ceo"],
    "chief financial officer": ["cfo"],
    "chief human resources officer": ["chro"],
    "chief information officer": ["cio"],
    "chief marketing officer": ["cmo"],
    "chief operating officer": ["coo"],
    "chief product officer": ["cpo"],
    "chief technology officer": ["cto"],
  },
  seniority_level: {
    vp: ["vice president", "vice-president"],
    "c-suite": ["cxo", "c-level", "c level", "executive"],
    entry: ["junior", "entry level"],
    intern: ["trainee", "internship"],
    owner: ["founder"],
  },
};

const aliasOf = (key: string, normal: string): string | undefined =>
  Object.entries(ALIASES[key] ?? {}).find(([, others]) => others.includes(normal))?.[0];

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const countries = (): readonly string[] => {
  const names = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
  return LETTERS.flatMap((a) => LETTERS.flatMap((b) => names.of(a + b) ?? []));
};

/**
 * The filter whose value a text is, where what is known offline says so: lists of values, names of
 * countries, and what people write for either.
 * @returns the value as it is found by
 */
export function filterFor(text: string): readonly [key: FilterKey, value: string] | undefined {
  const normal = normalForm(text);
  const among = (values: readonly string[]) => values.find((value) => normalForm(value) === normal);
  for (const key of ["department", "seniority_level", "country", "title"] as const) {
    const listed = among(key === "country" ? countries() : knownValues(key));
    const value = listed ?? aliasOf(key, normal);
    if (value !== undefined) return [key, key === "department" ? value : normalForm(value)];
  }
  return undefined;
}

function otherName(key: string, value: string): string | undefined {
  const normal = normalForm(value);
  const alias = aliasOf(key, normal);
  if (alias !== undefined) return alias;
  if (key === "country" && /^[a-z]{2}$/.test(normal)) {
    const name = new Intl.DisplayNames("en", { type: "region" }).of(normal.toUpperCase());
    return name === undefined || name.length === 2 ? undefined : name.toLowerCase();
  }

  const list = knownValues(key as FilterKey);
  return list.length === 0 || list.some((level) => normalForm(level) === normal)
    ? undefined
    : nearest(normal, list);
}

export type Speech = Readonly<Record<"name" | "value", (text: string) => string>>;

const FLAGS: Speech = {
  name: flagOf,
  value: (text) => (/^[\w.-]+$/.test(text) ? text : `"${text}"`),
};
export const ARGUMENTS: Speech = { name: (key) => key, value: (text) => `"${text}"` };

const people = (count: number): string => counted(count, "person", "people");

/** Whoever asks the service's free questions: a command, a tool, the page. */
export interface FreeAnswers {
  count(filters: Filters, signal: AbortSignal): Promise<{ readonly count: number }>;
  facets(
    filters: Filters,
    key: FacetKey,
    options: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<
    { readonly exact: boolean; readonly values: readonly { readonly value: string }[] } | undefined
  >;
}

export type Questions = ReturnType<typeof questionsTo>;

/** What hints ask, for free and not for ever. */
export function questionsTo(client: FreeAnswers, signal: AbortSignal, speech = FLAGS) {
  let calls = MOST_CALLS;
  const say = (key: string, value: unknown): string =>
    `${speech.name(key)} ${speech.value(echo(value))}`;

  /** Undefined where no call is left. */
  async function count(filters: Filters): Promise<number | undefined> {
    return calls-- > 0 ? (await client.count(filters, signal)).count : undefined;
  }

  /** What words for filters count; undefined where that is nobody, or no call is left. */
  async function countText(filters: Filters, words: string): Promise<string | undefined> {
    const many = await count(filters);
    return many ? `${words} counts ${people(many)}` : undefined;
  }

  async function values(filters: Filters, key: string): Promise<readonly string[]> {
    if (!isFacetKey(key) || calls-- <= 0) return [];
    const facet = await client.facets(filters, key, { limit: FACET_VALUES_MAX, signal });
    return facet?.exact === true ? facet.values.map(({ value }) => value) : [];
  }

  return { speech, say, count, countText, values };
}

/** What is suggested has been counted, so that it finds somebody. */
export async function hintsFor(filters: Filters, count: number, questions: Questions) {
  const hints: string[] = [];
  const unmatched: string[] = [];
  let remedy: Remedy | undefined;
  const open = new Map(listsOf(filters));
  const say = (key: string, values: readonly string[]) =>
    values.map((value) => questions.say(key, value));

  try {
    if (count === 0) {
      hints.push(...misread(filters, questions));
      remedy = await remedyFor(filters, questions);
      const empty =
        remedy === undefined
          ? await whichEmpties(filters, questions)
          : { hints: [remedy.text], keys: [] };
      hints.push(...empty.hints);
      for (const key of remedy === undefined ? empty.keys : open.keys()) open.delete(key);
    }

    for (const [key, values] of [...open]) {
      const { missing, unknown } = await unmatchedOf(key, values, questions);
      unmatched.push(...say(key, missing));
      open.set(key, unknown);
      const { [key as FilterKey]: _, ...others } = filters;
      hints.push(
        ...(await otherWords({ key, values, missing, others, isEmpty: count === 0 }, questions)),
      );
    }
  } catch {
    // The count itself was answered; a hint is worth no error.
  }

  return {
    hints,
    remedy,
    unmatched,
    unchecked: [...open].flatMap(([key, values]) => say(key, values)),
  };
}

const listsOf = (filters: Filters): readonly (readonly [string, readonly string[]])[] =>
  Object.entries(filters).flatMap(([key, value]) =>
    Array.isArray(value) && key !== "department" && new Set(value.map(normalForm)).size > 1
      ? [[key, value]]
      : [],
  );

/** Values that are not told are few people's or nobody's, so that they are counted. */
async function unmatchedOf(key: string, values: readonly string[], questions: Questions) {
  const facet = new Set(await questions.values({ [key]: values }, key));
  const rest = values.filter((value) => !facet.has(normalForm(value)));
  if (rest.length > 1 && (await questions.count({ [key]: rest })) === 0)
    return { missing: rest, unknown: [] };

  const missing: string[] = [];
  const unknown: string[] = [];
  for (const value of rest) {
    const count = await questions.count({ [key]: value });
    if (count === undefined) unknown.push(value);
    else if (count === 0) missing.push(value);
  }

  return { missing, unknown };
}

interface Mistaken {
  readonly key: string;
  readonly values: readonly string[];
  readonly missing: readonly string[];
  readonly others: Filters;
  /** Whether the segment has nobody, whatever stands in their place. */
  readonly isEmpty: boolean;
}

async function otherWords(mistaken: Mistaken, questions: Questions): Promise<string[]> {
  const { key, values, missing } = mistaken;
  const say = (value: string): string => questions.say(key, value);
  const own = new Set(values.map(normalForm));
  const facet = missing.every((value) => otherName(key, value) !== undefined)
    ? []
    : await questions.values({}, key);
  const hints: string[] = [];

  const silent: string[] = [];
  for (const value of missing) {
    const other = otherName(key, value) ?? nearest(normalForm(value), facet);
    const likely =
      other === undefined || own.has(other)
        ? undefined
        : await countedAs(other, mistaken, questions);
    if (likely === undefined) silent.push(value);
    else hints.push(`${say(value)} matches nobody: ${likely}`);
  }

  if (silent.length === 0) return hints;

  const names = silent.slice(0, MOST_NAMES).map(say);
  const more =
    silent.length > names.length ? `, and ${counted(silent.length - names.length, "other")}` : "";
  return [...hints, `nobody matches ${names.join(", ")}${more}`];
}

/** In the segment, else by itself. */
async function countedAs(value: string, { key, others, isEmpty }: Mistaken, questions: Questions) {
  const words = questions.say(key, value);
  const within = isEmpty
    ? undefined
    : await questions.countText({ ...others, [key]: value }, words);
  if (within !== undefined || Object.keys(others).length === 0) return within;
  const alone = await questions.countText({ [key]: value }, words);
  return alone === undefined ? undefined : `${alone} by itself`;
}

type Replace = (key: string, value: string) => readonly string[];

function remedy(filters: Filters, replace: Replace, questions: Questions) {
  const changed: Record<string, unknown> = {};
  const words: string[] = [];
  for (const [key, value] of Object.entries(filters)) {
    if (typeof value === "number" || key === "department") continue;
    const before = [value].flat().map(String);
    const after = before.flatMap((text) => replace(key, text));
    if (after.join("\n") === before.join("\n")) continue;
    changed[key] = after.length === 1 ? after[0] : after;
    words.push(...after.map((text) => questions.say(key, text)));
  }

  const merged = { ...filters, ...changed } as Filters;
  return words.length > 0 && checkFilters(merged).ok
    ? { filters: merged, text: words.join(" ") }
    : undefined;
}

/** `acme.com`, and no path that a profile address has. */
const isDomain = (text: string): boolean =>
  canonicalDomain(text) === canonicalAddress(text)?.replace(/^www\./, "");

function misread(filters: Filters, questions: Questions): string[] {
  const say = (key: string, text: unknown): string => questions.say(key, text);

  return Object.entries(filters).flatMap(([key, value]) =>
    [value].flat().flatMap((text) => {
      if (text === "-")
        return [
          `${say(key, text)} is taken literally: ` +
            `${flagOf(key)} @- reads values from stdin, one a line`,
        ];
      if (key === "company_network_url" && isDomain(String(text)))
        return [
          `${say(key, text)} is a domain, and this takes a profile ` +
            "address or slug: employees takes domains",
        ];

      const levels = knownValues(key as FilterKey);
      if (key !== "seniority_level" || levels.includes(normalForm(String(text)))) return [];

      return [`${say(key, text)} is none of the usual levels: ${levels.join(", ")}`];
    }),
  );
}

/** What may have been meant, in words with its count, and the filters that say it. */
export interface Remedy {
  readonly text: string;
  readonly filters: Filters;
}

async function remedyFor(filters: Filters, questions: Questions): Promise<Remedy | undefined> {
  const split = (key: string, text: string): string[] =>
    filterSpec(key)?.list === true && text.includes(",")
      ? text.split(",").map((part) => part.trim())
      : [text];

  const name: Replace = (key, text) => split(key, text).map((part) => otherName(key, part) ?? part);

  for (const replace of [name, split, (_: string, text: string) => [text.toLowerCase()]]) {
    const tried = remedy(filters, replace, questions);
    const likely = tried && (await questions.countText(tried.filters, tried.text));
    if (likely !== undefined) return { text: likely, filters: tried?.filters ?? filters };
  }

  // The one value may be the beginning of a longer one.
  const [[key, value] = ["", undefined], second] = Object.entries(filters);
  const prefix = `${key}_prefix`;
  if (second === undefined && typeof value === "string" && filterSpec(prefix) !== undefined) {
    const beginning = await questions.countText({ [prefix]: value }, questions.say(prefix, value));
    if (beginning !== undefined) return { text: beginning, filters: { [prefix]: value } };
  }

  const near = remedy(filters, await nearNames(filters, questions), questions);
  const count = near && (await questions.count(near.filters));
  return near !== undefined && count
    ? {
        text: `did you mean ${near.text}? that counts ${people(count)}`,
        filters: near.filters,
      }
    : undefined;
}

async function nearNames(filters: Filters, questions: Questions): Promise<Replace> {
  const lists = new Map<string, readonly string[]>();
  for (const key of Object.keys(filters).slice(0, MOST_LISTS))
    lists.set(key, await questions.values({}, key));
  return (key, text) => {
    const values = lists.get(key) ?? [];
    if (values.includes(normalForm(text))) return [text];
    return [otherName(key, text) ?? nearest(normalForm(text), values) ?? text];
  };
}

/** Those that match nobody alone, else those without which there is somebody. */
async function whichEmpties(filters: Filters, questions: Questions) {
  const entries = Object.entries(filters) as [FilterKey, Filters[FilterKey]][];
  if (entries.length === 1) return { keys: entries.map(([key]) => key), hints: [] };

  const alone: [FilterKey, string][] = [];
  for (const [key, value] of entries.slice(0, MOST_CALLS / 2)) {
    const words = [value].flat().map((text) => questions.say(key, text));
    if ((await questions.count({ [key]: value })) === 0) alone.push([key, words.join(" ")]);
  }

  const keys = alone.map(([key]) => key);
  if (keys.length > 0)
    return {
      keys,
      hints: [`nobody matches ${alone.map(([, words]) => words).join(" or ")} alone`],
    };

  const without: string[] = [];
  for (const [key] of entries.slice(0, MOST_CALLS / 2)) {
    const { [key]: _, ...others } = filters;
    const count = await questions.count(others);
    if (count) without.push(`${questions.speech.name(key)}: ${people(count)}`);
  }

  const each = "each filter matches somebody, all together nobody";
  return {
    keys,
    hints: without.length === 0 ? [] : [`${each}; without ${without.join("; without ")}`],
  };
}
