import { type Credits, creditsOrNull } from "../../shared/contract/money.ts";
import type { FacetKey, Filters } from "../../shared/contract/vocabulary.ts";
import type { CliError } from "../../shared/errors.ts";
import type {
  AccountView,
  CountsView,
  CountView,
  FacetView,
  KeyView,
  SketchView,
} from "./account-view.ts";
import type { CompanyQuery, Dialect, ServiceLimits } from "./dialect.ts";
import type { ReplyMeta } from "./errors.ts";

export type {
  AccountView,
  CountsView,
  CountView,
  FacetView,
  KeyView,
  SketchView,
} from "./account-view.ts";
export type { RateLimit, ReplyMeta } from "./errors.ts";

export interface FacetOptions {
  readonly prefix?: string | undefined;
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PagePosition {
  /** Rows before this page. A multiple of `perPage` unless a cursor is used. */
  readonly offset: number;
  readonly perPage: number;
  readonly cursor?: string | undefined;
}

/**
 * `body` is the reply as it came: it was paid for, and is spooled before anything looks into it.
 */
export interface PageReply {
  readonly body: Buffer;
  /** It ends too soon. */
  readonly isCut?: boolean | undefined;
  readonly meta: ReplyMeta;
  /** Null: it said that there is no next page; undefined: it said nothing. */
  readonly nextCursor: string | null | undefined;
  readonly total: number | undefined;
  readonly replayed: boolean;
  /** People of the page whom the service leaves out by now. */
  readonly withheld: number;
  /** Whether it cost what it says and no more, as its service declares. */
  readonly exact?: boolean | undefined;
  /** What it costs by the file of its vendor, and what the vendor said; undefined: no file. */
  readonly price?: { readonly declared: Credits; readonly told: Credits | undefined } | undefined;
  /** Why nothing more is bought once this page is kept: it is not what was declared. */
  readonly stop?: CliError | undefined;
}

export interface PaidCallOptions {
  readonly idempotencyKey: string;
  readonly signal?: AbortSignal;
}

/** A page of the ids of a segment. */
export interface IdsView {
  readonly ids: readonly string[];
  /** By whom of them nobody was to be had: they count as nobody from then on. */
  readonly gone: ReadonlySet<string>;
  /** What leads to those behind it; null: nobody is. */
  readonly next: string | null;
  /** Of the segment, where it was told. */
  readonly total: number | undefined;
  readonly meta: ReplyMeta;
}

/** One method is one attempt at one call. Rejects with ServiceError or LostReplyError. */
export interface ServiceClient {
  readonly baseUrl: string;
  readonly dialect: Dialect;
  account(signal?: AbortSignal): Promise<AccountView>;
  /** Undefined where the service does not tell a key about itself: it is not of the contract. */
  key(signal?: AbortSignal): Promise<KeyView | undefined>;
  count(filters: Filters, signal?: AbortSignal): Promise<CountView>;
  /**
   * Of one company each, in their order; undefined where the
   * service has no such call: it is not of the contract.
   */
  counts(
    filters: Filters,
    companies: readonly string[],
    signal?: AbortSignal,
  ): Promise<CountsView | undefined>;
  /** Undefined where the service has no facets: they are not of the contract. Free. */
  facets(filters: Filters, key: FacetKey, options?: FacetOptions): Promise<FacetView | undefined>;
  /**
   * Undefined where the service has no sketches: they are not of the contract. Free.
   * @param cells how many
   */
  sketch(
    filters: Filters,
    from: number,
    cells: number,
    signal?: AbortSignal,
  ): Promise<SketchView | undefined>;
  /**
   * Who is in a segment, page by page, for nothing; undefined where
   * ids are not found before people are paid for: see `Dialect.idRows`.
   */
  ids(
    filters: Filters,
    next: string | undefined,
    signal?: AbortSignal,
  ): Promise<IdsView | undefined>;
  searchPage(
    filters: Filters,
    position: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply>;
  /**
   * People by what was read out of a sketch of the same filters, or by
   * their ids; how many are there no more is `withheld`.
   */
  peopleByDigest(
    filters: Filters,
    digests: readonly string[],
    options: PaidCallOptions,
  ): Promise<PageReply>;
  employeesPage(
    company: CompanyQuery,
    position: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply>;
  enrich(company: CompanyQuery, options: PaidCallOptions): Promise<PageReply>;
  /** The dialect says so from now on. */
  learn(limits: ServiceLimits): void;
  close(): Promise<void>;
}

export const costsOf = ({ costs }: Pick<AccountView, "costs">) => ({
  person_search: creditsOrNull(costs.person_search),
  company_enrich: creditsOrNull(costs.company_enrich),
  company_employees: creditsOrNull(costs.company_employees),
});

/** Calls whose price is not told. */
export const untoldCosts = (account: Pick<AccountView, "costs">): string[] =>
  Object.entries(costsOf(account)).flatMap(([call, cost]) => (cost === null ? [call] : []));
