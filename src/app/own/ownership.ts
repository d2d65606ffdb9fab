import type { ExportDeps, OpenOwnership } from "../../engine/purchase/order.ts";
import type { Ownership } from "../../engine/purchase/ownership.ts";
import { isNarrowed, type Target } from "../../engine/runs/plan.ts";
import { checkedFilters } from "../../shared/filters.ts";
import { type Elsewhere, OwnedPeople } from "./owned-people.ts";
import type { LookBounds, Whole } from "./owned-segment.ts";

/** What a target is the people of, whole; undefined where no filter says it. */
function wholeOf(target: Target): Whole | undefined {
  if (target.kind === "search" && target.staff !== undefined)
    return isNarrowed(target) ? target : undefined;
  if (target.kind === "search") return (target.union ?? target.except) ? undefined : target;
  const { kind, companies } = target;
  if (kind === "enrich" || companies.some(({ by }) => by !== "company_network_url"))
    return undefined;
  const [filters, ...beside] = companies.map(({ value }) => ({ company_network_url: value }));
  return filters === undefined ? undefined : { filters, beside };
}

/** Of how many owned people the records say that they are in it. */
const recordsOf = ({ filters, beside = [] }: Whole, people: OwnedPeople): number =>
  [filters, ...beside].reduce((sum, each) => sum + people.count(checkedFilters(each).canonical), 0);

/** Of several companies, and of people by their ids, no filters say who else it is. */
const elsewhereOf = async (
  { filters, beside = [], named, staff }: Whole,
  people: OwnedPeople,
  isRead: boolean,
): Promise<readonly Elsewhere[]> =>
  beside.length > 0 || (named ?? staff) !== undefined
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
        const records = isNarrowed(target) ? undefined : recordsOf(whole, people);
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
