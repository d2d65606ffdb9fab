import type { PoolClient } from "pg";
import { credits } from "../../contract/money.ts";
import { utcDay } from "./clock.ts";
import { type KeyMode, LedgerInvariantError, UnknownAccountError } from "./ledger.ts";
import {
  type HoldRow,
  type IdempotencyRow,
  type MoneyJob,
  recordKey,
  refundOf,
  type Snapshot,
  type Writes,
} from "./postgres-batch.ts";
import { OWNER_COLUMNS, type PostgresInstances } from "./postgres-instances.ts";
import { holdTerms, type Row, storedReply } from "./rows.ts";

export interface SnapshotSource {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly jobs: readonly MoneyJob[];
  readonly instances: PostgresInstances;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Locks the account and reads what the jobs need to know. */
export async function readSnapshot(client: PoolClient, source: SnapshotSource): Promise<Snapshot> {
  const { accountId, mode, jobs, instances } = source;
  const locked = await client.query<Row>(
    "SELECT balance, held FROM balances WHERE account_id = $1 AND mode = $2 FOR UPDATE",
    [accountId, mode],
  );
  const [money] = locked.rows;
  if (money === undefined) throw new UnknownAccountError(accountId);
  const holdIds: string[] = [];
  const calls: string[] = [];
  const keys: string[] = [];
  const operations: string[] = [];
  for (const { request, doubtful } of jobs) {
    if (request.kind === "settle") holdIds.push(request.settlement.holdId);
    else if (request.kind === "release") {
      holdIds.push(request.holdId);
      if (request.refund) operations.push(refundOf(request.holdId));
    } else if (request.kind === "grant") {
      if (doubtful !== undefined) operations.push(request.operation);
    } else {
      if (doubtful !== undefined) holdIds.push(request.holdId);
      if (request.request.idempotency !== undefined) {
        calls.push(request.request.call);
        keys.push(request.request.idempotency.key);
      }
    }
  }
  const records = new Map<string, IdempotencyRow>();
  if (keys.length > 0) {
    const found = await client.query<Row>(
      `SELECT r.call, r.key, r.request_hash, r.state, r.hold_id, r.created_at, r.status, r.headers, r.body, h.owner,
           ${OWNER_COLUMNS}
         FROM idempotency r JOIN holds h ON h.id = r.hold_id LEFT JOIN instances i ON i.id = h.owner
         WHERE r.account_id = $1 AND r.mode = $2 AND (r.call, r.key) IN (SELECT * FROM unnest($3::text[], $4::text[]))`,
      [accountId, mode, calls, keys],
    );
    for (const row of found.rows) {
      const record = idempotencyRow(row, instances.isAlive(row));
      records.set(recordKey(record.call, record.key), record);
      if (record.state === "in_flight" && !record.ownerAlive) holdIds.push(record.holdId);
    }
  }
  const holds = new Map<string, HoldRow>();
  if (holdIds.length > 0) {
    const found = await client.query<Row>(
      "SELECT id, call, amount, state, posted, idempotency_key FROM holds WHERE id = ANY($1) AND account_id = $2 AND mode = $3",
      [holdIds, accountId, mode],
    );
    for (const row of found.rows) {
      holds.set(row.id as string, {
        id: row.id as string,
        ...holdTerms(row),
        state: row.state as HoldRow["state"],
        posted: row.posted === null ? null : credits(row.posted as bigint),
      });
    }
  }
  const done = new Set<string>();
  if (operations.length > 0) {
    const found = await client.query<Row>("SELECT operation FROM entries WHERE operation = ANY($1)", [operations]);
    for (const row of found.rows) done.add(row.operation as string);
  }
  const [balance, held] = [credits(money.balance as bigint), credits(money.held as bigint)];
  return { accountId, mode, now: source.now(), balance, held, holds, records, operations: done };
}

export interface WrittenGroup {
  readonly snapshot: Snapshot;
  readonly writes: Writes;
  readonly moneyChanged: boolean;
  /** The instance whose holds are written. */
  readonly owner: string;
}

/** A statement for each table, however many jobs there are. */
export async function writeGroup(client: PoolClient, group: WrittenGroup): Promise<void> {
  const { snapshot, writes, moneyChanged, owner } = group;
  const { accountId, mode, now } = snapshot;
  if (writes.forgotten.length > 0) {
    await client.query("DELETE FROM idempotency WHERE hold_id = ANY($1)", [writes.forgotten]);
  }
  if (moneyChanged) {
    await client.query("UPDATE balances SET balance = $3, held = $4 WHERE account_id = $1 AND mode = $2", [
      accountId,
      mode,
      snapshot.balance,
      snapshot.held,
    ]);
  }
  if (writes.holds.length > 0) {
    const { holds } = writes;
    await client.query(
      `INSERT INTO holds (account_id, mode, state, owner, created_at, id, key_id, call, amount, request_id, idempotency_key)
         SELECT $1, $2, 'pending', $3, $4::bigint, * FROM
           unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])`,
      [
        accountId,
        mode,
        owner,
        now,
        holds.map(({ id }) => id),
        holds.map(({ request }) => request.keyId),
        holds.map(({ request }) => request.call),
        holds.map(({ request }) => request.amount),
        holds.map(({ request }) => request.requestId),
        holds.map(({ request }) => request.idempotency?.key ?? null),
      ],
    );
  }
  if (writes.resolved.length > 0) {
    const { resolved } = writes;
    const { rowCount } = await client.query(
      `UPDATE holds h SET state = v.state, posted = v.posted, resolved_at = $4
         FROM unnest($1::text[], $2::text[], $3::bigint[]) AS v (id, state, posted)
         WHERE h.id = v.id AND h.state = 'pending'`,
      [resolved.map(({ id }) => id), resolved.map(({ state }) => state), resolved.map(({ posted }) => posted), now],
    );
    if (rowCount !== resolved.length) {
      throw new LedgerInvariantError(`${resolved.length} holds were to be resolved, ${rowCount} were pending`);
    }
  }
  if (writes.entries.length > 0) {
    const { entries } = writes;
    await client.query(
      `INSERT INTO entries (account_id, mode, day, created_at, kind, amount, balance_after, hold_id, operation, note)
         SELECT $1, $2, $3, $4::bigint, kind, amount, balance_after, hold_id, operation, note FROM
           unnest($5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[]) WITH ORDINALITY
           AS v (kind, amount, balance_after, hold_id, operation, note, position) ORDER BY position`,
      [
        accountId,
        mode,
        utcDay(now),
        now,
        entries.map(({ kind }) => kind),
        entries.map(({ amount }) => amount),
        entries.map(({ balanceAfter }) => balanceAfter),
        entries.map(({ holdId }) => holdId),
        entries.map(({ operation }) => operation),
        entries.map(({ note }) => note),
      ],
    );
  }
  if (writes.records.length > 0) {
    const { records } = writes;
    await client.query(
      `INSERT INTO idempotency (account_id, mode, state, created_at, call, key, request_hash, hold_id)
         SELECT $1, $2, 'in_flight', $3::bigint, * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[])`,
      [
        accountId,
        mode,
        now,
        records.map(({ request }) => request.call),
        records.map(({ request }) => request.idempotency?.key),
        records.map(({ request }) => request.idempotency?.requestHash),
        records.map(({ id }) => id),
      ],
    );
  }
  if (writes.replies.length > 0) {
    const { replies } = writes;
    const { rowCount } = await client.query(
      `UPDATE idempotency r SET state = 'stored', created_at = $5, status = v.status, headers = v.headers, body = v.body
         FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[]) AS v (hold_id, status, headers, body)
         WHERE r.hold_id = v.hold_id AND r.state = 'in_flight'`,
      [
        replies.map(({ holdId }) => holdId),
        replies.map(({ reply }) => reply.status),
        replies.map(({ reply }) => JSON.stringify(reply.headers)),
        replies.map(({ reply }) => reply.body),
        now,
      ],
    );
    if (rowCount !== replies.length) throw new LedgerInvariantError("a hold has lost its idempotency record");
  }
  if (writes.charged > 0n) {
    await client.query(
      `INSERT INTO usage_days (account_id, mode, day, charged) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id, mode, day) DO UPDATE SET charged = usage_days.charged + excluded.charged`,
      [accountId, mode, utcDay(now), writes.charged],
    );
  }
}

function idempotencyRow(row: Row, ownerAlive: boolean): IdempotencyRow {
  const state = row.state as IdempotencyRow["state"];
  return {
    call: row.call as string,
    key: row.key as string,
    requestHash: row.request_hash as string,
    state,
    holdId: row.hold_id as string,
    createdAt: Number(row.created_at),
    ownerAlive,
    reply: state === "stored" ? storedReply(row) : undefined,
  };
}
