import { randomBytes } from "node:crypto";
import { type Credits, formatCredits } from "../../shared/contract/money.ts";
import { ACCOUNT_LIST, accountSummary, createAccount, setPlan, suspendAccount } from "./accounts.ts";
import { type Acting, operationNamed } from "./chain/audit.ts";
import type { Steps } from "./database.ts";
import { StoreConflictError } from "./errors.ts";
import type { MoneyRequest, Place } from "./facts.ts";
import { createKey, KEY_DETAILS, keyDetail, revokeKey, updateKey } from "./key-steps.ts";
import type {
  Account,
  AccountSummary,
  Act,
  Adjusted,
  Adjustment,
  Administration,
  AuditQuery,
  AuditRow,
  Balance,
  EntryQuery,
  KeyChanges,
  KeyDetail,
  KeyMode,
  LedgerEntry,
  NewKey,
  Plan,
  PlanChanges,
  UsageQuery,
  UsageRow,
} from "./ledger.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { auditQuery, auditRow, entriesQuery, ledgerEntry, type Query, usageQuery, usageRow } from "./listing.ts";

export abstract class Administrator implements Administration {
  protected readonly database: LedgerDatabase;
  protected readonly now: () => number;
  readonly #actor: string;

  constructor(database: LedgerDatabase, now: () => number, actor: string) {
    this.database = database;
    this.now = now;
    this.#actor = actor;
  }

  abstract balance(accountId: string, mode: KeyMode): Promise<Balance>;
  /** Called where what is remembered of keys and accounts may be old. */
  protected abstract forget(): void;

  createAccount(id: string, name: string, act?: Act): Promise<Account> {
    return this.#act(act, (acting) => createAccount(id, name, acting));
  }

  async listAccounts(): Promise<readonly AccountSummary[]> {
    return (await this.database.read(ACCOUNT_LIST, this.now())).map(accountSummary);
  }

  suspendAccount(id: string, suspended: boolean, act?: Act): Promise<boolean> {
    return this.#act(act, (acting) => suspendAccount(id, suspended, acting));
  }

  createKey(key: NewKey, act?: Act): Promise<void> {
    return this.#act(act, (acting) => createKey(key, acting));
  }

  async listKeys(accountId: string): Promise<readonly KeyDetail[]> {
    const sql = `${KEY_DETAILS} WHERE k.account_id = $1 ORDER BY k.created_at, k.id`;
    return (await this.database.read(sql, accountId)).map(keyDetail);
  }

  async key(id: string): Promise<KeyDetail | undefined> {
    const [row] = await this.database.read(`${KEY_DETAILS} WHERE k.id = $1`, id);
    return row === undefined ? undefined : keyDetail(row);
  }

  updateKey(id: string, changes: KeyChanges, act?: Act): Promise<KeyDetail> {
    return this.#act(act, (acting) => updateKey(id, changes, this.database.rowLock, acting));
  }

  revokeKey(keyId: string, act?: Act): Promise<boolean> {
    return this.#act(act, (acting) => revokeKey(keyId, acting));
  }

  setPlan(accountId: string, changes: PlanChanges, act?: Act): Promise<Plan> {
    return this.#act(act, (acting) => setPlan(accountId, changes, this.database.rowLock, acting));
  }

  grant(accountId: string, mode: KeyMode, amount: Credits, adjustment: string | Adjustment): Promise<Adjusted> {
    const told = typeof adjustment === "string" ? { note: adjustment } : adjustment;
    return this.#adjust("grant", { accountId, mode }, amount, told);
  }

  deduct(accountId: string, mode: KeyMode, amount: Credits, adjustment: Adjustment): Promise<Adjusted> {
    return this.#adjust("correction", { accountId, mode }, amount, adjustment);
  }

  async refund(entryId: bigint, amount: Credits | undefined, adjustment: Adjustment): Promise<Adjusted> {
    const [row] = await this.database.read(
      "SELECT account_id, mode, hold_id FROM entries WHERE id = $1 AND kind = 'charge'",
      entryId,
    );
    if (row === undefined) throw new StoreConflictError(`entry ${entryId} is no charge`);
    const place = { accountId: row.account_id as string, mode: row.mode as KeyMode };
    const holdId = String(row.hold_id);
    return this.#move(place, { kind: "refund", holdId, amount, ...this.#named(place, adjustment) });
  }

  async entries(query: EntryQuery): Promise<readonly LedgerEntry[]> {
    return (await this.#found(entriesQuery(query))).map(ledgerEntry);
  }

  async usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    return (await this.#found(usageQuery(query))).map(usageRow);
  }

  async audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    return (await this.#found(auditQuery(query))).map(auditRow);
  }

  async #adjust(
    entry: "grant" | "correction",
    place: Place,
    amount: Credits,
    adjustment: Adjustment,
  ): Promise<Adjusted> {
    if (amount <= 0n) throw new RangeError(`the amount must be above zero, not ${formatCredits(amount)}`);
    return this.#move(place, { kind: "adjust", entry, place, amount, ...this.#named(place, adjustment) });
  }

  #named({ accountId, mode }: Place, { by, note, reference }: Adjustment) {
    const operation =
      reference === undefined ? randomBytes(12).toString("hex") : operationNamed(accountId, mode, reference);
    return { operation, note, actor: by ?? this.#actor };
  }

  async #move(place: Place, request: MoneyRequest): Promise<Adjusted> {
    const moved = (await this.database.money("durable", request, place)) as Omit<Adjusted, "usedToday">;
    const { usedToday } = await this.balance(place.accountId, place.mode);
    return { ...moved, usedToday };
  }

  #act<Value>(act: Act | undefined, steps: (acting: Acting) => Steps<Value>): Promise<Value> {
    const [at, by] = [this.now(), act?.by ?? this.#actor];
    const done = this.database.change("durable", (repeated) => steps({ at, by, repeated }));
    return done.finally(() => this.forget());
  }

  #found({ sql, values }: Query): ReturnType<LedgerDatabase["read"]> {
    return this.database.read(sql, ...values);
  }
}
