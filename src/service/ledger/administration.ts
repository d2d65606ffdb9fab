import { randomBytes } from "node:crypto";
import { formatCredits } from "../../shared/contract/money.ts";
import { ACCOUNT_LIST, accountSummary, createAccount, setPlan, suspendAccount } from "./accounts.ts";
import { type Acting, operationNamed } from "./chain/links.ts";
import type { Steps } from "./database.ts";
import { StoreConflictError } from "./errors.ts";
import type { LedgerDatabase, MoneyRequest, Place } from "./facts.ts";
import { createKeyStep, KEY_DETAILS, keyDetail, revokeKey, updateKey } from "./key-steps.ts";
import type { Act, Adjusted, Adjustment, Administration, Balance, KeyMode } from "./ledger.ts";
import { auditQuery, auditRow, entriesQuery, ledgerEntry, usageQuery, usageRow } from "./listing.ts";

interface Office {
  readonly now: () => number;
  readonly actor: string;
  readonly balance: (accountId: string, mode: KeyMode) => Promise<Balance>;
  /** Called where what is remembered of keys and accounts may be old. */
  readonly forget: () => void;
}

/** What operators do and look up. */
export function administration(database: LedgerDatabase, { actor, balance, forget, now }: Office): Administration {
  const { rowLock } = database;
  const acts = <Value>(act: Act | undefined, steps: (acting: Acting) => Steps<Value>): Promise<Value> => {
    const [at, by] = [now(), act?.by ?? actor];
    return database.change("durable", (repeated) => steps({ at, by, repeated })).finally(forget);
  };
  const named = ({ accountId, mode }: Place, { by, note, reference }: Adjustment) => {
    const operation =
      reference === undefined ? randomBytes(12).toString("hex") : operationNamed(accountId, mode, reference);
    return { operation, note, actor: by ?? actor };
  };
  const move = async (place: Place, request: MoneyRequest): Promise<Adjusted> => {
    const moved = (await database.money("durable", request, place)) as Omit<Adjusted, "usedToday">;
    const { usedToday } = await balance(place.accountId, place.mode);
    return { ...moved, usedToday };
  };
  const adjusting =
    (entry: "grant" | "correction"): Administration["deduct"] =>
    async (accountId, mode, amount, adjustment) => {
      if (amount <= 0n) throw new RangeError(`the amount must be above zero, not ${formatCredits(amount)}`);
      const place = { accountId, mode };
      return move(place, { kind: "adjust", entry, place, amount, ...named(place, adjustment) });
    };
  const grant = adjusting("grant");
  return {
    createAccount: (id, name, act) => acts(act, (acting) => createAccount(id, name, acting)),
    listAccounts: async () => (await database.read(ACCOUNT_LIST, now())).map(accountSummary),
    suspendAccount: (id, suspended, act) => acts(act, (acting) => suspendAccount(id, suspended, acting)),
    createKey: (key, act) => acts(act, (acting) => createKeyStep(key, acting)),
    async listKeys(accountId) {
      const sql = `${KEY_DETAILS} WHERE k.account_id = $1 ORDER BY k.created_at, k.id`;
      return (await database.read(sql, accountId)).map(keyDetail);
    },
    async key(id) {
      const [row] = await database.read(`${KEY_DETAILS} WHERE k.id = $1`, id);
      return row === undefined ? undefined : keyDetail(row);
    },
    updateKey: (id, changes, act) => acts(act, (acting) => updateKey(id, changes, rowLock, acting)),
    revokeKey: (id, act) => acts(act, (acting) => revokeKey(id, acting)),
    setPlan: (id, changes, act) => acts(act, (acting) => setPlan(id, changes, rowLock, acting)),
    grant: (accountId, mode, amount, told) =>
      grant(accountId, mode, amount, typeof told === "string" ? { note: told } : told),
    deduct: adjusting("correction"),
    async refund(entryId, amount, adjustment) {
      const sql = "SELECT account_id, mode, hold_id FROM entries WHERE id = $1 AND kind = 'charge'";
      const [row] = await database.read(sql, entryId);
      if (row === undefined) throw new StoreConflictError(`entry ${entryId} is no charge`);
      const place = { accountId: row.account_id as string, mode: row.mode as KeyMode };
      return move(place, { kind: "refund", holdId: String(row.hold_id), amount, ...named(place, adjustment) });
    },
    async entries(query) {
      const { sql, values } = entriesQuery(query);
      return (await database.read(sql, ...values)).map(ledgerEntry);
    },
    async usage(query) {
      const { sql, values } = usageQuery(query);
      return (await database.read(sql, ...values)).map(usageRow);
    },
    async audit(query) {
      const { sql, values } = auditQuery(query);
      return (await database.read(sql, ...values)).map(auditRow);
    },
  };
}
