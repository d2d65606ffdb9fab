import { expect, test } from "vitest";
import { lookBySketch } from "../../src/engine/planning/sketched.ts";
import { digestsOf } from "../../src/shared/contract/person-digest.ts";
import { differenceIn, SketchCells } from "../../src/shared/contract/sketch.ts";

// Who of a list is in a segment by a sketch: how often it is asked for, and how many cells that takes.

const CELL_BYTES = 14;
const peopleFrom = (first: number, many: number): string[] =>
  Array.from({ length: many }, (_, at) => `person-${first + at}`);

/** A list of whom `gone` left and as many came; the key of its digests is one of many. */
async function lookedFor(people: number, gone: number, seed: number) {
  const key = seed.toString(16).padStart(32, "0");
  const there = digestsOf(key, peopleFrom(gone, people));
  const asked: number[] = [];
  const found = await lookBySketch({}, peopleFrom(0, people), {
    ask: async (from, cells) => {
      asked.push(cells);
      return { count: people, key, cells: SketchCells.of(there, from, from + cells) };
    },
    elsewhere: () => [],
    membersOf: () => [],
    counts: { count: async () => 0, countAt: async () => 0, listSize: 1_000, calls: 0 },
  });
  return { asked, found };
}

test.each([100, 150, 300, 500])(
  "%i of 2,000 are told in at most three answers, whatever the key",
  async (gone) => {
    for (let seed = 1; seed <= 40; seed++) {
      const { asked, found } = await lookedFor(2_000, gone, seed);
      expect(asked.length).toBeLessThanOrEqual(3);
      expect(found).toMatchObject({ total: 2_000, present: 2_000 - gone, others: gone });
      expect(found?.sketch?.leavers).toEqual(peopleFrom(0, gone));
    }
  },
);

test("a week of 5 % of 100,000 is told in 300 kB of base64 with its proof", async () => {
  for (const seed of [1, 2, 3]) {
    const { asked, found } = await lookedFor(10_300, 5_150, seed);
    expect(found?.others).toBe(5_150);
    expect(asked.length).toBeLessThanOrEqual(3);
    const proof = 256;
    const cells = asked.reduce((sum, each) => sum + each, proof);
    expect((cells * CELL_BYTES * 4) / 3).toBeLessThan(300_000);
  }
});

test("digests that are alike in one half, or in a mix of both, are told apart", () => {
  const mixed = (high: number, low: number): [number, number] => [
    high,
    (Math.imul(high, 0x9e37_79b1) ^ low) >>> 0,
  ];
  const high = Uint32Array.from([7, 8, 0xffff_ffff, mixed(1, 5)[0], mixed(2, 5)[0], 3, 3]);
  const low = Uint32Array.from([9, 9, 9, mixed(1, 5)[1], mixed(2, 5)[1], 0, 0xffff_ffff]);
  expect(differenceIn(SketchCells.of({ high, low }, 0, 256))?.more).toHaveLength(high.length);
});
