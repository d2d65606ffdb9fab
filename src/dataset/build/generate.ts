import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS, type Company, type Person } from "../../shared/contract/records.ts";
import {
  COMPANY_ENDS,
  FIRST_SLOTS,
  INDUSTRY_SLOTS,
  LAST_SLOTS,
  type MadePlace,
  makePools,
  mix32,
  SMALL_SLOTS,
  TAIL_SLOTS,
} from "./generate-pools.ts";
import { loadRecords, stagePeople } from "./records-table.ts";

export interface GenerateOptions {
  readonly people: number;
  /** 0..4,294,967,295; the same people and seed give the same dataset on every machine. */
  readonly seed: number;
}

export const companiesFor = (people: number): number => Math.max(1, Math.round(people / 7));

export async function generateInto(
  room: { readonly connection: DuckDBConnection; readonly scratch: string },
  options: GenerateOptions,
): Promise<void> {
  const population = new Population(options);
  await stagePeople(room, linesOf(population.people()));
  await loadRecords(room, "staged_companies", COMPANY_FIELDS, linesOf(population.companies()));
}

async function* linesOf(records: Iterable<Person | Company>): AsyncGenerator<string> {
  for (const record of records) yield JSON.stringify(record);
}

const DAYS = Array.from({ length: 540 }, (_, day) =>
  new Date(Date.UTC(2025, 0, 1 + day)).toISOString().replace(".000", ""),
);
const dayOf = (bits: number): string => DAYS[bits % DAYS.length] ?? "";
const hex = (value: number): string => value.toString(16).padStart(8, "0");

/** The upper half of the product of two 32-bit numbers. */
function highProduct(x: number, y: number): number {
  const [xLow, xHigh, yLow, yHigh] = [x & 0xffff, x >>> 16, y & 0xffff, y >>> 16];
  const first = xHigh * yLow + Math.floor((xLow * yLow) / 0x10000);
  const second = xLow * yHigh + (first % 0x10000);
  return xHigh * yHigh + Math.floor(first / 0x10000) + Math.floor(second / 0x10000);
}

const SIZES = [
  [10, "1-10"],
  [50, "11-50"],
  [200, "51-200"],
  [500, "201-500"],
  [1_000, "501-1,000"],
  [5_000, "1,001-5,000"],
  [10_000, "5,001-10,000"],
] as const;

interface MadeCompany {
  readonly record: Company;
  readonly place: MadePlace;
}

const KNOWN_COMPANIES = 10_000;

/**
 * Made-up people and companies. A record is a pure
 * function of its number and the seed, in 32-bit integers.
 */
export class Population {
  readonly #people: number;
  readonly #companies: number;
  readonly #start: number;
  readonly #pools = makePools();
  readonly #cache: MadeCompany[] = [];

  constructor({ people, seed }: GenerateOptions) {
    this.#people = people;
    this.#companies = companiesFor(people);
    this.#start = mix32(seed >>> 0);
  }

  *people(): Generator<Person> {
    for (let number = 0; number < this.#people; number++) yield this.#person(number);
  }

  *companies(): Generator<Company> {
    for (let number = 0; number < this.#companies; number++) yield this.#company(number).record;
  }

  #pick(number: number, salt: number): number {
    return mix32(Math.imul(number, 2654435769 | 0) + Math.imul(salt, 2246822507 | 0) + this.#start);
  }

  /** A bijection: no two records have the same id. */
  #scramble(number: number, salt: number): string {
    return hex(mix32(number ^ (Math.imul(salt, 2246822507 | 0) + this.#start)));
  }

  #placeOf(slot: number): MadePlace {
    const { places, placeOwners } = this.#pools;
    return places[placeOwners[slot] ?? 0] as MadePlace;
  }

  #employer(number: number): MadeCompany {
    if (number >= KNOWN_COMPANIES) return this.#company(number);
    this.#cache[number] ??= this.#company(number);
    return this.#cache[number];
  }

  #company(number: number): MadeCompany {
    const { companyNames, industries, tails, words } = this.#pools;
    const [a, b, c] = [101, 102, 103].map((salt) => this.#pick(number, salt)) as [
      number,
      number,
      number,
    ];

    // 2029 is prime and no divisor of the number of names,
    // so that neighbours do not share the first word.
    const slot = (number * 2029 + 1) % companyNames.length;
    const { name, slug } = this.#companyName(number, slot);
    const place = this.#placeOf(a >>> 14);
    const [one, other] = [words[c >>> 22], words[(b >>> 20) & (SMALL_SLOTS - 1)]];
    const followers = tails[c & (TAIL_SLOTS - 1)]?.followers ?? 0;
    const [specialty = "", second = ""] = [one?.specialty, other?.specialty];
    const staff = 1 + Math.floor(followers / 12) + Math.floor(this.#companies / (7 * (number + 1)));
    const employees = Math.min(250_000, staff);
    const works = `${name} works on ${specialty} and ${second} in ${place.city}.`;

    const record = {
      id: `c${this.#scramble(number, 100)}`,
      name,
      domain: number > 0 && a % 25 === 3 ? null : `${slug}.example`,
      company_network_url: number > 0 && a % 50 === 7 ? null : `network.example/company/${slug}`,
      industry: b % 31 === 0 ? null : (industries[(b >>> 4) & (INDUSTRY_SLOTS - 1)] ?? null),
      type: one?.type ?? null,
      size_range: SIZES.find(([most]) => employees <= most)?.[1] ?? "10,001+",
      employee_count: employees,
      founded_year: b % 11 === 0 ? null : 1900 + Math.max((b >>> 8) % 124, (b >>> 16) % 124),
      description: c % 9 === 0 ? null : works,
      country: place.country,
      state: place.state,
      city: place.city,
      location: place.location,
      followers: c % 13 === 0 ? null : followers * 2,
      specialties: c % 7 === 0 ? [] : specialty === second ? [specialty] : [specialty, second],
      updated_at: dayOf(c >>> 12),
    };
    return { record, place };
  }

  #companyName(number: number, slot: number): { readonly name: string; readonly slug: string } {
    const names = this.#pools.companyNames;
    const { name = "", slug = "" } = names[slot] ?? {};
    const round = Math.floor(number / names.length);
    if (number === 0) return { name: "Acme", slug: "acme" };
    if (round === 0) return { name, slug };
    const ending = COMPANY_ENDS[(round - 1 + slot) % COMPANY_ENDS.length] ?? "";
    const again = Math.floor((round - 1) / COMPANY_ENDS.length) + 1;
    const word = ending.toLowerCase().replaceAll(".", "").replaceAll("& ", "");
    return { name: `${name} ${ending}`, slug: `${slug}-${word}${again > 1 ? `-${again}` : ""}` };
  }

  #person(number: number): Person {
    const { firstNames, lastNames, tails, titles, words } = this.#pools;
    const [a, b, c, d, e, f, g] = [1, 2, 3, 4, 5, 6, 7].map((salt) => this.#pick(number, salt)) as [
      ...[number, number, number, number],
      ...[number, number, number],
    ];
    const employer =
      a % 100 < 8 ? undefined : this.#employer(highProduct(highProduct(b, b), this.#companies));
    const origin = this.#placeOf(d >>> 14);

    const near =
      employer !== undefined && (a >>> 7) % 100 < 55 ? employer.place : this.#placeOf(c >>> 14);
    const place = c % 100 === 0 ? undefined : near;
    const isOrigin =
      place === undefined || d % 100 < 15 || (place.country === "United States" && d % 100 < 35);
    const culture = isOrigin ? origin.culture : place.culture;
    const first = firstNames[culture * FIRST_SLOTS + (e >>> 24)];
    const last = lastNames[culture * LAST_SLOTS + (e & (LAST_SLOTS - 1))];
    const [given = "", family = ""] = [first?.display, last?.display];
    const role = f % 33 === 0 ? undefined : titles[f >>> 16];
    const initial =
      (e >>> 12) % 8 === 0 ? ` ${String.fromCharCode(65 + ((e >>> 15) % 26))}. ` : " ";
    const company = employer?.record;
    const missing = c % 29;

    return {
      id: `p${this.#scramble(number, 1)}`,
      network_url: `network.example/in/${first?.ascii}-${last?.ascii}-${this.#scramble(number, 2)}`,
      name: `${given}${initial}${family}`,
      first_name: given,
      last_name: family,
      headline: this.#headline(f, role?.title, company?.name ?? undefined, [
        words[g >>> 22],
        words[(g >>> 8) & (SMALL_SLOTS - 1)],
      ]),
      title: role?.title ?? null,
      seniority: role?.seniority ?? null,
      seniority_level: role?.level ?? null,
      functional_area: role?.area ?? null,
      department: role?.department ?? "Other",
      industry: company?.industry ?? this.#ownIndustry(g),
      country: place?.country ?? null,
      state: missing === 1 ? null : (place?.state ?? null),
      city: missing === 1 || missing === 2 ? null : (place?.city ?? null),
      location: (missing === 1 || missing === 2 ? place?.country : place?.location) ?? null,
      connections:
        b % 25 < 3 ? null : b % 25 < 6 ? 500 : (tails[d & (TAIL_SLOTS - 1)]?.connections ?? null),
      followers:
        (b >>> 6) % 7 === 0 ? null : (tails[(a >>> 18) & (TAIL_SLOTS - 1)]?.followers ?? null),
      company_name: company?.name ?? null,
      company_domain: company?.domain ?? null,
      company_network_url: company?.company_network_url ?? null,
      updated_at: dayOf(d >>> 5),
    };
  }

  #ownIndustry(g: number): string | null {
    return g % 3 === 0 ? null : (this.#pools.industries[(g >>> 10) & (INDUSTRY_SLOTS - 1)] ?? null);
  }

  #headline(
    f: number,
    title: string | undefined,
    company: string | undefined,
    [word, other]: readonly ({ readonly interest: string; readonly slogan: string } | undefined)[],
  ): string | null {
    const [interest = "", slogan = ""] = [word?.interest, word?.slogan];
    if (f % 17 === 0) return null;
    if (title === undefined) return `${interest} · ${slogan}`;
    if (company === undefined) return `${title} | ${interest} | ${slogan}`;
    if (f % 3 === 0) return `${title} @ ${company} – ${slogan}`;
    return `${title} at ${company} | ${interest}, ${other?.interest} | ${slogan}`;
  }
}
