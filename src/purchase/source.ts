import type { CompanyQuery, PagePosition, PageReply, PaidCallOptions, ServiceClient } from "../client/types.ts";
import type { Plan } from "../runs/plan.ts";
import type { Quote } from "./quote.ts";
import type { Targets } from "./remaining.ts";

/** What a run asks for, target by target: one for a search, one for each company otherwise. */
export interface Source extends Targets {
  call(target: number, position: PagePosition, options: PaidCallOptions): Promise<PageReply>;
  /** Whether a 404 means that the service does not know this target (free), and not a mistake. */
  readonly missing: boolean;
}

/** How the units of a run are asked for. */
export function sourceOf(
  { target, counts, parts, dataset_version: version }: Plan,
  client: ServiceClient,
  quote: Quote,
): Source {
  // Only our own service names the version of its dataset, and its totals are known.
  const trusted = version !== null;
  switch (target.kind) {
    case "search":
      if (parts !== undefined) {
        return {
          targets: parts.length,
          size: (index) => counts?.[index],
          call: (index, position, options) => client.searchPage(parts[index] ?? {}, position, options),
          count: (index) => counts?.[index],
          trusted,
          missing: false,
        };
      }
      return {
        targets: 1,
        size: () => quote.matches ?? Number.MAX_SAFE_INTEGER,
        call: (_, position, options) => client.searchPage(target.filters, position, options),
        count: () => quote.matches ?? undefined,
        trusted,
        missing: false,
      };
    case "employees":
      return {
        targets: target.companies.length,
        size: () => target.perCompany ?? undefined,
        call: (index, position, options) => client.employeesPage(companyAt(target.companies, index), position, options),
        // Nobody counted may be a company that is not known: asking tells.
        count: (index) => counts?.[index] || undefined,
        trusted,
        missing: true,
      };
    case "enrich":
      return {
        targets: target.companies.length,
        size: () => 1,
        call: (index, _, options) => client.enrich(companyAt(target.companies, index), options),
        count: () => undefined,
        trusted,
        missing: true,
      };
  }
}

function companyAt(companies: readonly CompanyQuery[], index: number): CompanyQuery {
  const company = companies[index];
  if (company === undefined) throw new RangeError(`the run has no company ${index}`);
  return company;
}
