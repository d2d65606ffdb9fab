import { describe, expect, test } from "vitest";
import {
  apply,
  emptyState,
  type JournalRecord,
  pendingUnits,
  type RunState,
  sumsOf,
} from "../../src/engine/runs/journal.ts";

// What a journal says is folded by one function, in the running program and after a crash.

const intent = (n: number): JournalRecord => ({
  ...{ t: "intent", n, target: 0, offset: 10 * (n - 1), perPage: 10, key: `k${n}`, hold: "10", at: n },
});
const lost = (n: number, amount: string): JournalRecord => ({ t: "uncertain", n, amount, why: "lost", at: n });
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
    const several = fold(intent(1), lost(1, "12"), lost(1, "3"), lost(1, "10"), settled(1, "10", true));
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
});
