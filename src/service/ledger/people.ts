import { audit, replyDigest } from "./chain/links.ts";
import { change, replyOf, type Steps, storedFields } from "./database.ts";
import type { LedgerDatabase } from "./facts.ts";
import type { KeptFilters, KeptReply, PeopleStore, StoredReply } from "./records.ts";

/** Replies of a thousand people are half a megabyte. */
const REPLIES_AT_ONCE = 16;

const REPLIES = `SELECT hold_id, account_id, mode, call, key, request_hash, created_at, status, headers, body, digest
  FROM idempotency WHERE state = 'stored'`;

interface Found {
  readonly holdId: unknown;
  readonly requestHash: string;
  readonly digest: string;
  readonly kept: KeptReply;
}

export function peopleStore(database: LedgerDatabase, now: () => number): PeopleStore {
  async function* found(): AsyncGenerator<Found> {
    for (let last: unknown; ; ) {
      const after = last === undefined ? "" : " AND hold_id > $1";
      const sql = `${REPLIES}${after} ORDER BY hold_id LIMIT ${REPLIES_AT_ONCE}`;
      const rows = await database.read(sql, ...(last === undefined ? [] : [last]));
      for (const row of rows) {
        const { account_id: accountId, call, key, mode } = row as Record<string, string>;
        const kept = {
          accountId,
          mode,
          call,
          key,
          createdAt: Number(row.created_at),
          reply: replyOf(row),
        } as KeptReply;
        yield { holdId: row.hold_id, requestHash: row.request_hash as string, digest: row.digest as string, kept };
      }
      if (rows.length < REPLIES_AT_ONCE) return;
      last = rows.at(-1)?.hold_id;
    }
  }
  return {
    async *replies() {
      for await (const { kept } of found()) yield kept;
    },
    async filters() {
      const rows = await database.read("SELECT account_id, id, filters FROM console_exports ORDER BY id");
      return rows.map((row) => storedFields<KeptFilters>(row, []));
    },
    async rewrite(make) {
      let rewritten = 0;
      for await (const old of found()) {
        const reply = make(old.kept);
        if (reply !== undefined) rewritten += await database.change("durable", () => replace(old, reply));
      }
      return rewritten;
    },
    removeFilters: (these) => database.change("durable", () => remove(these)),
    note: (detail, by) =>
      database.change("durable", () => {
        return audit({ actor: by, action: "people.forget", accountId: null, target: "a person", detail }, now());
      }),
    wipe: () => database.wipe(["idempotency", "console_exports"]),
  };
}

/** Only where it is still what was read. The digest of what was settled stays with the hold, and in the chain. */
function* replace({ digest, holdId, requestHash }: Found, { body, headers, status }: StoredReply): Steps<number> {
  const values = [status, JSON.stringify(headers), body.toString()];
  return yield* change(
    "UPDATE idempotency SET status = $1, headers = $2, body = $3, digest = $4 WHERE hold_id = $5 AND digest = $6",
    ...[...values, replyDigest([requestHash, ...values]), holdId, digest],
  );
}

function* remove(these: readonly KeptFilters[]): Steps<void> {
  for (const { filters, id } of these) {
    yield* change("DELETE FROM console_exports WHERE id = $1 AND filters = $2", id, filters);
  }
}
