import { inPages, type Row, type Steps, statementRows } from "../database.ts";
import { TWINS, twinOf } from "../schema.ts";
import { auditStateOf, THINGS } from "./audit.ts";
import { digestOf } from "./digest.ts";
import {
  AUDIT_COLUMNS,
  auditLink,
  ENTRY_ROWS,
  HOLD_COLUMNS,
  holdDigest,
  linkOf,
  REPLY_COLUMNS,
  RESOLVED_COLUMNS,
  replyDigest,
  valuesOf,
} from "./links.ts";

type Breaches = string[];

/** I14, I17: follows every chain, and holds every row against it. @returns a sentence for each breach */
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
  const heads = rows.map((row) => `${String(row.account_id)} ${String(row.mode)} ${String(row.head)}`).sort();
  const [last] = yield* statementRows("SELECT head FROM chains WHERE name = 'audit'");
  return digestOf(String(last?.head), ...heads);
}

function* checkHolds(breaches: Breaches): Steps<void> {
  yield* inPages(`SELECT ${[...HOLD_COLUMNS, ...RESOLVED_COLUMNS].join(", ")}, digest FROM holds`, (rows) => {
    for (const row of rows) {
      if (holdDigest(row) !== row.digest) breaches.push(`I14: hold ${String(row.id)} is not what was written`);
    }
  });
}

const REPLIES = `SELECT i.hold_id AS id, ${REPLY_COLUMNS.map((column) => `i.${column}`).join(", ")}, i.digest, i.state, h.reply
  FROM idempotency i LEFT JOIN holds h ON h.id = i.hold_id`;

function* checkReplies(breaches: Breaches): Steps<void> {
  yield* inPages(REPLIES, (rows) => {
    for (const row of rows) {
      const which = `the stored reply of hold ${String(row.id)}`;
      if (replyDigest(valuesOf(row, REPLY_COLUMNS)) !== row.digest)
        breaches.push(`I14: ${which} is not what was written`);
      else if (row.state === "stored" && row.digest !== row.reply && !isRewritten(row)) {
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
      const place = placeOf(row);
      if (linkOf(heads.get(place) ?? "", row) !== row.chain) {
        breaches.push(
          `I17: entry ${String(row.id)} (${String(row.kind)}) of ${place} does not follow from what is before it`,
        );
      }
      // From what it says on: what comes after it is judged by itself.
      heads.set(place, row.chain as string);
    }
  });
  for (const row of yield* statementRows("SELECT account_id, mode, head FROM balances")) {
    const place = placeOf(row);
    if ((heads.get(place) ?? "") === row.head) continue;
    breaches.push(
      `I17: the entries of ${place} do not end where its balance says: the last ones are missing, or not its own`,
    );
  }
}

const placeOf = (row: Row): string => `${String(row.account_id)} (${String(row.mode)})`;

function* checkAudit(breaches: Breaches): Steps<void> {
  let head = "";
  const states = new Map<string, unknown>();
  yield* inPages(`SELECT id, ${AUDIT_COLUMNS.join(", ")}, digest FROM audit`, (rows) => {
    for (const row of rows) {
      const link = auditLink(head, valuesOf(row, AUDIT_COLUMNS));
      if (link !== row.digest) {
        breaches.push(`I17: row ${String(row.id)} of the audit does not follow from what is before it`);
      }
      head = row.digest as string;
      for (const [thing, state] of statesOf(row)) states.set(thing, state);
    }
  });
  const [last] = yield* statementRows("SELECT head FROM chains WHERE name = 'audit'");
  if (last?.head !== head) breaches.push("I17: the audit does not end where its chain does: its last rows are missing");
  yield* checkThings(states, breaches);
}

export function statesOf(row: Row): readonly (readonly [string, unknown])[] {
  try {
    return Object.entries(JSON.parse(row.states as string) as Record<string, unknown>);
  } catch {
    // Its link has told already.
    return [];
  }
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
