import words from "./words.json" with { type: "json" };

// Earlier entries are more frequent. A change in words.json
// changes every generated dataset: raise `SAMPLE_VERSION`.

type NameWords = (typeof words.cultures)["english"];
export const { companyEnds: COMPANY_ENDS } = words;
const NAMES: ReadonlyMap<string, NameWords> = new Map(Object.entries(words.cultures));
const CULTURES = [...NAMES.keys()];
const COUNTRIES = Object.entries(words.countries);
/**
 * Real states and cities of the big countries,
 * `State=City,City`; the rest of the places are made up.
 */
const REAL_PLACES: ReadonlyMap<string, string> = new Map(Object.entries(words.places));

const PLACE_SLOTS = 2 ** 18;
const TITLE_SLOTS = 2 ** 16;
export const FIRST_SLOTS = 2 ** 8;
export const LAST_SLOTS = 2 ** 12;
export const TAIL_SLOTS = 2 ** 14;
export const SMALL_SLOTS = 2 ** 10;
export const INDUSTRY_SLOTS = 2 ** 12;
const PLACES = 10_000;

export function mix32(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 2146121005) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 2221713035 | 0) >>> 0;
  return (x ^ (x >>> 16)) >>> 0;
}

function namesOf(culture: string): NameWords {
  const names = NAMES.get(culture);
  if (!names) throw new Error(`there are no names of the culture ${culture}`);
  return names;
}

const pickWord = (choice: readonly string[], ...numbers: readonly number[]): string => {
  const x = numbers.reduce(
    (hash, number) => mix32((hash + Math.imul(number + 1, 2654435769 | 0)) >>> 0),
    7,
  );
  return choice[x % choice.length] ?? "";
};

const wordsOf = (text: string): string[] => text.split(" ").filter((word) => word !== "");

function spelled(word: string): { display: string; ascii: string } {
  const [display = "", ascii] = word.split("/");
  return { display, ascii: ascii ?? slugText(display) };
}

const slugText = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replaceAll("ß", "ss")
    .replaceAll("ø", "o")
    .replaceAll("ł", "l")
    .replaceAll("ı", "i")
    .replaceAll("ð", "d")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "");

const zipfWeights = (count: number): number[] =>
  Array.from({ length: count }, (_, rank) => 1 / (rank + 1));

/**
 * For each slot the number of the value that owns it:
 * in proportion to the weights, at least one slot each.
 */
function slotsFor(weights: readonly number[], slots: number): Uint32Array {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const spare = slots - weights.length;
  const owner = new Uint32Array(slots);
  let next = 0;
  weights.forEach((weight, index) => {
    const share = 1 + Math.floor((weight / sum) * spare);
    owner.fill(index, next, next + share);
    next += share;
  });
  for (let index = 0; next < slots; index++) owner[next++] = index % weights.length;

  return owner;
}

export interface MadePlace {
  readonly country: string;
  readonly state: string;
  readonly city: string;
  readonly location: string;
  readonly culture: number;
  readonly weight: number;
}

function makePlaces(): readonly MadePlace[] {
  const countryWeights = zipfWeights(COUNTRIES.length);
  const sum = countryWeights.reduce((total, weight) => total + weight, 0);

  return COUNTRIES.flatMap(([country, culture], rank) => {
    const countryWeight = countryWeights[rank] ?? 0;
    const wanted = 4 + Math.round((countryWeight / sum) * (PLACES - 4 * COUNTRIES.length));
    const cities = makeCities(country, namesOf(culture), rank, wanted);
    const cityWeights = zipfWeights(cities.length);
    const citySum = cityWeights.reduce((total, weight) => total + weight, 0);

    return cities.map(({ state, city }, index) => ({
      country,
      state,
      city,
      location: city === state ? `${city}, ${country}` : `${city}, ${state}, ${country}`,
      culture: CULTURES.indexOf(culture),
      weight: (countryWeight * (cityWeights[index] ?? 0)) / citySum,
    }));
  });
}

/** Real ones first, the largest of each state before the second of any; then made-up ones. */
function makeCities(
  country: string,
  { places, placeTails }: ReturnType<typeof namesOf>,
  rank: number,
  wanted: number,
): readonly { readonly state: string; readonly city: string }[] {
  const heads = wordsOf(places);
  const tails = placeTails.split(/(?<=\S) (?=\S| )/);
  const states = realStates(country);
  const stateCount = Math.min(24, 1 + Math.floor(wanted / 8));

  for (let index = 0; states.size < stateCount; index++) {
    const kind = pickWord(["Province", "Region", "District", "State", "County"], rank);
    states.set(`${pickWord(heads, rank, index)}${pickWord(tails, rank, index, 1)} ${kind}`, []);
  }

  const stateNames = [...states.keys()];
  const cities = new Map<string, { state: string; city: string }>();
  const add = (state: string, city: string): void => {
    cities.set(`${state}|${city}`, { state, city });
  };

  for (let depth = 0; depth < 8; depth++) {
    for (const [state, real] of states) {
      const city = real[depth];
      if (city !== undefined) add(state, city);
    }
  }

  for (let index = 0; cities.size < wanted; index++) {
    const state = stateNames[mix32(index + rank * 7919) % stateNames.length] ?? country;
    add(state, `${pickWord(heads, rank, index, 2)}${pickWord(tails, rank, index, 3)}`);
  }

  return [...cities.values()];
}

function realStates(country: string): Map<string, readonly string[]> {
  const states = new Map<string, readonly string[]>();
  for (const entry of (REAL_PLACES.get(country) ?? "").split("|")) {
    const [state, cities] = entry.split("=");
    if (state && cities) states.set(state, cities.split(","));
  }
  return states;
}

/** By slot: what a few bits of a random number stand for. */
export function makePools() {
  const places = makePlaces();
  const industryOwners = slotsFor(zipfWeights(words.industries.length), INDUSTRY_SLOTS);
  const heads = words.companyHeads.map(spelled);
  const at = (choice: readonly string[], slot: number): string =>
    choice[slot % choice.length] ?? "";

  return {
    places,
    placeOwners: slotsFor(
      places.map((place) => place.weight),
      PLACE_SLOTS,
    ),
    firstNames: namePool("first"),
    lastNames: namePool("last"),
    titles: titlePool(),
    tails: tailPool(),
    industries: Array.from(industryOwners, (owner) => words.industries[owner] ?? ""),
    words: Array.from({ length: SMALL_SLOTS }, (_, slot) => ({
      interest: at(words.interests, slot),
      slogan: at(words.slogans, slot),
      specialty: at(words.specialties, slot),
      type: at(words.companyTypes, slot),
    })),
    companyNames: heads.flatMap(({ ascii, display }) =>
      words.companyTails.map((tail) => ({
        name: `${display} ${tail}`,
        slug: `${ascii}-${tail.toLowerCase()}`,
      })),
    ),
  };
}

function namePool(kind: "first" | "last") {
  const slots = kind === "first" ? FIRST_SLOTS : LAST_SLOTS;
  return CULTURES.flatMap((name) => {
    const pool = namesOf(name);
    const words = wordsOf(
      pool[kind].replaceAll("Van der Merwe", "Van_der_Merwe").replaceAll("De Luca", "De_Luca"),
    );
    const names = words.map((word) => spelled(word.replaceAll("_", " ").replaceAll("Lo ", "Lo")));
    const heads = wordsOf(pool.heads);
    const tails = wordsOf(pool.tails);
    const real = kind === "first" ? slots : Math.floor(slots * 0.55);
    const owners = slotsFor(
      names.map((_, rank) => 1 / (rank + 6)),
      real,
    );

    return Array.from({ length: slots }, (_, slot) => {
      const head = heads[slot % heads.length] ?? "";
      const name = head + (tails[Math.floor(slot / heads.length) % tails.length] ?? "");
      return slot < real ? names[owners[slot] ?? 0] : { display: name, ascii: slugText(name) };
    });
  });
}

function titlePool() {
  const weights: number[] = [];
  const roles = Object.entries(words.roles).flatMap(([department, areas], index) =>
    Object.entries(areas).flatMap(([area, names], _, { length: areaCount }) =>
      names.split("|").flatMap((role, rank, { length }) =>
        words.levels.flatMap(({ label, level, pattern, weight }) => {
          const chief = department === "C-Suite";
          if (chief && pattern !== "%" && level !== "owner") return [];

          const spread = (words.departmentWeights[index] ?? 1) / areaCount / length;
          weights.push(((chief ? 500 : weight) * spread * 2) / (rank + 1.5));

          const title = pattern.replace("%", role).replace("#", area).replace("@", department);
          return {
            department,
            area,
            seniority: chief ? "C-Suite" : label,
            level: chief ? "c-suite" : level,
            title,
          };
        }),
      ),
    ),
  );
  return Array.from(slotsFor(weights, TITLE_SLOTS), (owner) => roles[owner]);
}

/**
 * Heavy-tailed numbers by quantile. Only +, *, / and
 * sqrt: exact in IEEE arithmetic, so the same everywhere.
 */
const tailPool = () =>
  Array.from({ length: TAIL_SLOTS }, (_, slot) => {
    const odds = (slot + 0.5) / (TAIL_SLOTS - slot - 0.5);
    return { connections: Math.floor(230 * Math.sqrt(odds)), followers: Math.floor(300 * odds) };
  });
