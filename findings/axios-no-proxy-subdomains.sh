#!/usr/bin/env bash
# axios 1.12.2 (by proxy-from-env 1.1.0): NO_PROXY=acme.example leaves out acme.example alone, and api.acme.example goes through the proxy; .acme.example is the other
# way round, and the two together are needed for both. curl, requests and Go leave out the subdomains of a name without a point too, so the good guess,
# and what one variable for all programs of a machine has, is that acme.example covers its subdomains.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --silent axios@1.12.2 proxy-from-env@1.1.0
cat > seen.mjs <<'JS'
import { createServer } from "node:http";
import axios from "axios";

// Whatever a name is, the proxy answers for it; directly nobody does.
let asked = 0;
const proxy = createServer((_, reply) => {
  asked++;
  reply.end("{}");
}).listen(0, "127.0.0.1");
await new Promise((done) => proxy.on("listening", done));
process.env.http_proxy = `http://127.0.0.1:${proxy.address().port}`;

const seen = [];
for (const list of ["acme.example", ".acme.example", "acme.example,.acme.example"]) {
  process.env.no_proxy = list;
  for (const host of ["acme.example", "api.acme.example"]) {
    asked = 0;
    await axios.get(`http://${host}/`).catch(() => undefined);
    seen.push(asked === 1 ? "proxy" : "direct");
  }
}
proxy.close();
console.log(`axios 1.12.2: acme.example and api.acme.example under NO_PROXY acme.example, .acme.example and both: ${seen.join(" ")}`);
process.exit(seen.join() === "direct,proxy,proxy,direct,direct,direct" ? 0 : 1);
JS
node seen.mjs
