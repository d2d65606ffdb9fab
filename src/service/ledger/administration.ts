import { randomBytes } from "node:crypto";
import { formatCredits } from "../../shared/contract/money.ts";
import {
  ACCOUNT_LIST,
  accountSummary,
  createAccount,
  setPlan,
  suspendAccount,
} from "./accounts.ts";
import { type Acting, operationNamed, referenceOf } from "./chain/links.ts";
import { type Row, type Steps, storedFields } from "./database.ts";
import { StoreConflictError } from "./errors.ts";
import { type LedgerDatabase, type MoneyRequest, type Place, placeIn } from "./facts.ts";
import { createKeyStep, KEY_DETAILS, keyDetail, revokeKey, updateKey } from "./key-steps.ts";
import type {
  Act,
  Adjusted,
  Adjustment,
  Administration,
  AuditQuery,
  AuditRow,
  Balance,
  EntryQuery,
  KeyMode,
  LedgerEntry,
  UsageQuery,
  UsageRow,
} from "./ledger.ts";

interface Query {
  readonly sql: string;
  readonly values: readonly unknown[];
}

const MOST_ROWS = 1_000;

function where(conditions: readonly (readonly [sql: string, value: unknown])[]): Query {
  const terms = conditions.filter(([, value]) => value !== undefined);
  const texts = terms.map(([sql], index) => sql.replace("?", `$${index + 1}`));
  return {
    sql: texts.length === 0 ? "" : `WHERE ${texts.join(" AND ")}`,
    values: terms.map(([, value]) => value),
  };
}

function rowsAtMost(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_ROWS) return limit;
  throw new RangeError(`a page has 1 to ${MOST_ROWS} rows, not ${limit}`);
}

/** The newest first, by id: what is added meanwhile moves no page. */
function entriesQuery(query: EntryQuery): Query {
  const { accountId, before, call, keyId, kind, limit, mode, since, until } = query;
  const filter = where([
    ["e.account_id = ?", accountId],
    ["e.mode = ?", mode],
    ["e.id < ?", before],
    ["e.kind = ?", kind],
    ["COALESCE(h.key_id, r.key_id) = ?", keyId],
    ["COALESCE(h.call, r.call) = ?", call],
    ["e.created_at >= ?", since],
    ["e.created_at < ?", until],
  ]);

  const sql = `SELECT e.id, e.account_id, e.mode, e.kind, e.amount, e.balance_after,
    e.created_at AS at, e.actor, e.operation, e.note,
      e.price, e.sold AS rows, COALESCE(h.key_id, r.key_id) AS key_id,
      COALESCE(h.call, r.call) AS call,
      COALESCE(h.request_id, r.request_id) AS request_id, c.id AS refund_of
    FROM entries e LEFT JOIN holds h ON h.id = e.hold_id LEFT JOIN holds r ON r.id = e.refund_of
    LEFT JOIN entries c ON c.hold_id = e.refund_of
    ${filter.sql} ORDER BY e.id DESC LIMIT ${rowsAtMost(limit)}`;
  return { sql, values: filter.values };
}

function ledgerEntry(row: Row): LedgerEntry {
  const { operation, ...entry } = storedFields<LedgerEntry & { readonly operation: string | null }>(
    row,
    ["at", "rows"],
  );
  return { ...entry, reference: referenceOf(operation) };
}

const GROUPS = { day: "day", key: "key_id", call: "call" } as const;

function usageQuery({ accountId, by, keyId, mode, since, until }: UsageQuery): Query {
  const columns = [...new Set(by)].map((group) => GROUPS[group]);
  const filter = where([
    ["account_id = ?", accountId],
    ["mode = ?", mode],
    ["key_id = ?", keyId],
    ["day >= ?", since],
    ["day <= ?", until],
  ]);

  const grouped =
    columns.length === 0 ? "" : `GROUP BY ${columns.join(", ")} ORDER BY ${columns.join(", ")}`;
  // Where one charge does not say how many rows it sold, their sum is not known either.
  const sold = "CASE WHEN COUNT(sold) = COUNT(*) THEN CAST(SUM(sold) AS bigint) END AS rows";
  const sums = ["calls", "charged", "refunded"].map(
    (name) => `CAST(COALESCE(SUM(${name}), 0) AS bigint) AS ${name}`,
  );

  return {
    sql: `SELECT ${[...columns, sold, ...sums].join(", ")} FROM usage ${filter.sql} ${grouped}`,
    values: filter.values,
  };
}

/** What a sum over days, keys or calls does not tell. */
const SUMMED: Pick<UsageRow, "day" | "keyId" | "call"> = { day: null, keyId: null, call: null };
const usageRow = (row: Row): UsageRow => ({
  ...SUMMED,
  ...storedFields<UsageRow>(row, ["calls", "rows"]),
});

function auditQuery({ accountId, before, limit, since, until }: AuditQuery): Query {
  const filter = where([
    ["account_id = ?", accountId],
    ["id < ?", before],
    ["at >= ?", since],
    ["at < ?", until],
  ]);

  return {
    sql:
      "SELECT id, at, actor, action, account_id, target, detail FROM audit " +
      `${filter.sql} ORDER BY id DESC LIMIT ${rowsAtMost(limit)}`,
    values: filter.values,
  };
}

const auditRow = (row: Row): AuditRow => ({
  ...storedFields<AuditRow>(row, ["at"]),
  detail: JSON.parse(row.detail as string) as AuditRow["detail"],
});

interface Office {
  readonly now: () => number;
  readonly actor: string;
  readonly balance: (accountId: string, mode: KeyMode) => Promise<Balance>;
  readonly forget: () => void;
}

/** What moves money by hand, each with who did it and a name by which it is done once. */
function adjustments(
  database: LedgerDatabase,
  { actor, balance }: Office,
): Pick<Administration, "grant" | "deduct" | "refund"> {
  const labelOf = ({ accountId, mode }: Place, { by, note, reference }: Adjustment) => {
    const operation =
      reference === undefined
        ? randomBytes(12).toString("hex")
        : operationNamed(accountId, mode, reference);
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
      if (amount <= 0n)
        throw new RangeError(`the amount must be above zero, not ${formatCredits(amount)}`);
      const place = { accountId, mode };
      return move(place, { kind: "adjust", entry, place, amount, ...labelOf(place, adjustment) });
    };

  const grant = adjusting("grant");
  return {
    grant: (accountId, mode, amount, adjustment) =>
      grant(
        accountId,
        mode,
        amount,
        typeof adjustment === "string" ? { note: adjustment } : adjustment,
      ),

    deduct: adjusting("correction"),

    async refund(entryId, amount, adjustment) {
      const sql = "SELECT account_id, mode, hold_id FROM entries WHERE id = $1 AND kind = 'charge'";
      const [row] = await database.read(sql, entryId);
      if (row === undefined) throw new StoreConflictError(`entry ${entryId} is no charge`);
      const place = placeIn(row);
      return move(place, {
        kind: "refund",
        holdId: String(row.hold_id),
        amount,
        ...labelOf(place, adjustment),
      });
    },
  };
}

export function administration(database: LedgerDatabase, office: Office): Administration {
  const { actor, forget, now } = office;
  const { rowLock } = database;
  const acts = <Value>(
    act: Act | undefined,
    steps: (acting: Acting) => Steps<Value>,
  ): Promise<Value> => {
    const [at, by] = [now(), act?.by ?? actor];
    return database.change("durable", (repeated) => steps({ at, by, repeated })).finally(forget);
  };

  const readAll = async <Value>(
    { sql, values }: Query,
    read: (row: Row) => Value,
  ): Promise<readonly Value[]> => (await database.read(sql, ...values)).map(read);

  return {
    createAccount: (id, name, act) => acts(act, (acting) => createAccount(id, name, acting)),
    listAccounts: () => readAll({ sql: ACCOUNT_LIST, values: [now()] }, accountSummary),
    suspendAccount: (id, suspended, act) =>
      acts(act, (acting) => suspendAccount(id, suspended, acting)),
    createKey: (key, act) => acts(act, (acting) => createKeyStep(key, rowLock, acting)),

    listKeys: (accountId) =>
      readAll(
        {
          sql: `${KEY_DETAILS} WHERE k.account_id = $1 ORDER BY k.created_at, k.id`,
          values: [accountId],
        },
        keyDetail,
      ),

    async key(id) {
      const [row] = await database.read(`${KEY_DETAILS} WHERE k.id = $1`, id);
      return row && keyDetail(row);
    },

    updateKey: (id, changes, act) => acts(act, (acting) => updateKey(id, changes, rowLock, acting)),
    revokeKey: (id, act) => acts(act, (acting) => revokeKey(id, acting)),
    setPlan: (id, changes, act) => acts(act, (acting) => setPlan(id, changes, rowLock, acting)),

    ...adjustments(database, office),

    entries: (query) => readAll(entriesQuery(query), ledgerEntry),
    usage: (query) => readAll(usageQuery(query), usageRow),
    audit: (query) => readAll(auditQuery(query), auditRow),
  };
}
