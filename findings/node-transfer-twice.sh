#!/usr/bin/env bash
# Bytes that are handed over to a port (postMessage with a list of what is transferred) a second time, when they are gone already: Node 20.20.2 takes it in silence,
# Node 22.23.3 and 24.21.0 throw a DataCloneError, "Cannot transfer object of unsupported type". The good guess is one of the two, on every Node: code that
# gives memory back this way is green where it was written and ends the process where it runs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent node20@npm:node@20.20.2 node22@npm:node@22.23.3 node24@npm:node@24.21.0
cat > seen.cjs <<'JS'
const { MessageChannel } = require("node:worker_threads");
const { port1, port2 } = new MessageChannel();
port2.close();
const bytes = new ArrayBuffer(8);
const handOver = () => {
  try {
    port1.postMessage(undefined, [bytes]);
    return "taken";
  } catch (error) {
    return error.name;
  }
};
console.log(`${process.version}: ${handOver()}, ${bytes.byteLength} bytes left, then ${handOver()}`);
JS
seen=$(for version in 20 22 24; do "node_modules/node$version/bin/node" seen.cjs; done)
echo "$seen"
[ "$seen" = 'v20.20.2: taken, 0 bytes left, then taken
v22.23.3: taken, 0 bytes left, then DataCloneError
v24.21.0: taken, 0 bytes left, then DataCloneError' ]
