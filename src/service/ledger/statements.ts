import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { PreparedStatement, Row, SqlType, StatementResult } from "./database.ts";

const MOST_ROWS = 64;

interface Prepared {
  readonly statement: StatementSyncInstance;
  readonly reads: boolean;
}

function outcomeOf({ reads, statement }: Prepared, values: readonly unknown[]): StatementResult {
  if (reads) return { rows: statement.all(...values) as Row[], changed: 0 };
  return { rows: [], changed: Number(statement.run(...values).changes) };
}

export type Statements = ReturnType<typeof statementsOf>;

/** Places of so many rows: `(?, ?), (?, ?)`. */
function tuplesOf(types: readonly SqlType[], rows: number): string {
  const places = types.map((type) => (type === "utf8" ? "CAST(? AS TEXT)" : "?"));
  return Array.from({ length: rows }, () => `(${places.join(", ")})`).join(", ");
}

export function statementsOf(database: DatabaseSyncInstance) {
  const statements = new Map<string, Map<number, Prepared>>();

  const execute = (statement: PreparedStatement): StatementResult => {
    if (!("rows" in statement)) return outcomeOf(preparedFor(statement.sql, 0), statement.values);

    const { rows, sql, types } = statement;
    const answers: Row[] = [];
    let changed = 0;
    for (let at = 0; at < rows.length; ) {
      const size = 2 ** Math.floor(Math.log2(Math.min(rows.length - at, MOST_ROWS)));
      const values = rows
        .slice(at, at + size)
        .flatMap((row) =>
          row.map((value, column) => (types[column] === "id" ? rowId(value) : value)),
        );
      const result = outcomeOf(preparedFor(sql, size, types), values);
      answers.push(...result.rows);
      changed += result.changed;
      at += size;
    }

    return { rows: answers, changed };
  };

  /** @param rows how many tuples stand for `%`: powers of two */
  function preparedFor(sql: string, rows: number, types: readonly SqlType[] = []): Prepared {
    const sizes = statements.get(sql) ?? new Map<number, Prepared>();
    statements.set(sql, sizes);
    const before = sizes.get(rows);
    if (before !== undefined) return before;

    const text = sql.replace(/\$(\d+)/g, "?$1").replace("%", tuplesOf(types, rows));
    // Amounts above 2^53 millionths must not pass through a float.
    const statement = database.prepare(text, { readBigInts: true });
    const prepared = { statement, reads: /^\s*(SELECT|PRAGMA)/.test(text) };
    sizes.set(rows, prepared);

    return prepared;
  }

  return { execute, clear: () => statements.clear() };
}

const rowId = (value: unknown): bigint | null =>
  typeof value === "string" && /^\d{1,18}$/.test(value) ? BigInt(value) : null;
