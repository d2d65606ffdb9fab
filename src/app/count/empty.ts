import type { CompanyQuery } from "../../engine/client/types.ts";
import { flagOf } from "../../shared/contract/command-line.ts";
import { FACET_VALUES_MAX } from "../../shared/contract/facets.ts";
import { knownValues } from "../../shared/contract/filter-schema.ts";
import { checkFilters, FILTER_SPECS, type FilterKey, type Filters, filterSpec } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { nearest } from "../../shared/contract/suggest.ts";
import { counted, echo } from "../../shared/contract/text.ts";
import type { Session } from "../session.ts";
import { listedValues } from "./values.ts";

const MOST_CALLS = 10;
const MOST_LISTS = 3;

/** What people write for a value that goes by another name. Two-letter countries are looked up in the system's list. */
const ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  country: {
    usa: "united states",
    "u.s.": "united states",
    "u.s.a.": "united states",
    america: "united states",
    "united states of america": "united states",
    uk: "united kingdom",
    "u.k.": "united kingdom",
    britain: "united kingdom",
    "great britain": "united kingdom",
    england: "united kingdom",
    uae: "united arab emirates",
    holland: "netherlands",
    "the netherlands": "netherlands",
    deutschland: "germany",
    "czech republic": "czechia",
  },
  seniority_level: {
    "vice president": "vp",
    "vice-president": "vp",
    cxo: "c-suite",
    "c-level": "c-suite",
    "c level": "c-suite",
    executive: "c-suite",
    junior: "entry",
    "entry level": "entry",
    trainee: "intern",
    internship: "intern",
    founder: "owner",
  },
};

const shown = (key: string, value: unknown): string => {
  const text = echo(value);
  return `${flagOf(key)} ${/^[\w.-]+$/.test(text) ? text : `"${text}"`}`;
};

function otherName(key: string, value: string): string | undefined {
  const normal = normalForm(value);
  const alias = ALIASES[key]?.[normal];
  if (alias !== undefined) return alias;
  if (key === "country" && /^[a-z]{2}$/.test(normal)) {
    const name = new Intl.DisplayNames("en", { type: "region" }).of(normal.toUpperCase());
    return name === undefined || name.length === 2 ? undefined : name.toLowerCase();
  }
  const known = knownValues(key as FilterKey);
  return known.length === 0 || known.some((level) => normalForm(level) === normal) ? undefined : nearest(normal, known);
}

interface Remedy {
  readonly filters: Filters;
  readonly flags: readonly string[];
}

/** The filters with every value replaced by what `replace` makes of it; undefined where nothing changes. */
function remedy(filters: Filters, replace: (key: string, value: string) => readonly string[]): Remedy | undefined {
  const changed: Record<string, unknown> = {};
  const flags: string[] = [];
  for (const [key, value] of Object.entries(filters)) {
    if (typeof value === "number" || key === "department") continue;
    const before = [value].flat().map(String);
    const after = before.flatMap((text) => replace(key, text));
    if (after.join("\n") === before.join("\n")) continue;
    changed[key] = after.length === 1 ? after[0] : after;
    flags.push(...after.map((text) => shown(key, text)));
  }
  const merged = { ...filters, ...changed } as Filters;
  return flags.length > 0 && checkFilters(merged).ok ? { filters: merged, flags } : undefined;
}

const listed = (key: string): boolean => FILTER_SPECS.some((spec) => spec.key === key && spec.list);

/** Values that cannot have been meant as they are; told without asking anybody. */
function misread(filters: Filters): string[] {
  return Object.entries(filters).flatMap(([key, value]) =>
    [value].flat().flatMap((text) => {
      if (text === "-")
        return [`${shown(key, text)} is taken literally: ${flagOf(key)} @- reads values from stdin, one a line`];
      const known = knownValues(key as FilterKey);
      if (key !== "seniority_level" || known.includes(normalForm(String(text)))) return [];
      return [`${shown(key, text)} is none of the usual levels: ${known.join(", ")}`];
    }),
  );
}

/** Why a count is 0, in hints: what is suggested has been counted itself, so that a hint that is followed finds somebody. */
export async function whyEmpty(filters: Filters, session: Session, signal: AbortSignal): Promise<readonly string[]> {
  let calls = 0;
  const count = async (tried: Filters): Promise<number> =>
    ++calls > MOST_CALLS ? 0 : (await session.client.count(tried, signal)).count;
  const hints = misread(filters);
  try {
    const split = (key: string, text: string): string[] =>
      listed(key) && text.includes(",") ? text.split(",").map((part) => part.trim()) : [text];
    const name = (key: string, text: string): string[] => split(key, text).map((part) => otherName(key, part) ?? part);
    for (const replace of [name, split, (_: string, text: string) => [text.toLowerCase()]]) {
      const tried = remedy(filters, replace);
      const found = tried === undefined ? 0 : await count(tried.filters);
      if (tried !== undefined && found > 0)
        return [...hints, `${tried.flags.join(" ")} counts ${counted(found, "person", "people")}`];
    }
    const beginning = await asBeginning(filters, count);
    if (beginning !== undefined) return [...hints, beginning];
    const near = remedy(filters, await nearNames(filters, session, signal));
    const found = near === undefined ? 0 : await count(near.filters);
    if (near !== undefined && found > 0)
      return [...hints, `did you mean ${near.flags.join(" ")}? that counts ${counted(found, "person", "people")}`];
    return [...hints, ...(await whichEmpties(filters, count))];
  } catch {
    // The count itself was answered; a hint is worth no error.
    return hints;
  }
}

/** The nearest of the values that the service lists, for each value that is not one of them. */
async function nearNames(
  filters: Filters,
  session: Session,
  signal: AbortSignal,
): Promise<(key: string, text: string) => string[]> {
  const lists = new Map<string, readonly string[]>();
  for (const key of Object.keys(filters).slice(0, MOST_LISTS)) {
    const listed = await listedValues(session, key as FilterKey, {}, { limit: FACET_VALUES_MAX }, signal);
    if (listed !== undefined)
      lists.set(
        key,
        listed.values.map(({ value }) => value),
      );
  }
  return (key, text) => {
    const values = lists.get(key) ?? [];
    return values.includes(normalForm(text)) ? [text] : [nearest(normalForm(text), values) ?? text];
  };
}

/** The one value as the beginning of a longer one. */
async function asBeginning(
  filters: Filters,
  count: (filters: Filters) => Promise<number>,
): Promise<string | undefined> {
  const [[key, value] = ["", undefined], second] = Object.entries(filters);
  const prefix = `${key}_prefix`;
  if (second !== undefined || typeof value !== "string" || filterSpec(prefix) === undefined) return undefined;
  const found = await count({ [prefix]: value });
  return found === 0 ? undefined : `${shown(prefix, value)} counts ${counted(found, "person", "people")}`;
}

/** Of several filters: those that match nobody alone, else those without which there is somebody. */
async function whichEmpties(filters: Filters, count: (filters: Filters) => Promise<number>): Promise<string[]> {
  const entries = Object.entries(filters) as [FilterKey, Filters[FilterKey]][];
  if (entries.length === 1) return [];
  const alone: string[] = [];
  for (const [key, value] of entries.slice(0, MOST_CALLS / 2)) {
    if ((await count({ [key]: value })) === 0)
      alone.push(
        `${[value]
          .flat()
          .map((text) => shown(key, text))
          .join(" ")}`,
      );
  }
  if (alone.length > 0) return [`nobody matches ${alone.join(" or ")} alone`];
  const without: string[] = [];
  for (const [key] of entries.slice(0, MOST_CALLS / 2)) {
    const { [key]: _, ...others } = filters;
    const found = await count(others);
    if (found > 0) without.push(`${flagOf(key)}: ${counted(found, "person", "people")}`);
  }
  return without.length === 0
    ? []
    : [`each filter matches somebody, all together nobody; without ${without.join("; without ")}`];
}

/** A company that a look-up which found nothing may have meant, told by a free count of its people; undefined where there is none. */
export async function nearCompany(
  { by, value }: CompanyQuery,
  session: Session,
  signal: AbortSignal,
): Promise<string | undefined> {
  const text = by === "domain" ? (value.split(".", 1)[0] ?? "") : by === "id" ? "" : value;
  const slug = normalForm(text.replace(/^.*\//s, ""))
    .replace(/&/g, " ")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  if (slug === "" || slug === value) return undefined;
  try {
    const { count } = await session.client.count({ company_network_url: slug }, signal);
    return count === 0
      ? undefined
      : `did you mean ${slug}? a company of this slug has ${counted(count, "person", "people")}`;
  } catch {
    return undefined;
  }
}
