import fc from "fast-check";
import { expect, test } from "vitest";
import { costOf, figure, sumOf } from "../../src/console/segment.ts";
import {
  credits,
  creditsToNumber,
  formatCredits,
  priceOf,
} from "../../src/shared/contract/money.ts";

// What the page works out by itself is worked out in millionths: what it shows is what is charged.

/** Below a billion credits, which JSON numbers tell to the millionth. */
const micros = (most: bigint) => fc.bigInt({ min: 0n, max: most }).map(credits);
const plain = (value: number): string => figure(value).replaceAll(",", "");

test("what new people cost, and what is left then, to the millionth", () => {
  const told = fc.record({
    price: micros(50_000_000n),
    balance: micros(900_000_000_000_000n),
    count: fc.integer({ min: 1, max: 1_000_000 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(told, ({ balance, count, part, price }) => {
      const fresh = Math.floor(count * part);
      const all = priceOf(count, price);
      const answer = {
        price: creditsToNumber(price),
        credits: creditsToNumber(all),
        balance_after: creditsToNumber(credits(balance - all)),
      };
      const { after, cost } = costOf(answer, fresh);
      const exact = priceOf(fresh, price);
      expect(plain(cost)).toBe(formatCredits(exact));
      expect(plain(after)).toBe(formatCredits(credits(balance - exact)));
    }),
    { numRuns: 500 },
  );
  // In doubles: 0.30000000000000004 and 2.9000000000000004.
  expect(costOf({ price: 0.1, credits: 0.5, balance_after: 2.5 }, 3)).toEqual({
    cost: 0.3,
    after: 2.7,
  });
});

test("what a day cost is the sum of its charges, however many", () => {
  fc.assert(
    fc.property(fc.array(micros(1_000_000_000n), { maxLength: 50 }), (amounts) => {
      const sum = credits(amounts.reduce((before, each) => before + each, 0n));
      expect(sumOf(amounts.map(creditsToNumber))).toBe(creditsToNumber(sum));
    }),
  );
  expect(sumOf(Array.from({ length: 10 }, () => 0.1))).toBe(1);
});
