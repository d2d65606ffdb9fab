import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Oracle, seeded, World, type WorldPerson } from "../../bench/world.mjs";
import { type Descent, type DescentInput, descend } from "../../src/engine/planning/descent.ts";
import {
  type Counts,
  ownedAddress,
  type SegmentMember,
  UnsoundCountsError,
} from "../../src/engine/planning/question.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";
import { long } from "../support/long.ts";

/** A service that counts these people; every address that it is asked after. */
function service(
  people: Iterable<WorldPerson>,
  segment: Filters,
  { listSize = 1_000, answer = (n: number) => n } = {},
) {
  const oracle = new Oracle(people, segment);
  const asked = new Set<string>();
  const counts: Counts = {
    listSize,
    get calls() {
      return oracle.calls;
    },
    async count(filters) {
      if (filters.network_url !== undefined) throw new Error("only lists name addresses");
      return answer(await oracle.count(filters));
    },
    async countAt(filters, addresses) {
      let sum = 0;
      for (let at = 0; at < addresses.length; at += listSize) {
        const list = addresses.slice(at, at + listSize);
        for (const address of list) asked.add(address);
        sum += answer(await oracle.count({ ...filters, network_url: list }));
      }
      return sum;
    },
  };
  return { oracle, counts, asked };
}

const member = (person: WorldPerson, more: Partial<SegmentMember> = {}): SegmentMember => ({
  identity: person.id,
  address: person.network_url === null ? undefined : ownedAddress(person.network_url),
  name: person.name,
  values: person,
  isNamed: true,
  isKnown: true,
  ...more,
});

interface Case {
  readonly segment?: Filters;
  readonly people?: number;
  /** Who of the segment is owned. */
  readonly share: number;
  /** Weeks of drift between the purchase and the descent. */
  readonly weeks?: number;
  readonly world?: World;
  readonly input?: Partial<DescentInput>;
  readonly listSize?: number;
}

/** Buys a share of a segment, lets time pass, and looks for the others. */
async function lookFor({
  segment = { department: "Sales" },
  people = 20_000,
  share,
  weeks = 0,
  world,
  input,
  listSize,
}: Case) {
  const there = world ?? new World(people, { seed: 3 });
  const random = seeded(9);
  const bought = new Oracle(there.people.values(), segment).people
    .filter(() => random() < share)
    .map((one) => ({ ...one }));
  for (let week = 0; week < weeks; week++) there.drift({ name: 0 });
  const { oracle, counts, asked } = service(
    there.people.values(),
    segment,
    listSize === undefined ? {} : { listSize },
  );
  const now = new Set(oracle.people.map(({ id }) => id));
  const owned = bought
    .filter(({ id }) => now.has(id))
    .map((person) => member(person, { isKnown: weeks === 0 }));
  const total = oracle.people.length;
  const fresh = total - owned.length;
  const descent = await descend(
    {
      segment,
      total,
      owned,
      callsPerCredit: 5,
      maxCalls: 1e6,
      maxWaste: Math.ceil(fresh / 10) + 2,
      maxRows: 1e6,
      ...input,
    },
    counts,
  );
  return { oracle, descent, owned, fresh, asked, total };
}

/** Every new person is in exactly one leaf or named as unreached; nobody is in two leaves. */
function check({ oracle, descent, owned, fresh }: Awaited<ReturnType<typeof lookFor>>): void {
  const mine = new Set(owned.map(({ identity }) => identity));
  const seen = new Set<string>();
  let again = 0;
  for (const leaf of descent.leaves) {
    const people = oracle.matching(leaf.filters);
    expect(people).toHaveLength(leaf.count);
    expect(people.filter(({ id }) => !mine.has(id)).length).toBeGreaterThanOrEqual(leaf.fresh);
    for (const { id } of people) {
      if (seen.has(id)) again++;
      seen.add(id);
    }
  }
  expect(again).toBeLessThanOrEqual(descent.overlap);
  const found = [...seen].filter((id) => !mine.has(id)).length;
  expect(found + unreachedBy(descent) + descent.beyond).toBe(fresh);
}

const unreachedBy = ({ unreached }: Descent): number =>
  unreached.reduce((sum, { count }) => sum + count, 0);
const rowsOf = ({ leaves }: Descent): number => leaves.reduce((sum, { count }) => sum + count, 0);

describe("everybody new is found, and hardly anybody else is bought", () => {
  test.each([
    ["99 %, the same dataset", { share: 0.99 }, 1.1],
    ["90 %, the same dataset", { share: 0.9 }, 1.1],
    ["50 %, the same dataset", { share: 0.5 }, 1.2],
    ["99 %, a week later", { share: 0.99, weeks: 1 }, 1.1],
    ["90 %, a week later", { share: 0.9, weeks: 1 }, 1.1],
    ["50 %, a week later", { share: 0.5, weeks: 1 }, 1.2],
    ["lists of 50", { share: 0.95, weeks: 1, listSize: 50 }, 1.1],
    [
      "lists of values",
      { share: 0.9, weeks: 1, segment: { department: ["Sales", "Legal"], country: ["country 0"] } },
      1.1,
    ],
    ["a segment by name", { share: 0.9, weeks: 1, segment: { name_prefix: "ma" } }, 1.2],
    [
      "a segment by range",
      { share: 0.9, segment: { followers_min: 100, followers_max: 3_000, department: "Sales" } },
      1.1,
    ],
  ] as const)("%s", async (_, given, most) => {
    const found = await lookFor(given);
    check(found);
    expect(found.descent.unreached).toEqual([]);
    expect(rowsOf(found.descent)).toBeLessThanOrEqual(Math.ceil(found.fresh * most) + 2);
  });

  long(
    "free calls a new person: 24 where names alone hold, 18 where all that was bought does",
    async () => {
      for (const [weeks, most] of [
        [1, 24],
        [0, 18],
      ] as const) {
        const { oracle, fresh } = await lookFor({ share: 0.98, weeks, people: 60_000 });
        expect(oracle.calls / fresh).toBeLessThanOrEqual(most);
      }
    },
  );
});

describe("worlds that are strange", () => {
  const strange = (more: (index: number) => Partial<WorldPerson>): World => {
    const world = new World(0, { seed: 5 });
    for (let index = 0; index < 1_500; index++) world.add({ department: "Sales", ...more(index) });
    return world;
  };

  test.each([
    [
      "no values but the name",
      () => ({ followers: null, connections: null, country: null, industry: null }),
    ],
    [
      "thirteen scripts",
      (index: number) => ({ name: `${SCRIPTS[index % SCRIPTS.length]}${index % 97}` }),
    ],
  ])("%s", async (_, more) => {
    for (const weeks of [0, 1]) {
      const found = await lookFor({ world: strange(more), share: 0.9, weeks });
      check(found);
      expect(found.descent.unreached).toEqual([]);
    }
  });

  long("a thousand of one name, some without any value: each in one leaf, or named", async () => {
    const found = await lookFor({
      world: strange(() => ({ name: "ada smith" })),
      share: 0.9,
      weeks: 1,
    });
    check(found);
    expect(unreachedBy(found.descent)).toBeLessThan(found.fresh / 5);
  });

  test("who is owned without an address is bought again where no count tells them apart, and nobody new is missed", async () => {
    const world = strange((index) => (index % 20 === 0 ? { network_url: null } : {}));
    const { descent, oracle, owned } = await lookFor({ world, share: 0.9, weeks: 1 });
    const mine = new Set(owned.map(({ identity }) => identity));
    const reached = new Set(
      descent.leaves.flatMap(({ filters }) => oracle.matching(filters).map(({ id }) => id)),
    );
    expect(oracle.people.filter(({ id }) => !mine.has(id) && !reached.has(id))).toEqual([]);
  });

  const SCRIPTS = [
    "東京 ",
    "김",
    "иван ",
    "αλέξανδρος ",
    "محمد ",
    "דוד ",
    "สมชาย ",
    "राम ",
    "გიორგი ",
    "արամ ",
    "ñandú ",
    "🎉 ",
    "o'",
  ];

  test.each([0, 1])(
    "names that begin as no owned one does, some with values missing (weeks: %i)",
    async (weeks) => {
      const world = new World(8_000, { seed: 11 });
      const segment = { department: "Sales" };
      const bought = new Oracle(world.people.values(), segment).people
        .filter((_, index) => index % 3 > 0)
        .map((one) => ({ ...one }));
      for (let week = 0; week < weeks; week++) world.drift({ name: 0 });
      for (let index = 0; index < 12; index++) {
        const more = [
          { followers: null },
          { connections: null },
          { seniority_level: null, industry: null },
          {},
        ][index % 4];
        const {
          id: _,
          network_url: __,
          followers: ___,
          connections: ____,
          ...like
        } = bought[7 * index] as WorldPerson;
        world.add({ ...like, name: `${String.fromCodePoint(0x4e00 + 7 * index)} wu`, ...more });
      }
      const { oracle, counts } = service(world.people.values(), segment);
      const owned = bought.map((person) => member(person, { isKnown: weeks === 0 }));
      const total = oracle.people.length;
      const fresh = total - owned.length;
      const maxWaste = Math.ceil(fresh / 10) + 2;
      const descent = await descend(
        {
          segment,
          total,
          owned,
          callsPerCredit: 5,
          maxCalls: 1e6,
          maxWaste,
          maxRows: fresh + maxWaste,
        },
        counts,
      );
      check({ oracle, descent, owned, fresh, asked: new Set(), total });
      expect(descent.unreached).toEqual([]);
      expect(descent.beyond).toBe(0);
      expect(rowsOf(descent) - fresh).toBeLessThanOrEqual(maxWaste);
      expect(oracle.calls).toBeLessThan(60 * fresh);
    },
  );

  test("twins that no filter tells apart are bought with the one who is owned, where that was agreed to, or named", async () => {
    const twins = () =>
      strange((index) => ({
        name: index < 8 ? "ada smith" : `bo ${index}`,
        followers: 5,
        connections: 5,
        country: null,
        state: null,
        city: null,
        industry: null,
        functional_area: null,
        seniority_level: null,
        seniority: null,
        title: null,
        location: null,
        first_name: null,
        last_name: null,
      }));
    const run = async (maxWaste: number) => {
      const world = twins();
      const people = [...world.people.values()];
      const owned = people.slice(2).map((person) => member(person));
      const { counts, oracle } = service(people, {});
      const descent = await descend(
        {
          segment: {},
          total: people.length,
          owned,
          callsPerCredit: 5,
          maxCalls: 1e5,
          maxWaste,
          maxRows: 1e5,
        },
        counts,
      );
      return { descent, oracle, owned, fresh: 2 };
    };
    expect((await run(10)).descent).toMatchObject({
      leaves: [{ count: 8, fresh: 2 }],
      unreached: [],
    });
    const { descent } = await run(3);
    expect(descent.leaves).toEqual([]);
    const within = [{ filters: expect.objectContaining({}), rows: 8 }];
    expect(descent.unreached).toEqual([
      { where: "whom no filter tells from people you own", count: 2, within },
    ]);
  });

  test("everybody new, and nobody new", async () => {
    const all = await lookFor({ share: 0 });
    expect(all.descent.leaves).toEqual([
      { filters: { department: "Sales" }, count: all.total, fresh: all.total },
    ]);
    expect(all.oracle.calls).toBe(0);
    const none = await lookFor({ share: 1 });
    expect(none.descent).toEqual({ leaves: [], unreached: [], overlap: 0, beyond: 0 });
    expect(none.oracle.calls).toBe(0);
  });
});

describe("bounds", () => {
  /** Names tell little: who is new is looked for by values, in many parts at once. */
  function fewNames(): World {
    const world = new World(20_000, { seed: 3 });
    [...world.people.values()].forEach((person, at) => {
      const [first, last] = [`first${(at * 31) % 9}`, `last${(at * 17) % 9}`];
      Object.assign(person, { first_name: first, last_name: last, name: `${first} ${last}` });
    });
    return world;
  }
  long.for([
    { share: 0.95, weeks: 1 },
    { share: 0.95, weeks: 1, listSize: 50 },
    { share: 0.3 },
    { share: 0.6, names: 80 },
    { share: 0.8, weeks: 1, names: 80 },
  ])(
    "no more calls than allowed, and who was not found by them is named: %j",
    async ({ names, ...how }) => {
      for (const maxCalls of [20, 60, 150, 200, 211, 243, 300, 391]) {
        const found = await lookFor({
          ...how,
          ...(names === undefined ? {} : { world: fewNames() }),
          input: { maxCalls },
        });
        check(found);
        expect(found.oracle.calls).toBeLessThanOrEqual(maxCalls);
        if (maxCalls < 100) expect(unreachedBy(found.descent)).toBeGreaterThan(0);
      }
    },
  );

  test("nothing is divided of which no row will be bought", async () => {
    const all = await lookFor({ share: 0.9 });
    const some = await lookFor({ share: 0.9, input: { maxRows: 5 } });
    check(some);
    expect(some.oracle.calls).toBeLessThan(all.oracle.calls / 3);
  });

  test("no more is wasted than agreed to", async () => {
    const found = await lookFor({ share: 0.5, weeks: 1, input: { maxWaste: 3 } });
    check(found);
    expect(rowsOf(found.descent) - (found.fresh - unreachedBy(found.descent))).toBeLessThanOrEqual(
      3,
    );
  });

  test("0 calls a credit: the segment as it is", async () => {
    const { descent, oracle } = await lookFor({
      share: 0.9,
      input: { callsPerCredit: 0, maxWaste: 1e6 },
    });
    expect(descent.leaves).toHaveLength(1);
    expect(oracle.calls).toBe(0);
  });
});

describe("counts that do not add up end it", () => {
  test.each([
    ["a hundredth too many", (n: number) => Math.round(n * 1.01)],
    ["a few too many or too few", (n: number) => n + ((n * 7_919) % 3) - 1],
    ["rounded to tens", (n: number) => Math.round(n / 10) * 10],
  ])("%s", async (_, answer) => {
    const world = new World(20_000, { seed: 3 });
    const segment = { department: "Sales" };
    const { counts, oracle } = service(world.people.values(), segment, { answer });
    const random = seeded(2);
    const owned = oracle.people
      .filter(() => random() < 0.9)
      .map((person) => member(person, { isKnown: false }));
    const input = {
      segment,
      total: oracle.people.length,
      owned,
      callsPerCredit: 5,
      maxCalls: 1e5,
      maxWaste: 50,
      maxRows: 1e5,
    };
    await expect(descend(input, counts)).rejects.toThrow(UnsoundCountsError);
  });
});

test("nobody is asked after who is not owned", async () => {
  const { asked, owned } = await lookFor({ share: 0.9, weeks: 1 });
  const mine = new Set(owned.map(({ address }) => address as string));
  expect([...asked].filter((address) => !mine.has(address))).toEqual([]);
});

test("any world, any share: everybody new is in one leaf or named", async () => {
  const names = fc.constantFrom(
    "ada",
    "ada li",
    "ada lin",
    "a",
    "b c",
    "b  c",
    "東",
    "東京",
    "zoë",
    "zoe",
    "o'n",
    "ß",
    "-",
    "ａ",
  );
  const people = fc.array(
    fc.record({
      name: names,
      owned: fc.boolean(),
      address: fc.boolean(),
      stale: fc.boolean(),
      followers: fc.option(fc.nat(3), { nil: null }),
      connections: fc.option(fc.nat(3), { nil: null }),
      seniority_level: fc.constantFrom("manager", "vp", null),
    }),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(
      people,
      fc.constantFrom(0, 1, 5, 100),
      fc.constantFrom(0, 3, 1_000),
      async (made, callsPerCredit, maxWaste) => {
        const world = new World(0);
        const owned: SegmentMember[] = [];
        for (const { name, owned: mine, address, stale, ...values } of made) {
          const person = world.add({
            ...values,
            name: name.normalize("NFKC").replaceAll("ß", "ss").replace(/\s+/g, " "),
            department: "Sales",
          });
          if (!address) person.network_url = null;
          if (mine) owned.push(member(person, { isKnown: !stale, isNamed: true }));
        }
        const { counts, oracle } = service(world.people.values(), {});
        const total = made.length;
        const fresh = total - owned.length;
        const descent = await descend(
          { segment: {}, total, owned, callsPerCredit, maxCalls: 1e5, maxWaste, maxRows: 1e5 },
          counts,
        );
        const found = { oracle, descent, owned, fresh, asked: new Set<string>(), total };
        // Who is owned without an address, and whose values no longer hold, may be taken for new.
        if (owned.every(({ address, isKnown }) => address !== undefined || isKnown)) check(found);
        const reached = new Set(
          descent.leaves.flatMap((leaf) => oracle.matching(leaf.filters).map(({ id }) => id)),
        );
        const mine = new Set(owned.map(({ identity }) => identity));
        const missed = [...world.people.keys()].filter(
          (id) => !mine.has(id) && !reached.has(id),
        ).length;
        expect(missed).toBeLessThanOrEqual(unreachedBy(descent));
      },
    ),
    { numRuns: 300, seed: 7 },
  );
});
