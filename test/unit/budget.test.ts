import { expect, test } from "vitest";
import { Budget } from "../../src/engine/purchase/budget.ts";
import { Flight } from "../../src/engine/purchase/flight.ts";
import { emptyState, newUnit } from "../../src/engine/runs/journal.ts";
import { type Credits, credits, ZERO } from "../../src/shared/contract/money.ts";

// What may still be spent, as sums: each part of it counts once, and in the right direction.

const ONE = 1_000_000n;
const of = (amount: number): Credits => credits(BigInt(amount) * ONE);

function scene(change: { readonly priceKnown?: boolean } = {}): { readonly budget: Budget; readonly flight: Flight } {
  const flight = new Flight();
  const spent = { ...emptyState(), settled: of(30), uncertain: of(10) };
  const options = { now: () => 0, since: 0, price: of(1), priceKnown: true, maxCredits: of(100), cap: of(100) };
  const budget = new Budget({ ...options, maxRows: undefined, balance: of(500), ...change }, spent, flight);
  return { budget, flight };
}

const unit = (n: number) => newUnit({ t: "intent", n, target: 0, offset: n, perPage: 10, key: "k", hold: "10", at: 0 });

test("what waits from an earlier session and what is in flight is held off the cap", () => {
  const { budget, flight } = scene();
  expect(budget.room()).toBe(of(60));
  flight.wait(unit(1));
  expect(budget.room()).toBe(of(50));
  flight.add(unit(2), false);
  expect(budget.room()).toBe(of(40));
  budget.keeping(of(5));
  expect(budget.room()).toBe(of(35));
  budget.endKeeping(of(5));
  expect([budget.room(), budget.rowRoom(), budget.covered()]).toEqual([of(40), 40, 490]);
});

test("a balance is sure where it was told and nothing is in doubt", () => {
  const { budget } = scene();
  expect(budget.sure).toBe(false);
  budget.takeOff(ZERO, of(1));
  expect(budget.sure).toBe(false);
  budget.setBalance(of(500), true);
  expect(budget.sure).toBe(false);
  budget.look(of(499));
  expect([budget.sure, budget.balance]).toEqual([true, of(499)]);
});

test("the first row that is paid for tells the price, once, and in favour of the cap", () => {
  const { budget } = scene({ priceKnown: false });
  budget.learnPrice(of(3), 0);
  expect([budget.priceKnown, budget.price]).toEqual([false, of(1)]);
  budget.learnPrice(of(10), 3);
  expect([budget.priceKnown, budget.price]).toEqual([true, 3_333_334n]);
  budget.learnPrice(of(10), 1);
  expect(budget.price).toBe(3_333_334n);
});
