import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { answerEnvelope, answerError, tempDir } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { isLeftOut } from "../support/tools.ts";

const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");
const KEY = "hc_live_aaaaaaaaaaaaaaaa";
const hasTinyproxy = spawnSync("tinyproxy", ["-v"]).status === 0;
const PEOPLE = [{ id: "1", name: "Ada" }];

/** What a real proxy was asked for: its own log. */
interface Proxy {
  readonly port: number;
  readonly log: () => string;
  readonly child: ChildProcess;
}

const dir = tempDir();
const proxies: Proxy[] = [];
const paths: string[] = [];
let service: Server;
let url: string;

async function startProxy(...settings: string[]): Promise<Proxy> {
  const port = await freePort();
  const log = join(dir, `proxy-${port}.log`);
  const config = join(dir, `proxy-${port}.conf`);
  writeFileSync(log, "", { mode: 0o666 });
  writeFileSync(
    config,
    [
      `Port ${port}`,
      "Listen 127.0.0.1",
      `LogFile "${log}"`,
      "LogLevel Connect",
      "MaxClients 20",
      ...settings,
      "",
    ].join("\n"),
  );
  const child = spawn("tinyproxy", ["-d", "-c", config], { stdio: "ignore" });
  for (let tries = 0; tries < 500; tries++) {
    const up = await new Promise<boolean>((answer) => {
      const socket = connect(port, "127.0.0.1", () => answer(true)).on("error", () =>
        answer(false),
      );
      socket.on("connect", () => socket.destroy());
    });
    if (up) break;
    await new Promise((wake) => setTimeout(wake, 20));
  }
  const proxy = { port, log: () => readFileSync(log, "utf8"), child };
  proxies.push(proxy);
  return proxy;
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The built program, as a user behind a proxy runs it. */
function headcount(env: Readonly<Record<string, string>>, ...argv: string[]): Promise<Ended> {
  const home = join(dir, "home");
  mkdirSync(home, { recursive: true });
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: home,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      HEADCOUNT_API_KEY: KEY,
      HEADCOUNT_BASE_URL: url,
      NODE_EXTRA_CA_CERTS: join(dir, "cert.pem"),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  return new Promise((ended) => child.on("close", (code) => ended({ code, out, err })));
}

beforeAll(async () => {
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const request = asTyped`req -x509 -newkey rsa:2048 -nodes -days 2 -subj ${"/CN=headcount test"}`;
  execFileSync(
    "openssl",
    [...request, "-addext", "subjectAltName=IP:0.0.0.0", "-keyout", key, "-out", cert],
    {
      stdio: "ignore",
    },
  );
  service = createServer(
    { key: readFileSync(key), cert: readFileSync(cert) },
    (request, response) => {
      paths.push(request.url ?? "");
      request.resume().on("end", () => {
        if (request.headers.authorization !== `Bearer ${KEY}`) answerError(response, 401, ["no"]);
        else if (request.url === "/v1/account")
          answerEnvelope(response, {
            costs: { person_search: 1, company_enrich: 1, company_employees: 1 },
          });
        else if (request.url === "/v1/person/count")
          answerEnvelope(response, { count: PEOPLE.length });
        else answerEnvelope(response, PEOPLE, { used: PEOPLE.length });
      });
    },
  );
  await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
  // A way to this machine that does not look like it: what is on loopback is never asked for through a proxy.
  url = `https://0.0.0.0:${(service.address() as AddressInfo).port}`;
});

afterAll(() => {
  for (const { child } of proxies) child.kill();
  service.closeAllConnections();
  service.close();
});

describe.skipIf(isLeftOut(hasTinyproxy))("the built program behind a real proxy", () => {
  let proxy: Proxy;
  let address: string;
  beforeAll(async () => {
    proxy = await startProxy();
    address = `http://127.0.0.1:${proxy.port}`;
  });

  test.each([
    ["HTTPS_PROXY", () => ({ HTTPS_PROXY: address })],
    ["https_proxy", () => ({ https_proxy: address })],
    ["HTTP_PROXY alone", () => ({ HTTP_PROXY: address })],
  ])("%s: a tunnel, in which the key is not to be seen", async (_, env) => {
    const before = proxy.log().length;
    expect(await headcount(env(), "account", "--json")).toMatchObject({ code: 0, err: "" });
    const seen = proxy.log().slice(before);
    expect(seen).toContain(`CONNECT ${new URL(url).host}`);
    expect(seen).not.toContain(KEY);
    expect(seen).not.toContain("/v1/account");
  });

  test("free calls and paid ones", async () => {
    const env = { HTTPS_PROXY: address };
    expect(await headcount(env, "count", "--department", "Sales")).toMatchObject({
      code: 0,
      out: "1\n",
    });
    const bought = await headcount(
      env,
      "search",
      "--department",
      "Sales",
      "--yes",
      "--quiet",
      "--format",
      "ndjson",
    );
    expect(bought).toMatchObject({ code: 0 });
    expect(JSON.parse(bought.out)).toEqual(PEOPLE[0]);
    expect(paths).toContain("/v1/person/search");
  });

  test.each(["*", "0.0.0.0", "other.example, 0.0.0.0"])(
    "NO_PROXY=%s goes round it",
    async (noProxy) => {
      const before = proxy.log();
      const env = { HTTPS_PROXY: address, HTTP_PROXY: address, NO_PROXY: noProxy };
      expect(await headcount(env, "account", "--json")).toMatchObject({ code: 0 });
      expect(proxy.log()).toBe(before);
    },
  );

  test("a user name and a password", async () => {
    const { port } = await startProxy("BasicAuth someone PROXYSECRET");
    const through = (user: string) =>
      headcount({ HTTPS_PROXY: `http://${user}127.0.0.1:${port}` }, "account", "--json");
    expect(await through("someone:PROXYSECRET@")).toMatchObject({ code: 0 });
    for (const user of ["someone:WRONGSECRET@", ""]) {
      const refused = await through(user);
      expect(refused.code).toBe(8);
      expect(refused.err).toMatch(/proxy/);
      expect(refused.err).not.toMatch(/SECRET|bug in headcount/);
    }
  });

  test("one that is not there is said, and is no bug", async () => {
    const ended = await headcount(
      { HTTPS_PROXY: `http://127.0.0.1:${await freePort()}` },
      "account",
    );
    expect(ended.code).toBe(8);
    expect(ended.err).toMatch(/proxy/);
    expect(ended.err).not.toContain("bug in headcount");
  });
});
