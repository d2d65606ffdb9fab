import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import {
  apply,
  BESIDE,
  bounded,
  creditsOf,
  daysOf,
  emptyState,
  hasOutlivedKey,
  type JournalRecord,
  KEY_LIFE_MS,
  newUnit,
  pendingUnits,
  type RunState,
  type SettledRecord,
  settledUnits,
  sumsOf,
} from "../../src/engine/runs/journal.ts";

// What a journal says is folded by one function, in the running program and after a crash.

const intent = (n: number): JournalRecord => ({
  ...{
    t: "intent",
    n,
    target: 0,
    offset: 10 * (n - 1),
    perPage: 10,
    key: `k${n}`,
    hold: creditsOf("10"),
    at: n,
  },
});
const lost = (n: number): JournalRecord => ({ t: "lost", n, at: n });
const sent = (n: number): JournalRecord => ({ t: "sent", n, at: n });
const quiet = (balance: string, rested = false): JournalRecord => ({
  t: "quiet",
  balance: creditsOf(balance),
  rested,
  at: 1,
});
const settled = (n: number, used: string, replayed = false): JournalRecord => ({
  ...{ t: "settled", n, rows: 10, used: creditsOf(used), at: n, ...(replayed ? { replayed } : {}) },
});
function fold(...records: readonly JournalRecord[]): RunState {
  const state = emptyState();
  for (const record of records) apply(state, record);
  return state;
}

describe("a journal", () => {
  test("what is kept of each page has the shape of all others: one of its own is half a kilobyte", () => {
    setFlagsFromString("--allow-natives-syntax");
    const isAlike = runInThisContext("(a, b) => %HaveSameMap(a, b)") as (
      ...both: readonly unknown[]
    ) => boolean;
    const pages = Array.from({ length: 60 }, (_, page) => 1_800_000_000_000 + page);
    const { books } = fold(...pages.flatMap((n) => [intent(n), settled(n, "10")]));
    const told = books.facts.filter(({ t }) => t === "told");
    const shapes = told.filter((fact, at) => at === 0 || !isAlike(fact, told[at - 1]));
    expect(told).toHaveLength(60);
    expect(shapes.length).toBeLessThan(5);
  });

  test("a void unit is not pending, and another is", () => {
    const state = fold(intent(1), intent(2), { t: "void", n: 1, why: "not sent", at: 3 });
    expect(pendingUnits(state).map((unit) => unit.intent.n)).toEqual([2]);
    expect(state.units.get(1)?.voided).toBe(true);
  });

  test("what a killed process asked for is lost where no balance is told, and asking again counts anew", () => {
    const session: JournalRecord = {
      t: "session",
      maxCredits: creditsOf("40"),
      limit: null,
      cap: creditsOf("40"),
      rows: 40,
      at: 2,
    };
    const state = fold(session, intent(1), session);
    expect(state.books.isUnderWay(state.units.get(1)?.attempt)).toBe(false);
    apply(state, sent(1));
    apply(state, settled(1, "10"));
    expect(sumsOf(state, null)).toMatchObject({
      settled: creditsOf("10"),
      uncertain: creditsOf("10"),
    });
  });

  test("a stored reply is the charge of one that was lost, and of that alone", () => {
    const state = fold(intent(1), lost(1), sent(1), settled(1, "10", true));
    expect(sumsOf(state, null)).toMatchObject({
      settled: creditsOf("10"),
      uncertain: creditsOf("0"),
    });
    // Of several the others may have been charged as well.
    const several = fold(
      ...[intent(1), lost(1), sent(1), lost(1), sent(1), settled(1, "10", true)],
    );
    expect(sumsOf(several, null)).toMatchObject({
      settled: creditsOf("10"),
      uncertain: creditsOf("10"),
    });
  });

  test("a reply that is not a stored one leaves what was lost in doubt, until a balance tells", () => {
    const records = [quiet("100"), intent(1), lost(1), sent(1), settled(1, "10")];
    expect(sumsOf(fold(...records), null)).toMatchObject({
      settled: creditsOf("10"),
      uncertain: creditsOf("10"),
    });
    expect(sumsOf(fold(...records, quiet("90")), null)).toMatchObject({
      uncertain: creditsOf("0"),
    });
    expect(sumsOf(fold(...records, quiet("80")), null)).toMatchObject({
      uncertain: creditsOf("10"),
    });
  });

  test("a request without an end may be charged, and is under way until a process begins anew", () => {
    const open = fold(quiet("100"), intent(1));
    expect([open.uncertain, open.books.underWay]).toEqual([0n, creditsOf("10")]);
    const begun = fold(quiet("100"), intent(1), {
      ...{ t: "session", maxCredits: null, limit: null, rows: 30, at: 5 },
    });
    expect([begun.uncertain, begun.books.underWay]).toEqual([creditsOf("10"), 0n]);
  });

  test("a reply counts once, however often it is written, and none of a request that was never made", () => {
    const state = fold(intent(1), settled(1, "10"), settled(1, "7"), settled(2, "9"));
    expect(sumsOf(state, null)).toMatchObject({ rows: 10, settled: creditsOf("10") });
  });

  test("numbers go on behind the highest, whatever order they stand in", () => {
    const state = fold(intent(4), intent(2), {
      ...(settled(2, "10") as SettledRecord),
      remaining: creditsOf("90"),
    });
    expect(state.nextN).toBe(5);
  });

  test("what was owned before and what was not found costs nothing, and is told apart", () => {
    const owned: JournalRecord = {
      t: "settled",
      n: 1,
      rows: 10,
      used: creditsOf("10"),
      owned: "another run",
      at: 1,
    };
    const miss: JournalRecord = {
      t: "settled",
      n: 2,
      rows: 0,
      used: creditsOf("0"),
      miss: true,
      at: 2,
    };
    const promised = { ...intent(2), promised: true } as JournalRecord;
    const state = fold(intent(1), owned, promised, miss);
    expect(state).toMatchObject({ rows: 10, owned: 10, misses: 1 });
    expect(sumsOf(state, null)).toMatchObject({
      rows: 10,
      misses: 1,
      settled: creditsOf("0"),
      days: [],
    });
  });

  test("rows that stand behind all others are in the file, and none of those that were wanted", () => {
    const beside: JournalRecord = { ...intent(2), target: BESIDE } as JournalRecord;
    const free: JournalRecord = {
      t: "settled",
      n: 2,
      rows: 4,
      used: creditsOf("0"),
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
    const state = fold(quiet("100"), intent(1), settled(1, "10"), quiet("87"));
    expect(sumsOf(state, null)).toMatchObject({
      settled: creditsOf("10"),
      uncertain: creditsOf("0"),
      foreign: creditsOf("3"),
    });
  });

  test("spending is told by the day it was charged on, in UTC, with its first and last moment", () => {
    const day = 86_400_000;
    const spent = (at: number, kind: "settled" | "uncertain" | "foreign", text: string) => ({
      ...{ at, kind, rows: kind === "settled" ? 10 : 0, amount: creditsOf(text) },
    });
    const all = [
      spent(day - 1, "settled", "1"),
      spent(day + 5, "settled", "2"),
      spent(day, "uncertain", "4"),
      spent(2 * day - 1, "foreign", "0"),
      spent(day + 1, "foreign", "8"),
    ];
    const untold = { declared: creditsOf("0"), told: creditsOf("0") };
    const none = {
      uncertain: creditsOf("0"),
      pending: creditsOf("0"),
      foreign: creditsOf("0"),
      ...untold,
    };
    const second = {
      rows: 10,
      settled: creditsOf("2"),
      uncertain: creditsOf("4"),
      pending: creditsOf("0"),
      foreign: creditsOf("8"),
      ...untold,
    };
    expect(daysOf(all)).toEqual([
      { from: day - 1, to: day - 1, rows: 10, settled: creditsOf("1"), ...none },
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
