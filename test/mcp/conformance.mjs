// The official conformance runner against `mcp --http`, for everything that is served: no failure is expected.
// node test/mcp/conformance.mjs RUNNER, on Node 22 or later, after npm run build. RUNNER is dist/index.js of
// @modelcontextprotocol/conformance 0.2, installed in a folder of its own: it does not start on Node 20.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// The other scenarios ask for tools, prompts or extensions of the runner's own, which a server has for its tests alone.
const SCENARIOS = [
  "tools-list",
  "resources-list",
  "sep-2164-resource-not-found",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
  "http-header-validation",
  "input-required-result-missing-input-response",
  "input-required-result-unsupported-methods",
  "input-required-result-ignore-extra-params",
  "input-required-result-validate-input",
];
const [runner] = process.argv.slice(2);
if (runner === undefined) throw new Error("which runner? node test/mcp/conformance.mjs RUNNER");
const bin = fileURLToPath(new URL("../../bin/headcount.js", import.meta.url));
const state = mkdtempSync(join(tmpdir(), "headcount-conformance-"));
const env = { ...process.env, HEADCOUNT_STATE_DIR: state };
const server = spawn(process.execPath, [bin, "-c", "sample", "mcp", "--http", "0", "--max-credits", "5"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
const [line] = await once(server.stdout, "data");
const { url, token } = JSON.parse(line.toString());
const { hostname, port, host } = new URL(url);

// The runner cannot bring a token. Names that it makes up stay, so that they are refused.
const door = createServer((incoming, outgoing) => {
  const own = /^(127\.0\.0\.1|localhost)(:|$)/.test(incoming.headers.host ?? "");
  const headers = { ...incoming.headers, authorization: `Bearer ${token}`, ...(own ? { host } : {}) };
  const { url: path, method } = incoming;
  const out = request({ hostname, port, path, method, headers }, (reply) => {
    outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
    reply.pipe(outgoing);
  });
  out.on("error", () => outgoing.destroy());
  incoming.pipe(out);
}).listen(0, "127.0.0.1");
await once(door, "listening");
const target = `http://127.0.0.1:${door.address().port}/mcp`;

let failed = 0;
for (const scenario of SCENARIOS) {
  const run = spawn(process.execPath, [runner, "server", "--url", target, "--scenario", scenario], { stdio: "pipe" });
  let told = "";
  for (const stream of [run.stdout, run.stderr]) stream.on("data", (chunk) => (told += chunk));
  const [code] = await once(run, "close");
  console.log(`${code === 0 ? "passed" : "FAILED"}  ${scenario}`);
  if (code === 0) continue;
  failed++;
  console.log(told);
}
door.close();
server.kill("SIGTERM");
await once(server, "exit");
rmSync(state, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;
