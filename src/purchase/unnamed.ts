import { canonicalJson, checkFilters } from "../contract/filters.ts";
import { type Suppression, suppressedName } from "../contract/suppression.ts";
import { counted } from "../contract/text.ts";
import { usageError } from "../errors.ts";
import type { Target } from "../runs/plan.ts";

/**
 * What is asked for without those on the suppression list who are named in it: nobody pays for them. Who merely matches cannot be left out:
 * no filter says "but not".
 * @param onNotice told how many were left out
 * @throws CliError exit 2 where nobody else is named
 */
export function withoutSuppressed(target: Target, list: Suppression, onNotice: (text: string) => void): Target {
  if (list.isEmpty) return target;
  const named = namedIn(target);
  const left = named.filter((name) => !isListed(name, list));
  if (left.length === named.length) return target;
  const out = `${counted(named.length - left.length, target.kind === "search" ? "person" : "company", target.kind === "search" ? "people" : "companies")} on the suppression list`;
  if (left.length === 0) {
    throw usageError(
      `nobody is named but ${out}; nothing was spent`,
      "headcount suppress remove takes somebody off the list",
      "suppressed",
    );
  }
  onNotice(`notice: ${out}: named, and neither asked for nor paid`);
  if (target.kind !== "search") {
    return { ...target, companies: target.companies.filter((company) => !isListed(nameOf(company), list)) };
  }
  const filters = { ...target.filters, network_url: left.map(({ text }) => text) };
  const checked = checkFilters(filters);
  return checked.ok ? { ...target, filters, canonical: canonicalJson(checked.canonical) } : target;
}

interface Name {
  readonly text: string;
  readonly kind: "address" | "domain" | undefined;
}

function namedIn(target: Target): Name[] {
  // The rows of a table that is kept each name their company by its place.
  if (target.kind === "enrich" && target.keep !== undefined) return [];
  if (target.kind !== "search") return target.companies.map(nameOf);
  if (target.union !== undefined || target.except !== undefined) return [];
  const { network_url: addresses = [] } = target.filters;
  return [addresses].flat().map((text) => ({ text: String(text), kind: "address" }));
}

type Company = Exclude<Target, { kind: "search" }>["companies"][number];

const nameOf = ({ by, value }: Company): Name => ({
  text: value,
  kind: by === "domain" ? "domain" : by === "company_network_url" ? "address" : undefined,
});

function isListed({ text, kind }: Name, list: Suppression): boolean {
  const name = kind === undefined ? undefined : suppressedName(text, kind);
  return name !== undefined && list.hidesName(name);
}
