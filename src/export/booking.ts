import type { Credits } from "../contract/money.ts";
import { creditsOf, creditText, type SettledRecord } from "./journal.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Run } from "./run-store.ts";

/** A line of the ledger for something that happened in a run. `n`: its unit, 0 for none. */
export function ledgerEntry(run: Run, t: LedgerEntry["t"], n: number, amount: Credits, at: number): LedgerEntry {
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

export function settledEntry(run: Run, record: SettledRecord): LedgerEntry {
  return {
    ...ledgerEntry(run, "settled", record.n, creditsOf(record.used), record.at),
    rows: record.rows,
    balance: record.remaining ?? null,
    request_id: record.requestId ?? null,
  };
}

/** Everything of a run's journal as lines of the ledger, for {@link Ledger.reconcile}. */
export function ledgerEntriesOf(run: Run): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (const { settled, uncertain, intent } of run.state.units.values()) {
    if (settled !== undefined && settled.miss !== true) entries.push(settledEntry(run, settled));
    if (uncertain > 0n) entries.push(ledgerEntry(run, "uncertain", intent.n, uncertain, intent.at));
  }
  return entries;
}
