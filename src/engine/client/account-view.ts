import type { FacetValue } from "../../shared/contract/facets.ts";
import { type Credits, parseCredits } from "../../shared/contract/money.ts";
import { harmlessLine, isObject, whole } from "../../shared/contract/text.ts";
import { readUnmatched } from "../../shared/contract/unmatched.ts";
import type { FacetKey } from "../../shared/contract/vocabulary.ts";
import { failed } from "../../shared/errors.ts";
import type { ReplyMeta } from "./errors.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The first of several dotted paths that leads to a value.
 * A name may have a dot (`costs["person.search"]`).
 */
function find(from: Fields, paths: readonly string[]): unknown {
  for (const path of paths) {
    const value = at(from, path.split("."));
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function at(from: unknown, parts: readonly string[]): unknown {
  if (parts.length === 0 || !isObject(from)) return parts.length === 0 ? from : undefined;
  const own = parts.length === 1 ? undefined : from[parts.join(".")];
  return own ?? at(from[parts[0] ?? ""], parts.slice(1));
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;

const COSTS = ["costs", "plan.costs", "pricing", "prices", "credit_costs"] as const;
const LIMITS = [
  ...["rate_limits", "rate_limit", "limits"].flatMap((name) => [name, `plan.${name}`]),
  "plan",
];

const under = (groups: readonly string[], names: readonly string[]): string[] =>
  groups.flatMap((group) => names.map((name) => `${group}.${name}`));

/**
 * However a call's name is written: `personSearch`,
 * `/v1/person/search` and `person.search` are one.
 */
const plain = (name: string): string =>
  name.toLowerCase().replace(/\b(?:get|post|v1)\b|[^a-z]/g, "");

const PRICE_NAMES = [
  "credits",
  "cost",
  "price",
  "amount",
  "value",
  "per_profile",
  "perProfile",
  "unit",
] as const;
const CALL_NAMES = [
  "call",
  "name",
  "endpoint",
  "path",
  "operation",
  "action",
  "key",
  "type",
] as const;

/**
 * Prices of calls by plain names: an object, nested
 * or not, or a list of objects that name the call.
 */
function pricesOf(from: Fields): ReadonlyMap<string, Credits> {
  const prices = new Map<string, Credits>();
  const add = (name: string, value: unknown): void => {
    const told = isObject(value) ? find(value, PRICE_NAMES) : value;
    const price = toldAmount(told, `price of ${name}`);
    if (price !== undefined && price >= 0n && !prices.has(plain(name)))
      prices.set(plain(name), price);
    else if (price === undefined && isObject(value))
      for (const [inner, each] of Object.entries(value)) add(`${name}.${inner}`, each);
  };

  for (const group of COSTS) {
    const costs = find(from, [group]);
    if (isObject(costs)) for (const [name, value] of Object.entries(costs)) add(name, value);
    else if (Array.isArray(costs))
      for (const value of costs)
        if (isObject(value)) add(String(find(value, CALL_NAMES) ?? ""), value);
  }

  return prices;
}

/**
 * An amount that is there and cannot be read is not taken for one that is not
 * told: nothing is bought on a guess. @throws CliError exit 8
 */
function toldAmount(value: unknown, what: string): Credits | undefined {
  const amount = parseCredits(value);
  // A word is no amount at all: `free` is told as little as nothing.
  if (amount !== undefined || typeof value !== "string" || !/\d/.test(value)) return amount;
  throw failed.service(
    `the account tells its ${what} as "${harmlessLine(value)}", which is no amount of credits`,
    "an amount is a JSON number, or text such as 3000.25 without separators",
    "unreadable_amount",
  );
}

export type AccountView = ReturnType<typeof accountView> & {
  /** Rows of a search that its price pays for together; undefined: it is the price of one. */
  readonly parcel?: number | undefined;
  /** The day on which somebody read that price on a public page: no account told it. */
  readonly priceRead?: string | undefined;
};

/** The names that services have for each field, the first that is told first. */
const NAMES = {
  accountId: ["account.id", "account_id", "id", "user.id", "user_id"],
  accountName: ["account.name", "account_name", "name", "user.name", "email"],
  keyMode: ["key.mode", "key_mode", "mode"],
  keyId: ["key.id"],
  keyPrefix: ["key.prefix", "key_prefix"],
  plan: ["plan.name", "plan_name", "plan", "subscription.plan"],
  balance: [
    "credits.remaining",
    "credits.balance",
    "credits.available",
    "credits_remaining",
    "balance.credits",
    "balance.remaining",
    "balance",
    "credit_balance",
    "credits",
  ],
  held: ["credits.held", "credits.reserved", "credits_held", "held"],
  usedToday: ["credits.used_today", "credits_used_today", "used_today"],
  perMinute: under(LIMITS, [
    "per_minute",
    "requests_per_minute",
    "rate_limit_per_minute",
    "minute",
    "rpm",
  ]),
  perDay: under(LIMITS, [
    "per_day",
    "requests_per_day",
    "rate_limit_per_day",
    "day",
    "daily",
    "rpd",
  ]),
  perPageMax: ["limits.per_page_max", "limits.max_per_page", "per_page_max", "max_per_page"],
  maxDepth: ["limits.max_depth", "limits.max_results", "max_depth", "max_results"],
  idempotencySeconds: ["limits.idempotency_seconds"],
  datasetVersion: ["dataset.version", "dataset_version"],
  people: ["dataset.people", "dataset.profiles"],
  companies: ["dataset.companies"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/**
 * `result` of `GET /v1/account` (docs/reference/contract.md, Account). `costs`: credits
 * per profile or match. Undefined is what is not told. `idempotencyMs`: how
 * long a paid call may be repeated under its key at no charge.
 */
export function accountView(result: unknown, meta: ReplyMeta) {
  const from = isObject(result) ? result : {};
  const told = (field: keyof typeof NAMES): unknown => find(from, NAMES[field]);
  const word = (field: keyof typeof NAMES) => text(told(field));
  const number = (field: keyof typeof NAMES) => whole(told(field));
  const prices = pricesOf(from);
  const cost = (...names: readonly string[]): Credits | undefined =>
    names.map((name) => prices.get(plain(name))).find((each) => each !== undefined);
  const mode = word("keyMode");

  return {
    accountId: word("accountId"),
    accountName: word("accountName"),
    keyMode: mode === "live" || mode === "test" ? (mode as "live" | "test") : undefined,
    keyId: word("keyId"),
    capLeft: undefined as Credits | undefined,
    keyPrefix: word("keyPrefix"),
    plan: word("plan"),
    balance: toldAmount(told("balance"), "balance") ?? meta.creditsRemaining,
    held: toldAmount(told("held"), "amount on hold"),
    usedToday: parseCredits(told("usedToday")),
    perMinute: number("perMinute"),
    perDay: number("perDay"),
    costs: {
      person_search: cost("person_search", "search", "profile"),
      company_enrich: cost("company_enrich", "enrich"),
      company_employees: cost("company_employees", "employees"),
    },
    perPageMax: number("perPageMax") || undefined,
    maxDepth: number("maxDepth") || undefined,
    idempotencyMs: 1_000 * (number("idempotencySeconds") ?? 0) || undefined,
    datasetVersion: word("datasetVersion") ?? meta.datasetVersion,
    people: number("people"),
    companies: number("companies"),
    raw: result,
    meta,
  };
}

const COUNT_NAMES = ["count", "total", "total_results", "total_count", "results_count"] as const;

export type CountView = NonNullable<ReturnType<typeof countView>>;

/**
 * A bare integer, or an object that holds it under one of the usual
 * names; undefined for anything else, and for one that is said to be a bound.
 */
export function countView(result: unknown, meta: ReplyMeta) {
  const fields = isObject(result) ? result : {};
  const relation = find(fields, ["relation", ...COUNT_NAMES.map((name) => `${name}.relation`)]);
  if (relation !== undefined && relation !== "eq") return undefined;
  const count = whole(
    isObject(result)
      ? find(
          result,
          COUNT_NAMES.flatMap((name) => [`${name}.value`, name]),
        )
      : result,
  );
  if (count === undefined) return undefined;

  return {
    count,
    cached: typeof fields.cached === "boolean" ? fields.cached : undefined,
    asOf: text(fields.as_of ?? fields.computed_at),
    /** Values that nobody has; null: the service does not tell. */
    unmatched: readUnmatched(fields.unmatched),
    meta,
  };
}

export type CountsView = NonNullable<ReturnType<typeof countsView>>;

/**
 * One whole number for each of so many companies
 * (docs/reference/contract-keys.md, Counts); undefined for any other answer.
 */
export function countsView(result: unknown, companies: number, meta: ReplyMeta) {
  const list: readonly unknown[] =
    isObject(result) && Array.isArray(result.counts) ? result.counts : [];
  const counts = list.flatMap((count) => whole(count) ?? []);
  return counts.length === companies && list.length === companies ? { counts, meta } : undefined;
}

export type SketchView = NonNullable<Awaited<ReturnType<typeof sketchView>>>;

/**
 * The cells that were asked for (docs/reference/contract-keys.md, Sketches); undefined for any
 * other answer.
 */
export async function sketchView(
  result: unknown,
  range: { readonly from: number; readonly cells: number },
  meta: ReplyMeta,
) {
  const { cells, count, from, key } = isObject(result) ? result : {};
  const people = whole(count);
  const { SketchCells } = await import("../../shared/contract/sketch.ts");
  const part = typeof cells === "string" ? SketchCells.read(cells, range.from) : undefined;
  if (people === undefined || from !== range.from || part?.to !== range.from + range.cells)
    return undefined;
  return typeof key === "string" && /^[0-9a-f]{32}$/.test(key)
    ? { count: people, key, cells: part, meta }
    : undefined;
}

export type FacetView = NonNullable<ReturnType<typeof facetView>>;

/**
 * docs/reference/contract-keys.md, Facets; undefined for any other
 * answer. Values that fewer than `least` share are in `others`.
 */
export function facetView(result: unknown, key: FacetKey, meta: ReplyMeta) {
  if (
    !isObject(result) ||
    result.key !== key ||
    typeof result.exact !== "boolean" ||
    !Array.isArray(result.values)
  ) {
    return undefined;
  }

  const values: FacetValue[] = [];
  for (const entry of result.values as unknown[]) {
    const count = isObject(entry) ? whole(entry.count) : undefined;
    if (!isObject(entry) || typeof entry.value !== "string" || count === undefined)
      return undefined;
    values.push({ value: entry.value, count });
  }

  const [count, others, missing] = [
    whole(result.count),
    whole(result.others),
    whole(result.missing),
  ];
  const sum = values.reduce((total, value) => total + value.count, (others ?? 0) + (missing ?? 0));
  if (
    result.exact &&
    (count === undefined || others === undefined || missing === undefined || sum !== count)
  ) {
    return undefined;
  }

  const distinct = whole(result.distinct);
  return {
    key,
    values,
    count,
    others,
    missing,
    distinct,
    meta,
    least: whole(result.least) ?? 1,
    exact: result.exact,
    reason: text(result.reason),
    asOf: text(result.as_of),
  };
}

export function countShape(result: unknown): string | undefined {
  if (whole(result) !== undefined) return "bare number";
  const paths = COUNT_NAMES.flatMap((name) => [name, `${name}.value`]);
  return isObject(result)
    ? paths.find((path) => whole(find(result, [path])) !== undefined)
    : undefined;
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

const line = (value: unknown): string | null =>
  typeof value === "string" ? harmlessLine(value) : null;

const amountOf = (value: unknown): Credits | undefined =>
  typeof value === "number" ? parseCredits(value) : undefined;

export type KeyView = NonNullable<ReturnType<typeof keyView>>;

/**
 * `GET /key` (docs/reference/contract-keys.md, Keys); undefined
 * for anything else; null: no such bound, or not known.
 */
export function keyView(result: unknown, meta: ReplyMeta) {
  const { account, cap, key } = fieldsOf(result);
  const { created_at, expires_at, id, last_used_at, name, prefix, scopes } = fieldsOf(key);
  if (typeof id !== "string" || !("cap" in fieldsOf(result))) return undefined;

  const { held, left, max_credits, spent } = fieldsOf(cap);
  const [most, used, kept, free] = [max_credits, spent, held, left].map(amountOf);

  return {
    id: harmlessLine(id),
    name: line(name),
    prefix: line(prefix),
    createdAt: line(created_at),
    expiresAt: line(expires_at),
    lastUsedAt: line(last_used_at),
    scopes: Array.isArray(scopes) ? scopes.map((scope) => harmlessLine(String(scope))) : null,
    cap:
      most === undefined || used === undefined || kept === undefined || free === undefined
        ? null
        : { maxCredits: most, spent: used, held: kept, left: free },
    accountId: line(fieldsOf(account).id),
    accountName: line(fieldsOf(account).name),
    meta,
  };
}
