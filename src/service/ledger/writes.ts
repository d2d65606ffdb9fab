import { formatCredits } from "../../shared/contract/money.ts";
import {
  type Acted,
  audit,
  ENTRY_COLUMNS,
  entryLink,
  HOLD_COLUMNS,
  heldDigest,
  referenceOf,
  replyDigest,
  resolvedDigest,
} from "./chain/links.ts";
import { utcDay } from "./clock.ts";
import { type SqlType, type Steps, tupled } from "./database.ts";
import { LedgerInvariantError } from "./errors.ts";
import { type Entry, type GroupOptions, type Links, placeKey, type Writes } from "./facts.ts";
import { writeOwned } from "./marks.ts";

const ENTRY_TYPES: readonly SqlType[] = [
  "text",
  "text",
  "text",
  "bigint",
  "bigint",
  "id",
  "id",
  "text",
  "text",
  "text",
  "bigint",
  "text",
  "bigint",
  "bigint",
  "text",
];

/** Of a call without a key no reply is kept. */
const UNKEPT = [null, null];

/** Writes what was decided, chained to what is there: a statement for each table. */
export function* writeGroup(
  writes: Writes,
  links: Links,
  { instances, now }: GroupOptions,
): Steps<void> {
  yield* tupled(
    "DELETE FROM idempotency WHERE hold_id IN (VALUES %)",
    ["id"],
    writes.forgotten.map((id) => [id]),
  );

  yield* writeHolds(writes, { instances, now });
  const replies = writes.replies.map(({ holdId, keptUntil, reply: { body, headers, status } }) => {
    const values = [status, JSON.stringify(headers), body];
    return [
      holdId,
      ...values,
      now,
      keptUntil,
      replyDigest([links.requests.get(holdId) ?? "", ...values]),
    ] as const;
  });

  // What a hold keeps of its reply: the digest, and until when.
  const replied = new Map(replies.map((row) => [row[0], [row[6], row[5]]]));
  const { changed: resolved } = yield* tupled(
    `WITH v (id, state, posted, resolved_at, reply, kept_until, digest) AS (VALUES %)
     UPDATE holds SET state = v.state, posted = v.posted, resolved_at = v.resolved_at,
       reply = v.reply, kept_until = v.kept_until, digest = v.digest
     FROM v WHERE holds.id = v.id AND holds.state = 'pending'`,
    ["id", "text", "bigint", "bigint", "text", "bigint", "text"],
    writes.resolved.map(({ id, posted, state }) => {
      const values = [state, posted, now, ...(replied.get(id) ?? UNKEPT)];
      return [id, ...values, resolvedDigest(links.holds.get(id) ?? "", values)];
    }),
  );
  if (resolved !== writes.resolved.length) {
    throw new LedgerInvariantError(
      `${writes.resolved.length} holds were to be resolved, ${resolved} were pending`,
    );
  }

  const heads = yield* writeEntries(writes.entries, links, replied, now);
  const { changed: stored } = yield* tupled(
    `WITH v (hold_id, status, headers, body, created_at, kept_until, digest) AS (VALUES %)
     UPDATE idempotency SET status = v.status, headers = v.headers, body = v.body,
       created_at = v.created_at,
       kept_until = v.kept_until, digest = v.digest
     FROM v WHERE idempotency.hold_id = v.hold_id AND idempotency.status IS NULL`,
    ["id", "integer", "text", "utf8", "bigint", "bigint", "text"],
    replies,
  );
  if (stored !== replies.length)
    throw new LedgerInvariantError("a hold has lost its idempotency record");

  yield* writeOwned(writes);
  yield* writeFigures(writes, heads);
}

function* writeFigures(
  { budgets, money }: Writes,
  heads: ReadonlyMap<string, string>,
): Steps<void> {
  for (const { accountId, balance, held, mode } of money) {
    const head = heads.get(placeKey({ accountId, mode })) ?? "";
    yield {
      sql:
        "UPDATE balances SET balance = $1, held = $2, " +
        "head = $3 WHERE account_id = $4 AND mode = $5",
      values: [balance, held, head, accountId, mode],
    };
  }

  for (const { held, origin, spent } of budgets) {
    yield {
      sql: "UPDATE budgets SET spent = $1, held = $2 WHERE key_id = $3",
      values: [spent, held, origin],
    };
  }
}

/** Holds that begin, and that their keys are taken. */
function* writeHolds(
  writes: Writes,
  { instances, now }: Pick<GroupOptions, "instances" | "now">,
): Steps<void> {
  yield* tupled(
    `INSERT INTO holds (${HOLD_COLUMNS.join(", ")}, digest, ` +
      "state) SELECT v.*, 'pending' FROM (VALUES %) AS v",
    ["id", "text", "text", "text", "text", "bigint", "text", "text", "text", "bigint", "text"],
    writes.holds.map(({ id, request }) => {
      const { accountId, amount, call, idempotency, keyId, mode, requestId } = request;
      const key = idempotency?.key ?? null;
      const values = [id, accountId, mode, keyId, call, amount, requestId, key, instances.id, now];
      return [...values, heldDigest(values)];
    }),
  );

  yield* tupled(
    `INSERT INTO idempotency (account_id, mode, call, key, request_hash, hold_id, created_at,
      kept_until, digest)
     SELECT v.* FROM (VALUES %) AS v`,
    ["text", "text", "text", "text", "text", "id", "bigint", "bigint", "text"],
    writes.records.map(({ id, request: { accountId, call, idempotency, mode } }) => {
      const digest = replyDigest([idempotency?.requestHash ?? "", null, null, null]);
      const { key, requestHash } = idempotency ?? {};
      return [accountId, mode, call, key, requestHash, id, now, now, digest];
    }),
  );
}

/** What the keys of an account spent in a day, by call. */
function* writeUsage(entries: readonly Entry[], day: string): Steps<void> {
  const used = new Map<string, unknown[]>();
  for (const { accountId, amount, kind, mode, sold, used: by } of entries) {
    if (by === null) continue;

    const id = [accountId, mode, by.keyId, by.call].join(" ");
    const sums = used.get(id) ?? [accountId, mode, day, by.keyId, by.call, 0, 0, 0n, 0n];
    const [calls, rows, charged, refunded] = sums.slice(5) as [
      number,
      number | null,
      bigint,
      bigint,
    ];

    const counted =
      kind === "charge"
        ? [
            calls + 1,
            rows === null || sold === null ? null : rows + sold,
            charged - amount,
            refunded,
          ]
        : [calls, rows, charged, refunded + amount];

    used.set(id, [...sums.slice(0, 5), ...counted]);
  }

  yield* tupled(
    `INSERT INTO usage (account_id, mode, day, key_id, call, calls, sold, charged, refunded)
      VALUES %
     ON CONFLICT (account_id, mode, day, key_id, call)
       DO UPDATE SET calls = usage.calls + excluded.calls,
       sold = usage.sold + excluded.sold, charged = usage.charged + excluded.charged,
       refunded = usage.refunded + excluded.refunded`,
    ["text", "text", "text", "text", "text", "bigint", "bigint", "bigint", "bigint"],
    [...used.values()],
  );
}

function* writeEntries(
  entries: readonly Entry[],
  links: Links,
  replies: ReadonlyMap<string, readonly unknown[]>,
  now: number,
): Steps<ReadonlyMap<string, string>> {
  const day = utcDay(now);
  const heads = new Map(links.heads);
  yield* tupled(
    `INSERT INTO entries (${ENTRY_COLUMNS.join(", ")}, chain) VALUES %`,
    ENTRY_TYPES,
    entries.map((entry) => {
      const { accountId, amount, holdId, kind, mode } = entry;
      const rest = [
        entry.refundOf,
        entry.operation,
        entry.note,
        day,
        now,
        entry.actor,
        entry.price,
        entry.sold,
      ];

      const values = [accountId, mode, kind, amount, entry.balanceAfter, holdId, ...rest];
      const place = placeKey(entry);
      const hold = holdId === null ? null : (links.holds.get(holdId) ?? null);
      const reply = replies.get(holdId ?? "") ?? UNKEPT;
      const link = entryLink(heads.get(place) ?? "", values, [hold, ...reply]);
      heads.set(place, link);

      return [...values, link];
    }),
  );

  yield* writeUsage(entries, day);

  const acts = entries.filter(({ kind }) => kind !== "charge").map((entry) => actOf(entry));
  for (const act of acts) yield* audit(act, now);

  return heads;
}

const actOf = ({
  accountId,
  actor,
  amount,
  kind,
  mode,
  note,
  operation,
  refundOf,
}: Entry): Acted => ({
  actor,
  action: ACTIONS[kind] ?? kind,
  accountId,
  target: refundOf === null ? accountId : `hold ${refundOf}`,
  detail: { mode, credits: formatCredits(amount), note, ...referenceField(operation) },
});

const referenceField = (operation: string | null) => {
  const reference = referenceOf(operation);
  return reference === null ? {} : { reference };
};

const ACTIONS: Readonly<Record<string, string>> = {
  grant: "credits.add",
  correction: "credits.remove",
  refund: "credits.refund",
};
