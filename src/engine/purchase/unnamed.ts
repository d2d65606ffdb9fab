// Tested by test/cli/suppress.test.ts.
import type { Suppression } from "../../shared/contract/suppression.ts";
import { counted } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { checkedFilters } from "../../shared/filters.ts";
import type { Target } from "../runs/plan.ts";
import { searchTarget } from "./joined.ts";

/**
 * What is asked for without suppressed people who are named in it. Who
 * merely matches cannot be left out: no filter says "but not". @param
 * onNotice told how many @throws CliError exit 2 where nobody else is named
 */
export function withoutSuppressed(
  target: Target,
  list: Suppression,
  onNotice: (text: string) => void,
): Target {
  if (list.isEmpty) return target;

  const tell = (out: number, what: readonly [one: string, many: string], isAll: boolean): void => {
    const who = `${counted(out, ...what)} on the suppression list`;
    if (!isAll) onNotice(`notice: ${who}: named, and neither asked for nor paid`);
    else
      throw usageError(
        `nobody is named but ${who}; nothing was spent`,
        "headcount suppress remove takes somebody off the list",
        "suppressed",
      );
  };

  if (target.kind !== "search") {
    // The rows of a table that is kept each name their company by its place.
    if (target.kind === "enrich" && target.keep !== undefined) return target;
    const companies = target.companies.filter((company) => !isSuppressedCompany(company, list));
    const out = target.companies.length - companies.length;
    if (out > 0) tell(out, ["company", "companies"], companies.length === 0);
    return out === 0 ? target : { ...target, companies };
  }

  const { canonical: _, except = [], filters: first, union = [first], ...rest } = target;
  let out = 0;
  const sets = union.flatMap((filters) => {
    const addresses = [filters.network_url ?? []].flat().map(String);
    const stay = addresses.filter((text) => !list.hides({ address: text }));
    out += addresses.length - stay.length;
    if (stay.length === addresses.length) return [filters];
    return stay.length === 0 ? [] : [{ ...filters, network_url: stay }];
  });

  if (out === 0) return target;
  tell(out, ["person", "people"], sets.length === 0);

  return {
    ...rest,
    ...searchTarget(
      sets.map((each) => checkedFilters(each)),
      except.map((each) => checkedFilters(each)),
    ),
  };
}

type Company = Exclude<Target, { kind: "search" }>["companies"][number];

export function isSuppressedCompany({ by, value }: Company, list: Suppression): boolean {
  return by === "domain"
    ? list.hides({ domain: value })
    : by === "company_network_url" && list.hides({ address: value });
}
