import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findChanged, type Question } from "../../src/engine/planning/changed.ts";
import { UnsoundCountsError } from "../../src/engine/planning/question.ts";
import { countChunks, findGone, weighings } from "../../src/engine/planning/removed.ts";
import { seeded } from "../support/export.ts";
import { long } from "../support/long.ts";

/** A service that knows who is gone, and how often it was asked. */
function oracle(
  gone: ReadonlySet<number>,
  most: number,
  answer: (count: number, call: number) => number = (n) => n,
) {
  const asked = { calls: 0, rounds: 0 };
  const present = async (lists: readonly (readonly number[])[]): Promise<number[]> => {
    asked.rounds++;
    return lists.map((list) => {
      expect(list.length).toBeLessThanOrEqual(most);
      expect(new Set(list).size).toBe(list.length);
      return answer(list.filter((person) => !gone.has(person)).length, ++asked.calls);
    });
  };
  const find = async (people: readonly number[]) =>
    findGone(await countChunks(people, most, present), most, present);
  return { asked, find };
}

function someOf(count: number, wanted: number, random: () => number): Set<number> {
  const chosen = new Set<number>();
  while (chosen.size < wanted) chosen.add(Math.floor(random() * count));
  return chosen;
}

const everybody = (count: number): number[] => Array.from({ length: count }, (_, person) => person);

describe("weighings", () => {
  test("find every unknown, in sets that are not heavier than the room", () => {
    const unknown = fc.record({
      most: fc.integer({ min: 1, max: 12 }),
      load: fc.integer({ min: 1, max: 25 }),
    });
    fc.assert(
      fc.property(
        fc.array(unknown, { minLength: 1, maxLength: 150 }),
        fc.integer(),
        (unknowns, seed) => {
          const random = seeded(seed);
          const values = unknowns.map(({ most }) => Math.floor(random() * (most + 1)));
          const room = 25 + Math.floor(random() * 1_000);
          const { sets, solve } = weighings(unknowns, room);
          expect(sets.length).toBeLessThanOrEqual(unknowns.length);
          for (const set of sets) {
            expect(
              set.reduce((sum, index) => sum + (unknowns[index]?.load ?? 0), 0),
            ).toBeLessThanOrEqual(room);
          }
          expect(
            solve(sets.map((set) => set.reduce((sum, index) => sum + (values[index] ?? 0), 0))),
          ).toEqual(values);
        },
      ),
    );
  });

  test.each([
    [12, 7],
    [32, 15],
    [192, 63],
    [448, 127],
  ])("%d bits take %d sums", (bits, sums) => {
    const unknowns = Array.from({ length: bits }, () => ({ most: 1, load: 1 }));
    expect(weighings(unknowns, 1_000).sets).toHaveLength(sums);
  });
});

describe("findGone", () => {
  test.each([1_000, 100, 50, 7])("is exact with lists of %d, whoever is gone", async (most) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 3_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer(),
        async (count, share, seed) => {
          const gone = someOf(count, Math.floor(count * share * share), seeded(seed));
          const found = await oracle(gone, most).find(everybody(count));
          expect(new Set(found.leavers)).toEqual(gone);
          expect(found.members).toHaveLength(count - gone.size);
        },
      ),
      { numRuns: 40 },
    );
  });

  const foundWithin = async (count: number, wanted: number): Promise<void> => {
    for (const [seed, together] of [
      [1, false],
      [2, false],
      [3, true],
    ] as const) {
      const gone = together ? new Set(everybody(wanted)) : someOf(count, wanted, seeded(seed));
      const { asked, find } = oracle(gone, 1_000);
      expect(new Set((await find(everybody(count))).leavers)).toEqual(gone);
      expect(asked.calls).toBeLessThanOrEqual(
        0.8 * wanted * Math.log2(count / wanted) + count / 1_000 + 20,
      );
      expect(asked.rounds).toBeLessThanOrEqual(12);
    }
  };
  const WITHIN =
    "of %d people %d that are gone are found within 0.8 d log2(n/d) + n/1000 + 20 counts";
  test.each([
    [1_000, 10],
    [1_000, 50],
    [1_000, 200],
    [10_000, 20],
    [10_000, 100],
    [10_000, 500],
    [10_000, 2_000],
  ])(WITHIN, foundWithin);
  long.each([[100_000, 1_000]])(WITHIN, foundWithin);

  long("counts that are wrong, rough or of a dataset that moves are noticed", async () => {
    const count = 2_000;
    const gone = someOf(count, 40, seeded(5));
    const later = new Set([...gone, ...someOf(count, 30, seeded(6))]);
    const { asked, find } = oracle(gone, 1_000);
    await find(everybody(count));
    for (let call = 1; call <= asked.calls; call++) {
      for (const wrong of [-1, 1]) {
        const faulty = oracle(gone, 1_000, (n, at) => (at === call ? Math.max(0, n + wrong) : n));
        const found = await faulty.find(everybody(count)).catch((error: unknown) => error);
        // What is not noticed is right: a count that could not be less, and was not.
        if (!(found instanceof UnsoundCountsError))
          expect(new Set((found as { leavers: number[] }).leavers)).toEqual(gone);
      }
      let moved = 0;
      const askedOnce = async (lists: readonly (readonly number[])[]): Promise<number[]> => {
        const counts: number[] = [];
        for (const list of lists) {
          const now = ++moved >= call ? later : gone;
          counts.push(list.filter((person) => !now.has(person)).length);
        }
        return counts;
      };
      const ended = await countChunks(everybody(count), 1_000, askedOnce)
        .then((chunks) => findGone(chunks, 1_000, askedOnce))
        .catch((error: unknown) => error);
      if (ended instanceof UnsoundCountsError) continue;
      // Before it moved, or after: never something between.
      const named = new Set((ended as { leavers: number[] }).leavers);
      expect(named.size === gone.size || named.size === later.size).toBe(true);
    }
    const rough = oracle(gone, 1_000, (n, at) => Math.round(n * (1 + ((at % 3) - 1) / 100)));
    await expect(rough.find(everybody(count))).rejects.toThrow(UnsoundCountsError);
    const cut = async (lists: readonly (readonly number[])[]) =>
      lists.map((list) => Math.min(100, list.length));
    await expect(
      countChunks(everybody(count), 1_000, cut).then((chunks) => findGone(chunks, 1_000, cut)),
    ).rejects.toThrow(UnsoundCountsError);
  });
});

describe("findChanged", () => {
  test("misses nobody who changed, and names nobody else", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          count: fc.integer({ min: 0, max: 1_500 }),
          values: fc.integer({ min: 1, max: 400 }),
          skew: fc.integer({ min: 1, max: 4 }),
          churn: fc.double({ min: 0, max: 0.3, noNaN: true }),
          most: fc.constantFrom(
            { people: 1_000, values: 800 },
            { people: 50, values: 50 },
            { people: 100, values: 1 },
          ),
          seed: fc.integer(),
        }),
        async ({ count, values, skew, churn, most, seed }) => {
          const random = seeded(seed);
          const pick = (): string => `v${Math.floor(values * random() ** skew)}`;
          const bought = everybody(count).map((person) => ({ person, value: pick() }));
          // To a value of another, to one that nobody had, or to none.
          const now = bought.map(({ value }) =>
            random() > churn ? value : random() < 0.2 ? undefined : pick(),
          );
          const present = async (questions: readonly Question<number>[]): Promise<number[]> =>
            questions.map((question) => {
              expect(question.people.length).toBeLessThanOrEqual(most.people);
              expect(question.values.length).toBeLessThanOrEqual(most.values);
              return question.people.filter((person) => question.values.includes(now[person] ?? ""))
                .length;
            });
          const expected = bought.flatMap(({ person, value }) =>
            now[person] === value ? [] : [person],
          );
          expect((await findChanged(bought, most, present)).sort((a, b) => a - b)).toEqual(
            expected,
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});
