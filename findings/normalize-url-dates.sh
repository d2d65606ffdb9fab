#!/usr/bin/env bash
# normalize-url 10.0.0 (Node's WHATWG URL below it): a cell that holds a date, a price or a version comes out as the address of a machine:
# 12.05.2026 is http://12.5.7.234, since the last of three numbers fills 16 bits, and 10.012 is 10.0.0.10, since a leading zero means octal. The good
# guess is an error, or the text as it was. So 2.10 and 2.012 are one "site", and two cells of a date column can fall together.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent normalize-url@10.0.0
cat > seen.mjs <<'JS'
import normalizeUrl from "normalize-url";

const seen = ["12.05.2026", "1.5", "2.10", "2.012"].map((cell) => `${cell} ${normalizeUrl(cell)}`).join(", ");
console.log(`normalize-url 10.0.0, Node ${process.version}: ${seen}`);
process.exit(seen === "12.05.2026 http://12.5.7.234, 1.5 http://1.0.0.5, 2.10 http://2.0.0.10, 2.012 http://2.0.0.10" ? 0 : 1);
JS
node seen.mjs
