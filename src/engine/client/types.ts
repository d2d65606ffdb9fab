import type { FacetKey, FacetValue } from "../../shared/contract/facets.ts";
import type { Filters } from "../../shared/contract/filters.ts";
import { type Credits, creditsToNumber } from "../../shared/contract/money.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

/** How a service speaks where the contract is silent; saved per connection, found out by `doctor` (docs/contract.md, Search). */
export interface Dialect {
  readonly paging: "page" | "offset" | "cursor";
  readonly firstPage: 0 | 1;
  /** The largest `per_page` known, or undefined: learned from `account` or from a 422. */
  readonly perPageMax?: number;
}

export const DEFAULT_DIALECT: Dialect = { paging: "page", firstPage: 1 };

/** The ways to page as a person says them: by pages counted from 1 or from 0, by rows to skip, by cursor. */
export const PAGINGS = ["page", "page0", "offset", "cursor"] as const;
export type Paging = (typeof PAGINGS)[number];

/** What a way to page means. @throws CliError (exit 2) for a word that is none */
export function pagingOf(text: string): Pick<Dialect, "paging" | "firstPage"> {
  const paging = PAGINGS.find((name) => name === text.toLowerCase());
  if (paging !== undefined)
    return { paging: paging === "page0" ? "page" : paging, firstPage: paging === "page0" ? 0 : 1 };
  throw usageError(`paging is one of ${PAGINGS.join(", ")}, not "${echo(text)}"`, "headcount doctor finds it out");
}

export const pagingName = ({ paging, firstPage }: Pick<Dialect, "paging" | "firstPage">): Paging =>
  paging === "page" && firstPage === 0 ? "page0" : paging;

export interface ReplyMeta {
  readonly status: number;
  readonly requestId: string | undefined;
  /** When it came: epoch milliseconds. */
  readonly at: number;
  readonly elapsedMs: number;
  readonly creditsUsed: Credits | undefined;
  readonly creditsRemaining: Credits | undefined;
  readonly notices: readonly string[];
  readonly datasetVersion: string | undefined;
  readonly rateLimit: RateLimit | undefined;
  readonly deprecation: string | undefined;
}

export interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  readonly window: "minute" | "day" | undefined;
}

export interface AccountView {
  readonly accountId: string | undefined;
  readonly accountName: string | undefined;
  readonly keyMode: "live" | "test" | undefined;
  readonly keyPrefix: string | undefined;
  readonly plan: string | undefined;
  readonly balance: Credits | undefined;
  readonly held: Credits | undefined;
  readonly usedToday: Credits | undefined;
  readonly perMinute: number | undefined;
  readonly perDay: number | undefined;
  /** Credits per profile or match; where the account does not tell, 1 and the call's name in `unknownCosts`. */
  readonly costs: {
    readonly personSearch: Credits;
    readonly companyEnrich: Credits;
    readonly companyEmployees: Credits;
  };
  readonly unknownCosts: readonly string[];
  readonly perPageMax: number | undefined;
  readonly maxDepth: number | undefined;
  /** How long a paid call may be repeated under its key at no charge; undefined: the service promises nothing. */
  readonly idempotencyMs: number | undefined;
  readonly datasetVersion: string | undefined;
  readonly people: number | undefined;
  readonly companies: number | undefined;
  readonly raw: unknown;
  readonly meta: ReplyMeta;
}

/** What a service tells a key about itself, outside the contract; null: no such bound, or nothing known of it. */
export interface KeyView {
  readonly id: string;
  readonly name: string | null;
  readonly prefix: string | null;
  readonly createdAt: string | null;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly scopes: readonly string[] | null;
  readonly cap: {
    readonly maxCredits: Credits;
    readonly spent: Credits;
    readonly held: Credits;
    readonly left: Credits;
  } | null;
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly meta: ReplyMeta;
}

export interface CountView {
  readonly count: number;
  readonly cached: boolean | undefined;
  readonly asOf: string | undefined;
  readonly meta: ReplyMeta;
}

/** Values of a key in a segment; where `exact` is false it took the service too long, and `reason` says so (docs/contract.md, Facets). */
export interface FacetView {
  readonly key: FacetKey;
  readonly values: readonly FacetValue[];
  readonly count: number | undefined;
  readonly others: number | undefined;
  readonly missing: number | undefined;
  readonly distinct: number | undefined;
  /** Values that fewer people share are in `others`. */
  readonly least: number;
  readonly exact: boolean;
  readonly reason: string | undefined;
  readonly asOf: string | undefined;
  readonly meta: ReplyMeta;
}

export interface FacetOptions {
  readonly prefix?: string | undefined;
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How a company is named in a look-up: one parameter and its value, as the user gave it. */
export interface CompanyQuery {
  readonly by: "domain" | "company_network_url" | "name" | "id";
  readonly value: string;
}

export interface PagePosition {
  /** Rows before this page. A multiple of `perPage` unless a cursor is used. */
  readonly offset: number;
  readonly perPage: number;
  readonly cursor?: string;
}

/** A paid page. `body` is the reply as it came: it was paid for, and is spooled before anything looks into it. */
export interface PageReply {
  readonly body: Buffer;
  readonly meta: ReplyMeta;
  /** Null: it said that there is no next page; undefined: it said nothing. */
  readonly nextCursor: string | null | undefined;
  readonly total: number | undefined;
  readonly replayed: boolean;
  /** People of the page whom the service leaves out by now. */
  readonly withheld: number;
}

export interface PaidCallOptions {
  readonly idempotencyKey: string;
  readonly signal?: AbortSignal;
}

/** A service over HTTP: one method is one attempt at one call. Rejects with ServiceError or LostReplyError. */
export interface ServiceClient {
  readonly baseUrl: string;
  readonly dialect: Dialect;
  account(signal?: AbortSignal): Promise<AccountView>;
  /** Rejects with ServiceError where the service does not tell a key about itself. */
  key(signal?: AbortSignal): Promise<KeyView>;
  count(filters: Filters, signal?: AbortSignal): Promise<CountView>;
  /** Undefined where the service has no facets: they are not of the contract. Free. */
  facets(filters: Filters, key: FacetKey, options?: FacetOptions): Promise<FacetView | undefined>;
  searchPage(filters: Filters, position: PagePosition, options: PaidCallOptions): Promise<PageReply>;
  employeesPage(company: CompanyQuery, position: PagePosition, options: PaidCallOptions): Promise<PageReply>;
  enrich(company: CompanyQuery, options: PaidCallOptions): Promise<PageReply>;
  close(): Promise<void>;
}

/** What a profile or a match costs, by call. */
export const costsOf = ({ costs }: Pick<AccountView, "costs">) => ({
  person_search: creditsToNumber(costs.personSearch),
  company_enrich: creditsToNumber(costs.companyEnrich),
  company_employees: creditsToNumber(costs.companyEmployees),
});
