import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  below,
  joined,
  pageSize,
  type Range,
  requestsFor,
  without,
} from "../../src/engine/purchase/paging.ts";

describe("landing on a cap", () => {
  test("1,007 rows in pages of 100 are ten pages, then 5, 1 and 1", () => {
    const pages: number[] = [];
    for (let offset = 0; offset < 1_007; ) {
      const size = pageSize("page", offset, 1_007 - offset, 100);
      pages.push(size);
      offset += size;
    }
    expect(pages).toEqual([...Array.from({ length: 10 }, () => 100), 5, 1, 1]);
  });

  test("every page begins at a multiple of its size and no row is bought beyond the end", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 1, max: 1_000 }),
        (rows, perPage) => {
          let requests = 0;
          for (let offset = 0; offset < rows; requests++) {
            const size = pageSize("page", offset, rows - offset, perPage);
            if (offset % size !== 0 || size < 1 || size > Math.min(perPage, rows - offset))
              return false;
            offset += size;
          }
          return requestsFor("page", rows, perPage) === requests;
        },
      ),
    );
  });

  test("offsets and cursors only shorten the last page", () => {
    expect(pageSize("offset", 1_000, 7, 100)).toBe(7);
    expect(pageSize("cursor", 1_000, 7, 100)).toBe(7);
    expect(requestsFor("cursor", 1_007, 100)).toBe(11);
  });
});

test("a count beyond all reason is priced at once", () => {
  const began = performance.now();
  expect(requestsFor("page", 2 ** 53 - 1, 1_000)).toBeGreaterThan(9e12);
  expect(performance.now() - began).toBeLessThan(500);
});

test("ranges: what is taken and given back is what is left", () => {
  const range = fc.tuple(fc.nat(100), fc.nat(30), fc.boolean());
  fc.assert(
    fc.property(fc.array(range, { maxLength: 40 }), fc.nat(140), (changes, end) => {
      let ranges: readonly Range[] = [{ from: 0, to: 100 }];
      const rows = new Set(Array.from({ length: 100 }, (_, row) => row));
      for (const [from, length, taken] of changes) {
        ranges = (taken ? without : joined)(ranges, from, from + length);
        for (let row = from; row < from + length; row++) taken ? rows.delete(row) : rows.add(row);
      }
      ranges = below(ranges, end);
      for (const row of rows) if (row >= end) rows.delete(row);
      const left = ranges.flatMap(({ from, to }) =>
        Array.from({ length: to - from }, (_, at) => from + at),
      );
      expect(left).toEqual([...rows].sort((a, b) => a - b));
    }),
  );
});
