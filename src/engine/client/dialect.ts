import type { Credits } from "../../shared/contract/money.ts";
import { counted, echo, grouped } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { command, option, say, usageError } from "../../shared/errors.ts";

/**
 * How a service speaks where the contract is silent;
 * saved per connection (docs/reference/contract.md, Search).
 */
export interface Dialect {
  readonly paging: "page" | "offset" | "cursor";
  /** Where pages are counted from; undefined: nobody told, and it is taken to be 1. */
  readonly firstPage?: 0 | 1 | undefined;
  /** The largest `per_page` known: learned from `account` or from a 422. */
  readonly perPageMax?: number;
  /** Rows of a page where more are asked for and nothing tells the most: what quotes count on. */
  readonly pageRows?: number;
  /** Whose file speaks here, and not the contract: nothing but counts and pages is asked of it. */
  readonly vendor?: string;
  /** The name of that file, another one where its text is. */
  readonly file?: string | undefined;
  /** By what that file names a company, where it has a call for it. */
  readonly names?: Readonly<Record<"enrich" | "employees", readonly CompanyQuery["by"][]>>;
  /** A cursor goes on in pages of the size that it began with, and in no other. */
  readonly isOneSize?: boolean;
  /** Rows of a segment behind which it says that it may refuse pages. */
  readonly depth?: number | undefined;
  /** Ids of a page, where a search finds them for nothing before anybody is paid for. */
  readonly idRows?: number;
  /** What a count costs there, which is the first rows of a search: none is made unasked. */
  readonly counting?: { readonly price: Credits; readonly rows: number } | undefined;
  /**
   * Paid calls that see before the first page of a search whether its filters are heeded.
   * @throws CliError exit 2 for what its file cannot say: nothing needs to be sent for that
   */
  readonly tries?: (filters: Filters) => number;
  /** Nobody has seen a reply of it: one row is bought and looked at before more are. */
  readonly isUnproven?: boolean;
}

/** Filters that were seen to be heeded, or not to be any more. */
export interface Seen {
  readonly keys: readonly string[];
  readonly isHeeded: boolean;
}

/** What replies teach of a service whose account does not tell it. */
export type ServiceLimits = Pick<Dialect, "pageRows">;

export const DEFAULT_DIALECT: Dialect = { paging: "page" };

export const PAGINGS = ["page", "page0", "offset", "cursor"] as const;
export type Paging = (typeof PAGINGS)[number];

/** @throws CliError (exit 2) for a word that is none */
export function pagingOf(text: string): Pick<Dialect, "paging" | "firstPage"> {
  const paging = PAGINGS.find((name) => name === text.toLowerCase());
  if (paging !== undefined)
    return { paging: paging === "page0" ? "page" : paging, firstPage: paging === "page0" ? 0 : 1 };
  throw usageError(
    `paging is one of ${PAGINGS.join(", ")}, not "${echo(text)}"`,
    say`${command("doctor")} finds it out`,
  );
}

export const pagingName = ({ paging, firstPage }: Pick<Dialect, "paging" | "firstPage">): Paging =>
  paging === "page" && firstPage === 0 ? "page0" : paging;

/**
 * No file of a vendor says how a segment is divided.
 * @throws CliError exit 2 where more is wanted of one than he gives
 */
export function requireReached(
  { vendor }: Dialect,
  depth: number | undefined,
  there: number | null,
): void {
  if (vendor === undefined || depth === undefined || there === null) return;
  throw usageError(
    `${vendor} gives ${counted(depth, "row")} of one segment at most, of ${grouped(there)} there`,
    say`${option("limit", depth)} buys those`,
    "too_deep",
  );
}

export interface CompanyQuery {
  readonly by: "domain" | "company_network_url" | "name" | "id";
  readonly value: string;
}
