import { expect, test } from "vitest";
import { ServiceError } from "../../src/engine/client/errors.ts";
import { Budget, type BudgetOptions } from "../../src/engine/purchase/budget.ts";
import { Flight } from "../../src/engine/purchase/flight.ts";
import {
  apply,
  creditsOf,
  emptyState,
  intend,
  newUnit,
  type Unit,
} from "../../src/engine/runs/journal.ts";
import { type Credits, credits, ZERO } from "../../src/shared/contract/money.ts";

// What may still be spent, as sums: each part of it counts once, and in the right direction.

const ONE = 1_000_000n;
const of = (amount: number): Credits => credits(BigInt(amount) * ONE);

type Change = Partial<
  Pick<
    BudgetOptions,
    "balance" | "cap" | "honoursKeys" | "maxCredits" | "maxRows" | "now" | "price" | "priceKnown"
  >
>;

const unit = (n: number, promised = false): Unit =>
  newUnit({
    t: "intent",
    n,
    target: 0,
    offset: n,
    perPage: 10,
    key: `k${n}`,
    hold: creditsOf("10"),
    promised,
    at: 0,
  });

/** A run of 30 rows for 30 credits, and one page of 10 whose reply was lost. */
function scene(change: Change = {}) {
  const flight = new Flight();
  const run = emptyState();
  for (const n of [101, 102, 103]) {
    intend(run, unit(n));
    apply(run, { t: "settled", n, rows: 10, used: creditsOf("10"), at: 0 });
  }
  intend(run, unit(104));
  apply(run, { t: "lost", n: 104, at: 0 });

  const options: BudgetOptions = {
    now: () => 0,
    price: of(1),
    priceKnown: true,
    maxCredits: of(100),
    cap: of(100),
    maxRows: undefined,
    balance: of(500),
    honoursKeys: false,
    ...change,
  };
  const ask = (n: number) => {
    const asked = unit(n);
    intend(run, asked);
    return flight.add(asked, false);
  };
  return { budget: new Budget(options, run, flight), flight, run, ask };
}

test("what waits from an earlier session and what is under way is held off the cap", () => {
  const { budget, flight, run, ask } = scene();
  expect(budget.room()).toBe(of(60));
  ask(1);
  expect(budget.room()).toBe(of(50));
  // A lost page is asked for again: that may be charged beside what it may have cost.
  flight.wait(run.units.get(104) as Unit);
  expect([budget.room(), budget.rowRoom(), budget.covered()]).toEqual([of(40), 40, 490]);
});

test("under a promised key a page that was lost waits for nothing more than it may have cost", () => {
  const { budget, flight, run } = scene({ honoursKeys: true });
  flight.wait(run.units.get(104) as Unit);
  expect(budget.room()).toBe(of(60));
  // Once the key is older than it is known for it is asked for anew.
  const late = scene({ honoursKeys: true, now: () => 24 * 3_600_000 });
  late.flight.wait(late.run.units.get(104) as Unit);
  expect(late.budget.room()).toBe(of(50));
});

test("a key is no longer promised once more is gone than one charge of it", () => {
  const { budget, run } = scene({ honoursKeys: true });
  const lost = run.units.get(104) as Unit;
  apply(run, { t: "quiet", balance: of(100), at: 0 });
  intend(run, unit(5, true));
  apply(run, { t: "lost", n: 5, at: 0 });
  apply(run, { t: "sent", n: 5, promised: true, at: 0 });
  apply(run, { t: "settled", n: 5, rows: 10, used: of(10), at: 0 });
  expect(budget.isPromised(lost)).toBe(true);
  apply(run, { t: "quiet", balance: of(60), at: 0 });
  expect(budget.isPromised(lost)).toBe(false);
});

test.each([
  [66, 12, true],
  [65, 0, false],
])(
  "no page is asked for in less room than the dearest answer took: a cap of %d",
  (cap, rows, fits) => {
    const { budget, run, ask } = scene({ cap: of(cap) });
    ask(1);
    apply(run, { t: "refused", n: 1, status: 429, used: of(12), at: 0 });
    expect([budget.rowRoom(), budget.fits(of(12))]).toEqual([rows, fits]);
  },
);

test("a price that nobody told is what the first rows cost; one that was told is at least that", () => {
  const untold = scene({ priceKnown: false, price: of(7) });
  expect([untold.budget.priceKnown, untold.budget.price]).toEqual([true, of(1)]);
  const told = scene({ price: of(7) });
  expect(told.budget.price).toBe(of(7));
  told.ask(1);
  apply(told.run, { t: "settled", n: 1, rows: 10, used: creditsOf("100"), at: 0 });
  expect([told.budget.price, told.budget.priceOf(2)]).toEqual([of(10), of(20)]);
});

test("a price of 0 that was told is believed once a row came for it", () => {
  const flight = new Flight();
  const run = emptyState();
  const options = { now: () => 0, price: ZERO, priceKnown: true, maxCredits: undefined };
  const more = { cap: ZERO, maxRows: undefined, balance: undefined, honoursKeys: false };
  const budget = new Budget({ ...options, ...more }, run, flight);
  expect(budget.priceKnown).toBe(false);
  run.rows = 1;
  expect(budget.priceKnown).toBe(true);
});

test("rows fit by the cap, by the rows that are allowed, and not at all where an empty answer may cost more than is left", () => {
  const { budget, ask, flight, run } = scene({ maxRows: 60 });
  expect(budget.rowRoom()).toBe(30);
  ask(1);
  expect(budget.rowRoom()).toBe(20);
  flight.wait(run.units.get(104) as Unit);
  expect(budget.rowRoom()).toBe(10);
  expect(scene().budget.rowRoom()).toBe(60);

  const dear = scene();
  dear.ask(1);
  apply(dear.run, { t: "refused", n: 1, status: 404, used: creditsOf("50"), at: 0 });
  // The page that was lost may have cost as much.
  expect(dear.budget.rowRoom()).toBe(0);
});

test("what the user's own cap has beyond what was agreed to has room for a whole page", () => {
  expect(scene({ cap: of(60) }).budget.wholeRoom()).toBe(60);
  expect(scene({ maxCredits: undefined }).budget.wholeRoom()).toBe(Number.POSITIVE_INFINITY);
});

test("a balance covers what is asked for beside what is in flight, to the credit; what is free, and where nobody knows it, always", () => {
  const { budget, flight, ask } = scene({ balance: of(20) });
  const [one, two] = [ask(1), ask(2)];
  flight.turn(one, "flying");
  expect([budget.covers(two), budget.covered()]).toEqual([true, 0]);
  budget.takeOff(credits(1n));
  expect(budget.covers(two)).toBe(false);
  expect(budget.covers({ ...two, hold: ZERO })).toBe(true);
  flight.turn(one, "doubt");
  expect(budget.covers(two)).toBe(false);
  budget.balance = undefined;
  budget.takeOff(of(1));
  expect([budget.covers(two), budget.covered()]).toEqual([true, undefined]);
});

test("the end of a balance is told as one, and what another bound says in the service's own words", () => {
  const { budget } = scene({ balance: of(500) });
  const refusal = (left: Credits | undefined, ...detail: string[]) =>
    new ServiceError({
      status: 402,
      detail,
      envelope: true,
      requestId: "r1",
      creditsRemaining: left,
    });
  const own = budget.usedUp(refusal(of(1), "this key has 0 left of its cap"));
  expect(own).toMatchObject({
    code: "insufficient_credits",
    exitCode: 4,
    status: 402,
    requestId: "r1",
  });
  expect(own.message).toBe(
    "not enough credits (402): this key has 0 left of its cap; 30 rows are bought and kept",
  );
  expect(budget.usedUp(refusal(undefined, "no")).message).toContain("(402): no;");
  const less = "not enough credits for another profile at 1: the balance is";
  expect(budget.usedUp(refusal(credits(ONE - 1n), "no")).message).toContain(
    `${less} 0.999999; 30 rows`,
  );
  expect(budget.usedUp(refusal(of(2))).message).toContain(`${less} 2;`);
  budget.balance = undefined;
  expect(budget.usedUp(undefined).message).toContain(`${less} used up;`);
  expect(budget.usedUp(refusal(undefined, "no")).message).toContain(`${less} used up;`);
});
