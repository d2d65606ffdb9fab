import type { CompanyLookup } from "../../dataset/engine.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { StoredKey } from "../ledger/ledger.ts";
import { Problem } from "../problem.ts";

/**
 * What a test key makes happen by a value (docs/operate/service.md): undefined for a live one.
 * @throws Problem
 */
export function magicOf(
  key: StoredKey,
  find: () => Magic | undefined,
  miss?: Problem,
): Magic | undefined {
  const magic = key.mode === "test" ? find() : undefined;
  const problem = magicProblem(magic, miss);
  if (problem !== undefined) throw problem;
  return magic;
}

export type Magic = "402" | "404" | "429" | "500" | "slow" | "drop";

export const MAGIC_SLOW_MS = 3_000;

const MAGIC = /^magic-(402|404|429|500|slow|drop)(?:\.example)?$/;
const wordOf = (value: string): Magic | undefined => MAGIC.exec(value)?.[1] as Magic | undefined;

/**
 * With a test key: `{"name": "magic-500"}` in the filters.
 * There is no 404 on these, and no 402 on a count.
 */
export function magicOfFilters(filters: CanonicalFilters, paid: boolean): Magic | undefined {
  for (const name of filters.exact.name ?? []) {
    const magic = wordOf(name);
    if (magic !== undefined && magic !== "404" && (paid || magic !== "402")) return magic;
  }
  return undefined;
}

/** With a test key: `domain=magic-404.example`, or `magic-404` as name, id or slug. */
export const magicOfCompany = (lookup: CompanyLookup): Magic | undefined => wordOf(lookup.value);

function magicProblem(magic: Magic | undefined, miss?: Problem): Problem | undefined {
  if (magic === "404") return miss;
  if (magic === "402") {
    const advice = "lower per_page or top up";
    return new Problem(402, [
      `magic value: this call may cost more credits than are available: ${advice}`,
    ]);
  }

  if (magic === "429") {
    const headers = { "retry-after": "1", "x-ratelimit-remaining": "0" };
    return new Problem(429, ["magic value: rate limit exceeded; retry in 1 s"], headers);
  }
  if (magic === "500")
    return new Problem(500, ["magic value: internal error; nothing was charged"]);

  return undefined;
}
