import type { CompanyQuery } from "../../engine/client/types.ts";
import type { Target } from "../../engine/runs/plan.ts";
import { canonicalJson } from "../../shared/contract/filters.ts";
import { canonicalAddress, slugOf } from "../../shared/contract/normalise.ts";
import { echo, grouped } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { type CheckedFilters, checkedFilters } from "../segments/segment-set.ts";

/** Each takes a free count. */
const MOST_COMPANIES = 2_000;

/**
 * The people of companies; with a segment those of them who are in it: as many segments of one company each.
 * @param most people of each company, null for all @throws CliError exit 2 for a company that no filter names
 */
export function staffOf(
  companies: readonly CompanyQuery[],
  most: number | null,
  segment: CheckedFilters | undefined,
): Target {
  if (segment === undefined) return { kind: "employees", companies, perCompany: most };
  const { canonical, filters } = segment;
  const other = companies.find(({ by }) => by !== "company_network_url");
  if (other !== undefined) {
    throw usageError(
      `with filters a company is named by its profile address or slug, and "${echo(other.value)}" is a ${other.by}: no filter finds its people`,
      "headcount enrich tells the address (company_network_url) of a company",
    );
  }
  if (filters.company_network_url !== undefined) {
    throw usageError("companies are named twice: as such, and by the filter company_network_url", "leave one out");
  }
  if (companies.length > MOST_COMPANIES) {
    throw usageError(
      `with filters at most ${grouped(MOST_COMPANIES)} companies are taken at once, not ${grouped(companies.length)}: each takes a free count`,
      "split the list",
    );
  }
  const union = companies.map(({ value }) => checkedFilters({ ...filters, company_network_url: value }).filters);
  const slugs = companies.map(({ value }) => slugOf(canonicalAddress(value) ?? value));
  const where = `${canonicalJson(canonical)} at ${JSON.stringify(slugs)}`;
  return { kind: "search", filters, canonical: where, union, staff: { most } };
}
