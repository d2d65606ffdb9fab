#!/usr/bin/env bash
# hyparquet 1.20.2 alone, on Parquet that DuckDB 1.5.5 writes: of the codecs it reads Snappy and none at all, and refuses GZIP as it does
# ZSTD, LZ4_RAW and Brotli, though every place that it runs in can unpack gzip (DecompressionStream). The guess would be that GZIP is
# the codec that anybody can read. INT64 comes as BigInt, and a timestamp loses what is below a millisecond.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y > package.log
npm install --no-audit --no-fund --silent hyparquet@1.20.2 @duckdb/node-api@1.5.5-r.5
cat > try.mjs << 'JS'
import { DuckDBInstance } from "@duckdb/node-api";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const seen = [];
for (const codec of ["snappy", "uncompressed", "gzip", "zstd", "lz4_raw", "brotli"]) {
  const row = "7::BIGINT AS n, TIMESTAMP '2026-01-02 03:04:05.123456' AS at";
  await connection.run(`COPY (SELECT ${row}) TO '${codec}.parquet' (FORMAT parquet, COMPRESSION ${codec})`);
  const rows = parquetReadObjects({ file: await asyncBufferFromFile(`${codec}.parquet`) });
  seen.push(await rows.then(([{ n, at }]) => `${codec} ${typeof n} ${at.toISOString()}`, () => `${codec} refused`));
}
console.log(`hyparquet 1.20.2: ${seen.join("; ")}`);
const [snappy, none, ...others] = seen;
const isRead = snappy === "snappy bigint 2026-01-02T03:04:05.123Z" && none.endsWith(".123Z");
process.exit(isRead && others.every((each) => each.endsWith("refused")) ? 0 : 1);
JS
node try.mjs
