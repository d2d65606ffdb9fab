import { canonicalJson, checkFilters, type Filters } from "../../shared/contract/filters.ts";
import { type Suppression, suppressedName } from "../../shared/contract/suppression.ts";
import { counted } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { Target } from "../runs/plan.ts";
import { isSet, type SearchTarget, searchTarget } from "./joined.ts";

/**
 * What is asked for without suppressed people who are named in it. Who merely matches cannot be left out: no filter
 * says "but not". @param onNotice told how many @throws CliError exit 2 where nobody else is named
 */
export function withoutSuppressed(target: Target, list: Suppression, onNotice: (text: string) => void): Target {
  if (list.isEmpty) return target;
  if (target.kind === "search" && isSet(target)) return withoutIn(target, list, onNotice);
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
  return addressesIn(target.filters);
}

const addressesIn = ({ network_url: addresses = [] }: Filters): Name[] =>
  [addresses].flat().map((text) => ({ text: String(text), kind: "address" }));

/** The same for several segments: who is named in one of them is left out of it, and a segment of nobody else goes. */
function withoutIn(target: SearchTarget, list: Suppression, onNotice: (text: string) => void): Target {
  const { canonical: _, except = [], filters: first, union = [first], ...rest } = target;
  let out = 0;
  const left = union.flatMap((filters) => {
    const named = addressesIn(filters);
    const stay = named.filter((name) => !isListed(name, list));
    out += named.length - stay.length;
    if (stay.length === named.length) return [filters];
    return stay.length === 0 ? [] : [{ ...filters, network_url: stay.map(({ text }) => text) }];
  });
  if (out === 0) return target;
  const people = `${counted(out, "person", "people")} on the suppression list`;
  if (left.length === 0) {
    throw usageError(
      `nobody is named but ${people}; nothing was spent`,
      "headcount suppress remove takes somebody off the list",
      "suppressed",
    );
  }
  const checked = (filters: Filters) => {
    const check = checkFilters(filters);
    if (!check.ok) throw new Error("a segment that was checked is none without some of its people");
    return { filters, canonical: check.canonical };
  };
  onNotice(`notice: ${people}: named, and neither asked for nor paid`);
  return { ...rest, ...searchTarget(left.map(checked), except.map(checked)) };
}

type Company = Exclude<Target, { kind: "search" }>["companies"][number];

const nameOf = ({ by, value }: Company): Name => ({
  text: value,
  kind: by === "domain" ? "domain" : by === "company_network_url" ? "address" : undefined,
});

export const isSuppressedCompany = (company: Company, list: Suppression): boolean => isListed(nameOf(company), list);

function isListed({ text, kind }: Name, list: Suppression): boolean {
  const name = kind === undefined ? undefined : suppressedName(text, kind);
  return name !== undefined && list.hidesName(name);
}
