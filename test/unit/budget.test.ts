import { expect, test } from "vitest";
import { ServiceError } from "../../src/engine/client/errors.ts";
import { Budget, type BudgetOptions } from "../../src/engine/purchase/budget.ts";
import { Flight } from "../../src/engine/purchase/flight.ts";
import { emptyState, newUnit } from "../../src/engine/runs/journal.ts";
import { type Credits, credits, ZERO } from "../../src/shared/contract/money.ts";

// What may still be spent, as sums: each part of it counts once, and in the right direction.

const ONE = 1_000_000n;
const of = (amount: number): Credits => credits(BigInt(amount) * ONE);

type Change = Partial<
  Pick<BudgetOptions, "balance" | "cap" | "maxCredits" | "maxRows" | "now" | "priceKnown">
>;

function scene(change: Change = {}): { readonly budget: Budget; readonly flight: Flight } {
  const flight = new Flight();
  const spent = { ...emptyState(), rows: 30, settled: of(30), uncertain: of(10) };
  const options = {
    now: () => 0,
    since: 0,
    price: of(1),
    priceKnown: true,
    maxCredits: of(100),
    cap: of(100),
  };
  const budget = new Budget(
    { ...options, maxRows: undefined, balance: of(500), ...change },
    spent,
    flight,
  );
  return { budget, flight };
}

const unit = (n: number) =>
  newUnit({ t: "intent", n, target: 0, offset: n, perPage: 10, key: "k", hold: "10", at: 0 });

test("what waits from an earlier session and what is in flight is held off the cap", () => {
  const { budget, flight } = scene();
  expect(budget.room()).toBe(of(60));
  flight.wait(unit(1));
  expect(budget.room()).toBe(of(50));
  flight.add(unit(2), false);
  expect(budget.room()).toBe(of(40));
  budget.keeping(of(5));
  expect(budget.room()).toBe(of(35));
  budget.keeping(of(-5));
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

test("rows fit by the cap, by the rows that are allowed, and not at all where a miss may cost more than is left", () => {
  const { budget, flight } = scene({ maxRows: 50 });
  expect(budget.rowRoom()).toBe(20);
  flight.add(unit(1), false);
  expect(budget.rowRoom()).toBe(10);
  flight.wait(unit(2));
  expect(budget.rowRoom()).toBe(0);
  flight.nextWaiting();
  expect(scene().budget.rowRoom()).toBe(60);
  budget.missCost = of(50);
  expect([budget.room(), budget.rowRoom()]).toEqual([of(10), 0]);
  budget.missCost = of(30);
  expect([budget.room(), budget.rowRoom()]).toEqual([of(30), 10]);
});

test("what the user's own cap has beyond what was agreed to has room for a whole page", () => {
  expect(scene({ cap: of(60) }).budget.wholeRoom()).toBe(60);
  expect(scene({ maxCredits: undefined }).budget.wholeRoom()).toBe(Number.POSITIVE_INFINITY);
});

test("a balance covers what is asked for beside what is in flight, to the credit; what is free, and where nobody knows it, always", () => {
  const { budget, flight } = scene({ balance: of(20) });
  const [one, two] = [flight.add(unit(1), false), flight.add(unit(2), false)];
  flight.turn(one, "flying");
  expect([budget.covers(two), budget.covered()]).toEqual([true, 0]);
  budget.setBalance(credits(of(20) - 1n), false);
  expect(budget.covers(two)).toBe(false);
  expect(budget.covers({ ...two, hold: ZERO })).toBe(true);
  flight.turn(one, "doubt");
  expect(budget.covers(two)).toBe(false);
  budget.setBalance(undefined, false);
  expect([budget.covers(two), budget.covered()]).toEqual([true, undefined]);
});

test("a hold fits where the cap holds should all that is unproven be charged, a dearer miss too", () => {
  const { budget } = scene();
  expect([budget.fits(of(60)), budget.fits(of(61)), budget.fitsUnproven(of(61))]).toEqual([
    true,
    false,
    true,
  ]);
  budget.takeOff(ZERO, of(5));
  expect([budget.fitsUnproven(of(55)), budget.fitsUnproven(of(56))]).toEqual([true, false]);
  budget.missCost = of(56);
  expect([budget.mostOf(of(1)), budget.mostOf(of(57)), budget.fitsUnproven(of(1))]).toEqual([
    of(56),
    of(57),
    false,
  ]);
});

test("a charge is taken off, and what else is gone is told where the call was alone and the balance was told", () => {
  const { budget, flight } = scene();
  const alone = flight.add(unit(1), true);
  const fall = budget.charge(alone, { used: of(3), balance: of(495), most: of(1) });
  expect([fall, budget.balance, budget.sure]).toEqual([
    { gone: of(2), most: of(1) },
    of(495),
    true,
  ]);
  expect(budget.charge(alone, { used: of(3), balance: undefined, most: ZERO })).toBeUndefined();
  expect([budget.balance, budget.sure, budget.isExact(alone)]).toEqual([of(492), false, true]);
  const beside = { ...alone, alone: false };
  expect(budget.charge(beside, { used: of(1), balance: of(9), most: ZERO })).toBeUndefined();
  // Several calls have moved it since.
  expect([budget.balance, budget.sure, budget.isExact(alone), budget.isExact(beside)]).toEqual([
    of(491),
    false,
    false,
    false,
  ]);
  budget.look(undefined);
  expect([budget.balance, budget.isExact(alone)]).toEqual([of(491), false]);
  budget.look(of(490));
  expect(budget.isExact(alone)).toBe(true);
});

test("a fall of the balance is one call's for half a minute, and nobody's where the balance is not known", () => {
  let now = 0;
  const { budget, flight } = scene({ now: () => now });
  const alone = flight.add(unit(1), true);
  expect([budget.gone(of(498)), budget.gone(undefined)]).toEqual([of(2), undefined]);
  now = 29_999;
  expect(budget.isExact(alone)).toBe(true);
  now = 30_000;
  expect(budget.isExact(alone)).toBe(false);
  const unknown = scene({ balance: undefined }).budget;
  expect([unknown.isExact(alone), unknown.gone(of(1)), unknown.look(of(7))]).toEqual([
    false,
    undefined,
    { gone: ZERO, most: ZERO },
  ]);
  unknown.setBalance(undefined, false);
  unknown.takeOff(of(1), of(2));
  expect([unknown.balance, unknown.unproven]).toEqual([undefined, of(2)]);
});

test("an error shows that nothing was charged by a balance that did not fall, of a call that was alone", () => {
  const { budget, flight } = scene();
  const alone = flight.add(unit(1), true);
  const error = (left?: number) =>
    new ServiceError({
      status: 500,
      detail: [],
      envelope: true,
      creditsRemaining: left === undefined ? undefined : of(left),
    });
  expect([500, 501, 499].map((left) => budget.showsFree(alone, error(left)))).toEqual([
    true,
    true,
    false,
  ]);
  expect([
    budget.showsFree(alone, error()),
    budget.showsFree({ ...alone, alone: false }, error(500)),
  ]).toEqual([false, false]);
  budget.setBalance(undefined, false);
  expect(budget.showsFree(alone, error(1))).toBe(true);
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
  budget.setBalance(undefined, false);
  expect(budget.usedUp(undefined).message).toContain(`${less} used up;`);
  expect(budget.usedUp(refusal(undefined, "no")).message).toContain(`${less} used up;`);
});
