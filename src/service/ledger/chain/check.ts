import { jsonIn } from "../../../shared/contract/text.ts";
import {
  type ChainEnd,
  type ChainEnds,
  inPages,
  type LedgerEnds,
  type Row,
  type Steps,
  statementRows,
} from "../database.ts";
import { TWINS, twinOf } from "../schema.ts";
import {
  AUDIT_COLUMNS,
  auditLink,
  auditStateOf,
  digestOf,
  ENTRY_ROWS,
  HOLD_COLUMNS,
  holdDigest,
  linkOf,
  REPLY_COLUMNS,
  RESOLVED_COLUMNS,
  replyDigest,
  THINGS,
  valuesOf,
} from "./links.ts";

type Breaches = string[];

export function* verifyChain(): Steps<readonly string[]> {
  const breaches: Breaches = [];
  yield* checkHolds(breaches);
  yield* checkReplies(breaches);
  yield* checkEntries(breaches);
  yield* checkAudit(breaches);

  for (const [table, columns] of Object.entries(TWINS)) {
    for (const row of yield* statementRows(
      `SELECT ${columns[0]} AS id FROM ${table} WHERE twin <> ${twinOf(columns)}`,
    )) {
      breaches.push(`I14: the row ${String(row.id)} of ${table} is not what was written`);
    }
  }

  return breaches;
}

/** One digest for all that the ledger says now: no two histories have the same. */
export function* headOf(): Steps<string> {
  const rows = yield* statementRows("SELECT account_id, mode, head FROM balances");
  const heads = rows
    .map((row) => `${String(row.account_id)} ${String(row.mode)} ${String(row.head)}`)
    .sort();
  const [last] = yield* statementRows("SELECT head FROM chains WHERE name = 'audit'");
  return digestOf(String(last?.head), ...heads);
}

const CHAIN_ROWS = {
  entry: "SELECT id, chain AS link FROM entries",
  act: "SELECT id, digest AS link FROM audit",
} as const;

export function* endsOf(): Steps<LedgerEnds> {
  const [first] = yield* statementRows("SELECT digest FROM audit ORDER BY id LIMIT 1");
  const ledger = String(first?.digest);
  return { head: yield* headOf(), ledger, ...(yield* chainEnds()) };
}

export function* chainEnds(): Steps<ChainEnds> {
  return { entry: yield* chainEnd("entry"), act: yield* chainEnd("act") };
}

/**
 * What of `known` is not in this ledger, as `entry 17`: undefined where all is, and so this ledger
 * is the one that ended there, as it was or as it went on.
 */
export function* lackedOf(known: ChainEnds): Steps<string | undefined> {
  for (const kind of ["entry", "act"] as const) {
    const end = known[kind];
    if (end === null) continue;
    const row = yield* chainEnd(kind, end.id);
    if (row?.link !== end.link) return `${kind} ${end.id}`;
  }

  return undefined;
}

/** @param id of which row; without one the last */
function* chainEnd(kind: keyof typeof CHAIN_ROWS, id?: string): Steps<ChainEnd | null> {
  const [row] = yield* id === undefined
    ? statementRows(`${CHAIN_ROWS[kind]} ORDER BY id DESC LIMIT 1`)
    : statementRows(`${CHAIN_ROWS[kind]} WHERE id = $1`, BigInt(id));
  return row === undefined ? null : { id: String(row.id), link: String(row.link) };
}

function* checkHolds(breaches: Breaches): Steps<void> {
  yield* inPages(
    `SELECT ${[...HOLD_COLUMNS, ...RESOLVED_COLUMNS].join(", ")}, digest FROM holds`,
    (rows) => {
      for (const row of rows) {
        if (holdDigest(row) !== row.digest)
          breaches.push(`I14: hold ${String(row.id)} is not what was written`);
      }
    },
  );
}

const REPLIES = `SELECT i.hold_id AS id, ${REPLY_COLUMNS.map((column) => `i.${column}`).join(", ")},
  i.digest, h.reply
  FROM idempotency i LEFT JOIN holds h ON h.id = i.hold_id`;

function* checkReplies(breaches: Breaches): Steps<void> {
  yield* inPages(REPLIES, (rows) => {
    for (const row of rows) {
      const which = `the stored reply of hold ${String(row.id)}`;
      if (replyDigest(valuesOf(row, REPLY_COLUMNS)) !== row.digest)
        breaches.push(`I14: ${which} is not what was written`);
      else if (row.status !== null && row.digest !== row.reply && !isRewritten(row)) {
        breaches.push(`I17: ${which} is not the one that was settled`);
      }
    }
  });
}

/** A person was forgotten since: the reply says so, and what was settled stays with the hold. */
export const isRewritten = ({ headers }: Row): boolean =>
  Object.hasOwn(JSON.parse(headers as string) as object, "x-suppressed-count");

function* checkEntries(breaches: Breaches): Steps<void> {
  const heads = new Map<string, string>();
  yield* inPages(ENTRY_ROWS, (rows) => {
    for (const row of rows) {
      const place = placeName(row);
      if (linkOf(heads.get(place) ?? "", row) !== row.chain) {
        breaches.push(
          `I17: entry ${String(row.id)} (${String(row.kind)}) of ` +
            `${place} does not follow from what is before it`,
        );
      }
      // From what it says on: what comes after it is judged by itself.
      heads.set(place, row.chain as string);
    }
  });

  for (const row of yield* statementRows("SELECT account_id, mode, head FROM balances")) {
    const place = placeName(row);
    if ((heads.get(place) ?? "") === row.head) continue;
    breaches.push(
      `I17: the entries of ${place} do not end where its balance says: ` +
        "the last ones are missing, or not its own",
    );
  }
}

export const placeName = (row: Row): string => `${String(row.account_id)} (${String(row.mode)})`;

function* checkAudit(breaches: Breaches): Steps<void> {
  let head = "";
  const states = new Map<string, unknown>();
  yield* inPages(`SELECT id, ${AUDIT_COLUMNS.join(", ")}, digest FROM audit`, (rows) => {
    for (const row of rows) {
      const link = auditLink(head, valuesOf(row, AUDIT_COLUMNS));
      if (link !== row.digest) {
        breaches.push(
          `I17: row ${String(row.id)} of the audit does not follow from what is before it`,
        );
      }
      head = row.digest as string;
      for (const [thing, state] of statesOf(row)) states.set(thing, state);
    }
  });

  const [last] = yield* statementRows("SELECT head FROM chains WHERE name = 'audit'");
  if (last?.head !== head)
    breaches.push("I17: the audit does not end where its chain does: its last rows are missing");
  yield* checkThings(states, breaches);
}

export function statesOf(row: Row): readonly (readonly [string, unknown])[] {
  // Of what is damaged its link has told already.
  return Object.entries(jsonIn(row.states as string) ?? {});
}

function* checkThings(states: Map<string, unknown>, breaches: Breaches): Steps<void> {
  for (const [kind, sql] of Object.entries(THINGS)) {
    yield* inPages(sql, (rows) => {
      for (const row of rows) {
        const thing = `${kind} ${String(row.id)}`;
        if (auditStateOf(row) !== states.get(thing))
          breaches.push(`I17: the ${thing} is not what the audit last made of it`);
        states.delete(thing);
      }
    });
  }

  for (const [thing, state] of states) {
    if (state !== null) breaches.push(`I17: the ${thing} is gone, and no act removed it`);
  }
}

const SUMS = `SELECT e.account_id, e.mode, e.day, h.key_id, h.call,
  SUM(CASE WHEN e.kind = 'charge' THEN 1 ELSE 0 END) AS calls,
    SUM(CASE WHEN e.kind = 'charge' THEN -e.amount ELSE 0 END) AS charged,
    SUM(CASE WHEN e.kind = 'refund' THEN e.amount ELSE 0 END) AS refunded,
    CASE WHEN COUNT(CASE WHEN e.kind = 'charge' AND e.sold IS NULL THEN 1 END) = 0
      THEN SUM(CASE WHEN e.kind = 'charge' THEN e.sold ELSE 0 END) END AS sold
  FROM entries e JOIN holds h ON h.id = COALESCE(e.hold_id, e.refund_of)
    GROUP BY e.account_id, e.mode, e.day, h.key_id, h.call`;
const SAME =
  "s.account_id = u.account_id AND s.mode = u.mode AND s.day = " +
  "u.day AND s.key_id = u.key_id AND s.call = u.call";
const SPENT = `SELECT COALESCE(k.origin, k.id) AS origin, -SUM(e.amount) AS total FROM entries e
  JOIN holds h ON h.id = COALESCE(e.hold_id, e.refund_of) JOIN keys k ON k.id = h.key_id
  GROUP BY COALESCE(k.origin, k.id)`;
const HELD = `SELECT COALESCE(k.origin, k.id) AS origin, SUM(h.amount) AS total FROM holds h
  JOIN keys k ON k.id = h.key_id
  WHERE h.state = 'pending' GROUP BY COALESCE(k.origin, k.id)`;

/**
 * A reply goes when its time is over, and not before: a repeat of its call would be charged. Less
 * an hour: who removed it may have another clock, or one that was set since.
 */
const GONE_REPLIES = `SELECT 'I7: the stored reply of hold ' || h.id || ' is gone before its time'
  FROM holds h LEFT JOIN idempotency i ON i.hold_id = h.id
  WHERE h.kept_until - 3600000 > $1 AND i.hold_id IS NULL`;

/**
 * One row, with one sentence, for each breach;
 * recomputed from entries and holds. For both databases.
 */
const INVARIANTS: readonly string[] = [
  `SELECT 'I1: balance of ' || b.account_id || ' (' || b.mode || ') is ' || b.balance
    || ' millionths, its entries sum to '
     || COALESCE(SUM(e.amount), 0)
   FROM balances b LEFT JOIN entries e ON e.account_id = b.account_id AND e.mode = b.mode
   GROUP BY b.account_id, b.mode, b.balance HAVING b.balance <> COALESCE(SUM(e.amount), 0)`,
  `SELECT 'I1: entry ' || e.id || ' belongs to ' || e.account_id || ' (' || e.mode
    || '), which has no balance'
   FROM entries e LEFT JOIN balances b ON b.account_id = e.account_id AND b.mode = e.mode
     WHERE b.account_id IS NULL`,
  `SELECT 'I1: entry ' || id || ' says the balance after it is ' || balance_after
    || ', the entries up to it sum to ' || total
   FROM (SELECT id, balance_after,
     SUM(amount) OVER (PARTITION BY account_id, mode ORDER BY id) AS total FROM entries) AS sums
   WHERE balance_after <> total`,
  `SELECT 'I2: ' || account_id || ' (' || mode || ') holds ' || held || ' of a balance of '
    || balance
   FROM balances WHERE held < 0 OR held > balance`,
  `SELECT 'I2: ' || b.account_id || ' (' || b.mode || ') has ' || b.held
    || ' held, its pending holds sum to '
     || COALESCE(SUM(h.amount), 0)
   FROM balances b LEFT JOIN holds h ON h.account_id = b.account_id AND h.mode = b.mode
     AND h.state = 'pending'
   GROUP BY b.account_id, b.mode, b.held HAVING b.held <> COALESCE(SUM(h.amount), 0)`,
  `SELECT 'I3: hold ' || id || ' reserved ' || amount || ' and was posted with ' || posted
   FROM holds WHERE posted IS NOT NULL AND (posted > amount OR posted < 0)`,
  `SELECT 'I3: hold ' || id || ' is ' || state || ' but ' ||
     CASE WHEN resolved_at IS NULL THEN 'has no time of resolution' ELSE 'was resolved' END
   FROM holds WHERE (state = 'pending') <> (resolved_at IS NULL)`,
  `SELECT 'I3: hold ' || id || ' is ' || state || ' but ' || CASE WHEN posted IS NULL THEN 'has no'
    ELSE 'has a' END || ' charge'
   FROM holds WHERE (state = 'posted') <> (posted IS NOT NULL)`,
  `SELECT 'I3: hold ' || h.id || ' was posted with ' || h.posted || ', its entries charge '
    || COALESCE(-SUM(e.amount), 0)
     || ' in ' || COUNT(e.id)
   FROM holds h LEFT JOIN entries e ON e.hold_id = h.id AND e.kind = 'charge'
     AND e.account_id = h.account_id AND e.mode = h.mode
   WHERE h.state = 'posted' GROUP BY h.id, h.posted
   HAVING h.posted <> COALESCE(-SUM(e.amount), 0) OR COUNT(e.id) > 1
     OR (h.posted > 0 AND COUNT(e.id) <> 1)`,
  `SELECT 'I3: entry ' || e.id || ' is a charge without a posted hold'
   FROM entries e LEFT JOIN holds h ON h.id = e.hold_id AND h.state = 'posted'
     WHERE e.kind = 'charge' AND h.id IS NULL`,
  `SELECT 'I7: a stored reply of ' || i.account_id || ' belongs to hold ' || i.hold_id
    || ', which is '
     || COALESCE(h.state, 'missing')
   FROM idempotency i LEFT JOIN holds h ON h.id = i.hold_id
   WHERE i.status IS NOT NULL AND (h.state IS NULL OR h.state <> 'posted')`,
  `SELECT 'I7: a call in flight of ' || i.account_id || ' belongs to hold ' || i.hold_id
    || ', which is '
     || COALESCE(h.state, 'missing')
   FROM idempotency i LEFT JOIN holds h ON h.id = i.hold_id
   WHERE i.status IS NULL AND (h.state IS NULL OR h.state <> 'pending')`,
  `SELECT 'I3: entry ' || e.id || ' and its hold ' || h.id || ' tell of another call or time'
   FROM entries e JOIN holds h ON h.id = e.hold_id
     WHERE e.note <> h.call OR e.created_at <> h.resolved_at`,
  `SELECT 'I7: the record of hold ' || h.id || ' tells of another key, call or time'
   FROM idempotency i JOIN holds h ON h.id = i.hold_id
   WHERE h.idempotency_key IS NULL OR h.idempotency_key <> i.key OR h.call <> i.call
     OR h.account_id <> i.account_id
     OR h.mode <> i.mode OR (i.status IS NOT NULL
       AND (i.created_at <> h.resolved_at OR i.kept_until <= i.created_at))`,
  `SELECT 'I7: pending hold ' || h.id || ' carries an idempotency key that has no record'
   FROM holds h LEFT JOIN idempotency i ON i.hold_id = h.id
   WHERE h.state = 'pending' AND h.idempotency_key IS NOT NULL AND i.hold_id IS NULL`,
  `SELECT 'I3: refunds of hold ' || e.refund_of || ' sum to ' || SUM(e.amount)
    || ', it was charged ' || COALESCE(MAX(h.posted), 0)
   FROM entries e LEFT JOIN holds h ON h.id = e.refund_of AND h.account_id = e.account_id
     AND h.mode = e.mode
   WHERE e.kind = 'refund' GROUP BY e.refund_of HAVING SUM(e.amount) > COALESCE(MAX(h.posted), 0)`,
  `SELECT 'I3: entry ' || id || ' sold ' || sold || ' rows at ' || price || ' for ' || -amount
   FROM entries WHERE price IS NOT NULL AND price * sold <> -amount`,
  `SELECT 'I3: entry ' || e.id || ' and its hold ' || h.id || ' tell of another key'
   FROM entries e JOIN holds h ON h.id = e.hold_id WHERE e.actor IS NULL OR e.actor <> h.key_id`,
  `SELECT 'I16: the key ' || key_id || ' spent ' || spent || ' and holds ' || held
    || ', above its cap of ' || cap
   FROM budgets WHERE spent < 0 OR held < 0 OR spent + held > cap`,
  `SELECT 'I16: the key ' || g.key_id || ' has ' || g.spent
    || ' spent, its charges less refunds sum to ' || COALESCE(s.total, 0)
   FROM budgets g LEFT JOIN (${SPENT}) s ON s.origin = g.key_id
     WHERE g.spent <> COALESCE(s.total, 0)`,
  `SELECT 'I16: the key ' || g.key_id || ' has ' || g.held || ' held, its pending holds sum to '
    || COALESCE(s.total, 0)
   FROM budgets g LEFT JOIN (${HELD}) s ON s.origin = g.key_id
     WHERE g.held <> COALESCE(s.total, 0)`,
  `SELECT 'usage: ' || u.account_id || ' (' || u.mode || ') has ' || u.charged || ' charged in '
    || u.calls || ' and ' || u.refunded
     || ' refunded to ' || u.key_id || ' for ' || u.call || ' on ' || u.day || ', its entries say '
     || COALESCE(s.charged, 0) || ' in '
     || COALESCE(s.calls, 0) || ' and ' || COALESCE(s.refunded, 0)
   FROM usage u LEFT JOIN (${SUMS}) s ON ${SAME}
   WHERE s.day IS NULL OR u.charged <> s.charged OR u.refunded <> s.refunded OR u.calls <> s.calls
     OR u.sold IS DISTINCT FROM s.sold`,
  `SELECT 'usage: ' || s.account_id || ' (' || s.mode || ') has entries of ' || s.key_id || ' for '
    || s.call || ' on ' || s.day
     || ' in no daily sum'
   FROM (${SUMS}) s LEFT JOIN usage u ON ${SAME} WHERE u.day IS NULL`,
];

export function* verifySums(): Steps<readonly string[]> {
  const rows = [yield* statementRows(GONE_REPLIES, Date.now())];
  for (const sql of INVARIANTS) rows.push(yield* statementRows(sql));
  return rows.flat().map((row) => String(Object.values(row)[0]));
}
