// Tested by test/cli/output-tables.long.test.ts.
import { chmod, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
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
      if (erase) {
        await client.query(`DELETE ${from}`);
        await client.query(`VACUUM FULL ${sqlName(target)}`);
      }
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

  let rows: number;
  try {
    const reader = await connection.runAndReadAll(count);
    rows = Number(reader.getRows()[0]?.[0]);
    if (erase)
      for (const statement of [`DELETE ${from}`, "CHECKPOINT"]) await connection.run(statement);
  } finally {
    close();
  }

  if (erase) await writeAnew(target.file);
  return rows;
}

/**
 * Writes a DuckDB file again: what was deleted stands in its free blocks. It is there whole at any
 * time, and its mode stays.
 * @throws where it has what DuckDB cannot copy, or is open elsewhere
 */
async function writeAnew(file: string): Promise<void> {
  const fresh = join(dirname(file), `.${basename(file)}.anew.part`);
  const drop = async (): Promise<void> => {
    for (const path of [fresh, `${fresh}.wal`]) await rm(path, { force: true });
  };

  await drop();
  try {
    const { mode } = await stat(file);
    const { connection, close } = await openFile(":memory:", {}, "A DuckDB table");
    try {
      await connection.run(`ATTACH ${sqlText(file)} AS kept (READ_ONLY)`);
      await connection.run(`ATTACH ${sqlText(fresh)} AS fresh`);
      await connection.run("COPY FROM DATABASE kept TO fresh");
      await connection.run("CHECKPOINT fresh");
    } finally {
      close();
    }
    await chmod(fresh, mode & 0o777);
    await rename(fresh, file);
  } finally {
    await drop();
  }
}
