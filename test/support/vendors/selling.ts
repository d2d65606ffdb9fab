import { expect, onTestFinished } from "vitest";
import { vendorUser } from "../vendor-user.ts";
import type { VendorName } from "./index.ts";
import { creditsOf, millionthsOf } from "./shared.ts";

// Vendors that people can be bought from, each with a book of what it charged.

type Options = Parameters<typeof vendorUser>[1];

export interface Selling {
  readonly name: VendorName;
  /** What a person costs, or so many as one price pays for. */
  readonly each: string;
  readonly parcel?: number;
  /** Whether a reply or a free call tells what was charged. */
  readonly told: "charged" | "balance";
  /** A filter as the vendor writes it, and whether a count of nobody by it is free. */
  readonly country: string;
  readonly counts: boolean;
}

export const SELLING: readonly Selling[] = [
  { name: "pdl", each: "1", told: "charged", country: "location_country", counts: false },
  {
    name: "crustdata",
    each: "0.03",
    told: "balance",
    country: "basic_profile.location.country",
    counts: false,
  },
  { name: "coresignal", each: "20", told: "balance", country: "location_country", counts: true },
  { name: "apollo", each: "1", told: "charged", country: "person_locations", counts: true },
  { name: "explorium", each: "1", told: "balance", country: "country_code", counts: true },
  {
    name: "prospeo",
    each: "1",
    parcel: 25,
    told: "balance",
    country: "person_location_search",
    counts: false,
  },
];

/** Five rows are a page: of a vendor that sells pages there are as many more people. */
export const PAGE = 5;

export async function userOf({ name, parcel = PAGE }: Selling, options: Options = {}) {
  const people = (400 * parcel) / PAGE;
  const user = await vendorUser(name, { credits: "100000", people, ...options });
  onTestFinished(() => user.vendor.stop());
  expect(user.added.code, user.added.stderr).toBe(0);
  const { vendor } = user;
  const german = vendor.people.filter(({ country }) => country?.code === "DE").map(vendor.id);
  const charged = (): bigint => millionthsOf(vendor.book.charged());
  const files = (): unknown[] => user.rows("o.ndjson").map(({ id }) => id);
  return { ...user, german, charged, files };
}

/** What so many people cost where a page has five, and as many pages at a vendor that sells those. */
export const price = ({ each, parcel }: Selling, people: number): string =>
  creditsOf(millionthsOf(each) * BigInt(parcel === undefined ? people : Math.ceil(people / PAGE)));

/** A purchase of a vendor's people in Germany, by pages of a size, and what else differs from vendor to vendor. */
export function purchaseOf({ name, parcel = 1 }: Selling) {
  // By numbers several are asked for at once: of those that a killed process was about to keep
  // nobody knows which had arrived.
  const pages = parcel === 1 ? ` --per-page ${PAGE}` : " --concurrency 1";
  return {
    isOfIds: name === "coresignal" || name === "apollo",
    parcel,
    pages,
    buy: `search -c v --country Germany -o o.ndjson --yes${pages}`,
    rows: (people: number): number => (parcel === 1 ? people : (people / PAGE) * parcel),
  };
}
