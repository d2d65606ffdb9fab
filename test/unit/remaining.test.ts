import { describe, expect, test } from "vitest";
import { Remaining, type Targets } from "../../src/engine/purchase/remaining.ts";

// What of a segment is still to be asked for, as its pages taught.

const targets = (count: number | undefined, trusted = false, size = count): Targets => ({
  ...{ targets: 1, size: () => size, count: () => count, trusted },
});
const at = (offset: number, perPage = 10) => ({ target: 0, offset, perPage });
const left = (remaining: Remaining) => [...remaining.open()].map(({ from, left }) => [from, left]);
function asked(source: Targets, ...offsets: readonly number[]): Remaining {
  const remaining = new Remaining(source, { paging: "page" }, 10, true);
  for (const offset of offsets) remaining.take(at(offset));
  return remaining;
}

describe("remaining", () => {
  test("a total that a page tells is believed where it is more than came, and where the source is trusted", () => {
    const believed = asked(targets(undefined), 0);
    believed.learn(at(0), { rows: 10, total: 25 });
    expect(left(believed)).toEqual([[10, 15]]);
    // Its own length is no total.
    const own = asked(targets(undefined), 0);
    own.learn(at(0), { rows: 10, total: 10 });
    expect(own.somethingLeft).toBe(true);
    const trusted = asked(targets(undefined, true), 0);
    trusted.learn(at(0), { rows: 10, total: 10 });
    expect(trusted.somethingLeft).toBe(false);
  });

  test("where a first page may have lost its cursor nobody knows how pages follow, until one of them did", () => {
    const isBlind = (source: Targets, taught: { readonly cut?: true }) => {
      const remaining = asked(source, 0);
      remaining.learn(at(0), { rows: 10, ...taught });
      const { isBlind } = remaining;
      remaining.learn(at(10, 1), { rows: 1 });
      return [isBlind, remaining.isBlind];
    };
    expect(isBlind(targets(30), { cut: true })).toEqual([true, false]);
    expect(isBlind(targets(30), {})).toEqual([false, false]);
    expect(isBlind(targets(30, true), { cut: true })).toEqual([false, false]);
  });

  test("a miss ends its target", () => {
    const remaining = asked(targets(undefined), 0);
    remaining.learn(at(0), { rows: 0, miss: true });
    expect({ left: remaining.somethingLeft, ...remaining.missing }).toMatchObject({
      left: false,
      rows: 0,
      untold: [],
    });
  });

  test("a short first page where more were counted makes the pages smaller, and the rest is asked for", () => {
    const remaining = asked(targets(30), 0);
    remaining.learn(at(0), { rows: 4 });
    expect({ left: left(remaining), perPage: remaining.perPage }).toEqual({
      left: [[4, 26]],
      perPage: 4,
    });
  });

  test("a short later page is an end with page numbers, and what lacks is missing", () => {
    const remaining = asked(targets(30), 0, 10);
    remaining.learn(at(0), { rows: 10 });
    remaining.learn(at(10), { rows: 4 });
    expect({ left: left(remaining), missing: remaining.missing.rows }).toEqual({
      left: [],
      missing: 16,
    });
  });

  test("an empty page before rows that were counted is no end; two are", () => {
    const gap = asked(targets(50), 0, 10);
    gap.learn(at(0), { rows: 10 });
    gap.learn(at(10), { rows: 0 });
    expect({ left: left(gap), missing: gap.missing.rows }).toEqual({
      left: [[20, 30]],
      missing: 10,
    });
    gap.take(at(20));
    gap.learn(at(20), { rows: 10 });
    gap.take(at(30));
    gap.learn(at(30), { rows: 0 });
    expect(left(gap)).toEqual([[40, 10]]);
    gap.take(at(40));
    gap.learn(at(40), { rows: 0 });
    expect({ left: gap.somethingLeft, missing: gap.missing.rows }).toEqual({
      left: false,
      missing: 30,
    });
  });

  test("a total beyond what was counted is newer, and is not missing", () => {
    const remaining = asked(targets(10), 0);
    remaining.learn(at(0), { rows: 10, total: 13 });
    expect(remaining.missing).toMatchObject({ newer: 3, rows: 0 });
    const limited = asked(targets(10, false, 5), 0);
    limited.learn(at(0), { rows: 5, total: 13 });
    expect(limited.missing).toMatchObject({ newer: 0 });
  });

  test("what is given back is open once more, up to what is wanted", () => {
    const remaining = asked(targets(25), 0, 10, 20);
    remaining.giveBack(at(20));
    expect(left(remaining)).toEqual([[20, 5]]);
    remaining.giveBack(at(0));
    expect(left(remaining)).toEqual([[0, 10]]);
  });
});
