// Tested by test/scene/contract.test.ts.
import { addressForms, canonicalAddress } from "../../shared/contract/naming/address.ts";
import { isSlug } from "../../shared/contract/naming/slug.ts";
import { echo, someOf } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { PagePosition, PageReply, PaidCallOptions, ServiceClient } from "../client/types.ts";
import { type DrawnPage, pagesOf, rowsBegun } from "../planning/draw.ts";
import { isForgiving, type Plan, type Target } from "../runs/plan.ts";
import { evenly } from "./paging.ts";
import type { Targets } from "./remaining.ts";
import type { Watched } from "./repeats.ts";

export interface Source extends Targets, Watched {
  call(target: number, position: PagePosition, options: PaidCallOptions): Promise<PageReply>;
  /** Whether a 404 means that the service does not know this target (free), and not a mistake. */
  readonly missing: boolean;
  readonly forgiving?: boolean;
  readonly doubles?: (() => string) | undefined;
}

interface Quoted {
  readonly rows: number;
  readonly matches: number | null;
}

export function sourceOf(
  run: { readonly plan: Plan },
  client: ServiceClient,
  quote: Quoted,
): Source {
  const { plan } = run;
  const { target, counts, dataset_version: version } = plan;
  // Only our own service names the version of its dataset, and its totals are known.
  const trusted = version !== null;

  switch (target.kind) {
    case "search":
      if (plan.draw !== undefined) return sampleOf(plan, client, quote);
      if (plan.digests !== undefined) return namedOf(target.filters, plan.digests, client);
      return segmentsOf(run, target, client, quote);
    case "employees":
      return {
        ...companiesOf(target),
        call: (index, position, options) =>
          client.employeesPage(at(target.companies, index), position, options),
        // Nobody counted may be a company that is not known: asking tells.
        count: (index) => counts?.[index] || undefined,
        trusted,
        missing: true,
      };
    case "enrich":
      return {
        targets: target.companies.length,
        size: () => 1,
        call: (index, _, options) => client.enrich(at(target.companies, index), options),
        count: () => undefined,
        trusted,
        missing: true,
        forgiving: isForgiving(target),
      };
  }
}

/** Two names may be of one company: the address in its people's rows tells. */
function companiesOf({ companies, perCompany }: Target & { readonly kind: "employees" }) {
  const own = companies.map(({ by, value }) =>
    by === "company_network_url" ? canonicalAddress(value) : undefined,
  );
  // Domains, ids and names, whole addresses, bare slugs: what is shown tells who comes after.
  const barriers = [
    own.findIndex((address) => address !== undefined),
    own.findIndex((address) => address !== undefined && isSlug(address)),
  ].filter((index) => index > 0);
  const firsts = new Map<string | undefined, number>();
  const sameAs = (index: number): number => firsts.get(own[index]) ?? index;
  const nameOf = (index: number): string => echo(at(companies, index).value);

  return {
    targets: companies.length,
    size: (index: number) => (sameAs(index) === index ? (perCompany ?? undefined) : 0),
    barriers,

    see: (index: number, page: Page): boolean => {
      const rows = page.indexes.map((row) => page.identity(row, ["company_network_url"]));
      const [address, ...others] = new Set(rows);
      if (address === undefined || others.length > 0) return false;
      own[index] = canonicalAddress(address);
      for (const form of addressForms(address)) if (!firsts.has(form)) firsts.set(form, index);
      return sameAs(index) !== index;
    },

    doubles: () => {
      const all = companies.flatMap((_, index) =>
        sameAs(index) === index ? [] : [[index, sameAs(index)]],
      );
      return someOf(all.map((pair) => pair.map(nameOf).join(" is ")));
    },
  };
}

/** The segment, or its parts: there may be more of them where it is divided under way. */
function segmentsOf(
  run: { readonly plan: Plan },
  { filters, staff }: Target & { readonly kind: "search" },
  client: ServiceClient,
  quote: Quoted,
): Source {
  const { parts, counts = [], dataset_version: version } = run.plan;
  const of = (parts ?? []).map(({ company_network_url: company }) => company);
  const even = staff && evenly(counts, of, { rows: quote.rows, most: staff.most });
  const partsOf = (): readonly Filters[] => run.plan.parts ?? [filters];
  const count = (index: number): number | undefined =>
    run.plan.parts === undefined ? (quote.matches ?? undefined) : run.plan.counts?.[index];

  return {
    get targets() {
      return partsOf().length;
    },
    size: (index) => run.plan.spans?.[index]?.to ?? even?.[index] ?? count(index),
    skip: (index) => run.plan.spans?.[index]?.from ?? 0,
    call: (index, position, options) => client.searchPage(at(partsOf(), index), position, options),
    count,
    filters: (index) => partsOf()[index],
    trusted: version !== null,
    missing: false,
  };
}

function sampleOf(plan: Plan, client: ServiceClient, quote: Quoted): Source {
  const { parts = [], counts = [], digests, dataset_version: version } = plan;
  const pages = pagesOf(plan.draw?.pages ?? "", counts);
  const drawn = (target: number): DrawnPage => at(pages, target);
  // A service that does not say how deep it goes refuses,
  // free, at its deepest row: that is asked for first.
  const begun = pages.slice(0, rowsBegun(pages, quote.rows).pages);
  const deepest = begun.reduce(
    (most, { offset }, index) => (offset > drawn(most).offset ? index : most),
    0,
  );

  return {
    targets: pages.length,
    size: (target) => drawn(target).rows,
    count: (target) => drawn(target).rows,
    page: (target) => drawn(target).size,
    segment: (target) => drawn(target).segment,
    filters: (target) => parts[drawn(target).segment],
    first: version === null && begun.length > 0 ? deepest : undefined,

    call: async (target, _, options) => {
      const { segment, offset, size } = drawn(target);
      const reply =
        digests === undefined
          ? await client.searchPage(at(parts, segment), { offset, perPage: size }, options)
          : await client.peopleByDigest(
              at(parts, segment),
              digests.slice(offset, offset + size),
              options,
            );
      // What they say is of the segment, and nothing of this page.
      return { ...reply, total: undefined, nextCursor: undefined };
    },

    trusted: version !== null,
    missing: false,
  };
}

/** People whom a sketch told, or ids: who is not there any more is left out of a page, and free. */
function namedOf(filters: Filters, digests: readonly string[], client: ServiceClient): Source {
  return {
    targets: 1,
    size: () => digests.length,
    count: () => digests.length,

    call: async (_, { offset, perPage }, options) => {
      const end = offset + perPage;
      const reply = await client.peopleByDigest(filters, digests.slice(offset, end), options);
      return { ...reply, total: undefined, nextCursor: end < digests.length ? String(end) : null };
    },

    trusted: true,
    missing: false,
  };
}

/** Nothing is asked in place of what is not there: no filter at all would be everybody. */
function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`the run has no target ${index}`);
  return item;
}
