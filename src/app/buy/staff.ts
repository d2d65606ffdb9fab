import { searchTarget } from "../../engine/purchase/joined.ts";
import type { Keep, Prospect, Target } from "../../engine/runs/plan.ts";
import { type CheckedFilters, canonicalJson } from "../../shared/contract/filters.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { isSlug, slugOf } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { echo, grouped } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { checkedFilters } from "../../shared/filters.ts";

/** Free counts that may tell who is where. */
const MOST_COUNTS = 5_000;

export interface Staffing {
  /** People of each company, null for all. */
  readonly most: number | null;
  readonly segment?: CheckedFilters | undefined;
  /** Titles, the best first: people of the next one only where the others leave room. */
  readonly ladder?: readonly string[] | undefined;
  /** The table that names the companies, where its rows are kept. */
  readonly keep?: Keep | undefined;
  /** Whether only people are bought whom nobody owns. */
  readonly newOnly?: boolean | undefined;
}

/** Nobody is named twice, and no more counts are made than people wait for. */
function requireOnce(
  filters: CheckedFilters["filters"],
  ladder: readonly string[] | undefined,
  companies: number,
): void {
  if (filters.company_network_url !== undefined) {
    throw usageError(
      "companies are named twice: as such, and by the filter company_network_url",
      "leave one out",
    );
  }

  if (ladder !== undefined && filters.title !== undefined) {
    throw usageError(
      "titles are named twice: by the filter title, and by the ladder",
      "leave one out",
    );
  }

  if (companies * (ladder?.length ?? 1) > MOST_COUNTS) {
    const each = ladder === undefined ? "" : ` and title (${ladder.length})`;
    throw usageError(
      `with filters each company (${grouped(companies)})${each} takes a free count, ` +
        `and at most ${grouped(MOST_COUNTS)} are made`,
      "split the list",
    );
  }
}

function everybodyAt(companies: readonly Prospect[], most: number | null): Target {
  // Their people tell which companies they are.
  const turnOf = ({ by, value }: Prospect): number =>
    by !== "company_network_url" ? 0 : value.includes("/") ? 1 : 2;
  return {
    kind: "employees",
    companies: companies.toSorted((a, b) => turnOf(a) - turnOf(b)),
    perCompany: most,
  };
}

const titled = (title: string | undefined) => (title === undefined ? {} : { title });

/**
 * The people of companies; with a segment or titles those of them who match: as many segments of
 * one company each, of those whose address is known. @throws CliError exit 2
 */
export function staffOf(
  companies: readonly Prospect[],
  { most, segment, ladder, keep, newOnly }: Staffing,
): Target {
  if ((segment ?? ladder ?? keep ?? newOnly) === undefined) {
    return everybodyAt(companies, most);
  }

  const { canonical, filters } = segment ?? checkedFilters({});
  requireOnce(filters, ladder, companies.length);

  const rungs = ladder ?? [undefined];
  const addresses = companies.flatMap(
    ({ by, value, address }) => (by === "company_network_url" ? value : address) ?? [],
  );
  const unknown = companies.length - addresses.length;
  const each = apart(addresses);

  const union = each.flatMap(([, address]) =>
    rungs.map(
      (title) =>
        checkedFilters({ ...filters, ...titled(title), company_network_url: address }).filters,
    ),
  );
  const [one, ...more] = union;

  // All of one company is a segment as any other, and its new people have a certificate.
  if (
    newOnly === true &&
    unknown === 0 &&
    (most ?? keep ?? more[0] ?? null) === null &&
    one !== undefined
  ) {
    return { ...searchTarget([checkedFilters(one)], []), owned: "without" };
  }

  const titles = ladder === undefined ? "" : ` by ${JSON.stringify(ladder)}`;
  const owns = JSON.stringify(each.map(([own]) => own));
  const where = `${canonicalJson(canonical)}${titles} at ${owns}`;
  const staff = {
    most,
    unknown,
    ...(ladder && { ladder }),
    ...(keep && { keep, prospects: companies }),
  };
  const owned = newOnly && { owned: "without" as const };

  return { kind: "search", filters, canonical: where, union, staff, ...owned };
}

/** Addresses by their forms, each once: of a bare slug are the people at all that end with it. */
function apart(addresses: readonly string[]): readonly (readonly [form: string, text: string])[] {
  const forms = new Map(addresses.map((text) => [canonicalAddress(text) ?? text, text]));
  return [...forms].filter(([own]) => isSlug(own) || !forms.has(slugOf(own)));
}

/** `cro; vp sales; head of sales`, each once. @throws CliError exit 2 where it names nothing */
export function ladderOf(text: string): readonly string[] {
  const rungs = new Map(
    text
      .split(";")
      .flatMap((each) => (each.trim() === "" ? [] : [[normalForm(each), each.trim()]])),
  );
  if (rungs.size > 0) return [...rungs.values()];
  throw usageError(
    `a ladder of titles names at least one, not "${echo(text)}"`,
    "for example 'cro; vp sales; head of sales'",
  );
}
