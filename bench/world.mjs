// People with long tails: names, titles, industries and places that few share, missing values, an atom of 500 connections. Seeded.
import { DEPARTMENTS, SENIORITY_LEVELS } from "../dist/shared/contract/vocabulary.js";

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const ONSETS = "m s j a c d k r l b t e n g h p v f w i z y o st sh ch br kr q x u".split(" ");
const MIDDLES = "a e i o u an en in on ar er ir ia ie ei ou".split(" ");
const ENDS = "a n r s e l na son ez ova ic ski man ri ta do li ng th el us y o ra im ad ha".split(
  " ",
);

function words(count, seed) {
  const random = seeded(seed);
  const pick = (list, skew = 1) => list[Math.floor(list.length * random() ** skew)];
  const found = new Set();
  while (found.size < count) {
    let word = pick(ONSETS, 1.7) + pick(MIDDLES);
    for (let more = Math.floor(random() * 3); more > 0; more--)
      word += pick(ONSETS) + pick(MIDDLES);
    found.add(word + pick(ENDS));
  }
  return [...found];
}

/** Draws from `count` values, the first ones most often. */
function tailed(count, exponent, shift = 0) {
  const sums = new Float64Array(count);
  let total = 0;
  for (let at = 0; at < count; at++) sums[at] = total += 1 / (at + 1 + shift) ** exponent;
  return (random) => {
    const wanted = random() * total;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

const FIRST = words(20_000, 11);
const LAST = words(60_000, 12);
const DRAW = {
  first: tailed(FIRST.length, 1.12, 12),
  last: tailed(LAST.length, 0.98, 25),
  country: tailed(120, 1.15),
  city: tailed(120, 1),
  department: tailed(DEPARTMENTS.length, 0.75),
  level: tailed(SENIORITY_LEVELS.length, 0.8),
  title: tailed(600, 1.05),
  industry: tailed(147, 0.9),
};
const normal = (random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A made-up world that drifts from week to week. */
export class World {
  #random;
  #made = 0;
  /** @type {Map<string, import("./world.d.mts").WorldPerson>} by address */
  people = new Map();

  constructor(count, { seed = 1, withoutAddress = 0 } = {}) {
    this.#random = seeded(seed);
    this.withoutAddress = withoutAddress;
    for (let at = 0; at < count; at++) this.add();
  }

  add(more = {}) {
    const random = this.#random;
    const id = `p${this.#made++}`;
    const person = {
      id,
      network_url: random() < this.withoutAddress ? null : `people.example/in/${id}`,
      headline: null,
    };
    this.#name(person);
    this.#job(person);
    this.#place(person);
    person.connections =
      random() < 0.03
        ? null
        : random() < 0.42
          ? 500
          : Math.min(499, Math.floor(Math.exp(4.6 + 1.1 * normal(random))));
    person.followers = random() < 0.05 ? null : Math.floor(Math.exp(5.6 + 1.5 * normal(random)));
    Object.assign(person, more);
    this.people.set(id, person);
    return person;
  }

  #name(person) {
    person.first_name = FIRST[DRAW.first(this.#random)];
    person.last_name = LAST[DRAW.last(this.#random)];
    person.name = `${person.first_name} ${person.last_name}`;
  }

  #job(person) {
    const random = this.#random;
    const department = DRAW.department(random);
    const level = DRAW.level(random);
    const or = (missing, value) => (random() < missing ? null : value);
    person.department = DEPARTMENTS[department];
    person.functional_area = or(0.05, `area ${department} ${DRAW.level(random) % 4}`);
    person.seniority_level = or(0.03, SENIORITY_LEVELS[level]);
    person.seniority = or(0.06, `step ${level}`);
    person.title = or(0.03, `title ${department} ${(DRAW.title(random) * 7 + level * 13) % 600}`);
    person.industry = or(0.06, `industry ${DRAW.industry(random)}`);
  }

  #place(person) {
    const random = this.#random;
    const country = DRAW.country(random);
    const city = DRAW.city(random);
    const known = random() >= 0.01;
    person.country = known ? `country ${country}` : null;
    person.state = known && random() >= 0.12 ? `state ${country} ${city % 12}` : null;
    person.city = known && random() >= 0.1 ? `city ${country} ${city}` : null;
    person.location = person.city;
  }

  /** A week in which people change jobs, move, make friends, and rarely take another name. */
  drift({ followers = 0.6, connections = 0.25, job = 0.0035, place = 0.001, name = 0.0002 } = {}) {
    const random = this.#random;
    for (const person of this.people.values()) {
      if (person.followers !== null && random() < followers)
        person.followers = Math.max(
          0,
          person.followers + Math.round((random() - 0.3) * Math.max(2, person.followers * 0.02)),
        );
      if (person.connections !== null && person.connections < 500 && random() < connections)
        person.connections = Math.min(500, person.connections + Math.floor(random() * 4));
      if (random() < job) this.#job(person);
      if (random() < place) this.#place(person);
      if (random() < name) this.#name(person);
    }
  }
}

const RANGES = { connections_min: 1, connections_max: -1, followers_min: 1, followers_max: -1 };

/** What a service would count of these people, exactly; asked for filters as it would be. */
export class Oracle {
  #base;
  #byName;
  #names;
  #byAddress = new Map();
  calls = 0;

  /** @param base filters that every question has: evaluated once */
  constructor(people, base = {}) {
    const holds = matcher(base);
    this.#base = base;
    this.people = [...people].filter(holds);
    this.#byName = [...this.people].sort((a, b) =>
      a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
    );
    this.#names = this.#byName.map(({ name }) => name);
    for (const person of this.people)
      if (person.network_url !== null) this.#byAddress.set(person.network_url, person);
  }

  matching(filters) {
    const others = Object.fromEntries(
      Object.entries(filters).filter(
        ([key, value]) => JSON.stringify(this.#base[key]) !== JSON.stringify(value),
      ),
    );
    const { network_url: addresses, name_prefix: prefix, name, ...rest } = others;
    let found;
    if (addresses !== undefined) {
      found = [addresses].flat().flatMap((address) => this.#byAddress.get(address) ?? []);
      if (prefix !== undefined) found = found.filter((person) => person.name.startsWith(prefix));
      if (name !== undefined) found = found.filter((person) => [name].flat().includes(person.name));
    } else if (typeof prefix === "string") found = this.#between(prefix, `${prefix}\u{10ffff}`);
    else if (typeof name === "string") found = this.#between(name, `${name}\0`);
    else
      found =
        name === undefined
          ? this.people
          : [name].flat().flatMap((one) => this.#between(one, `${one}\0`));
    const holds = matcher(rest);
    return Object.keys(rest).length === 0 ? found : found.filter(holds);
  }

  #between(from, before) {
    return this.#byName.slice(lowerBound(this.#names, from), lowerBound(this.#names, before));
  }

  async count(filters) {
    this.calls++;
    return this.matching(filters).length;
  }
}

function lowerBound(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function matcher(filters) {
  const tests = Object.entries(filters).map(([key, value]) => {
    if (key in RANGES) {
      const field = key.slice(0, -4);
      const sign = RANGES[key];
      return (person) => person[field] !== null && (person[field] - value) * sign >= 0;
    }
    if (key.endsWith("_prefix")) {
      const field = key.slice(0, -7);
      return (person) => person[field]?.startsWith(value);
    }
    const wanted = new Set([value].flat().map((one) => String(one).toLowerCase()));
    return (person) => person[key] !== null && wanted.has(String(person[key]).toLowerCase());
  });
  return (person) => tests.every((test) => test(person));
}
