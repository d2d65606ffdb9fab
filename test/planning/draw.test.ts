import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  dice,
  draw,
  drawPages,
  pagesOf,
  pagesText,
  rowsBegun,
  rowsOf,
} from "../../src/engine/planning/draw.ts";
import { divide } from "../../src/engine/planning/parts.ts";
import { long } from "../support/long.ts";

/** The chi-squared statistic of counts that should all be alike. */
function chiSquared(seen: readonly number[]): number {
  const expected = seen.reduce((sum, count) => sum + count, 0) / seen.length;
  return seen.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

/** What a statistic of so many degrees of freedom exceeds in one of ten thousand fair worlds (Wilson and Hilferty). */
const most = (freedom: number): number =>
  freedom * (1 - 2 / (9 * freedom) + 3.719 * Math.sqrt(2 / (9 * freedom))) ** 3;

const DRAWS = 10_000;
const times = (length: number): number[] => new Array<number>(length).fill(0);

describe("a draw is fair", () => {
  test("every row has the same chance, at every place of the draw, over 10,000 draws", () => {
    const total = 40;
    const rows = times(total);
    const first = times(total);
    const last = times(total);
    const pairs = times(total);
    for (let seed = 0; seed < DRAWS; seed++) {
      const found = draw(total, 8, dice(`${seed}`));
      for (const row of found) rows[row] = (rows[row] ?? 0) + 1;
      const [a = 0, b = 0] = found;
      const z = found.at(-1) ?? 0;
      first[a] = (first[a] ?? 0) + 1;
      last[z] = (last[z] ?? 0) + 1;
      pairs[(b - a + total) % total] = (pairs[(b - a + total) % total] ?? 0) + 1;
    }
    // Rows of one draw exclude each other, which makes the sums of all of them differ less than those of the first ones.
    expect(chiSquared(rows)).toBeLessThan(most(total - 1));
    expect(chiSquared(first)).toBeLessThan(most(total - 1));
    expect(chiSquared(last)).toBeLessThan(most(total - 1));
    // How far the second row is from the first: everything but not at all.
    expect(pairs[0]).toBe(0);
    expect(chiSquared(pairs.slice(1))).toBeLessThan(most(total - 2));
  });

  test("rows at the edges of pages and of the last, shorter page have the chance of all others", () => {
    // 43 rows in pages of 5: nine pages, of which the last has three.
    const rows = times(43);
    for (let seed = 0; seed < DRAWS; seed++) {
      for (const { offset, rows: length } of drawPages(43, 15, 5, dice(`${seed}`))) {
        for (let at = 0; at < length; at++) rows[offset + at] = (rows[offset + at] ?? 0) + 1;
      }
    }
    // Rows of one page come together: so the pages are compared, by any of their rows.
    const pages = Array.from({ length: 9 }, (_, page) => rows.slice(page * 5, page * 5 + 5));
    for (const page of pages) expect(new Set(page).size).toBe(1);
    expect(chiSquared(pages.map(([row = 0]) => row))).toBeLessThan(most(8));
  });

  test("numbers are fair where the range is no power of two and beyond 32 bits", () => {
    const random = dice("fair");
    const small = times(7);
    const large = times(16);
    for (let turn = 0; turn < 70_000; turn++) {
      const value = random(7);
      small[value] = (small[value] ?? 0) + 1;
      const part = Math.floor(random(3 * 2 ** 40) / ((3 * 2 ** 40) / 16));
      large[part] = (large[part] ?? 0) + 1;
    }
    expect(chiSquared(small)).toBeLessThan(most(6));
    expect(chiSquared(large)).toBeLessThan(most(15));
  });
});

test("a seed draws the same on every machine and in every version", () => {
  expect(draw(1_000_000, 6, dice("7"))).toEqual(GOLDEN);
  expect(draw(1_000_000, 6, dice("8"))).not.toEqual(GOLDEN);
});
const GOLDEN = [631594, 422765, 165122, 571831, 570146, 99676];

test("nobody is drawn twice, a smaller draw begins a larger one, and all of them are all", () => {
  const size = fc.nat(300);
  fc.assert(
    fc.property(size, size, size, fc.nat(), (total, some, more, seed) => {
      const small = draw(total, some, dice(`${seed}`));
      const large = draw(total, some + more, dice(`${seed}`));
      expect(large.slice(0, small.length)).toEqual(small);
      expect(new Set(large).size).toBe(Math.min(total, some + more));
      expect(large.every((row) => row >= 0 && row < total)).toBe(true);
    }),
  );
});

test("pages never have more rows than were asked for, and their text is read as what it was", () => {
  fc.assert(
    fc.property(
      fc.nat(500),
      fc.nat(500),
      fc.integer({ min: 1, max: 60 }),
      fc.nat(),
      (total, rows, size, seed) => {
        const pages = drawPages(total, rows, size, dice(`${seed}`)).map((page) => ({
          segment: 1,
          ...page,
        }));
        expect(rowsOf(pages)).toBeLessThanOrEqual(Math.min(rows, total));
        if (size === 1) expect(rowsOf(pages)).toBe(Math.min(rows, total));
        for (const page of pages) expect(page.offset % page.size).toBe(0);
        expect(pagesOf(pagesText(pages), [0, total])).toEqual(pages);
        const begun = rowsBegun(pages, Math.floor(rows / 2));
        expect(begun.rows).toBe(rowsOf(pages.slice(0, begun.pages)));
        expect(begun.rows).toBeLessThanOrEqual(rows / 2);
      },
    ),
  );
});

describe("of a segment that is divided", () => {
  const DEPARTMENTS = ["Sales", "Legal", "Marketing", "Product"];
  const people = Array.from({ length: 4_000 }, (_, at) => ({
    department: DEPARTMENTS[at % 4] ?? "",
    name: `${"abcdefgh"[at % 8]}${"ijklmn"[at % 6]} ${at}`,
  }));
  const counter = () => {
    let asked = 0;
    const matching = (filters: Record<string, unknown>) =>
      people.filter(({ department, name }) => {
        const wanted = filters.department === undefined ? undefined : [filters.department].flat();
        const prefix = filters.name_prefix as string | undefined;
        return (
          (wanted?.includes(department) ?? true) &&
          (prefix === undefined || name.startsWith(prefix)) &&
          filters.name === undefined
        );
      });
    return {
      asked: () => asked,
      matching,
      count: async (filters: object): Promise<number> => {
        asked++;
        return "seniority_level" in filters
          ? 0
          : matching(filters as Record<string, unknown>).length;
      },
    };
  };

  long(
    "only the parts of whom somebody wants are found, at the places that they have in the whole",
    async () => {
      const whole = counter();
      const { parts } = await divide({ filters: {}, count: 4_000 }, 100, whole.count);
      for (const wanted of [[17], [0, 3_999], [1_500, 1_501, 2_900]]) {
        const some = counter();
        const found = await divide({ filters: {}, count: 4_000 }, 100, some.count, (from, to) =>
          wanted.some((place) => place >= from && place < to),
        );
        expect(some.asked()).toBeLessThan(whole.asked() / 2);
        for (const part of found.parts) {
          expect(parts).toContainEqual(part);
          expect(wanted.some((place) => place >= part.from && place < part.from + part.count)).toBe(
            true,
          );
        }
        expect(found.parts.length).toBeLessThanOrEqual(wanted.length);
      }
      const places = parts.flatMap(({ from, count }) =>
        Array.from({ length: count }, (_, at) => from + at),
      );
      expect(new Set(places).size).toBe(places.length);
    },
  );
});
