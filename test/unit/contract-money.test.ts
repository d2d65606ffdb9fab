import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  affordableRows,
  credits,
  creditsLess,
  creditsMeant,
  creditsText,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
  maxCredits,
  minCredits,
  parseCredits,
  priceOf,
  priceText,
  sumOfCredits,
  typedCredits,
  ZERO,
} from "../../src/shared/contract/money.ts";

test("rows that are paid together cost as many of them as are begun, and a cap pays whole ones", () => {
  const unit = credits(1_000_000n);
  expect([0, 1, 25, 26, 67].map((rows) => priceOf(rows, unit, 25) / unit)).toEqual([
    0n,
    1n,
    1n,
    2n,
    3n,
  ]);
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 1, max: 100 }),
      fc.bigInt({ min: 1n, max: 5_000_000n }),
      (rows, parcel, price) => {
        const cost = priceOf(rows, credits(price), parcel);
        const fits = affordableRows(cost, credits(price), parcel);
        expect(fits).toBeGreaterThanOrEqual(rows);
        expect(fits - rows).toBeLessThan(parcel);
        expect(affordableRows(credits(cost - 1n), credits(price), parcel)).toBeLessThanOrEqual(
          Math.max(0, fits - parcel),
        );
      },
    ),
  );
});

test("what a person wrote: never what may be a thousand times more, and nothing is rounded", () => {
  const written = ["12", " 0.125 ", "0.500", "1.5", "1.125", "1234.500", 1.5, 1.25, 0.000001, 1e3];
  expect(written.map((value) => typedCredits(value))).toEqual(
    [12, 0.125, 0.5, 1.5, 1.125, 1234.5, 1.5, 1.25, 0.000001, 1000].map((value) =>
      credits(BigInt(Math.round(value * 1_000_000))),
    ),
  );
  for (const value of [
    "1.500",
    "12.000",
    "1,000",
    "-1",
    -1,
    0.1234567,
    1e-7,
    null,
    [1],
    "",
    Number.NaN,
  ])
    expect([value, typedCredits(value)]).toEqual([value, undefined]);

  const texts = ["1.500", "1,000", "12.345.678", "-1.500", "many", "1.5"];
  expect(texts.map(creditsMeant)).toEqual(["1.5 or 1500", "1000", "12345678", "", "", ""]);
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (micros) => {
      // What it writes itself, it reads.
      expect(typedCredits(formatCredits(credits(micros)))).toBe(micros);
    }),
  );
});

describe("credits are fixed point", () => {
  test("smaller and larger of two amounts", () => {
    const [less, more] = [credits(2n), credits(5n)];
    expect([minCredits(less, more), minCredits(more, less)]).toEqual([2n, 2n]);
    expect([maxCredits(less, more), maxCredits(more, less)]).toEqual([5n, 5n]);
    expect([creditsLess(more, 2n), creditsLess(less, 5n)]).toEqual([3n, 0n]);
  });

  test.each([
    ["0", 0n],
    ["12", 12_000_000n],
    ["0.25", 250_000n],
    ["0.000001", 1n],
    ["-3.5", -3_500_000n],
    [" 7 ", 7_000_000n],
  ])("%s is read exactly", (text, micros) => {
    expect(parseCredits(text)).toBe(micros);
  });

  test.each(["", "1e3", "0x10", "1,000", "1.0000001", "Infinity", "NaN", ".5", "5.", "1 2", "٣"])(
    "%j is refused",
    (text) => {
      expect(parseCredits(text)).toBeUndefined();
    },
  );

  test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [1e20], [2_000_000_000.5]])(
    "the number %s is refused",
    (value) => {
      expect(parseCredits(value)).toBeUndefined();
    },
  );

  test("what is written is what is read, as text and as JSON number", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -999_999_999_000_000n, max: 999_999_999_000_000n }),
        (micros) => {
          const amount = credits(micros);
          expect(parseCredits(formatCredits(amount))).toBe(micros);
          expect(parseCredits(creditsToNumber(amount))).toBe(micros);
          expect(parseCredits(JSON.parse(formatCredits(amount)) as number)).toBe(micros);
        },
      ),
    );
  });

  test("every amount of a ledger is written to its last millionth", () => {
    const edges = [
      0n,
      1n,
      999_999n,
      1_000_000n,
      2n ** 53n,
      10n ** 18n,
      9_007_199_254_000_000n,
      9_000_000_000_000_001n,
      2n ** 63n - 1n,
    ];
    const amount = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -9_000_000_000n, max: 9_000_000_000n }).map((whole) => whole * 1_000_000n),
      fc.constantFrom(...edges.flatMap((edge) => [edge - 1n, edge, edge + 1n, -edge])),
    );
    fc.assert(
      fc.property(amount, (micros) => {
        const [, sign, whole = "", fraction = ""] =
          /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(formatCredits(credits(micros))) ?? [];
        const read = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
        expect(sign === "-" ? -read : read).toBe(micros);
        expect(fraction.endsWith("0")).toBe(false);
      }),
    );
  });

  test("ten rows at 0.1 cost exactly one credit", () => {
    expect(formatCredits(priceOf(10, credits(100_000n)))).toBe("1");
  });

  test("affordable rows never cost more than the amount", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.bigInt({ min: 1n, max: 10n ** 7n }),
        (amount, unit) => {
          const rows = affordableRows(credits(amount), credits(unit));
          expect(priceOf(rows, credits(unit)) <= amount).toBe(true);
          expect(priceOf(rows + 1, credits(unit)) > amount).toBe(true);
        },
      ),
    );
    expect(affordableRows(credits(5n), credits(0n))).toBe(Number.POSITIVE_INFINITY);
    // A cap that was lowered below what is spent: no row, and no row less than none.
    expect(affordableRows(credits(-5_000_000n), credits(1_000_000n))).toBe(0);
  });

  test("all of some amounts, to the millionth, and of none nothing", () => {
    expect(sumOfCredits([1_000_000n, 250_001n, -1n])).toBe(1_250_000n);
    expect(sumOfCredits([])).toBe(ZERO);
  });

  test("a price of a row, of another thing, and of rows together", () => {
    const unit = credits(1_500_000n);
    expect([priceText(unit), priceText(unit, 1, "company"), priceText(unit, 25)]).toEqual([
      "1.5 credits a profile",
      "1.5 credits a company",
      "1.5 credits for 25 of them together",
    ]);
  });

  test("one credit, and others", () => {
    const texts = [1_000_000n, 2_000_000n, 250_000n, 0n].map((amount) =>
      creditsText(credits(amount)),
    );
    expect(texts).toEqual(["1 credit", "2 credits", "0.25 credits", "0 credits"]);
  });

  test("grouping", () => {
    expect(formatCreditsGrouped(credits(3_766_500_000n))).toBe("3,766.5");
    expect(formatCreditsGrouped(credits(-1_234_567_000_000n))).toBe("-1,234,567");
  });
});
