import fc from "fast-check";
import { expect, test } from "vitest";
import {
  consentedCap,
  makeQuote,
  type QuoteInput,
  rowsToBuy,
} from "../../src/engine/purchase/quote.ts";
import { credits, priceOf } from "../../src/shared/contract/money.ts";

const input = (change: Partial<QuoteInput>): QuoteInput => ({
  target: { kind: "search", filters: {}, canonical: "{}" },
  matches: 100,
  price: credits(1_000_000n),
  balance: undefined,
  limit: undefined,
  maxCredits: undefined,
  maxDepth: undefined,
  perPage: 100,
  perMinute: undefined,
  paging: "page",
  spent: { rows: 0, settled: credits(0n), uncertain: credits(0n), floor: credits(0n) },
  ...change,
});
const whole = (amount: number) => credits(BigInt(amount) * 1_000_000n);

test.each([
  ["what was agreed to, where no cap is set", 100, undefined, 100],
  ["a cap that is lower", 100, 60, 60],
  // Someone who agreed to 100 credits did not agree to 500, should the price turn out to be another.
  ["what was agreed to, where a cap is higher", 100, 500, 100],
])("a run is held to %s", (_, matches, cap, expected) => {
  const maxCredits = cap === undefined ? undefined : whole(cap);
  expect(consentedCap(makeQuote(input({ matches, maxCredits })), undefined, maxCredits)).toBe(
    whole(expected),
  );
});

test("a quote never costs more than limit, cap and matches allow, whatever was spent before", () => {
  const amount = fc.nat(500);
  const some = fc.option(amount, { nil: undefined });
  fc.assert(
    fc.property(
      amount,
      some,
      some,
      amount,
      amount,
      fc.integer({ min: 1, max: 4_000_000 }),
      (...drawn) => {
        const [matches, limit, cap, rows, uncertain, price] = drawn;
        const spent = {
          rows,
          settled: priceOf(rows, credits(BigInt(price))),
          uncertain: whole(uncertain),
          floor: whole(uncertain),
        };
        const maxCredits = cap === undefined ? undefined : whole(cap);
        const quote = makeQuote(
          input({ matches, limit, maxCredits, price: credits(BigInt(price)), spent }),
        );
        expect(quote.rows).toBeLessThanOrEqual(Math.max(matches, 0));
        if (limit !== undefined) expect(quote.rows).toBeLessThanOrEqual(limit);
        if (maxCredits !== undefined && quote.credits > 0n) {
          expect(spent.settled + spent.uncertain + quote.credits).toBeLessThanOrEqual(quote.total);
          expect(quote.total).toBeLessThanOrEqual(maxCredits);
        }
        expect(quote.credits).toBe(priceOf(Math.max(0, quote.rows - rows), quote.unitPrice));
      },
    ),
  );
});

test("an unfinished run that holds more than is wanted leaves nothing to buy, and not less", () => {
  expect(rowsToBuy({ rows: 1, kept: 4 })).toBe(0);
  expect(rowsToBuy({ rows: 6, kept: 4 })).toBe(2);
});
