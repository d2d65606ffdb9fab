import { type Credits, formatCredits } from "../../../shared/contract/money.ts";
import type { AskBackup, Row } from "../database.ts";
import { IDEMPOTENCY_TTL_MS } from "../ledger.ts";
import { isRewritten, statesOf } from "./check.ts";
import { auditStateOf, HOLD_COLUMNS, RESOLVED_COLUMNS, THINGS, valuesOf } from "./links.ts";

/*
 * Whoever can write a ledger can write a whole new history. An earlier state, kept where they cannot
 * write, tells: all of it is the beginning of today's. Both are sound themselves, so a link stands for what it is over.
 */

const PAGE_ROWS = 500;

/** I18. @param earlier of the backup @param at now, epoch ms @returns a sentence for each breach */
export async function historyBreaches(earlier: AskBackup, today: AskBackup, at: number): Promise<readonly string[]> {
  const breaches: string[] = [];
  for (const { account_id, mode } of await rows(earlier, "SELECT account_id, mode FROM balances ORDER BY 1, 2")) {
    const values = [account_id, mode];
    const differs = await firstDifference(earlier, today, ENTRIES, values);
    if (differs !== undefined) breaches.push(said(`entry ${entryName(differs.was)} of ${values.join(" (")})`, differs));
  }
  const act = await firstDifference(earlier, today, AUDIT, []);
  if (act !== undefined) breaches.push(said(`row ${String(act.was.id)} (${String(act.was.action)}) of the audit`, act));
  await compareHolds(earlier, today, breaches);
  await compareThings(earlier, today, breaches);
  await compareReplies(earlier, today, at, breaches);
  return breaches;
}

const ENTRIES = "SELECT id, chain AS link, kind, amount, created_at FROM entries WHERE account_id = $1 AND mode = $2";
const AUDIT = "SELECT id, digest AS link, action FROM audit WHERE 1 = 1";

const rows = async (ask: AskBackup, sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> =>
  (await ask({ sql, values })).rows;

async function rowsById(ask: AskBackup, sql: string, ids: readonly unknown[], type: "id" | "text") {
  if (ids.length === 0) return new Map<string, Row>();
  const listed = {
    sql: `SELECT * FROM (${sql}) AS t WHERE id IN (VALUES %)`,
    types: [type],
    rows: ids.map((id) => [id]),
  };
  return new Map((await ask(listed)).rows.map((row) => [String(row.id), row]));
}

async function* pages(ask: AskBackup, sql: string, values: readonly unknown[]): AsyncGenerator<readonly Row[]> {
  for (let last: unknown; ; ) {
    const more = last === undefined ? "" : `AND id > $${values.length + 1}`;
    const page = await rows(ask, `${sql} ${more} ORDER BY id LIMIT ${PAGE_ROWS}`, ...values, ...(more ? [last] : []));
    yield page;
    if (page.length < PAGE_ROWS) return;
    last = page.at(-1)?.id;
  }
}

interface Difference {
  readonly was: Row;
  readonly is: Row | undefined;
}

async function firstDifference(
  earlier: AskBackup,
  today: AskBackup,
  sql: string,
  values: readonly unknown[],
): Promise<Difference | undefined> {
  const later = pages(today, sql, values);
  for await (const page of pages(earlier, sql, values)) {
    const there = (await later.next()).value ?? [];
    for (const [index, was] of page.entries()) {
      const is: Row | undefined = there[index];
      if (is?.id !== was.id || is?.link !== was.link) return { was, is };
    }
  }
  return undefined;
}

const entryName = ({ amount, created_at: at, id, kind }: Row): string =>
  `${String(id)} (${String(kind)} of ${formatCredits(amount as Credits).replace("-", "")}, ${new Date(Number(at)).toISOString()})`;

const becameOf = (is: Row | undefined): string =>
  is === undefined ? "of the backup is gone" : "is another than in the backup";

const said = (what: string, { is, was }: Difference): string =>
  is === undefined
    ? `I18: ${what} is in the backup and is gone: today's history ends before it`
    : `I18: ${what} is another than in the backup${is.id === was.id ? "" : ` (in its place is ${String(is.id)})`}: from there on history was written anew`;

async function compareHolds(earlier: AskBackup, today: AskBackup, breaches: string[]): Promise<void> {
  const columns = [...HOLD_COLUMNS, ...RESOLVED_COLUMNS];
  const sql = `SELECT ${columns.join(", ")}, digest FROM holds`;
  for await (const page of pages(earlier, `${sql} WHERE 1 = 1`, [])) {
    const ids = page.map(({ id }) => String(id));
    const found = await rowsById(today, sql, ids, "id");
    for (const was of page) {
      const is = found.get(String(was.id));
      // What is held ends in some way; what has ended stays as it ended.
      const kept = was.state === "pending" ? HOLD_COLUMNS : [...columns, "digest"];
      if (is !== undefined && String(valuesOf(is, kept)) === String(valuesOf(was, kept))) continue;
      breaches.push(`I18: hold ${String(was.id)} ${becameOf(is)}`);
      return;
    }
  }
}

async function compareThings(earlier: AskBackup, today: AskBackup, breaches: string[]): Promise<void> {
  const [last] = await rows(earlier, "SELECT COALESCE(MAX(id), 0) AS id FROM audit");
  const changed = new Set<string>();
  for await (const page of pages(today, "SELECT id, states FROM audit WHERE id > $1", [last?.id])) {
    for (const row of page) for (const [thing] of statesOf(row)) changed.add(thing);
  }
  for (const [kind, sql] of Object.entries(THINGS)) {
    for await (const page of pages(earlier, `SELECT * FROM (${sql}) AS t WHERE 1 = 1`, [])) {
      const found = await rowsById(
        today,
        sql,
        page.map(({ id }) => id),
        "text",
      );
      for (const was of page) {
        const [thing, is] = [`${kind} ${String(was.id)}`, found.get(String(was.id))];
        if (changed.has(thing) || (is !== undefined && auditStateOf(is) === auditStateOf(was))) continue;
        breaches.push(`I18: the ${thing} ${becameOf(is)}, and no act since then says so`);
      }
    }
  }
}

const REPLIES = "SELECT hold_id AS id, digest, created_at, headers FROM idempotency WHERE state = 'stored'";

async function compareReplies(earlier: AskBackup, today: AskBackup, at: number, breaches: string[]): Promise<void> {
  for await (const page of pages(earlier, `SELECT * FROM (${REPLIES}) AS t WHERE 1 = 1`, [])) {
    const ids = page.map(({ id }) => String(id));
    const found = await rowsById(today, REPLIES, ids, "id");
    // A charge in doubt that went back took its reply with it.
    const back = await rowsById(today, "SELECT refund_of AS id FROM entries WHERE refund_of IS NOT NULL", ids, "id");
    for (const was of page) {
      const is = found.get(String(was.id));
      const isOver = at - Number(was.created_at) >= IDEMPOTENCY_TTL_MS || back.has(String(was.id));
      if (is === undefined ? isOver : is.digest === was.digest || isRewritten(is)) continue;
      breaches.push(`I18: the stored reply of hold ${String(was.id)} ${becameOf(is)}, and its day is not over`);
    }
  }
}
