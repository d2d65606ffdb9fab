#!/usr/bin/env bash
# csv-parser 3.2.0 (npm, 3 million downloads a week): a quote within an unquoted cell (`5" screen`) opens a quoted part there, so all rows
# up to the next quote, or to the end of the file, are one cell of one row, without an error. d3-dsv 3.0.1 and fast-csv 5.0.5 read the
# quote as a letter and give every row. The guess would be that quotes count at the beginning of a cell alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y > package.log
npm install --no-audit --no-fund --silent csv-parser@3.2.0 d3-dsv@3.0.1 fast-csv@5.0.5
cat > try.mjs << 'JS'
import { Readable } from "node:stream";
import csv from "csv-parser";
import { csvParse } from "d3-dsv";
import { parseString } from "fast-csv";
const text = 'name,site\n5" screen,a.example\nBeta,b.example\nGamma,c.example\n';
const rowsOf = async (stream) => { const rows = []; for await (const row of stream) rows.push(row); return rows; };
const parser = await rowsOf(Readable.from([Buffer.from(text)]).pipe(csv()));
const fast = await rowsOf(parseString(text, { headers: true }));
console.log(`csv-parser 3.2.0: ${parser.length} row ${JSON.stringify(parser)}; d3-dsv ${csvParse(text).length}, fast-csv ${fast.length}`);
process.exitCode = parser.length === 1 && csvParse(text).length === 3 && fast.length === 3 ? 0 : 1;
JS
node try.mjs
