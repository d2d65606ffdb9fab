import { flagsOf } from "../shared/contract/command-line.ts";
import {
  type Credits,
  credits,
  creditsToNumber,
  parseCredits,
  priceOf,
  ZERO,
} from "../shared/contract/money.ts";
import { isObject } from "../shared/contract/text.ts";
import {
  FILTER_SPECS,
  type FilterKey,
  type FilterKeySpec,
  type Filters,
  filterSpec,
} from "../shared/contract/vocabulary.ts";
import { shellWord } from "../shared/errors.ts";

export const FOLDS: readonly { readonly name: string; readonly keys: readonly FilterKey[] }[] = [
  {
    name: "Role",
    keys: [
      "department",
      "title",
      "title_prefix",
      "seniority_level",
      "seniority",
      "functional_area",
      "headline_prefix",
    ],
  },
  { name: "Place", keys: ["country", "state", "city", "location", "location_prefix"] },
  { name: "Company", keys: ["industry", "industry_prefix", "company_network_url"] },
  { name: "Person", keys: ["name", "name_prefix", "first_name", "last_name", "network_url"] },
  { name: "Reach", keys: ["connections_min", "connections_max", "followers_min", "followers_max"] },
];

export const specOf = (key: FilterKey): FilterKeySpec => {
  const spec = filterSpec(key);
  if (spec === undefined) throw new Error(`no filter is called ${key}`);
  return spec;
};

export const labelOf = (key: string): string => {
  const text = key
    .replace(/_prefix$/, " begins with")
    .replace(/_min$/, " at least")
    .replace(/_max$/, " at most")
    .replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1).replace("network url", "profile address");
};

export const filterValues = (filters: Filters, key: FilterKey): readonly string[] => {
  const value = filters[key];
  return value === undefined ? [] : Array.isArray(value) ? value : [String(value)];
};

/** Filters with other values of one key; none takes the key away. */
export function withValues(filters: Filters, key: FilterKey, values: readonly string[]): Filters {
  const { [key]: _, ...rest } = filters;
  if (values.length === 0) return rest;
  const { list, match } = specOf(key);
  if (list) return { ...rest, [key]: values };
  return { ...rest, [key]: match === "range" ? Number(values[0]) : (values[0] ?? "") };
}

export const countCommand = (filters: Filters): string => {
  const flags = flagsOf(filters);
  return flags === "--all" ? "headcount count" : `headcount count ${flags}`;
};

/** @param profiles where not all of them are meant */
export const searchCommand = (filters: Filters, credits: number, profiles?: number): string =>
  "headcount search " +
  `${flagsOf(filters)}${profiles === undefined ? "" : ` --limit ${profiles}`} ` +
  `--max-credits ${credits} -o people.csv`;

export const TOO_MANY =
  "So many people are not looked through for those you own. " +
  "A purchase of new people leaves them out all the same.";

export const ownedInWords = (count: number, fresh: number): string =>
  `${figure(fresh)} of ${figure(count)} ${fresh === 1 ? "is" : "are"} new; ` +
  `you own ${figure(count - fresh)}`;

/** A session by the name that its link was made with; a key by its id. */
export function whoOf(id: string): string {
  const [session, name] = /^console:(?:(.+)-)?[0-9a-f]{12}$/.exec(id) ?? [];
  return session === undefined ? id : (name ?? "a session without a name");
}

export const exportCommand = (id: string, origin: string): string =>
  'curl -f -H "Authorization: Bearer $HEADCOUNT_API_KEY" ' +
  `${shellWord(`${origin}/exports/${id}.csv`)} -o people-${id}.csv`;

/**
 * Who is not in the file of an export yet: the program
 * knows whom its user owns, this service does not.
 */
export const refreshCommand = (id: string, filters: Filters): string =>
  `headcount owned import people-${id}.csv && headcount ` +
  `refresh people-${id}.csv ${flagsOf(filters)}`;

export const curlCommand = (filters: Filters, origin: string): string =>
  [
    `curl ${shellWord(`${origin}/v1/person/count`)}`,
    `-H "Authorization: Bearer $HEADCOUNT_API_KEY"`,
    "-H 'Content-Type: application/json'",
    `-d ${shellWord(JSON.stringify({ filters }))}`,
  ].join(" \\\n  ");

/** Filters in words: `Sales · germany, france`. */
export const inWords = (filters: Filters): string => {
  const parts = FILTER_SPECS.flatMap(({ key, match }) => {
    const values = filterValues(filters, key);
    if (values.length === 0) return [];
    const text =
      values.slice(0, 3).join(", ") + (values.length > 3 ? ` and ${values.length - 3} more` : "");
    return [
      match === "exact" || match === "department" ? text : `${labelOf(key).toLowerCase()} ${text}`,
    ];
  });
  const unknown = Object.keys(filters).filter((key) => filterSpec(key) === undefined);
  return parts.length + unknown.length === 0 ? "Everybody" : [...parts, ...unknown].join(" · ");
};

export interface PagePlace {
  readonly page: string;
  readonly mode: "live" | "test" | undefined;
  readonly filters: Filters;
  /** The export that is looked at. */
  readonly item?: string | undefined;
  /** Who of the segment is looked at; everybody where it says nothing. */
  readonly tab?: Tab | undefined;
}

type Tab = "new" | "owned";

/** The fragment of the address: it reaches neither a log nor another site. */
export function fragmentOf({ filters, item, mode, page, tab }: PagePlace): string {
  const query = new URLSearchParams();
  if (mode === "test") query.set("mode", mode);
  if (item !== undefined) query.set("export", item);
  if (tab !== undefined) query.set("tab", tab);
  if (Object.keys(filters).length > 0) query.set("f", JSON.stringify(filters));
  const text = query.toString();
  return `#/${page}${text === "" ? "" : `?${text}`}`;
}

/** What a fragment says; anything that is none says the segment page without filters. */
export function placeInAddress(fragment: string): PagePlace {
  const [, page = "segment", query = ""] = /^#\/([a-z]*)(?:\?(.*))?$/s.exec(fragment) ?? [];
  const fields = new URLSearchParams(query);
  const tab = fields.get("tab");
  return {
    page: page === "" ? "segment" : page,
    mode: fields.get("mode") === "test" ? "test" : undefined,
    item: /^[0-9a-f]{16}$/.exec(fields.get("export") ?? "")?.[0],
    tab: tab === "new" || tab === "owned" ? tab : undefined,
    filters: filtersOf(fields.get("f")),
  };
}

/**
 * As the address says them: what is no filter, or not of its kind, the service refuses by its name.
 */
function filtersOf(text: string | null): Filters {
  let json: unknown;
  try {
    json = JSON.parse(text ?? "{}");
  } catch {}
  if (!isObject(json)) return { "this address": text } as Filters;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [key, asFilter(filterSpec(key), value)]),
  );
}

function asFilter(spec: FilterKeySpec | undefined, value: unknown): unknown {
  if (spec === undefined || (spec.match === "range" && typeof value === "number")) return value;
  return spec.list ? [value].flat().map(asText) : asText(value);
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const exact = (value: number): Credits => parseCredits(String(value)) ?? ZERO;

export const sumOf = (amounts: readonly number[]): number =>
  creditsToNumber(credits(amounts.reduce((sum, each) => sum + exact(each), 0n)));

/** What so many of a segment cost, and what is left then: in millionths, never in doubles. */
export function costOf(
  {
    balance_after: after,
    credits: all,
    price,
  }: Record<"balance_after" | "credits" | "price", number>,
  people: number,
): { readonly cost: number; readonly after: number } {
  const cost = priceOf(people, exact(price));
  return { cost: creditsToNumber(cost), after: sumOf([after, all, -creditsToNumber(cost)]) };
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** In the reader's own zone and language, with a month that is a word: 04/05 is two days. */
export const momentOf = (time: string): string => MOMENT.format(new Date(time));
export const dayOf = (time: string): string => DAY.format(new Date(time));

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 6 });
export const figure = (value: number): string => GROUPED.format(value);

export const amount = (value: number, one: string, many = `${one}s`): string =>
  `${figure(value)} ${value === 1 ? one : many}`;
