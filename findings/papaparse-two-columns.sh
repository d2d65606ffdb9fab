#!/usr/bin/env bash
# PapaParse 5.5.3, no delimiter given, a table of two columns apart by semicolons that ends with a line break, as files do: with fewer than
# ten lines it is one column `Name;Website`, since the empty last line pulls the mean number of cells below 1.99; by commas it is read, as that
# is what is left when nothing is found. The guess would be that a final line break does not matter (`skipEmptyLines` makes it so).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y > package.log
npm install --no-audit --no-fund --silent papaparse@5.5.3
cat > try.cjs << 'JS'
const Papa = require("papaparse");
const table = (rows) => `Name;Website\n${Array.from({ length: rows }, (_, n) => `Acme ${n};acme${n}.example`).join("\n")}`;
const columns = (text, options) => Papa.parse(text, { header: true, ...options }).meta.fields.length;
const seen = {
  "5 rows, line break": columns(`${table(5)}\n`),
  "5 rows": columns(table(5)),
  "5 rows, line break, skipEmptyLines": columns(`${table(5)}\n`, { skipEmptyLines: true }),
  "50 rows, line break": columns(`${table(50)}\n`),
};
console.log(`papaparse ${require("papaparse/package.json").version}, columns: ${JSON.stringify(seen)}`);
process.exitCode = Object.values(seen).join() === "1,2,2,2" ? 0 : 1;
JS
node try.cjs
