import type { DuckDBConnection, DuckDBVector } from "@duckdb/node-api";
import { FILTER_COLUMNS, NUMBER_COLUMNS } from "../../contract/conditions.ts";
import { isPlaced, PLACED_COLUMNS } from "../columns.ts";
import { ColumnWriter, codesFor } from "../embedded/column-writer.ts";

/** Writes `sorted_people` as columns of codes, and people in the orders of `by_name` and `by_headline`. */
export async function writeColumns(
  connection: DuckDBConnection,
  path: string,
  people: number,
  signal: AbortSignal,
): Promise<void> {
  const writer = await ColumnWriter.create(path, people);
  const each = async (query: string, take: (values: DuckDBVector, row: number) => void): Promise<void> => {
    for await (const chunk of await connection.stream(query)) {
      const values = chunk.getColumnVector(0);
      for (let row = 0; row < chunk.rowCount; row++) take(values, row);
      signal.throwIfAborted();
    }
  };
  try {
    for (const column of FILTER_COLUMNS) {
      if (isPlaced(column)) continue;
      const isNumber = NUMBER_COLUMNS.includes(column);
      await connection.run(`CREATE TABLE different AS
        SELECT DISTINCT ${column} AS value FROM sorted_people WHERE ${column} IS NOT NULL ORDER BY value`);
      const texts: string[] = [];
      const numbers: number[] = [];
      await each("SELECT value FROM different", (values, row) => {
        if (isNumber) numbers.push(Number(values.getItem(row)));
        else texts.push(String(values.getItem(row)));
      });
      const size = texts.length + numbers.length;
      const codes = codesFor(size, people).fill(size);
      // Without a join the people stay in their order. An ENUM has its values in the order of the table.
      if (size > 0) {
        await connection.run("CREATE TYPE coded AS ENUM (SELECT value::VARCHAR FROM different)");
        let person = 0;
        const code = `coalesce(enum_code(${column}::VARCHAR::coded), ${size})::UINTEGER`;
        await each(`SELECT ${code} FROM sorted_people`, (values, row) => {
          codes[person++] = Number(values.getItem(row));
        });
        if (person !== people) throw new Error(`${column} of ${person} of ${people} people`);
        await connection.run("DROP TYPE coded");
      }
      await connection.run("DROP TABLE different");
      await writer.add(column, isNumber ? numbers : texts, codes);
    }
    for (const column of PLACED_COLUMNS) {
      const order = new Uint32Array(people);
      let next = 0;
      await each(`SELECT rid FROM by_${column}`, (values, row) => {
        order[next++] = Number(values.getItem(row));
      });
      await writer.addOrder(column, order.subarray(0, next));
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}
