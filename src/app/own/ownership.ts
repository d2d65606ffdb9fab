import type { CompanyQuery } from "../../engine/client/dialect.ts";
import type { Who } from "../../engine/library/members.ts";
import type { ExportDeps, OpenOwnership } from "../../engine/purchase/order.ts";
import type { Ownership } from "../../engine/purchase/ownership.ts";
import { isNarrowed, type Target } from "../../engine/runs/plan.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { checkedFilters } from "../../shared/filters.ts";
import { type Elsewhere, OwnedPeople } from "./owned-people.ts";
import type { LookBounds, Whole } from "./owned-segment.ts";

/** What a target is the people of, whole; undefined where no record says it. */
function wholeOf(target: Target): Whole | undefined {
  if (target.kind === "enrich") return undefined;
  if (target.kind === "employees") {
    const [company, ...others] = target.companies;
    if (!target.companies.every(({ by }) => RECORDED.has(by))) return undefined;
    const isOne = others.length === 0 && company?.by === "company_network_url";
    return isOne
      ? { filters: { company_network_url: company.value } }
      : { filters: {}, isSet: true };
  }

  const { filters, union, except, staff } = target;
  if ((union ?? except) === undefined) return target;
  if (isNarrowed(target)) return staff && target;
  return { filters, isSet: true };
}

/** What a person's record has of the employer. */
const RECORDED: ReadonlySet<CompanyQuery["by"]> = new Set(["company_network_url", "domain"]);

/** Of how many owned people the records say that they are in a target; the suppressed too. */
function recordsOf(target: Target, people: OwnedPeople): number {
  const [of, except] = segmentsOf(target);
  const [one] = of;
  if (of.length === 1 && one !== undefined && except.length === 0) return people.count(one);

  const all = new Set(of.flatMap((each) => people.identities(each)));
  for (const identity of except.flatMap((each) => people.identities(each))) all.delete(identity);
  return all.size;
}

/** Of whom a target is, and whom it leaves out. */
function segmentsOf(target: Target): readonly [of: readonly Who[], except: readonly Who[]] {
  const matching = (filters: Filters): Who => ({ matching: checkedFilters(filters).canonical });
  if (target.kind === "search") {
    const { filters, union = [filters], except = [] } = target;
    return [union.map(matching), except.map(matching)];
  }

  const valuesBy = (key: CompanyQuery["by"]): readonly string[] =>
    target.companies.flatMap(({ by, value }) => (by === key ? value : []));
  const of = valuesBy("company_network_url").map((company_network_url) =>
    matching({ company_network_url }),
  );
  const domains = valuesBy("domain");
  return [domains.length === 0 ? of : [...of, { domains }], []];
}

/** Of several segments, and of people by their ids, no filters say who else it is. */
const elsewhereOf = async (
  { filters, isSet, named, staff }: Whole,
  people: OwnedPeople,
  isRead: boolean,
): Promise<readonly Elsewhere[]> =>
  isSet || (named ?? staff) !== undefined
    ? []
    : await people.elsewhere(checkedFilters(filters).canonical, isRead);

/** Of a segment that is bought as it is, and of which no record tells that somebody is owned. */
const nobodyIn = (people: OwnedPeople): Ownership => ({
  look: async (total) => {
    return {
      total,
      owned: 0,
      exact: people.library === undefined,
      calls: 0,
      durationMs: 0,
    };
  },

  before: (...of) => people.rowsBefore(...of),
  certify: async () => undefined,
  beside: async function* () {},
});

/** With whom it says to be owned elsewhere: of a segment that is one, and by its filters. */
const beside = (ownership: Ownership, elsewhere: readonly Elsewhere[]): Ownership => ({
  look: async (...of) => {
    const share = await ownership.look(...of);
    const others = elsewhere.map(({ service, addresses }) => {
      return { service, people: addresses.length };
    });
    return share && { ...share, elsewhere: others };
  },
  before: (...of) => ownership.before(...of),
  certify: (run) => ownership.certify(run),
  beside: (...of) => ownership.beside(...of),
});

/** Opened once, when it is first asked for. */
export function ownershipOf(
  bounds: LookBounds,
  deps: ExportDeps,
): { readonly open: OpenOwnership; readonly close: () => void } {
  let opened: Promise<OwnedPeople> | undefined;
  return {
    open: async (account, target) => {
      const whole = wholeOf(target);
      if (whole === undefined) return undefined;
      // Who was bought meanwhile is owned, too.
      opened =
        opened !== undefined && isNarrowed(target)
          ? opened.then((people) => people.open())
          : (opened ?? new OwnedPeople(account, deps).open());

      const segment = opened.then(async (people) => {
        const records = isNarrowed(target) ? undefined : recordsOf(target, people);
        const isAnywhere = whole.anywhere === true;
        const elsewhere = await elsewhereOf(whole, people, isAnywhere);
        const said = (ownership: Ownership): Ownership =>
          isAnywhere || elsewhere.length === 0 ? ownership : beside(ownership, elsewhere);

        const { idRows } = deps.seller.client.dialect;
        // Ids tell also of whom no record does.
        if (records === 0 && (idRows === undefined || people.library === undefined))
          return said(nobodyIn(people));
        // Who looks for people among others loads how that is done.
        const { OwnedSegment } = await import("./owned-segment.ts");
        const others = isAnywhere ? elsewhere : [];
        return said(
          new OwnedSegment({ ...whole, records, elsewhere: others }, bounds, people, deps),
        );
      });
      // A quote is right without it; buying only the new ones is not.
      return isNarrowed(target) ? segment : segment.catch(() => undefined);
    },

    close: () => void opened?.then((people) => people.close()).catch(() => undefined),
  };
}
