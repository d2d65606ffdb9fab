import { describe, expect, test } from "vitest";
import {
  apply,
  BESIDE,
  bounded,
  creditsOf,
  daysOf,
  emptyState,
  hasOutlivedKey,
  isBooked,
  type JournalRecord,
  KEY_LIFE_MS,
  newUnit,
  pendingUnits,
  type RunState,
  type SettledRecord,
  settledUnits,
  sumsOf,
} from "../../src/engine/runs/journal.ts";
import { parseCredits } from "../../src/shared/contract/money.ts";

// What a journal says is folded by one function, in the running program and after a crash.

const intent = (n: number): JournalRecord => ({
  ...{
    t: "intent",
    n,
    target: 0,
    offset: 10 * (n - 1),
    perPage: 10,
    key: `k${n}`,
    hold: "10",
    at: n,
  },
});
const lost = (n: number, amount: string): JournalRecord => ({
  t: "uncertain",
  n,
  amount,
  why: "lost",
  at: n,
});
const settled = (n: number, used: string, replayed = false): JournalRecord => ({
  ...{ t: "settled", n, rows: 10, used, at: n, ...(replayed ? { replayed } : {}) },
});
function fold(...records: readonly JournalRecord[]): RunState {
  const state = emptyState();
  for (const record of records) apply(state, record);
  return state;
}

describe("a journal", () => {
  test("a void unit is not pending, and another is", () => {
    const state = fold(intent(1), intent(2), { t: "void", n: 1, why: "not sent", at: 3 });
    expect(pendingUnits(state).map((unit) => unit.intent.n)).toEqual([2]);
    expect(state.units.get(1)?.voided).toBe(true);
  });

  test("a stored reply gives back what its own attempt cost, and that alone", () => {
    const state = fold(intent(1), lost(1, "10"), settled(1, "10", true));
    expect(sumsOf(state, null)).toMatchObject({ settled: "10", uncertain: "0" });
    expect(state.units.get(1)?.uncertain).toBe(0n);
    // Of several the least that covers it: the others may have been charged as well.
    const several = fold(
      intent(1),
      lost(1, "12"),
      lost(1, "3"),
      lost(1, "10"),
      settled(1, "10", true),
    );
    expect(sumsOf(several, null)).toMatchObject({ settled: "10", uncertain: "15" });
    // None covers it: the most is what it was.
    const less = fold(intent(1), lost(1, "2"), lost(1, "4"), settled(1, "10", true));
    expect(sumsOf(less, null)).toMatchObject({ settled: "10", uncertain: "2" });
  });

  test("a reply that is not a stored one leaves what is uncertain as it is", () => {
    const state = fold(intent(1), lost(1, "10"), settled(1, "10"));
    expect(sumsOf(state, null)).toMatchObject({ settled: "10", uncertain: "10" });
    expect(state.spent.map(({ kind }) => kind)).toEqual(["uncertain", "settled"]);
  });

  test("a reply counts once, however often it is written, and none of a request that was never made", () => {
    const state = fold(intent(1), settled(1, "10"), settled(1, "7"), settled(2, "9"));
    expect(sumsOf(state, null)).toMatchObject({ rows: 10, settled: "10" });
    expect(state.spent).toHaveLength(1);
  });

  test("numbers go on behind the highest, whatever order they stand in", () => {
    const state = fold(intent(4), intent(2), {
      ...(settled(2, "10") as SettledRecord),
      remaining: "90",
    });
    expect(state.nextN).toBe(5);
    // Requests from there on went out after the reply.
    expect(state.told).toEqual([{ balance: parseCredits("90"), before: 5 }]);
  });

  test("what was owned before and what was not found costs nothing, and is told apart", () => {
    const owned: JournalRecord = {
      t: "settled",
      n: 1,
      rows: 10,
      used: "10",
      owned: "another run",
      at: 1,
    };
    const miss: JournalRecord = { t: "settled", n: 2, rows: 0, used: "0", miss: true, at: 2 };
    const state = fold(intent(1), owned, intent(2), miss);
    expect(state).toMatchObject({ rows: 10, owned: 10, misses: 1, spent: [] });
    expect(sumsOf(state, null)).toMatchObject({ rows: 10, misses: 1, settled: "0", days: [] });
  });

  test("rows that stand behind all others are in the file, and none of those that were wanted", () => {
    const beside: JournalRecord = { ...intent(2), target: BESIDE } as JournalRecord;
    const free: JournalRecord = {
      t: "settled",
      n: 2,
      rows: 4,
      used: "0",
      owned: "another run",
      at: 2,
    };
    const state = fold(intent(1), settled(1, "10"), beside, free);
    expect(state).toMatchObject({ rows: 10, beside: 4 });
    expect(sumsOf(state, 25)).toMatchObject({ rows: 14, expected: 29 });
    expect(sumsOf(state, null)).toMatchObject({ expected: null });
    expect(settledUnits(state).map((unit) => unit.intent.n)).toEqual([1, 2]);
  });

  test("pages are in the order of their rows, not of their requests", () => {
    const first: JournalRecord = { ...intent(3), target: 0, offset: 0 } as JournalRecord;
    const second: JournalRecord = { ...intent(1), target: 0, offset: 10 } as JournalRecord;
    const other: JournalRecord = { ...intent(2), target: 1, offset: 0 } as JournalRecord;
    const state = fold(other, second, first, settled(1, "10"), settled(2, "10"), settled(3, "10"));
    expect(settledUnits(state).map((unit) => unit.intent.n)).toEqual([3, 1, 2]);
  });

  test("a request that is sent again after its lost reply was booked is under way, and may be charged too", () => {
    const booked = fold(intent(1), lost(1, "10"));
    expect(pendingUnits(booked).map(isBooked)).toEqual([true]);
    const again = fold(intent(1), lost(1, "10"), { t: "again", n: 1, at: 3 });
    expect(pendingUnits(again).map(isBooked)).toEqual([false]);
    const twice = fold(intent(1), lost(1, "10"), { t: "again", n: 1, at: 3 }, lost(1, "10"));
    expect(pendingUnits(twice).map(isBooked)).toEqual([true]);
    expect(sumsOf(twice, null)).toMatchObject({ uncertain: "20" });
    expect(twice.units.get(1)?.uncertain).toBe(creditsOf("20"));
  });

  test("a session after the end opens the run anew, keeps its job, and counts in each budget once", () => {
    const session = (more: object): JournalRecord =>
      ({
        ...{ t: "session", maxCredits: null, limit: null, rows: 30, at: 5 },
        ...more,
      }) as JournalRecord;
    const ended: JournalRecord = { t: "ended", how: "closed", why: "enough", at: 6 };
    const state = fold(
      session({ job: "j", budget: "a" }),
      ended,
      { t: "done", at: 7 },
      session({ budget: "a" }),
    );
    expect(state).toMatchObject({
      job: "j",
      budgets: ["a"],
      done: undefined,
      ended: undefined,
      lastAt: 5,
    });
    expect(sumsOf(state, 30)).toMatchObject({ expected: 30, job: "j", budgets: ["a"] });
    expect(fold(session({ budget: "a" }), session({ job: "k", budget: "b" }))).toMatchObject({
      ...{ job: "k", budgets: ["a", "b"] },
    });
  });

  test("what others spent is not ours", () => {
    const state = fold(intent(1), settled(1, "10"), { t: "foreign", amount: "3", at: 4 });
    expect(sumsOf(state, null)).toMatchObject({ settled: "10", uncertain: "0", foreign: "3" });
  });

  test("spending is told by the day it was charged on, in UTC, with its first and last moment", () => {
    const day = 86_400_000;
    const spent = (
      at: number,
      kind: "settled" | "uncertain" | "refunded" | "foreign",
      text: string,
    ) => ({
      ...{ at, kind, rows: kind === "settled" ? 10 : 0, amount: creditsOf(text) },
    });
    const all = [
      spent(day - 1, "settled", "1"),
      spent(day + 5, "settled", "2"),
      spent(day, "uncertain", "4"),
      spent(2 * day - 1, "refunded", "3"),
      spent(day + 1, "foreign", "8"),
    ];
    const none = { uncertain: "0", refunded: "0", foreign: "0" };
    const second = { rows: 10, settled: "2", uncertain: "4", refunded: "3", foreign: "8" };
    expect(daysOf(all)).toEqual([
      { from: day - 1, to: day - 1, rows: 10, settled: "1", ...none },
      { from: day, to: 2 * day - 1, ...second },
    ]);
    expect(daysOf(all, day)).toEqual([{ from: day, to: 2 * day - 1, ...second }]);
    expect(daysOf(all, 2 * day)).toEqual([]);
  });

  test("a key is good for 23 hours, and not a moment longer", () => {
    const unit = newUnit(intent(1) as Parameters<typeof newUnit>[0]);
    expect(hasOutlivedKey(unit, 1 + KEY_LIFE_MS)).toBe(false);
    expect(hasOutlivedKey(unit, 2 + KEY_LIFE_MS)).toBe(true);
  });

  test("words of a service that have no end are cut, and a cursor that is too long is no cursor", () => {
    const record = settled(1, "10") as Parameters<typeof bounded>[0];
    const [most, more] = ["c".repeat(16_384), "c".repeat(16_385)];
    expect(bounded({ ...record, next: most })).toEqual({ ...record, next: most });
    expect(bounded({ ...record, next: null })).toEqual({ ...record, next: null });
    expect(bounded({ ...record, next: more, version: more, requestId: more })).toEqual({
      ...{ ...record, cursorLength: 16_385, version: most, requestId: most },
    });
  });
});
