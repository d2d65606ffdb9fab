// node sort.mjs FILE DATABASE: raw DuckDB sorts a Parquet file as a dataset is sorted, into a table on the disk.
import { DuckDBInstance } from "@duckdb/node-api";

const [file, database] = process.argv.slice(2);
const instance = await DuckDBInstance.create(database);
const connection = await instance.connect();
await connection.run(`CREATE TABLE people AS SELECT * FROM read_parquet('${file.replaceAll("'", "''")}')
  ORDER BY country, department, seniority, industry, title, id`);
await connection.run("CHECKPOINT");
instance.closeSync();
