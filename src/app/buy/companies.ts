import type { CompanyQuery } from "../../engine/client/dialect.ts";
import { canonicalAddress, canonicalDomain } from "../../shared/contract/normalise.ts";

const PROFILE_PATH = /^[^/]+\/(company|companies|school|showcase|organi[sz]ations?|org)\/[^/]+/;

/**
 * What a text is by its look: a profile address
 * (host/company/slug), the domain of another address, or a slug.
 */
export function queryOf(text: string, by?: "name" | "id" | null): CompanyQuery | undefined {
  const value = text.trim();
  if (value === "") return undefined;
  if (by) return { by, value };
  const address = canonicalAddress(value);
  if (address === undefined) return undefined;
  if (PROFILE_PATH.test(address)) return { by: "company_network_url", value };
  const domain = canonicalDomain(value);
  if (domain !== undefined) return { by: "domain", value: domain };
  return { by: "company_network_url", value };
}
