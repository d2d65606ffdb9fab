#!/usr/bin/env bash
# ofetch 1.4.1 and ky 1.8.1 send a GET again by themselves, ofetch once and ky twice, after a lost reply, 429 or 500; ofetch after 409 (a conflict) too. Both are
# said to be fetch with better defaults, and fetch sends it once: the good guess is that a failed call was made once. Where a GET costs something, each
# of them does. retry: 0 ends it in both; a POST is sent once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent ofetch@1.4.1 ky@1.8.1
cat > seen.mjs <<'JS'
import { createServer } from "node:http";
import ky from "ky";
import { ofetch } from "ofetch";

let asked = 0;
const server = createServer(({ url, socket }, reply) => {
  asked++;
  if (url === "/lost") return socket.destroy();
  reply.statusCode = Number(url.slice(1));
  reply.end("{}");
}).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));

const address = `http://127.0.0.1:${server.address().port}`;
const times = async (call) => {
  asked = 0;
  await call().catch(() => undefined);
  return asked;
};
const seen = [];
for (const path of ["/lost", "/500", "/429", "/409", "/402"]) {
  const each = [fetch, ofetch, ky].map((program) => () => program(address + path));
  const more = [() => ofetch(address + path, { method: "POST" }), () => ofetch(address + path, { retry: 0 })];
  const counts = [];
  for (const call of [...each, ...more]) counts.push(await times(call));
  seen.push(`${path} ${counts.join("")}`);
}
server.close();
console.log(`requests of fetch, ofetch 1.4.1, ky 1.8.1, ofetch POST, ofetch without retry: ${seen.join(", ")}`);
process.exit(seen.join() === "/lost 12311,/500 12311,/429 12311,/409 12111,/402 11111" ? 0 : 1);
JS
node seen.mjs
