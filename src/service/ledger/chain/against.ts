import { type Credits, formatCredits } from "../../../shared/contract/money.ts";
import type { AskBackup, Row } from "../database.ts";
import { isRewritten, placeName, statesOf } from "./check.ts";
import { auditStateOf, HOLD_COLUMNS, RESOLVED_COLUMNS, THINGS, valuesOf } from "./links.ts";

/*
 * Whoever can write a ledger can write a whole new history. An earlier
 * state, kept where they cannot write, tells: all of it is the beginning of
 * today's. Both are sound themselves, so a link stands for what it is over.
 */

const PAGE_ROWS = 500;
const ENTRIES = "SELECT id, chain AS link, account_id, mode, kind, amount, created_at FROM entries";
const AUDIT = "SELECT id, digest AS link, action, states FROM audit";
const HOLDS = `SELECT ${[...HOLD_COLUMNS, ...RESOLVED_COLUMNS].join(", ")}, digest FROM holds`;
const REPLIES =
  "SELECT hold_id AS id, digest, kept_until, headers FROM idempotency WHERE status IS NOT NULL";

/** I18. @param earlier of the backup @param at now, epoch ms @returns a sentence for each breach */
export async function historyBreaches(
  earlier: AskBackup,
  today: AskBackup,
  at: number,
): Promise<readonly string[]> {
  const breaches: string[] = [];
  const chains = new Set<string>();
  /** What is chained says by its first difference that all behind it is another. */
  const tellFirst = (chain: string, what: string, { is, was }: Pair): void => {
    if (is?.link === was.link || chains.has(chain)) return;
    chains.add(chain);
    const how =
      is === undefined
        ? "is in the backup and is gone: today's history ends before it"
        : "is another than in the backup: from there on history was written anew";
    breaches.push(`I18: ${what} ${how}`);
  };

  const both = { earlier, today };
  for await (const pair of pairsOf(both, ENTRIES, "bigint")) {
    const place = placeName(pair.was);
    tellFirst(place, `entry ${entryName(pair.was)} of ${place}`, pair);
  }

  let last: unknown = 0;
  for await (const pair of pairsOf(both, AUDIT, "bigint")) {
    last = pair.was.id;
    tellFirst("audit", `row ${String(last)} (${String(pair.was.action)}) of the audit`, pair);
  }

  const changed = new Set<string>();
  for await (const page of pages(today, `${AUDIT} WHERE id > $1`, last)) {
    for (const row of page) for (const [thing] of statesOf(row)) changed.add(thing);
  }

  return [
    ...breaches,
    ...(await heldBreaches(both)),
    ...(await unsaidBreaches(both, changed)),
    ...(await replyBreaches(both, at)),
  ];
}

type Both = Readonly<Record<"earlier" | "today", AskBackup>>;

/** What is held ends in some way; what has ended stays as it ended. The first one that does not. */
async function heldBreaches(both: Both): Promise<readonly string[]> {
  for await (const { is, was } of pairsOf(both, HOLDS, "id")) {
    const columns =
      was.state === "pending" ? HOLD_COLUMNS : [...HOLD_COLUMNS, ...RESOLVED_COLUMNS, "digest"];
    if (is === undefined || String(valuesOf(is, columns)) !== String(valuesOf(was, columns)))
      return [`I18: hold ${String(was.id)} ${becameOf(is)}`];
  }
  return [];
}

/** @param changed what acts since the backup are about */
async function unsaidBreaches(
  both: Both,
  changed: ReadonlySet<string>,
): Promise<readonly string[]> {
  const breaches: string[] = [];
  for (const [kind, sql] of Object.entries(THINGS)) {
    for await (const { is, was } of pairsOf(both, sql, "text")) {
      const thing = `${kind} ${String(was.id)}`;
      if (changed.has(thing) || (is !== undefined && auditStateOf(is) === auditStateOf(was)))
        continue;
      breaches.push(`I18: the ${thing} ${becameOf(is)}, and no act since then says so`);
    }
  }
  return breaches;
}

async function replyBreaches(both: Both, at: number): Promise<readonly string[]> {
  const breaches: string[] = [];
  for await (const { is, was } of pairsOf(both, REPLIES, "id")) {
    const isKept = is !== undefined && (is.digest === was.digest || isRewritten(is));
    if (isKept || (is === undefined && (await isOver(was, both.today, at)))) continue;
    breaches.push(
      `I18: the stored reply of hold ${String(was.id)} ${becameOf(is)}, and its day is not over`,
    );
  }
  return breaches;
}

async function isOver(
  { id, kept_until: until }: Row,
  today: AskBackup,
  at: number,
): Promise<boolean> {
  if (at >= Number(until)) return true;
  // A charge in doubt that went back took its reply with it.
  const refunds = { sql: "SELECT 1 FROM entries WHERE refund_of = $1", values: [id] };
  return (await today(refunds)).rows.length > 0;
}

interface Pair {
  readonly was: Row;
  readonly is: Row | undefined;
}

/** Each row of the backup beside the one that has its id today. */
async function* pairsOf(
  { earlier, today }: Both,
  sql: string,
  type: "bigint" | "id" | "text",
): AsyncGenerator<Pair> {
  for await (const page of pages(earlier, `SELECT * FROM (${sql}) AS t WHERE 1 = 1`)) {
    if (page.length === 0) return;
    const rows = page.map(({ id }) => [type === "id" ? String(id) : id]);
    const query = {
      sql: `SELECT * FROM (${sql}) AS t WHERE id IN (VALUES %)`,
      types: [type],
      rows,
    };
    const current = new Map((await today(query)).rows.map((row) => [String(row.id), row]));
    for (const was of page) yield { was, is: current.get(String(was.id)) };
  }
}

async function* pages(
  ask: AskBackup,
  sql: string,
  ...values: readonly unknown[]
): AsyncGenerator<readonly Row[]> {
  for (let last: unknown; ; ) {
    const more = last === undefined ? "" : `AND id > $${values.length + 1}`;
    const query = {
      sql: `${sql} ${more} ORDER BY id LIMIT ${PAGE_ROWS}`,
      values: [...values, ...(more ? [last] : [])],
    };
    const page = (await ask(query)).rows;
    yield page;
    if (page.length < PAGE_ROWS) return;
    last = page.at(-1)?.id;
  }
}

const entryName = ({ amount, created_at: at, id, kind }: Row): string =>
  `${String(id)} (${String(kind)} of ${formatCredits(amount as Credits).replace("-", "")}, ` +
  `${new Date(Number(at)).toISOString()})`;

const becameOf = (is: Row | undefined): string =>
  is === undefined ? "of the backup is gone" : "is another than in the backup";
