// People and companies whom nobody is, the same ones for the same seed: what every vendor of people
// data here knows. Each vendor writes them in its own shape and words; this file knows none of
// those. Nothing of src/ is loaded by anything of this folder, so that a mistake that our client
// makes cannot be made here too.

export const LEVELS = [
  "owner",
  "founder",
  "c-suite",
  "partner",
  "vp",
  "head",
  "director",
  "manager",
  "senior",
  "entry",
  "intern",
] as const;
export type Level = (typeof LEVELS)[number];

export const DEPARTMENTS = [
  "engineering",
  "sales",
  "marketing",
  "finance",
  "human resources",
  "operations",
  "legal",
  "support",
  "design",
] as const;
export type Department = (typeof DEPARTMENTS)[number];

export const INDUSTRIES: readonly string[] = [
  "Software Development",
  "Financial Services",
  "Hospitals and Health Care",
  "Construction",
  "Retail",
  "Higher Education",
  "Motor Vehicle Manufacturing",
];

export interface Country {
  readonly name: string;
  /** Two letters, upper case. */
  readonly code: string;
  /** Three letters, upper case. */
  readonly code3: string;
}

export interface Place {
  readonly country: Country;
  readonly state: string;
  /** As in ISO 3166-2 behind the hyphen: "CA". */
  readonly stateCode: string;
  readonly city: string;
}

const COUNTRIES: readonly Country[] = [
  { name: "United States", code: "US", code3: "USA" },
  { name: "Germany", code: "DE", code3: "DEU" },
  { name: "United Kingdom", code: "GB", code3: "GBR" },
  { name: "Ireland", code: "IE", code3: "IRL" },
  { name: "Georgia", code: "GE", code3: "GEO" },
];

/** A state Georgia and a country Georgia, New York in New York, and two cities Dublin. */
export const PLACES: readonly Place[] = [
  ["US", "California", "CA", "San Diego"],
  ["US", "California", "CA", "Oakland"],
  ["US", "California", "CA", "Dublin"],
  ["US", "New York", "NY", "New York"],
  ["US", "New York", "NY", "Albany"],
  ["US", "Texas", "TX", "Austin"],
  ["US", "Georgia", "GA", "Atlanta"],
  ["DE", "Berlin", "BE", "Berlin"],
  ["DE", "Bavaria", "BY", "Nürnberg"],
  ["GB", "England", "ENG", "Leeds"],
  ["GB", "Scotland", "SCT", "Glasgow"],
  ["IE", "Leinster", "L", "Dublin"],
  ["GE", "Tbilisi", "TB", "Tbilisi"],
].map(([code = "", state = "", stateCode = "", city = ""]) => {
  const country = COUNTRIES.find((one) => one.code === code);
  if (country === undefined) throw new Error(`no country ${code}`);
  return { country, state, stateCode, city };
});

export interface Company {
  /** From 0. */
  readonly at: number;
  readonly name: string;
  /** "quarl-metal-3.example" */
  readonly domain: string;
  /** What stands last in its network address. */
  readonly slug: string;
  readonly industry: string;
  readonly place: Place;
  readonly employees: number;
}

export interface Person {
  /** From 0. */
  readonly at: number;
  /** Of 19 digits for every seventh, which no JavaScript number holds; of eight for the others. */
  readonly number: bigint;
  /** Forty hex digits. */
  readonly hex: string;
  readonly slug: string;
  readonly first: string;
  readonly last: string;
  readonly headline: string | null;
  readonly title: string;
  readonly level: Level | null;
  readonly department: Department | null;
  readonly country: Country | null;
  readonly state: string | null;
  readonly stateCode: string | null;
  readonly city: string | null;
  readonly company: Company | null;
  /** Where the person was before. */
  readonly former: Company | null;
  readonly connections: number | null;
  readonly followers: number | null;
  /** "2026-03-09" */
  readonly updated: string;
}

export const nameOf = ({ first, last }: Person): string => `${first} ${last}`;

/** "Oakland, California, United States"; what is not known is left out. */
export const placeOf = ({ city, state, country }: Person): string | null =>
  [city, state, country?.name ?? null].filter((part) => part !== null).join(", ") || null;

const FIRST = "Aldo Brina Cesk Dorle Émil Fanka Gorm Hilke Ivo Jorun Kalle Lumi Mirek Noor".split(
  " ",
);
const LAST = "Abelsen Brackwitz Corvane Dunmorran Eisvogel Fenwarth Grüntal Holmvik Istrane".split(
  " ",
);
const FIRM = "Quarl Brennick Tavora Ostwick Lumerin Dravel Hexby Norvane".split(" ");
const TRADE = "Metal Foods Systems Care Build Motors Labs".split(" ");

const TITLES: Readonly<Record<Level, string>> = {
  owner: "Owner",
  founder: "Founder",
  "c-suite": "Chief # Officer",
  partner: "Partner",
  vp: "VP of #",
  head: "Head of #",
  director: "# Director",
  manager: "# Manager",
  senior: "Senior # Specialist",
  entry: "# Associate",
  intern: "# Intern",
};

const twoDigits = (number: number): string => String(number).padStart(2, "0");

const capital = (text: string): string =>
  text.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** Numbers in [0, 1), the same ones for the same seed. */
export function drawing(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function companyAt(at: number, pick: <T>(of: readonly T[]) => T): Company {
  const trade = TRADE[Math.floor(at / FIRM.length) % TRADE.length];
  const name = `${FIRM[at % FIRM.length]} ${trade} ${at}`;
  const slug = name.toLowerCase().replaceAll(" ", "-");
  return {
    at,
    name,
    domain: `${slug}.example`,
    slug,
    industry: INDUSTRIES[at % INDUSTRIES.length] ?? "Retail",
    place: pick(PLACES),
    employees: 3 + at * 17,
  };
}

function titleOf(level: Level, department: Department, at: number): string {
  const title = TITLES[level].replace("#", capital(department));
  // A longer title that has all the words of a shorter one.
  return at % 3 === 2 ? `Regional ${title}` : title;
}

export interface World {
  readonly people: readonly Person[];
  readonly companies: readonly Company[];
}

/** So many people, and a company for each twelve of them. */
export function worldOf(count: number, seed: number): World {
  const random = drawing(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const perhaps = <T>(value: T, missing: number): T | null => (random() < missing ? null : value);
  const hexes = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");

  const companies = Array.from({ length: Math.max(3, Math.ceil(count / 12)) }, (_, at) =>
    companyAt(at, pick),
  );

  const people = Array.from({ length: count }, (_, at): Person => {
    const [first, last] = [pick(FIRST), pick(LAST)];
    const [level, department, place] = [pick(LEVELS), pick(DEPARTMENTS), pick(PLACES)];
    const title = titleOf(level, department, at);
    const company = perhaps(pick(companies), 0.03);
    const state = perhaps(place.state, 0.05);
    return {
      at,
      // 9007199254740993 and its kind: read as numbers, two of these are one.
      number: at % 7 === 3 ? 7_100_000_000_000_000_001n + BigInt(at) : 41_000_000n + BigInt(at * 3),
      hex: hexes(40),
      slug: `${first}-${last}-${at}`
        .toLowerCase()
        .normalize("NFD")
        .replaceAll(/[^a-z0-9-]/g, ""),
      first,
      last,
      headline: perhaps(company === null ? title : `${title} at ${company.name}`, 0.1),
      title,
      level: perhaps(level, 0.03),
      department: perhaps(department, 0.03),
      country: perhaps(place.country, 0.02),
      state,
      stateCode: state === null ? null : place.stateCode,
      city: perhaps(place.city, 0.05),
      company,
      former: perhaps(pick(companies), 0.4),
      connections: perhaps(Math.floor(random() * 500), 0.05),
      followers: perhaps(Math.floor(random() * 9_000), 0.05),
      updated: `2026-${twoDigits(1 + (at % 9))}-${twoDigits(1 + (at % 28))}`,
    };
  });
  return { people, companies };
}
