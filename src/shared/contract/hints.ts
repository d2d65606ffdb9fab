// Tested by test/cli/count-hints.test.ts.
import { flagOf } from "./command-line.ts";
import { FACET_VALUES_MAX } from "./facets.ts";
import { checkFilters } from "./filters.ts";
import { canonicalAddress, canonicalDomain } from "./naming/address.ts";
import { normalForm } from "./normalise.ts";
import { counted, echo, someOf } from "./text.ts";
import { type Looked, type Near, type Unmatched, unmatchedIn } from "./unmatched.ts";
import {
  type FacetKey,
  type FilterKey,
  type Filters,
  isFacetKey,
  knownValues,
} from "./vocabulary.ts";

const MOST_CALLS = 10;

export type Speech = Readonly<Record<"name" | "value", (text: string) => string>>;

const FLAGS: Speech = {
  name: flagOf,
  value: (text) => (/^[\w.-]+$/.test(text) ? text : `"${text}"`),
};
export const ARGUMENTS: Speech = { name: (key) => key, value: (text) => `"${text}"` };

const people = (count: number): string => counted(count, "person", "people");

/** A count, with the values that nobody has; null: the service does not tell them. */
export interface CountTold {
  readonly count: number;
  readonly unmatched?: readonly Unmatched[] | null;
}

/** Whoever asks the service's free questions: a command, a tool, the page. */
export interface FreeAnswers {
  count(filters: Filters, signal: AbortSignal): Promise<CountTold>;
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
  const lists = new Map<string, readonly string[]>();
  const say = (key: string, value: unknown): string =>
    `${speech.name(key)} ${speech.value(echo(value))}`;

  /** Undefined where no call is left. */
  async function told(filters: Filters): Promise<CountTold | undefined> {
    return calls-- > 0 ? await client.count(filters, signal) : undefined;
  }

  const count = async (filters: Filters) => (await told(filters))?.count;

  async function values(filters: Filters, key: string): Promise<readonly string[]> {
    if (!isFacetKey(key) || calls <= 0) return [];
    const before = lists.get(key);
    if (before !== undefined && Object.keys(filters).length === 0) return before;

    calls--;
    const facet = await client.facets(filters, key, { limit: FACET_VALUES_MAX, signal });
    const all = facet?.exact === true ? facet.values.map(({ value }) => value) : [];
    if (Object.keys(filters).length === 0) lists.set(key, all);
    return all;
  }

  return { speech, say, told, count, values };
}

/** A segment that was counted: what the service told of its values, where it was asked already. */
export interface Counted {
  readonly filters: Filters;
  readonly count?: number | undefined;
  readonly unmatched?: CountTold["unmatched"] | undefined;
}

/** What may have been meant, in words with its count, and the filters that say it. */
interface Remedy {
  readonly text: string;
  readonly filters: Filters;
}

/** What can be taken at once of a hint, with its own words. */
interface Offer extends Remedy {
  /** The hint. */
  readonly of: string;
}

interface Hints {
  readonly hints: readonly string[];
  readonly offers: readonly Offer[];
  readonly remedy?: Remedy | undefined;
  readonly unmatched: readonly string[];
  /** Values that nobody could be asked about. */
  readonly unchecked: readonly string[];
}

/**
 * What is suggested has been counted, so that it finds somebody: by the service in its reply, else
 * by free calls.
 */
export async function hintsFor(segment: Counted, questions: Questions): Promise<Hints> {
  const { count, filters } = segment;
  const lists = listsOf(filters);
  if (count !== 0 && lists.length === 0)
    return { hints: [], offers: [], unmatched: [], unchecked: [] };

  const offers: Offer[] = [];
  const hints = count === 0 ? [...misread(filters, questions)] : [];
  const say = ({ key, value }: Pick<Unmatched, "key" | "value">) => questions.say(key, value);
  let looked: Looked = { unmatched: [], open: lists };
  let remedy: Remedy | undefined;
  try {
    looked = await look(segment, questions);
    remedy = count === 0 ? await remedyFor(filters, looked.unmatched, questions) : undefined;
    if (remedy !== undefined) {
      hints.push(remedy.text);
      offers.push({ ...remedy, of: remedy.text });
    } else hints.push(...namesOf(filters, looked.unmatched, questions, offers));
    if (count === 0 && looked.unmatched.length === 0)
      hints.push(...(await whichEmpties(filters, questions, offers)));
  } catch {
    // The count itself was answered; a hint is worth no error.
  }

  return {
    hints,
    offers,
    remedy,
    unmatched: looked.unmatched.map(say),
    unchecked: looked.open.map(([key, value]) => say({ key, value })),
  };
}

async function look({ filters, count, unmatched }: Counted, questions: Questions): Promise<Looked> {
  const told = unmatched === undefined ? (await questions.told(filters))?.unmatched : unmatched;
  return told ? { unmatched: told, open: [] } : await unmatchedIn(filters, count === 0, questions);
}

const listsOf = (filters: Filters): readonly (readonly [FilterKey, string])[] =>
  Object.entries(filters).flatMap(([key, value]) =>
    Array.isArray(value) && key !== "department" && new Set(value.map(normalForm)).size > 1
      ? value.map((each) => [key as FilterKey, each] as const)
      : [],
  );

const near = ({ key, value }: Near, { say }: Questions): string =>
  [value]
    .flat()
    .map((text) => say(key, text))
    .join(" ");

/** Each value that nobody has, with what stands for it; those without it in one line. */
function namesOf(
  filters: Filters,
  unmatched: readonly Unmatched[],
  questions: Questions,
  offers: Offer[],
): readonly string[] {
  const [only, second] = Object.values(filters);
  const isAlone = second === undefined && [only].flat().length < 2;
  const among = Object.keys(filters).length > 1 ? " by itself" : "";
  const known = unmatched.flatMap((one) => {
    const { key, near: other, value } = one;
    if (other === null) return [];
    const text =
      `${questions.say(key, value)} matches nobody: ` +
      `${near(other, questions)} counts ${people(other.count)}${among}`;
    const changed = corrected(filters, { ...one, near: other });
    if (checkFilters(changed).ok) offers.push({ of: text, text, filters: changed });
    return [text];
  });

  const silent = unmatched
    .filter(({ near: other }) => other === null)
    .map(({ key, value }) => questions.say(key, value));
  return silent.length === 0 || isAlone ? known : [...known, `nobody matches ${someOf(silent)}`];
}

/** The filters with what was likely meant, where each value that nobody has is near one. */
async function remedyFor(
  filters: Filters,
  unmatched: readonly Unmatched[],
  questions: Questions,
): Promise<Remedy | undefined> {
  let changed = filters;
  const words: string[] = [];
  for (const one of unmatched) {
    if (one.near === null) return undefined;
    words.push(near(one.near, questions));
    changed = corrected(changed, { ...one, near: one.near });
  }

  if (words.length === 0 || !checkFilters(changed).ok) return undefined;
  const count = await questions.count(changed);
  return count
    ? { text: `${words.join(" ")} counts ${people(count)}`, filters: changed }
    : undefined;
}

/** The filters with what is near a value in its place. */
function corrected(
  filters: Filters,
  { key, near: other, value }: Unmatched & { readonly near: Near },
): Filters {
  const changed: Record<string, Filters[FilterKey]> = { ...filters };
  const others = [changed[key] ?? []].flat().filter((each) => each !== value);
  if (others.length === 0) delete changed[key];
  const values = [...(other.key === key ? others : []), other.value].flat() as string[];
  changed[other.key] = values.length === 1 ? values[0] : values;
  return changed;
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

/** Without which of the filters there is somebody, where each has somebody. */
async function whichEmpties(
  filters: Filters,
  questions: Questions,
  offers: Offer[],
): Promise<readonly string[]> {
  const keys = Object.keys(filters) as FilterKey[];
  if (keys.length < 2) return [];

  const without: (Remedy & { readonly name: string })[] = [];
  for (const key of keys.slice(0, MOST_CALLS / 2)) {
    const { [key]: _, ...others } = filters;
    const count = await questions.count(others);
    const name = `${questions.speech.name(key)}: ${people(count ?? 0)}`;
    if (count) without.push({ name, text: `Without ${name}`, filters: others });
  }

  const each = "each filter matches somebody, all together nobody";
  if (without.length === 0) return [];
  const hint = `${each}; without ${without.map(({ name }) => name).join("; without ")}`;
  offers.push(...without.map(({ filters: left, text }) => ({ of: hint, text, filters: left })));
  return [hint];
}
