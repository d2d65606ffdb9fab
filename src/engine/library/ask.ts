import { usageError } from "../../shared/errors.ts";
import { VIEWS } from "./schema.ts";
import { openToRead } from "./sqlite.ts";

export interface Answer {
  readonly columns: string[];
  readonly rows: (string | number | bigint | null)[][];
}

/** Answers a query over the views of a library, on a connection that can change nothing. @throws CliError (exit 2) in SQLite's own words */
export async function askViews(path: string, sql: string): Promise<Answer> {
  // What may stand here reads; VACUUM INTO and ATTACH would make files.
  if (!/^(\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(select|with|values|explain)\b/i.test(sql)) {
    throw usageError(
      "a query begins with SELECT, WITH, VALUES or EXPLAIN",
      "headcount help sql has examples",
      "bad_query",
    );
  }
  const database = await openToRead(path);
  try {
    database.exec(VIEWS);
    const statement = database.prepare(sql, { readBigInts: true, returnArrays: true });
    const columns = statement.columns().map(({ name }) => name);
    const rows = statement.all() as unknown as (string | number | bigint | null)[][];
    return { columns, rows };
  } catch (error) {
    throw usageError(
      `the query was refused: ${(error as Error).message}`,
      "headcount help sql lists the views and their columns",
      "bad_query",
    );
  } finally {
    database.close();
  }
}
