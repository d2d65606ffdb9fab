import type { CanonicalFilters } from "../contract/filters.ts";
import type { CompanyLookup } from "../dataset/engine.ts";

/** What a magic value makes of a call with a test key. */
export type Magic = "402" | "404" | "429" | "500" | "slow";

/** How long `magic-slow` waits before it answers. */
export const MAGIC_SLOW_MS = 3_000;

const PATTERN = /^magic-(402|404|429|500|slow)(?:\.example)?$/;

const magicOf = (value: string): Magic | undefined => PATTERN.exec(value)?.[1] as Magic | undefined;

/** With a test key: `{"name": "magic-500"}` in the filters of count and search. There is no 404 on these, and no 402 on a count. */
export function magicOfFilters(filters: CanonicalFilters, paid: boolean): Magic | undefined {
  for (const name of filters.exact.name ?? []) {
    const magic = magicOf(name);
    if (magic !== undefined && magic !== "404" && (paid || magic !== "402")) return magic;
  }
  return undefined;
}

/** With a test key: `domain=magic-404.example`, or `magic-404` as name, id or slug. */
export const magicOfCompany = (lookup: CompanyLookup): Magic | undefined => magicOf(lookup.value);
