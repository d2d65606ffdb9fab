// Six crowds whose people are told apart in different ways, and what a week does to one of their segments. Seeded.
import { join } from "node:path";
import { Oracle, seeded, World } from "./world.mjs";

const ROOT = join(import.meta.dirname, "..");

export const SEGMENT = { department: "Sales" };
export const LIST_SIZE = 1_000;

const named = (person, first, last) =>
  Object.assign(person, { first_name: first, last_name: last, name: `${first} ${last}` });

/** People of a crowd by their number, made of those of a world with long tails. */
const KINDS = {
  "long tails": {},
  "names of their own": {
    shape: (person, at) => named(person, `f${(at * 7_919) % 20_011}`, `l${at}`),
  },
  "80 names": {
    people: 3_300,
    shape: (person, _, pick) => named(person, `first${pick(9)}`, `last${pick(9)}`),
  },
  "a tenth without an address": { withoutAddress: 0.1 },
  "newcomers alike to owned people": { isAlike: true },
  sample: { sample: true },
};
export const CROWDS = Object.keys(KINDS);

/** The segment as it was bought, and how it goes on. */
export async function crowdOf(kind, { people = KINDS[kind].people ?? 1_200, seed = 11 } = {}) {
  const { shape = (person) => person, withoutAddress = 0, isAlike, sample } = KINDS[kind];
  const random = seeded(seed);
  const pick = (below) => Math.floor(random() * below);
  const world = new World(0, { seed: seed - 8, withoutAddress });
  const generated = sample === true ? await salesOfSample(people) : undefined;
  let at = 0;
  const born = () => {
    if (generated === undefined) return shape(world.add(SEGMENT), ++at, pick);
    const person = { ...generated.next().value };
    world.people.set(person.id, person);
    return person;
  };
  for (let count = 0; count < people; count++) born();
  const start = [...world.people.values()].map((person) => ({ ...person }));
  const newcomer = () => {
    const person = born();
    if (!isAlike) return;
    const { id, network_url } = person;
    Object.assign(person, start[pick(start.length)], { id, network_url });
  };
  return {
    start,
    /** So large a share leaves, and as many come; attributes drift where the dataset is another one. */
    week(churn, drifts = true) {
      if (drifts) world.drift({ name: 0.0002, job: 0.001 });
      const leaving = [...world.people.keys()].filter(() => random() < churn);
      for (const id of leaving) world.people.delete(id);
      for (let count = Math.round(start.length * churn); count > 0; count--) newcomer();
      return new Oracle(world.people.values(), SEGMENT);
    },
  };
}

async function salesOfSample(people) {
  const { Population } = await import(join(ROOT, "dist/dataset/build/generate.js"));
  const made = new Population({ people: people * 40, seed: 20_260_101 }).people();
  return [...made]
    .filter(({ department }) => department === SEGMENT.department)
    .map(likeWorld)
    .values();
}

/** Values in normal form, as a world has them. */
const likeWorld = (person) =>
  Object.fromEntries(
    Object.entries(person).map(([key, value]) => [
      key,
      typeof value === "string" && key !== "department" && key !== "id"
        ? value.toLowerCase()
        : value,
    ]),
  );

export const countsOf = (oracle) => ({
  listSize: LIST_SIZE,
  get calls() {
    return oracle.calls;
  },
  count: (filters) => oracle.count(filters),
  async countAt(filters, addresses) {
    let sum = 0;
    for (let at = 0; at < addresses.length; at += LIST_SIZE)
      sum += await oracle.count({ ...filters, network_url: addresses.slice(at, at + LIST_SIZE) });
    return sum;
  },
});

export const memberOf = (person, known) => ({
  identity: person.id,
  address: person.network_url ?? undefined,
  name: person.name,
  values: person,
  isNamed: known,
  isKnown: known,
});
