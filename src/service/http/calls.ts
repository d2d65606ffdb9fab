import type { Scope } from "../ledger/ledger.ts";

interface ApiCall {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly scope: Scope;
}

/**
 * Every call that takes a key: what stands outside
 * `/v1`, which holds what the contract has, is ours.
 */
export const API_CALLS = {
  account: { url: "/v1/account", method: "GET", scope: "account" },
  count: { url: "/v1/person/count", method: "POST", scope: "count" },
  search: { url: "/v1/person/search", method: "POST", scope: "search" },
  enrich: { url: "/v1/company/enrich", method: "GET", scope: "enrich" },
  employees: { url: "/v1/company/employees", method: "GET", scope: "employees" },
  // Counts of many at once; and who is named by a digest is bought as a page of a search is.
  facets: { url: "/facets", method: "POST", scope: "count" },
  counts: { url: "/counts", method: "POST", scope: "count" },
  sketch: { url: "/sketch", method: "POST", scope: "count" },
  people: { url: "/people", method: "POST", scope: "search" },
  key: { url: "/key", method: "GET", scope: "account" },
} as const satisfies Readonly<Record<string, ApiCall>>;

export type CallName = keyof typeof API_CALLS;

/** By path. */
export const API_ROUTES: Readonly<Record<string, ApiCall & { readonly name: CallName }>> =
  Object.fromEntries(
    (Object.keys(API_CALLS) as CallName[]).map((name) => [
      API_CALLS[name].url,
      { ...API_CALLS[name], name },
    ]),
  );
