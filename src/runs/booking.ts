import type { Credits } from "../contract/money.ts";
import { creditsOf, creditText, type SettledRecord } from "./journal.ts";
import type { RunReader } from "./run.ts";
import type { LedgerEntry } from "./spend-book.ts";

type Booked = Pick<RunReader, "plan" | "state">;

/** A line of the ledger for something that happened in a run. `n`: its unit, 0 for none. */
export function ledgerEntry(
  run: Pick<Booked, "plan">,
  t: LedgerEntry["t"],
  n: number,
  amount: Credits,
  at: number,
): LedgerEntry {
  const { id, connection, account_id, key_mode, command } = run.plan;
  return {
    t,
    at,
    run: id,
    connection,
    account: account_id,
    key_mode,
    command,
    n,
    credits: creditText(amount),
    rows: 0,
    balance: null,
    request_id: null,
  };
}

export function settledEntry(run: Pick<Booked, "plan">, record: SettledRecord): LedgerEntry {
  return {
    ...ledgerEntry(run, "settled", record.n, creditsOf(record.used), record.at),
    rows: record.rows,
    balance: record.remaining ?? null,
    request_id: record.requestId ?? null,
  };
}

/** Everything of a run's journal as lines of the ledger, for {@link Ledger.reconcile}. */
export function ledgerEntriesOf(run: Booked): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (const { settled } of run.state.units.values()) {
    if (settled !== undefined && settled.miss !== true) entries.push(settledEntry(run, settled));
  }
  for (const { t, n, amount, at } of run.state.bookings) entries.push(ledgerEntry(run, t, n, amount, at));
  return entries;
}
