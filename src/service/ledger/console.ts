import { type Credits, credits } from "../../shared/contract/money.ts";
import { audit } from "./chain/links.ts";
import {
  change,
  type Durability,
  insert,
  type Row,
  replyOf,
  type Steps,
  statementRows,
  storedFields,
  upsert,
} from "./database.ts";
import { UnknownAccountError } from "./errors.ts";
import { type LedgerDatabase, moneyOf } from "./facts.ts";
import { KEY_DETAILS, keyDetail } from "./key-steps.ts";
import type {
  ConsoleExport,
  ConsoleLink,
  ConsoleRole,
  ConsoleSession,
  ConsoleStore,
  Standing,
  StoredExport,
  StoredSegment,
} from "./records.ts";
import { pageKey } from "./records.ts";

const SESSION_COLUMNS =
  "id, hash, proof_hash, account_id, role, key_hash, created_at, seen_at, expires_at";
const EXPORT_COLUMNS = `id, account_id, mode, key_id, filters, segment, version, only_new, profiles,
  per_page, price, created_at, state, why, pages, row_count AS rows, credits, seen_at, turn,
  kept_until, COALESCE((SELECT k.origin FROM keys k WHERE k.id = key_id), key_id) AS origin`;

const OR_NOTHING = "ON CONFLICT (id) DO NOTHING";

export const consoleStore = (database: LedgerDatabase, now: () => number): ConsoleStore => ({
  ...sessionsOf(database, now),
  ...exportsOf(database, now),
  ...segmentsOf(database),
});

const toolsOf = (database: LedgerDatabase) => ({
  one: async <Value>(sql: string, read: (row: Row) => Value, ...values: readonly unknown[]) => {
    const [row] = await database.read(sql, ...values);
    return row && read(row);
  },
  write: (durability: Durability, sql: string, ...values: readonly unknown[]): Promise<number> =>
    database.change(durability, () => change(sql, ...values)),
});

function sessionsOf(database: LedgerDatabase, now: () => number) {
  const { one, write } = toolsOf(database);
  return {
    addLink: (link, by) => database.change("durable", () => addLink(link, by)),

    async redeemLink(hash, session) {
      // Guesses cost a look, and no transaction.
      const [link] = await database.read("SELECT 1 FROM console_links WHERE hash = $1", hash);
      return link === undefined
        ? undefined
        : database.change("durable", () => redeem(hash, session));
    },

    addSession: (session) => database.change("durable", () => addSession(session)),

    session: (hash) =>
      one(
        `SELECT ${SESSION_COLUMNS} FROM console_sessions WHERE hash ` +
          "= $1 AND ended_at IS NULL AND expires_at > $2",
        storedSession,
        hash,
        now(),
      ),

    async sessions() {
      const sql = `SELECT ${SESSION_COLUMNS} FROM console_sessions
        WHERE ended_at IS NULL AND expires_at > $1
        ORDER BY created_at DESC`;
      return (await database.read(sql, now())).map(storedSession);
    },

    async seeSession(id, seenAt) {
      await write("volatile", "UPDATE console_sessions SET seen_at = $1 WHERE id = $2", seenAt, id);
    },

    endSession: (id, by) => database.change("durable", () => endSession(id, by, now())),

    async served(origin) {
      await database.change("volatile", () =>
        upsert("console_places", { origin, startedAt: now() }, "origin"),
      );
    },

    lastServed: () =>
      one(
        "SELECT origin FROM console_places ORDER BY started_at DESC LIMIT 1",
        (row) => row.origin as string,
      ),
  } satisfies Partial<ConsoleStore>;
}

function exportsOf(database: LedgerDatabase, now: () => number) {
  const { one, write } = toolsOf(database);
  return {
    enterExport: (item, assertFree) =>
      database.change("durable", (repeated) =>
        enterExport(item, assertFree, { lock: database.rowLock, repeated }),
      ),

    export: (accountId, id) =>
      one(
        `SELECT ${EXPORT_COLUMNS} FROM console_exports WHERE account_id = $1 AND id = $2`,
        storedExport,
        accountId,
        id,
      ),

    exports: async ({ accountId, mode }, state) =>
      (await database.read(exportsSql(state), accountId, mode)).map(storedExport),

    async advanceExport({ credits: spent, id, pages, profiles, rows, seenAt, turn }) {
      // A page is bought before it is written down, and its
      // key gives it again for nothing: no sync is needed.
      const sql = `UPDATE console_exports
          SET pages = $1, row_count = $2, credits = $3, seen_at = $4, profiles = $6,
          state = CASE WHEN CAST($6 AS bigint) <= CAST($2 AS bigint) THEN 'ready' ELSE state END,
          why = CASE WHEN CAST($6 AS bigint) <= CAST($2 AS bigint) THEN '' ELSE why END
        WHERE id = $5 AND pages <= $1`;
      await write("volatile", sql, pages, rows, spent, seenAt, id, profiles);
      const ours = "SELECT 1 FROM console_exports WHERE id = $1 AND state = 'buying' AND turn = $2";
      return (await database.read(ours, id, turn)).length > 0;
    },

    async stopExport({ accountId, id }, why, turn = Number.MAX_SAFE_INTEGER) {
      const sql = `UPDATE console_exports SET state = 'stopped', why = $1
        WHERE account_id = $2 AND id = $3 AND state = 'buying' AND turn <= $4`;
      return (await write("durable", sql, why, accountId, id, turn)) > 0;
    },

    storedReply: (accountId, mode, call, key) =>
      one(
        `SELECT status, headers, body FROM idempotency
          WHERE account_id = $1 AND mode = $2 AND call = $3 AND key = $4
         AND status IS NOT NULL AND kept_until > $5`,
        replyOf,
        accountId,
        mode,
        call,
        key,
        now(),
      ),
  } satisfies Partial<ConsoleStore>;
}

const SEGMENTS = `SELECT s.id, s.account_id, s.mode, s.key_id, s.name, s.filters, s.segment,
  s.people,
    s.counted_at, s.created_at,
    COALESCE((SELECT k.origin FROM keys k WHERE k.id = s.key_id), s.key_id) AS origin,
    CAST(COALESCE(SUM(e.row_count), 0) AS bigint) AS bought, MAX(e.created_at) AS bought_at
  FROM console_segments s LEFT JOIN console_exports e
    ON e.account_id = s.account_id AND e.mode = s.mode AND e.segment = s.segment AND e.row_count > 0
  WHERE s.account_id = $1 AND s.mode = $2
  GROUP BY s.id, s.account_id, s.mode, s.key_id, s.name, s.filters, s.segment, s.people,
    s.counted_at, s.created_at
  ORDER BY s.created_at DESC, s.id LIMIT 200`;

function segmentsOf(database: LedgerDatabase) {
  const { one, write } = toolsOf(database);
  return {
    async saveSegment(segment) {
      // Sent twice it is one: its id is made of what it is.
      await database.change("durable", () => upsert("console_segments", segment, "id"));
    },

    segments: async ({ accountId, mode }) =>
      (await database.read(SEGMENTS, accountId, mode)).map(storedSegment),

    async removeSegment(accountId, id) {
      const sql = "DELETE FROM console_segments WHERE account_id = $1 AND id = $2";
      return (await write("durable", sql, accountId, id)) > 0;
    },

    async noteCount({ accountId, countedAt, mode, people, segment }) {
      const where = "account_id = $1 AND mode = $2 AND segment = $3";
      const sql = `SELECT 1 FROM console_segments WHERE ${where} LIMIT 1`;
      if ((await one(sql, () => true, accountId, mode, segment)) === undefined) return;
      const set = `UPDATE console_segments SET people = $4, counted_at = $5 WHERE ${where}`;
      await write("volatile", set, accountId, mode, segment, people, countedAt);
    },
  } satisfies Partial<ConsoleStore>;
}

function* redeem(hash: string, session: Omit<ConsoleSession, "accountId" | "role">) {
  const [link] = yield* statementRows(
    "SELECT account_id, role, name, expires_at, used_at FROM console_links WHERE hash = $1",
    hash,
  );
  if (link === undefined || Number(link.expires_at) <= session.createdAt) return undefined;

  const rights = { accountId: link.account_id as string, role: link.role as ConsoleRole };
  const id = link.name === "" ? session.id : `${link.name as string}-${session.id}`;
  const count = yield* change(
    "UPDATE console_links SET used_at = $1 WHERE hash = $2 AND used_at IS NULL",
    session.createdAt,
    hash,
  );

  // Taken by this very session: its first try was committed and the word of it was lost.
  if (count === 0) {
    const [again] = yield* statementRows("SELECT 1 FROM console_sessions WHERE id = $1", id);
    return again && rights;
  }

  yield* insert("console_sessions", { ...session, ...rights, id }, OR_NOTHING);

  const acted = {
    actor: `link ${hash.slice(0, 8)}`,
    action: "link.used",
    accountId: rights.accountId,
    target: id,
  };
  const changed = [["session", id] as const, ["link", hash] as const];
  yield* audit({ ...acted, changed, detail: { role: rights.role } }, session.createdAt);

  return rights;
}

function* addLink(
  { accountId, createdAt, expiresAt, hash, name, role }: ConsoleLink,
  by: string,
): Steps<void> {
  const row = { hash, accountId, role, name, createdAt, expiresAt };
  if ((yield* insert("console_links", row, "ON CONFLICT (hash) DO NOTHING")) === 0) return;
  const acted = { actor: by, action: "link.made", accountId, target: `link ${hash.slice(0, 8)}` };
  const changed = [["link", hash] as const];
  yield* audit({ ...acted, changed, detail: { role, name } }, createdAt);
}

const PAGE_IN_FLIGHT = `SELECT amount FROM holds
  WHERE state = 'pending' AND account_id = $1 AND mode = $2 AND idempotency_key = $3`;

/** What is being bought first: it needs money, however many were asked for since. */
const exportsSql = (state?: ConsoleExport["state"]): string =>
  `SELECT ${EXPORT_COLUMNS} FROM console_exports WHERE account_id = $1 AND mode = $2
    ${state === undefined ? "" : `AND state = '${state}'`}
    ORDER BY state <> 'buying', created_at DESC, id LIMIT 200`;

/** Under the lock of the balance: of two at once the second sees the first. */
function* enterExport(
  item: ConsoleExport,
  assertFree: (now: Standing) => void,
  { lock, repeated }: { readonly lock: string; readonly repeated: boolean },
): Steps<boolean> {
  const { onlyNew, rows: rowCount, ...row } = item;
  const { accountId, createdAt, id, keyId, mode, price, profiles, seenAt, turn } = item;
  const sql =
    "SELECT p.account_id, p.mode, p.balance, p.held FROM balances p " +
    `WHERE p.account_id = $1 AND p.mode = $2${lock}`;
  const [money] = yield* statementRows(sql, accountId, mode);
  if (money === undefined) throw new UnknownAccountError(accountId);

  const [before] = yield* statementRows(
    "SELECT pages, turn FROM console_exports WHERE id = $1",
    id,
  );
  const last = before === undefined ? -1 : Number(before.turn);
  if (last !== turn - 1) return repeated && last === turn;

  const [key] = yield* statementRows(`${KEY_DETAILS} WHERE k.id = $1`, keyId);
  const others = (yield* statementRows(exportsSql(), accountId, mode))
    .map(storedExport)
    .filter((one) => one.id !== id);
  const [own] = yield* statementRows(
    PAGE_IN_FLIGHT,
    accountId,
    mode,
    pageKey(item, Number(before?.pages ?? 0)),
  );

  const without = ({ held }: { readonly held: Credits }) => ({
    held: credits(held - ((own?.amount ?? 0n) as bigint)),
  });

  const [{ balance, ...all }, budget] = [moneyOf(money), key && keyDetail(key).budget];
  assertFree({
    balance,
    ...without(all),
    budget: budget && { ...budget, ...without(budget) },
    exports: others,
  });

  if (turn > 0) {
    const sql = `UPDATE console_exports SET state = 'buying', why = '', price = $1, seen_at = $2,
      turn = $3
      WHERE id = $4 AND state <> 'ready'`;
    return (yield* change(sql, price, seenAt, turn, id)) > 0;
  }

  yield* insert("console_exports", { ...row, rowCount, onlyNew: Number(onlyNew) });
  yield* audit(
    { actor: keyId, action: "export.bought", accountId, target: id, detail: { mode, profiles } },
    createdAt,
  );

  return true;
}

function* addSession(session: ConsoleSession): Steps<void> {
  const { accountId, createdAt, id, role } = session;
  if ((yield* insert("console_sessions", session, OR_NOTHING)) === 0) return;
  const acted = {
    actor: `console:${id} (${role})`,
    action: "session.begun",
    accountId,
    target: id,
  };
  yield* audit({ ...acted, changed: [["session", id]], detail: { role } }, createdAt);
}

function* endSession(id: string, actor: string, at: number): Steps<boolean> {
  const ended = yield* change(
    "UPDATE console_sessions SET ended_at = $1 WHERE id = $2 AND ended_at IS NULL",
    at,
    id,
  );
  if (ended === 0) return false;

  const [row] = yield* statementRows(
    "SELECT account_id, role FROM console_sessions WHERE id = $1",
    id,
  );
  const acted = {
    actor,
    action: "session.ended",
    accountId: row?.account_id as string,
    target: id,
  };

  yield* audit({ ...acted, changed: [["session", id]], detail: { role: row?.role } }, at);
  return true;
}

const storedSession = (row: Row): ConsoleSession =>
  storedFields(row, ["createdAt", "seenAt", "expiresAt"]);

const EXPORT_NUMBERS = [
  "profiles",
  "perPage",
  "createdAt",
  "pages",
  "rows",
  "seenAt",
  "turn",
  "keptUntil",
  "onlyNew",
];

function storedExport(row: Row): StoredExport {
  const item = storedFields<StoredExport>(row, EXPORT_NUMBERS);
  return { ...item, onlyNew: Boolean(item.onlyNew) };
}

const storedSegment = (row: Row): StoredSegment =>
  storedFields(row, ["people", "countedAt", "createdAt", "bought", "boughtAt"]);
