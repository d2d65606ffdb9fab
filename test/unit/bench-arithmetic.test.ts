import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  growthExponent,
  median,
  ratioOf,
  spread,
  summarise,
  verdict,
  within,
  worst,
} from "../../bench/arithmetic.mjs";

describe("the arithmetic of the bench", () => {
  it("takes the middle of an odd number and the mean of the two in the middle of an even one", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([10, 9, 100])).toBe(10);
  });

  it("has no median of nothing", () => {
    expect(() => median([])).toThrow(RangeError);
  });

  it("leaves the samples as they were and does not care for their order", () => {
    const samples = [3, 1, 2];
    median(samples);
    expect(samples).toEqual([3, 1, 2]);
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (values) => {
        expect(median([...values].reverse())).toBe(median(values));
        expect(median(values)).toBeGreaterThanOrEqual(Math.min(...values));
        expect(median(values)).toBeLessThanOrEqual(Math.max(...values));
      }),
    );
  });

  it("summarises with the extremes and the number beside the median", () => {
    expect(summarise([12, 10, 40])).toEqual({ median: 12, min: 10, max: 40, n: 3 });
  });

  it("divides medians, not means, and keeps the bounds of the single pairs", () => {
    expect(ratioOf([100, 100, 1000], [50, 100, 100])).toEqual({ value: 1, min: 1, max: 10 });
    expect(() => ratioOf([1, 2], [1])).toThrow(/not pairs/);
  });

  it("judges against an upper or a lower bound, the bound itself included", () => {
    expect(verdict(1.15, { atMost: 1.15 })).toBe("meets");
    expect(verdict(1.151, { atMost: 1.15 })).toBe("misses");
    expect(verdict(12, { atLeast: 12 })).toBe("meets");
    expect(verdict(11.99, { atLeast: 12 })).toBe("misses");
  });

  it("never calls a figure met that was not measured", () => {
    expect(verdict(undefined, { atMost: 1 })).toBe("not measured");
    expect(verdict(null, { atLeast: 1 })).toBe("not measured");
    expect(verdict(Number.NaN, { atMost: 1 })).toBe("not measured");
    expect(worst([])).toBe("not measured");
    expect(worst(["meets", "not measured"])).toBe("not measured");
    expect(worst(["not measured", "misses", "meets"])).toBe("misses");
    expect(worst(["meets", "meets"])).toBe("meets");
  });

  it("allows a ratio, or a fixed amount where that is more", () => {
    expect(within(11.9, 10, 1.2, 1)).toBe("meets");
    expect(within(12.1, 10, 1.2, 1)).toBe("misses");
    expect(within(1.5, 0.5, 1.2, 1)).toBe("meets");
    expect(within(1.6, 0.5, 1.2, 1)).toBe("misses");
  });

  it("tells how flat a series is", () => {
    expect(spread([100, 110, 105])).toBeCloseTo(0.1);
    expect(spread([7])).toBe(0);
  });

  it("finds the exponent of growth", () => {
    expect(
      growthExponent([
        [1e4, 5],
        [1e5, 50],
        [1e6, 500],
      ]),
    ).toBeCloseTo(1);
    expect(
      growthExponent([
        [1, 3],
        [10, 3],
        [100, 3],
      ]),
    ).toBeCloseTo(0);
    expect(
      growthExponent([
        [10, 100],
        [100, 10_000],
      ]),
    ).toBeCloseTo(2);
    expect(() => growthExponent([[10, 1]])).toThrow(RangeError);
    expect(() =>
      growthExponent([
        [10, 1],
        [10, 2],
      ]),
    ).toThrow(/different sizes/);
  });
});
