import type { DuckDBConnection } from "@duckdb/node-api";
import words from "./words.json" with { type: "json" };

// Earlier entries are more frequent. A change in words.json changes every generated dataset: raise `SAMPLE_VERSION`.

type NameWords = (typeof words.cultures)["english"];
export const { companyEnds: COMPANY_ENDS, companyHeads: COMPANY_HEADS, companyTails: COMPANY_TAILS } = words;
const NAMES: ReadonlyMap<string, NameWords> = new Map(Object.entries(words.cultures));
const CULTURES = [...NAMES.keys()];
const COUNTRIES = Object.entries(words.countries);
/** Real states and cities of the big countries, `State=City,City`; the rest of the places are made up. */
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
  const x = numbers.reduce((hash, number) => mix32((hash + Math.imul(number + 1, 2654435769 | 0)) >>> 0), 7);
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

const zipfWeights = (count: number): number[] => Array.from({ length: count }, (_, rank) => 1 / (rank + 1));

/** For each slot the number of the value that owns it: in proportion to the weights, at least one slot each. */
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

function makePlaces() {
  const countryWeights = zipfWeights(COUNTRIES.length);
  const sum = countryWeights.reduce((total, weight) => total + weight, 0);
  const places: { country: string; state: string; city: string; culture: number; weight: number }[] = [];
  COUNTRIES.forEach(([country, culture], rank) => {
    const names = namesOf(culture);
    const heads = wordsOf(names.places);
    const tails = names.placeTails.split(/(?<=\S) (?=\S| )/);
    const wanted = 4 + Math.round(((countryWeights[rank] ?? 0) / sum) * (PLACES - 4 * COUNTRIES.length));
    const states = new Map<string, string[]>();
    for (const entry of (REAL_PLACES.get(country) ?? "").split("|")) {
      const [state, cities] = entry.split("=");
      if (state && cities) states.set(state, cities.split(","));
    }
    const stateCount = Math.min(24, 1 + Math.floor(wanted / 8));
    for (let index = 0; states.size < stateCount; index++) {
      const kind = pickWord(["Province", "Region", "District", "State", "County"], rank);
      states.set(`${pickWord(heads, rank, index)}${pickWord(tails, rank, index, 1)} ${kind}`, []);
    }
    const stateNames = [...states.keys()];
    const list: { state: string; city: string }[] = [];
    const seen = new Set<string>();
    const add = (state: string, city: string): void => {
      const key = `${state}|${city}`;
      if (!seen.has(key)) list.push({ state, city });
      seen.add(key);
    };
    for (let depth = 0; depth < 8; depth++) {
      for (const [state, cities] of states) {
        const city = cities[depth];
        if (city !== undefined) add(state, city);
      }
    }
    for (let index = 0; list.length < wanted; index++) {
      const state = stateNames[mix32(index + rank * 7919) % stateNames.length] ?? country;
      add(state, `${pickWord(heads, rank, index, 2)}${pickWord(tails, rank, index, 3)}`);
    }
    const cityWeights = zipfWeights(list.length);
    const citySum = cityWeights.reduce((total, weight) => total + weight, 0);
    list.forEach(({ state, city }, index) => {
      const weight = ((countryWeights[rank] ?? 0) * (cityWeights[index] ?? 0)) / citySum;
      places.push({ country, state, city, culture: CULTURES.indexOf(culture), weight });
    });
  });
  return places;
}

type Cell = string | number | null;

interface Pool {
  readonly columns: Readonly<Record<string, "INTEGER" | "VARCHAR">>;
  readonly rows: Iterable<readonly Cell[]>;
}

function poolTables(): Readonly<Record<string, Pool>> {
  const places = makePlaces();
  const placeOwners = slotsFor(
    places.map((place) => place.weight),
    PLACE_SLOTS,
  );
  const industryOwners = slotsFor(zipfWeights(words.industries.length), INDUSTRY_SLOTS);
  const bases = COMPANY_HEADS.flatMap((head) => COMPANY_TAILS.map((tail) => ({ head: spelled(head), tail })));
  const nameColumns = (kind: string) => ({ slot: "INTEGER", [kind]: "VARCHAR", ascii: "VARCHAR" }) as const;
  const text = "VARCHAR";
  return {
    pool_place: {
      columns: { place: "INTEGER", country: text, state: text, city: text, location: text, culture: "INTEGER" },
      rows: places.map(({ country, state, city, culture }, index) => {
        const location = city === state ? `${city}, ${country}` : `${city}, ${state}, ${country}`;
        return [index, country, state, city, location, culture];
      }),
    },
    pool_place_slot: { columns: { slot: "INTEGER", place: "INTEGER" }, rows: placeOwners.entries() },
    pool_first: { columns: nameColumns("first"), rows: nameRows("first") },
    pool_last: { columns: nameColumns("last"), rows: nameRows("last") },
    pool_title: {
      columns: { slot: "INTEGER", department: text, area: text, seniority: text, level: text, title: text },
      rows: titleRows(),
    },
    pool_tail: { columns: { slot: "INTEGER", connections: "INTEGER", followers: "INTEGER" }, rows: tailRows() },
    pool_industry: {
      columns: { slot: "INTEGER", industry: text },
      rows: [...industryOwners].map((owner, slot) => [slot, words.industries[owner] ?? null]),
    },
    pool_word: {
      columns: { slot: "INTEGER", interest: text, slogan: text, specialty: text, type: text },
      rows: Array.from({ length: SMALL_SLOTS }, (_, slot) => [
        slot,
        ...[words.interests, words.slogans, words.specialties, words.companyTypes].map(
          (choice) => choice[slot % choice.length] ?? null,
        ),
      ]),
    },
    pool_company_name: {
      columns: { slot: "INTEGER", name: text, slug: text },
      rows: bases.map(({ head, tail }, slot) => [
        slot,
        `${head.display} ${tail}`,
        `${head.ascii}-${tail.toLowerCase()}`,
      ]),
    },
  };
}

export async function createPools(connection: DuckDBConnection): Promise<readonly string[]> {
  const pools = poolTables();
  for (const [name, { columns, rows }] of Object.entries(pools)) {
    const list = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
    await connection.run(`CREATE OR REPLACE TEMP TABLE ${name} (${list.join(", ")})`);
    const appender = await connection.createAppender(name, null, "temp");
    for (const row of rows) {
      for (const cell of row) {
        if (cell === null) appender.appendNull();
        else if (typeof cell === "number") appender.appendInteger(cell);
        else appender.appendVarchar(cell);
      }
      appender.endRow();
    }
    appender.closeSync();
  }
  return Object.keys(pools);
}

function* nameRows(kind: "first" | "last"): Generator<readonly Cell[]> {
  const slots = kind === "first" ? FIRST_SLOTS : LAST_SLOTS;
  for (const [culture, name] of CULTURES.entries()) {
    const pool = namesOf(name);
    const given = wordsOf(pool[kind].replaceAll("Van der Merwe", "Van_der_Merwe").replaceAll("De Luca", "De_Luca"));
    const known = given.map((word) => spelled(word.replaceAll("_", " ").replaceAll("Lo ", "Lo")));
    const heads = wordsOf(pool.heads);
    const tails = wordsOf(pool.tails);
    const real = kind === "first" ? slots : Math.floor(slots * 0.55);
    const owners = slotsFor(
      known.map((_, rank) => 1 / (rank + 6)),
      real,
    );
    for (let slot = 0; slot < slots; slot++) {
      const made = `${heads[slot % heads.length] ?? ""}${tails[Math.floor(slot / heads.length) % tails.length] ?? ""}`;
      const entry = slot < real ? known[owners[slot] ?? 0] : { display: made, ascii: slugText(made) };
      yield [culture * slots + slot, entry?.display ?? null, entry?.ascii ?? null];
    }
  }
}

function* titleRows(): Generator<readonly Cell[]> {
  const rows: Cell[][] = [];
  const weights: number[] = [];
  for (const [index, [department, areas]] of Object.entries(words.roles).entries()) {
    const byArea = Object.entries(areas);
    for (const [area, names] of byArea) {
      const roles = names.split("|");
      for (const [rank, role] of roles.entries()) {
        for (const { level, label, weight, pattern } of words.levels) {
          const chief = department === "C-Suite";
          if (chief && pattern !== "%" && level !== "owner") continue;
          const title = pattern.replace("%", role).replace("#", area).replace("@", department);
          rows.push([department, area, chief ? "C-Suite" : label, chief ? "c-suite" : level, title]);
          const spread = (words.departmentWeights[index] ?? 1) / byArea.length / roles.length;
          weights.push(((chief ? 500 : weight) * spread * 2) / (rank + 1.5));
        }
      }
    }
  }
  const owners = slotsFor(weights, TITLE_SLOTS);
  for (let slot = 0; slot < TITLE_SLOTS; slot++) yield [slot, ...(rows[owners[slot] ?? 0] ?? [])];
}

/** Heavy-tailed numbers by quantile. Only +, *, / and sqrt: exact in IEEE arithmetic, so the same everywhere. */
function* tailRows(): Generator<readonly Cell[]> {
  for (let slot = 0; slot < TAIL_SLOTS; slot++) {
    const odds = (slot + 0.5) / (TAIL_SLOTS - slot - 0.5);
    yield [slot, Math.floor(230 * Math.sqrt(odds)), Math.floor(300 * odds)];
  }
}
