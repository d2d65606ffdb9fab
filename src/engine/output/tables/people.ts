// Tested by test/cli/output-tables.long.test.ts.
import { openFile, sqlText } from "../whole/duck.ts";
import { connectPostgres } from "./postgres.ts";
import { parseTable, quoted, sqlName } from "./target.ts";
import { IDENTITY } from "./writer.ts";

/** @param erase whether they are deleted @throws where it does not answer */
export async function rowsOfPerson(
  output: string,
  identities: readonly string[],
  erase: boolean,
): Promise<number> {
  const target = parseTable(output, "/");
  const from =
    `FROM ${sqlName(target)} WHERE ${quoted(IDENTITY)} IN ` +
    `(${identities.map(sqlText).join(", ")})`;
  const count = `SELECT count(*) AS n ${from}`;

  if (target.engine === "postgres") {
    const client = await connectPostgres(target);
    try {
      const { rows } = await client.query<{ n: string }>(count);
      if (erase) await client.query(`DELETE ${from}`);
      return Number(rows[0]?.n);
    } finally {
      await client.end();
    }
  }

  const { connection, close } = await openFile(
    target.file,
    erase ? {} : { access_mode: "READ_ONLY" },
    "A DuckDB table",
  );

  try {
    const reader = await connection.runAndReadAll(count);
    if (erase)
      for (const statement of [`DELETE ${from}`, "CHECKPOINT"]) await connection.run(statement);
    return Number(reader.getRows()[0]?.[0]);
  } finally {
    close();
  }
}
