#!/usr/bin/env bash
# psl 1.15.0: the registrable domain of an IPv4 address is its last two numbers, psl.get("192.168.0.1") is "0.1": what no rule of the list names falls under
# its last one, "*". The good guess is null, as for "localhost" (psl.isValid, which get does not ask, says false). Grouped by it, 192.168.0.1 and
# 10.9.0.1 are one site, and a date in that column is at "05.2026".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent psl@1.15.0
cat > seen.mjs <<'JS'
import psl from "psl";

const hosts = ["192.168.0.1", "10.9.0.1", "12.05.2026", "localhost"];
const seen = hosts.map((host) => `${host} ${psl.get(host)} ${psl.isValid(host)}`).join(", ");
console.log(`psl 1.15.0: ${seen}`);
process.exit(
  seen === "192.168.0.1 0.1 false, 10.9.0.1 0.1 false, 12.05.2026 05.2026 false, localhost null false" ? 0 : 1,
);
JS
node seen.mjs
