import { answerOf, Overrun } from "../../shared/child.ts";
import { usageError } from "../../shared/errors.ts";
import type { Library } from "./library.ts";
import { VIEWS } from "./schema.ts";
import { driverPath } from "./sqlite.ts";

/**
 * SQLite's own memory, of which a sort can take all, is bound by {@link PRAGMAS}
 * (docs/reference/library.md).
 */
const BOUNDS = { deadlineMs: 300_000, memoryMb: 2_048 };
const PRAGMAS =
  "PRAGMA hard_heap_limit = 2147483648; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY";

const TEXT = `
const { DatabaseSync } = require(workerData);
return ({ before, path, sql }) => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 30000 });
  database.exec(before);
  const statement = database.prepare(sql, { readBigInts: true, returnArrays: true });
  // SQLite prepares the first statement and is silent about what stands behind it.
  const others = sql.slice(statement.expandedSQL.length);
  if (others.replace(/--.*|\\/\\*[^]*?\\*\\/|[\\s;]/g, "") !== "")
    throw new Error("one query at a time, and more stands behind the first semicolon");
  return { columns: statement.columns().map(({ name }) => name), rows: statement.all() };
};`;

/** In a process that can change nothing and be ended. @throws CliError (exit 2) */
export async function askViews({ path }: Pick<Library, "path">, sql: string, signal?: AbortSignal) {
  // VACUUM INTO and ATTACH would make files.
  if (!/^(\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(select|with|values|explain)\b/i.test(sql)) {
    throw usageError(
      "a query begins with SELECT, WITH, VALUES or EXPLAIN",
      "headcount help sql has examples",
      "bad_query",
    );
  }

  type Answer = {
    readonly columns: string[];
    readonly rows: (string | number | bigint | null)[][];
  };

  const options = { what: "the query", text: TEXT, signal, ...BOUNDS, data: await driverPath() };
  try {
    return await answerOf<Answer>({ path, sql, before: `${PRAGMAS}; ${VIEWS}` }, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    const isLong = error instanceof Overrun;
    throw usageError(
      isLong ? error.message : `the query was refused: ${(error as Error).message}`,
      isLong
        ? "ask for less of it, by where or limit"
        : "headcount help sql lists the views and their columns",
      "bad_query",
    );
  }
}
