#!/usr/bin/env bash
# Node 24.21.0 (ada 4) takes xn-- labels that stand for no text for hosts: domainToASCII("xn--a.example") and new URL give "xn--a.example" back, where Node 20.20.2
# and 22.23.3 (ada 2.9) have no host for it ("" and an error). The good guess is that what `node:url` says of a name is the same from one Node to the
# next, so that a list of hosts that was checked on one machine is the same list on another one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent node20@npm:node@20.20.2 node22@npm:node@22.23.3 node24@npm:node@24.21.0
cat > seen.cjs <<'JS'
const { domainToASCII } = require("node:url");
const host = (address) => {
  try {
    return new URL(address).hostname;
  } catch {
    return "an error";
  }
};
console.log(`ada ${process.versions.ada.split(".")[0]}: "${domainToASCII("xn--a.example")}", ${host("http://xn--a.example")}`);
JS
seen=$(for version in 20 22 24; do "node_modules/node$version/bin/node" seen.cjs; done)
echo "$seen"
[ "$seen" = 'ada 2: "", an error
ada 2: "", an error
ada 4: "xn--a.example", xn--a.example' ]
