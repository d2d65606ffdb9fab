#!/usr/bin/env bash
# DuckDB 1.5.5: a row that was deleted stands in the file, in plain, after CHECKPOINT, VACUUM, FORCE CHECKPOINT and opening it anew: rows
# of a group are marked, and the group is not written again. COPY FROM DATABASE into another file leaves it out. The guess would be that
# VACUUM writes the file again, as it does in SQLite (and that CHECKPOINT frees what nobody can read).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y > package.log
npm install --no-audit --no-fund --silent @duckdb/node-api@1.5.5-r.5
cat > try.mjs << 'JS'
import { readFileSync } from "node:fs";
import { DuckDBInstance, version } from "@duckdb/node-api";
const NAME = "Zenobia Quillfeather, keeper of lighthouses";
const run = async (...statements) => {
  const instance = await DuckDBInstance.create("people.duckdb");
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
};
const rows = `SELECT range AS id, CASE range WHEN 777 THEN '${NAME}' ELSE md5(range::VARCHAR) END AS name FROM range(2000)`;
await run(`CREATE TABLE people AS ${rows}`, "CHECKPOINT");
await run("DELETE FROM people WHERE id = 777", "CHECKPOINT");
await run("VACUUM", "FORCE CHECKPOINT");
await run("ATTACH 'anew.duckdb' AS anew", "COPY FROM DATABASE people TO anew");
const [after, anew] = ["people", "anew"].map((name) => readFileSync(`${name}.duckdb`).includes(NAME));
console.log(`DuckDB ${version()}: in the file after DELETE, CHECKPOINT, VACUUM: ${after}; in a copy of the database: ${anew}`);
process.exit(after && !anew ? 0 : 1);
JS
node try.mjs
