// The official conformance runner against `mcp --port`, with all that 2026-07-28 requires: of what is served no failure is expected.
// npm run campaign conformance RUNNER [-- OPTIONS OF headcount], on Node 22 or later, after npm run build. RUNNER is dist/index.js of
// @modelcontextprotocol/conformance 0.2.0-alpha.12, installed in a folder of its own: it does not start on Node 20.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a check says that fails for want of something that is not served. Whatever else fails is a failure. */
const NOT_SERVED = [
  [
    /Tool '?(test_|json_schema_2020_12_tool)|diagnostic tool 'test_/,
    /./,
    "a tool that a server has for the runner alone",
  ],
  [
    /Expected InputRequiredResult|could not get initial InputRequiredResult/,
    /multi-round|tampered-state/,
    "such a tool",
  ],
  [
    /Method not found/,
    /^(resources-|prompts-|completion-|caching|input-required-result-non-tool-request)/,
    "resources, prompts, completion",
  ],
  [/x-mcp-header annotations/, /custom-header/, "arguments in headers"],
  [/./, /^tasks-/, "the extension for tasks"],
];
/** Its deadlines are half a second and more for a stream to begin, which a machine that is busy misses: twenty times that. What answers is not waited for. */
const PATIENT = `const real = globalThis.setTimeout;
globalThis.setTimeout = Object.assign((run, ms, ...rest) => real(run, 20 * ms, ...rest), real);`;
const [runner, ...options] = process.argv.slice(2);
if (runner === undefined)
  throw new Error("which runner? node test/campaigns/conformance.mjs RUNNER");
/** A service of somebody else, where options name one, has nothing to sell here. */
const served =
  options.length === 0 ? ["-c", "sample", "mcp", "--max-credits", "5"] : [...options, "mcp"];
const bin = fileURLToPath(new URL("../../bin/headcount.js", import.meta.url));
const state = mkdtempSync(join(tmpdir(), "headcount-conformance-"));
const env = { ...process.env, HEADCOUNT_STATE_DIR: state };
const server = spawn(process.execPath, [bin, ...served, "--port", "0"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(server, "exit").then(([code]) => {
  throw new Error(`headcount mcp ended with ${code}`);
});
const [line] = await Promise.race([once(server.stdout, "data"), ended]);
const { url, token } = JSON.parse(line.toString());
const { hostname, port, host } = new URL(url);

// The runner cannot bring a token. Names that it makes up stay, so that they are refused.
const door = createServer((incoming, outgoing) => {
  const own = /^(127\.0\.0\.1|localhost)(:|$)/.test(incoming.headers.host ?? "");
  const headers = {
    ...incoming.headers,
    authorization: `Bearer ${token}`,
    ...(own ? { host } : {}),
  };
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

const results = join(state, "results");
const patient = `data:text/javascript,${encodeURIComponent(PATIENT)}`;
const asked = ["server", "--url", target, "--requirements", "2026-07-28", "--output-dir", results];
const run = spawn(process.execPath, ["--import", patient, runner, ...asked], {
  stdio: ["ignore", "ignore", "inherit"],
});
await once(run, "close");
const told = { passed: 0, scenarios: new Set() };
const left = new Map();
let failed = 0;
for (const folder of readdirSync(results)) {
  const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
  told.scenarios.add(scenario);
  for (const { errorMessage = "", id, status } of JSON.parse(
    readFileSync(join(results, folder, "checks.json"), "utf8"),
  )) {
    if (status === "SUCCESS") told.passed++;
    if (status !== "FAILURE") continue;
    const [, , why] =
      NOT_SERVED.find(([says, which]) => says.test(errorMessage) && which.test(scenario)) ?? [];
    if (why === undefined) console.log(`FAILED  ${scenario} ${id}: ${errorMessage}`);
    if (why === undefined) failed++;
    else left.set(why, [...(left.get(why) ?? []), scenario]);
  }
}
console.log(`${told.passed} checks passed in ${told.scenarios.size} scenarios, ${failed} failed`);
for (const [why, scenarios] of left)
  console.log(`not served: ${why} (${[...new Set(scenarios)].join(", ")})`);
// A runner that did not get through to the server fails nothing.
if (told.passed < 90 || told.scenarios.size < 37) failed++;
door.close();
server.kill("SIGTERM");
await once(server, "exit");
rmSync(state, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;
