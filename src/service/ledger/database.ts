/**
 * A row as either database gives it; whole numbers are
 * bigints, because amounts must not pass through a float.
 */
export type Row = Record<string, unknown>;

const fieldNames = new Map<string, string>();

/**
 * A row by the program's names (`created_at` is `createdAt`).
 * @param numbers which whole numbers are no amounts
 */
export function storedFields<Value>(row: Row, numbers: readonly string[]): Value {
  const fields: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    const name =
      fieldNames.get(column) ?? column.replace(/_[a-z]/g, (part) => part.charAt(1).toUpperCase());
    fieldNames.set(column, name);
    fields[name] = value !== null && numbers.includes(name) ? Number(value) : value;
  }
  return fields as Value;
}

/** A reply from the columns `status`, `headers` and `body`. */
export const replyOf = (row: Row) => ({
  status: Number(row.status),
  headers: JSON.parse(row.headers as string) as Record<string, string>,
  body: row.body as string,
});

/**
 * `id` is the number of a hold: a text, and a whole number on SQLite. `utf8` is a text that may be
 * given as its bytes, so that they are not made a text first.
 */
export type SqlType = "text" | "utf8" | "bigint" | "integer" | "id";

/**
 * `$1`, `$2` ... stand for the values. With `rows`,
 * `%` stands for a list of tuples, one for each row.
 */
export type PreparedStatement =
  | { readonly sql: string; readonly values: readonly unknown[] }
  | {
      readonly sql: string;
      readonly types: readonly SqlType[];
      readonly rows: readonly (readonly unknown[])[];
    };

export interface StatementResult {
  readonly rows: readonly Row[];
  readonly changed: number;
}

/** Statements that depend on results, for either database. */
export type Steps<Value> = Generator<PreparedStatement, Value, StatementResult>;

export function* statementRows(sql: string, ...values: readonly unknown[]): Steps<readonly Row[]> {
  return (yield { sql, values }).rows;
}

export function* change(sql: string, ...values: readonly unknown[]): Steps<number> {
  return (yield { sql, values }).changed;
}

/** A statement for a list of tuples; for none of them nothing is asked. */
export function* tupled(
  sql: string,
  types: readonly SqlType[],
  rows: readonly (readonly unknown[])[],
): Steps<StatementResult> {
  return rows.length === 0 ? { rows: [], changed: 0 } : yield { sql, types, rows };
}

const columnsOf = (row: object): readonly string[] =>
  Object.keys(row).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/**
 * Puts a row by the program's names (`createdAt` is
 * `created_at`), in the place of the one with the same key.
 */
export function upsert(table: string, row: object, ...key: readonly string[]): Steps<number> {
  const others = columnsOf(row).filter((column) => !key.includes(column));
  const set = others.map((column) => `${column} = excluded.${column}`).join(", ");
  return insert(table, row, `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${set}`);
}

/** @param or what is done where it is there already */
export function* insert(table: string, row: object, or = ""): Steps<number> {
  const columns = columnsOf(row);
  const places = columns.map((_, index) => `$${index + 1}`);
  const sql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places.join(", ")}) ${or}`;
  return yield* change(sql, ...Object.values(row));
}

const PAGE_ROWS = 500;

/** Visits all rows of a query that has a column `id`, in its order, a page at a time. */
export function* inPages(sql: string, visit: (rows: readonly Row[]) => void): Steps<void> {
  for (let last: unknown; ; ) {
    const page = yield* statementRows(
      `SELECT * FROM (${sql}) AS found ${last === undefined ? "" : "WHERE id > $1"} ` +
        `ORDER BY id LIMIT ${PAGE_ROWS}`,
      ...(last === undefined ? [] : [last]),
    );
    visit(page);
    if (page.length < PAGE_ROWS) return;
    last = page.at(-1)?.id;
  }
}

export function runNow<Value>(
  steps: Steps<Value>,
  execute: (statement: PreparedStatement) => StatementResult,
): Value {
  let step = steps.next();
  while (!step.done) step = steps.next(execute(step.value));
  return step.value;
}

export async function runStatement<Value>(steps: Steps<Value>, execute: AskBackup): Promise<Value> {
  let step = steps.next();
  while (!step.done) step = steps.next(await execute(step.value));
  return step.value;
}

/**
 * A *durable* change is synced before it is acknowledged;
 * a *volatile* one survives no power failure.
 */
export type Durability = "durable" | "volatile";

export type AskBackup = (
  statement: PreparedStatement,
) => StatementResult | Promise<StatementResult>;

/** The last row of a chain, and the link that it ends with. */
export interface ChainEnd {
  readonly id: string;
  readonly link: string;
}

/** `null`: the ledger has no entry, or no act. */
export interface ChainEnds {
  readonly entry: ChainEnd | null;
  readonly act: ChainEnd | null;
}

export interface LedgerEnds extends ChainEnds {
  readonly head: string;
  /** Which ledger it is: the link of its first act, in all copies of it and in no other one. */
  readonly ledger: string;
}

export interface VerifiedFile {
  readonly breaches: readonly string[];
  readonly notes: readonly string[];
  readonly head: string | null;
}
