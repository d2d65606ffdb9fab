import { checkFilters } from "../../src/shared/contract/filters.ts";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import {
  type CanonicalFilters,
  DEPARTMENTS,
  type Department,
} from "../../src/shared/contract/vocabulary.ts";

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Text that goes wrong where somebody was careless: quotes, wildcards, case, width, folding, order by code point. */
export const HOSTILE = [
  "O'Brien",
  'say "hi"',
  "100%",
  "100",
  "100% sure_thing",
  "100x sure-thing",
  "a_b",
  "axb",
  "back\\slash",
  "back\\\\slash",
  "semi;colon, comma",
  "tab\there",
  "two  spaces",
  "two spaces",
  "Straße",
  "STRASSE",
  "İstanbul",
  "ISTANBUL",
  "ısparta",
  "ﬁsh",
  "fish",
  "Ｆｕｌｌ width",
  "full width",
  "Ĳssel",
  "ΣΊΣΥΦΟΣ",
  "Σίσυφος",
  "e\u0301clair",
  "éclair",
  "Éclair",
  "東京都",
  "محمد",
  "👩‍🚀 pilot",
  "👩 pilot",
  "\u{ffff}edge",
  "\u{10ffff}end",
  "\u{10ffff}\u{10ffff}",
  "\ud7ff below",
  "\ue000 above",
  "z",
  "zz",
  "Z z",
  "ᾼδης",
  "ΑΙΔΗΣ",
  "\u1c80ода",
  "вода",
  "null",
  "NULL",
  "--",
  "'; DROP TABLE people; --",
  "$1",
  "?",
  "{x:String}",
  "\u00a0hard\u00a0space",
  "[a-z]*",
  "0",
  "00",
] as const;

const pick = <Item>(random: () => number, items: readonly Item[]): Item => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
};

/** People with hostile values, every field missing now and then. Ids are unique; the array is in no order. */
export function hostilePeople(count: number, seed: number): Person[] {
  const random = seededRandom(seed);
  const text = (missing: number): string | null =>
    random() < missing ? null : pick(random, HOSTILE);
  const number = (): number | null =>
    random() < 0.15
      ? null
      : pick(random, [0, 1, 2, 499, 500, 500, 500, 501, 9_007_199_254_740_991, 1_000]);
  return Array.from({ length: count }, (_, index): Person => {
    const company = random() < 0.2 ? null : Math.floor(random() * 12);
    const slug = company === null ? null : company < 3 ? `bare-${company}` : `co-${company}`;
    const host = pick(random, ["network.example/company/", "other.example/c/"]);
    return {
      id: `${pick(random, ["a", "B", "é", "~"])}${index}`,
      network_url:
        random() < 0.1
          ? null
          : `${pick(random, ["network.example/in/", "other.example/"])}who-${index >> 1}`,
      name: text(0.1) ?? `Person ${index}`,
      first_name: text(0.1) ?? "First",
      last_name: text(0.1) ?? "Last",
      headline: text(0.2),
      title: text(0.2),
      seniority: text(0.3),
      seniority_level: text(0.2),
      functional_area: text(0.2),
      department: pick(random, DEPARTMENTS),
      industry: text(0.2),
      country: text(0.2),
      state: text(0.2),
      city: text(0.2),
      location: text(0.1) ?? "Somewhere",
      connections: number(),
      followers: number(),
      company_name: null,
      company_domain: null,
      company_network_url: slug === null ? null : slug.startsWith("bare") ? slug : host + slug,
      updated_at: null,
    };
  });
}

/** The texts of people come again with every filter. */
function remembered<Form>(formOf: (text: string) => Form): (text: string) => Form {
  const known = new Map<string, Form>();
  return (text) => {
    const form = known.has(text) ? (known.get(text) as Form) : formOf(text);
    known.set(text, form);
    return form;
  };
}

const normalOf = remembered(normalForm);
const addressOf = remembered(canonicalAddress);

/** Whether a person matches, by the words of the contract (2.2) and nothing clever. */
export function matches(person: Person, filters: CanonicalFilters): boolean {
  const normal = (value: string | null): string | null =>
    value === null ? null : normalOf(value) || null;
  for (const [key, values] of Object.entries(filters.exact)) {
    const value = person[key as keyof Person] as string | null;
    if (key === "network_url") {
      if (!values.some((wanted) => sameAddress(value, wanted))) return false;
    } else {
      const own = normal(value);
      if (own === null || !values.includes(own)) return false;
    }
  }
  for (const [key, prefix] of Object.entries(filters.prefix)) {
    const own = normal(person[key.replace("_prefix", "") as keyof Person] as string | null);
    if (own === null || !own.startsWith(prefix)) return false;
  }
  for (const field of ["connections", "followers"] as const) {
    const min = filters.range[`${field}_min`];
    const max = filters.range[`${field}_max`];
    const own = person[field];
    if ((min !== undefined || max !== undefined) && own === null) return false;
    if (own !== null && ((min !== undefined && own < min) || (max !== undefined && own > max)))
      return false;
  }
  const company = filters.company_network_url;
  if (company !== undefined && !sameAddress(person.company_network_url, company)) return false;
  return (
    filters.department === undefined || filters.department.includes(person.department as Department)
  );
}

function sameAddress(value: string | null, wanted: string): boolean {
  const own = value === null ? undefined : addressOf(value);
  if (own === undefined) return false;
  return own === wanted || (!wanted.includes("/") && slugOf(own) === wanted);
}

const byCodePoints = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The public order: country, department, seniority, industry, title in normal form, missing values last, then id. */
export function publicOrder(people: readonly Person[]): Person[] {
  const keys = (person: Person): (string | null)[] => [
    ...[person.country, person.department].map((value, index) =>
      value === null ? null : index === 1 ? value : normalForm(value) || null,
    ),
    ...[person.seniority, person.industry, person.title].map((value) =>
      value === null ? null : normalForm(value) || null,
    ),
    person.id,
  ];
  return people
    .map((person) => ({ person, keys: keys(person) }))
    .sort((a, b) => {
      for (let index = 0; index < a.keys.length; index++) {
        const x = a.keys[index] ?? null;
        const y = b.keys[index] ?? null;
        if (x === y) continue;
        if (x === null) return 1;
        if (y === null) return -1;
        return byCodePoints(x, y);
      }
      return 0;
    })
    .map(({ person }) => person);
}

const TEXT_KEYS = [
  "country",
  "state",
  "city",
  "location",
  "title",
  "seniority",
  "seniority_level",
  "functional_area",
  "industry",
  "first_name",
  "last_name",
  "name",
] as const;
const PREFIX_FIELDS = ["title", "headline", "location", "name", "industry"] as const;

/** Filters as a user might send them: values of the data in another case or spacing, beginnings of them, hostile text, edges. */
export function randomFilters(people: readonly Person[], random: () => number): CanonicalFilters {
  for (;;) {
    const filters: Record<string, unknown> = {};
    const person = pick(random, people);
    const keys = 1 + Math.floor(random() * random() * 5);
    for (let index = 0; index < keys; index++)
      addFilter(filters, pick(random, [person, pick(random, people)]), random);
    const check = checkFilters(filters);
    if (check.ok) return check.canonical;
  }
}

function addFilter(filters: Record<string, unknown>, person: Person, random: () => number): void {
  const choice = random();
  if (choice < 0.4) {
    const key = pick(random, TEXT_KEYS);
    const value = (): string =>
      disguise(
        random() < 0.85 ? (person[key] ?? pick(random, HOSTILE)) : pick(random, HOSTILE),
        random,
      );
    filters[key] =
      random() < 0.5
        ? value()
        : Array.from({ length: 1 + Math.floor(random() * 30) }, () => value());
    if (random() < 0.3)
      filters[key] = [
        ...[filters[key]].flat(),
        ...Array.from({ length: 4 }, () => pick(random, HOSTILE)),
      ];
  } else if (choice < 0.6) {
    const field = pick(random, PREFIX_FIELDS);
    const points = [...(random() < 0.8 ? (person[field] ?? "x") : pick(random, HOSTILE))];
    filters[`${field}_prefix`] = disguise(
      points.slice(0, 1 + Math.floor(random() * points.length)).join(""),
      random,
    );
  } else if (choice < 0.75) {
    const field = pick(random, ["connections", "followers"] as const);
    const own = person[field] ?? 500;
    if (random() < 0.7) filters[`${field}_min`] = Math.max(0, own + pick(random, [0, 0, -1, 1]));
    if (random() < 0.7)
      filters[`${field}_max`] = Math.min(
        Number.MAX_SAFE_INTEGER,
        Math.max(0, own + pick(random, [0, 0, -1, 1])),
      );
  } else if (choice < 0.85) {
    const list = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
      pick(random, DEPARTMENTS),
    );
    filters.department = random() < 0.5 ? disguise(person.department, random) : list;
  } else {
    const key = random() < 0.5 ? "network_url" : "company_network_url";
    const address = person[key] ?? "nobody";
    const value = pick(random, [
      address,
      slugOf(address),
      `https://www.${address}/?ref=1`,
      `HTTP://${address.toUpperCase()}`,
      "nobody",
    ]);
    filters[key] =
      key === "network_url" && random() < 0.3 ? [value, "who-1", "other.example/who-2"] : value;
  }
}

function disguise(text: string, random: () => number): string {
  const choice = random();
  if (choice < 0.3) return text.toLowerCase();
  if (choice < 0.5) return text.toUpperCase();
  if (choice < 0.6) return `  ${text.replaceAll(" ", "   ")}\t`;
  if (choice < 0.7) return text.normalize("NFD");
  return text;
}
