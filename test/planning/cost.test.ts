import { describe, expect, test } from "vitest";
import { Oracle, seeded, World, type WorldPerson } from "../../bench/world.mjs";
import { costOf } from "../../src/engine/planning/cost.ts";
import { likenessIn } from "../../src/engine/planning/likeness.ts";
import { findNew } from "../../src/engine/planning/new-people.ts";
import { lookFor, tellApart } from "../../src/engine/planning/presence.ts";
import {
  type Counts,
  limitedMs,
  ownedAddress,
  type SegmentMember,
} from "../../src/engine/planning/question.ts";
import { long } from "../support/long.ts";

const SEGMENT = { department: "Sales" };
const LIST = 1_000;

function counting(people: Iterable<WorldPerson>): {
  readonly oracle: Oracle;
  readonly counts: Counts;
} {
  const oracle = new Oracle(people, SEGMENT);
  const counts: Counts = {
    listSize: LIST,
    get calls() {
      return oracle.calls;
    },
    count: (filters) => oracle.count(filters),
    async countAt(filters, addresses) {
      let sum = 0;
      for (let at = 0; at < addresses.length; at += LIST)
        sum += await oracle.count({ ...filters, network_url: addresses.slice(at, at + LIST) });
      return sum;
    },
  };
  return { oracle, counts };
}

const memberOf = (person: WorldPerson, known: boolean): SegmentMember => ({
  identity: person.id,
  address: person.network_url === null ? undefined : ownedAddress(person.network_url),
  name: person.name,
  values: { ...person },
  isNamed: known,
  isKnown: known,
});

/** A world whose people have the names that are told by their number. */
function named(seed: number, nameOf: (at: number) => readonly [string, string]): World {
  const world = new World(20_000, { seed });
  [...world.people.values()].forEach((person, at) => {
    const [first, last] = nameOf(at);
    Object.assign(person, { first_name: first, last_name: last, name: `${first} ${last}` });
  });
  return world;
}

/** Everybody is there twice, told apart by id and address alone. */
function alike(): World {
  const world = new World(10_000, { seed: 7 });
  const people = [...world.people.values()];
  for (const person of people) {
    const { id, network_url } = world.add();
    Object.assign(world.people.get(id) ?? {}, person, { id, network_url });
  }
  return world;
}

type Pick = (person: WorldPerson, random: () => number) => boolean;
const share =
  (of: number): Pick =>
  (_, random) =>
    random() < of;

const WORLDS: Readonly<Record<string, () => World>> = {
  "long tails": () => new World(20_000, { seed: 3 }),
  "names of their own": () => named(4, (at) => [`f${(at * 7_919) % 20_011}`, `l${at}`]),
  "80 names": () => named(5, (at) => [`first${(at * 31) % 9}`, `last${(at * 17) % 9}`]),
  "a tenth without an address": () => new World(20_000, { seed: 6, withoutAddress: 0.1 }),
  "newcomers alike to owned people": alike,
};
const WEEK = "95 in 100 owned, a week ago";
type History = readonly [Pick, weeks: number, callsPerCredit: number];
const FEW_NEW = {
  "99 in 100 owned": [share(0.99), 0, 5],
  [WEEK]: [share(0.95), 1, 5],
  "95 in 100 owned, a week ago, a call a credit": [share(0.95), 1, 1],
} satisfies Readonly<Record<string, History>>;
/** What is owned tells less of the new people, who are of another kind in the last ones. */
const MANY_NEW = {
  "half owned": [share(0.5), 0, 5],
  "6 in 10 owned, a week ago": [share(0.6), 1, 5],
  "all but those with many followers": [({ followers }) => (followers ?? 0) < 1_500, 0, 5],
  "those with many followers": [({ followers }) => (followers ?? 0) >= 500, 0, 5],
  "those of one country": [({ country }) => country === "united states", 0, 5],
  "all others": [({ country }) => country !== "united states", 0, 5],
  "those of one level": [({ seniority_level }) => seniority_level === "senior", 0, 5],
} satisfies Readonly<Record<string, History>>;

describe("what is quoted is what it takes, whatever the people are like", () => {
  for (const [what, make] of Object.entries(WORLDS)) {
    const few = make === alike ? { [WEEK]: FEW_NEW[WEEK] } : FEW_NEW;
    const many = make === alike ? {} : MANY_NEW;

    const quoted = async ([history, [pick, weeks, callsPerCredit]]: readonly [string, History]) => {
      const world = make();
      const random = seeded(9);
      const bought = new Oracle(world.people.values(), SEGMENT).people
        .filter((person) => pick(person, random))
        .map((person) => ({ ...person }));
      for (let week = 0; week < weeks; week++) world.drift({ name: 0 });
      const { counts } = counting(world.people.values());
      const members = bought.map((person) => memberOf(person, weeks === 0));
      const presence = await lookFor(SEGMENT, members, counts);
      const likeness = await likenessIn(presence, members, counts, Number.POSITIVE_INFINITY);
      const before = counts.calls;
      const cost = await costOf(
        { ...presence, ...likeness, members, listSize: LIST },
        callsPerCredit,
      );
      expect(counts.calls, "a quote asks nobody").toBe(before);

      const { owned } = await tellApart(presence, counts);
      const limits = {
        callsPerCredit: cost.callsPerCredit,
        maxCalls: 1e6,
        maxRows: 1e6,
        maxRenamed: 0,
      };
      const maxWaste = cost.rows - presence.others;
      const { leaves, unreached } = await findNew(presence, owned, { ...limits, maxWaste }, counts);
      await lookFor(SEGMENT, owned, counts);
      const done = counts.calls - before;
      expect(done / cost.calls, `${cost.calls} quoted, ${done} made`).toBeLessThan(
        history in FEW_NEW ? 1.5 : 2,
      );
      expect(cost.calls / done, `${cost.calls} quoted, ${done} made`).toBeLessThan(
        history in FEW_NEW ? 1.5 : 2.5,
      );
      if (!(history in FEW_NEW)) return;
      const rows = leaves.reduce((sum, { count }) => sum + count, 0);
      expect(unreached).toEqual([]);
      expect(rows).toBeLessThanOrEqual(cost.rows);
      expect(cost.rows - 2, `${cost.rows} people quoted, ${rows} bought`).toBeLessThan(1.5 * rows);
    };

    test.for(Object.entries<History>(few))(`${what}: %s`, quoted);
    long.for(Object.entries<History>(many))(`${what}: %s`, quoted);
  }
});

/** 1,200 people as they were bought, and a week later with so many copies of them as they were then. */
function copied(newcomers: number, gone = 0) {
  const world = new World(0, { seed: 3 });
  for (let at = 0; at < 1_200; at++) world.add(SEGMENT);
  const bought = [...world.people.values()].map((person) => ({ ...person }));
  world.drift({ name: 0 });
  for (const { id } of bought.slice(0, gone)) world.people.delete(id);
  for (let at = 0; at < newcomers; at++) {
    const { id, network_url } = world.add(SEGMENT);
    Object.assign(world.people.get(id) ?? {}, bought[(at * 487) % bought.length], {
      id,
      network_url,
    });
  }
  const same = bought.filter(({ id, followers, connections }) => {
    const now = world.people.get(id);
    return now?.followers === followers && now.connections === connections;
  });
  const { counts } = counting(world.people.values());
  return {
    counts,
    members: bought.map((person) => memberOf(person, false)),
    still: same.length / (1_200 - gone),
  };
}

describe("how new people are like owned ones is counted", () => {
  const measured = async ({ counts, members }: Omit<ReturnType<typeof copied>, "still">) => {
    const presence = await lookFor(SEGMENT, members, counts);
    const before = counts.calls;
    const likeness = await likenessIn(presence, members, counts, Number.POSITIVE_INFINITY);
    return { ...likeness, presence, calls: counts.calls - before };
  };

  test("copies are found, also a few, and how many owned people are as they were bought", async () => {
    for (const newcomers of [12, 100]) {
      const { still, ...crowd } = copied(newcomers);
      const found = await measured(crowd);
      expect(found.alike).toBeGreaterThan(0.7);
      expect(Math.abs(found.still - still), `${found.still} measured, ${still} are`).toBeLessThan(
        0.25,
      );
    }
  });

  test("a copy of somebody who left is like nobody", async () => {
    const { alike } = await measured(copied(240, 600));
    expect(alike).toBeGreaterThan(0.35);
    expect(alike).toBeLessThan(0.65);
  });

  test("names that people with few and with many followers have tell nothing, and are not asked about", async () => {
    const world = named(5, (at) => [`first${(at * 31) % 9}`, `last${(at * 17) % 9}`]);
    const bought = new Oracle(world.people.values(), SEGMENT).people.slice(100);
    const { counts } = counting(world.people.values());
    const found = await measured({
      counts,
      members: bought.map((person) => memberOf(person, false)),
    });
    expect(found).toMatchObject({ alike: 0, still: 1 });
    expect(
      found.calls,
      "of which kind they are is asked: seven lists, two numbers",
    ).toBeLessThanOrEqual(13);
  });

  test("who is like an owned person who moved is bought alone, and quoted so", async () => {
    const crowd = copied(60);
    const { counts, members } = crowd;
    const { presence, alike, still, traits } = await measured(crowd);
    const cost = await costOf({ ...presence, alike, still, traits, members, listSize: LIST }, 5);
    const { owned } = await tellApart(presence, counts);
    const limits = { callsPerCredit: 5, maxCalls: 1e6, maxRows: 1e6, maxRenamed: 0 };
    const maxWaste = cost.rows - presence.others;
    const { leaves, unreached } = await findNew(presence, owned, { ...limits, maxWaste }, counts);
    const rows = leaves.reduce((sum, { count }) => sum + count, 0);
    expect(unreached).toEqual([]);
    expect(cost.rows, `${cost.rows} people quoted, ${rows} bought`).toBeLessThan(1.35 * rows);
  });
});

test("minutes are those behind the first, of the share that counts take; nobody knows them where no limit is told", () => {
  expect(limitedMs(480, 600, 0.8)).toBe(0);
  expect(limitedMs(4_800, 600, 0.8)).toBe(540_000);
  expect(limitedMs(4_801, 600, 0.8)).toBe(600_000);
  expect(limitedMs(601, 600)).toBe(60_000);
  expect(limitedMs(0, 600)).toBe(0);
  expect([limitedMs(480, undefined), limitedMs(480, 0)]).toEqual([undefined, undefined]);
});
