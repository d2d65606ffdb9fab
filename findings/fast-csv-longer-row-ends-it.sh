#!/usr/bin/env bash
# fast-csv 5.0.5 with `headers: true`: a row with a cell too few is filled up in silence, and one with a cell too many is an error that
# ends the stream: rows behind it never come, those before it have been handed on. The guess would be that both are treated alike, or
# that the row alone is refused, for which there is the event `data-invalid`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm init -y > package.log
npm install --no-audit --no-fund --silent fast-csv@5.0.5
cat > try.cjs << 'JS'
const { parseString } = require("fast-csv");
const seen = [];
const note = (what) => (value) => seen.push(`${what} ${JSON.stringify(value?.message ?? value)}`);
parseString("a,b\n1\n2,3,4\n5,6\n", { headers: true })
  .on("data", note("row"))
  .on("data-invalid", note("invalid"))
  .on("error", note("error"))
  .on("close", () => {
    console.log(`fast-csv 5.0.5: ${seen.join("; ")}`);
    const isSo = seen.length === 2 && seen[0] === 'row {"a":"1","b":""}' && /^error .*mismatch/.test(seen[1]);
    process.exitCode = isSo ? 0 : 1;
  });
JS
node try.cjs
