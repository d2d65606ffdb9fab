import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { answerEnvelope, answerError, tempDir } from "../support/client.ts";
import { user } from "../support/export.ts";
import { freePort } from "../support/free-port.ts";
import { long } from "../support/long.ts";
import { type Served, startServed } from "../support/served.ts";
import { generatedDataset, startTestService, type TestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";
import { isLeftOut } from "../support/tools.ts";

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
  service = createTlsServer(
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

describe("over TLS", () => {
  const dir = tempDir("headcount-tls-");
  const file = (name: string): string => join(dir, name);

  function certificate(name: string): void {
    const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1"];
    const curve = asTyped`-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2`;
    const out = ["-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
    execFileSync("openssl", ["req", "-x509", ...curve, ...subject, ...out], { stdio: "ignore" });
  }
  certificate("one");
  certificate("two");

  const flags = async (): Promise<string[]> => [
    ...[
      "--data",
      join(tempDir(), "data"),
      "--dataset",
      await generatedDataset(300),
      "--console",
      "link",
    ],
    ...["--tls-cert", file("served.pem"), "--tls-key", file("served.key"), "--log"],
  ];
  const serveCertificate = (name: string): void => {
    copyFileSync(file(`${name}.pem`), file("served.pem"));
    copyFileSync(file(`${name}.key`), file("served.key"));
  };

  const subjectOf = (url: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connectTls(
        { host: "127.0.0.1", port: Number(new URL(url).port), rejectUnauthorized: false },
        () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        },
      ).on("error", reject);
    });

  let served: Served | undefined;
  afterEach(async () => {
    await served?.stop();
    served = undefined;
  });

  describe("serve with a certificate of its own", () => {
    long(
      "the built client counts and buys over it, and only where it trusts the certificate",
      async () => {
        serveCertificate("one");
        served = await startServed(await flags());
        expect(served.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
        const trusting = user(served.url, served.key, { NODE_EXTRA_CA_CERTS: file("one.pem") });
        const search = ["search", "--all", "--limit", "25", "--yes", "-o", "people.csv"];
        expect(await spawnUser(trusting, search)).toMatchObject({ code: 0 });
        expect(
          readFileSync(trusting.file("people.csv"), "utf8").trim().split("\n").length,
        ).toBeGreaterThan(25);
        const wary = await spawnUser(
          user(served.url, served.key),
          asTyped`search --all --limit 25 --yes`,
        );
        expect(wary).toMatchObject({ code: 2, stderr: expect.stringContaining("self-signed") });
        // The key was not sent: nothing but the first search was ever asked for.
        expect(served.stderr().match(/"route":"\/v1\/person\/search"/g)).toHaveLength(1);
        expect(await served.stop()).toBe(0);
      },
    );

    long(
      "a renewed certificate is served from the next connection on; one that does not fit changes nothing",
      async () => {
        serveCertificate("one");
        served = await startServed(await flags());
        expect(await subjectOf(served.url)).toBe("one");
        copyFileSync(file("two.key"), file("served.key"));
        await expect
          .poll(served.stderr, { timeout: 20_000 })
          .toContain("the renewed certificate cannot be used");
        expect(await subjectOf(served.url)).toBe("one");
        copyFileSync(file("two.pem"), file("served.pem"));
        await expect.poll(() => subjectOf((served as Served).url), { timeout: 20_000 }).toBe("two");
        expect(await served.stop()).toBe(0);
      },
    );

    test("beyond loopback it has its console, with cookies for TLS alone, and warns of nothing", async () => {
      serveCertificate("one");
      served = await startServed([...(await flags()), "--host", "0.0.0.0"]);
      expect(served.stderr()).not.toMatch(/in clear|no console/);
      const { port } = new URL(served.url);
      const page = spawnSync(
        "curl",
        asTyped`-sk -o /dev/null -w %{http_code} https://127.0.0.1:${port}/console/`,
      );
      expect(String(page.stdout)).toBe("200");
    });

    test("a connection that never shakes hands is closed, and others are served meanwhile", async () => {
      serveCertificate("one");
      served = await startServed(await flags());
      const plain = spawnSync("curl", [
        "-s",
        `http://127.0.0.1:${new URL(served.url).port}/healthz`,
      ]);
      expect(plain.status).toBe(52);
      const health = spawnSync("curl", ["-sk", `${served.url}/healthz`], { encoding: "utf8" });
      expect(health.stdout).toContain('"status":"ok"');
    });

    test.each([
      ["a key of another certificate", ["one.pem", "two.key"], "the key is not the certificate's"],
      ["a file that is not there", ["one.pem", "none.key"], "cannot read"],
      ["the key in the certificate's place", ["one.key", "one.key"], "cannot be used as PEM"],
    ])("%s is refused before anything is made", (_, [cert = "", key = ""], why) => {
      const data = join(tempDir(), "data");
      const refused = spawnSync(
        process.execPath,
        [BIN, "serve", "--data", data, "--tls-cert", file(cert), "--tls-key", file(key)],
        { encoding: "utf8" },
      );
      expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining(why) });
      expect(spawnSync("ls", [data]).status).not.toBe(0);
    });
  });
});

const chromium = ["chromium", "chromium-browser", "google-chrome"].find((name) => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore", timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
});
if (isLeftOut(chromium !== undefined))
  console.warn("no Chromium here: the reference is not opened in a browser");

interface NetLog {
  readonly constants: { readonly logEventTypes: Readonly<Record<string, number>> };
  readonly events: readonly {
    readonly type: number;
    readonly params?: { readonly url?: string; readonly initiator?: string };
  }[];
}

/**
 * Every address that a page makes a browser ask for, the page itself first. What the browser asks for on its own behalf has no
 * origin as its initiator; it gets nowhere, since no name but 127.0.0.1 resolves.
 */
async function requestsOf(url: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "headcount-chromium-"));
  const log = join(folder, "net.json");
  try {
    const flags = asTyped`
      --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
    `;
    const quiet = [
      "--disable-component-update",
      "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ];
    const own = [
      `--user-data-dir=${join(folder, "profile")}`,
      `--log-net-log=${log}`,
      "--dump-dom",
      url,
    ];
    await promisify(execFile)(chromium ?? "chromium", [...flags, ...quiet, ...own], {
      timeout: 50_000,
      maxBuffer: 64 * 1024 * 1024,
    });
    const { constants, events } = JSON.parse(readFileSync(log, "utf8")) as NetLog;
    const start = constants.logEventTypes.URL_REQUEST_START_JOB;
    return events
      .filter(({ params, type }) => type === start && params?.url !== undefined)
      .filter(({ params }) => params?.url === url || /^https?:/.test(params?.initiator ?? ""))
      .map(({ params }) => params?.url ?? "");
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

describe.skipIf(isLeftOut(chromium !== undefined))("the reference in a browser", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ people: 200 });
  });
  afterAll(() => service.close());

  test("asks this service and no other host", async () => {
    const asked = await requestsOf(`${service.url}/docs`);
    expect(asked).toContain(`${service.url}/docs/reference.css`);
    expect(asked.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
  });

  test("and the log would show a foreign host", async () => {
    const foreign = createServer((_, response) => {
      response.setHeader("content-type", "text/html").end('<img src="http://fonts.example/x.png">');
    });
    await new Promise<void>((listening) => foreign.listen(0, "127.0.0.1", listening));
    try {
      const asked = await requestsOf(
        `http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`,
      );
      expect(asked).toContain("http://fonts.example/x.png");
    } finally {
      foreign.closeAllConnections();
      foreign.close();
    }
  });
});

const hasNginx = spawnSync("nginx", ["-v"]).status === 0;

describe.skipIf(isLeftOut(hasNginx))("the service behind nginx, as its page says", () => {
  let behind: TestService;
  let nginx: ChildProcess;
  let address: string;
  beforeAll(async () => {
    behind = await startTestService({
      people: 3_000,
      console: {},
      publicUrl: "https://people.example.com",
    });
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;

    const page = readFileSync("docs/operate/operating.md", "utf8");
    const block = /```nginx\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const place = block.replace("http://127.0.0.1:8787", behind.url);
    expect(place).toContain(behind.url);
    const config = join(dir, "nginx.conf");
    const server = `server { listen 127.0.0.1:${port}; ${place} }`;
    writeFileSync(
      config,
      `daemon off; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log;
       events {} http { access_log off; ${server} }`,
    );
    nginx = spawn("nginx", ["-c", config], { stdio: "ignore" });
    while (
      !(await fetch(`${address}/livez`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await new Promise((wake) => setTimeout(wake, 20));
  });
  afterAll(async () => {
    nginx.kill();
    await behind.close();
  });

  test("a list is bought to its end, exactly, and the page signs in under its public name", async () => {
    const { key } = behind;
    const env = { HEADCOUNT_API_KEY: key, HEADCOUNT_BASE_URL: address };
    const bought = await headcount(env, "search", "--all", "--yes", "--format", "ndjson");
    expect(bought).toMatchObject({ code: 0 });
    expect(bought.out.trim().split("\n")).toHaveLength(3_000);
    expect((await behind.store.balance("default", "live")).balance).toBe(7_000_000_000n);

    const page = async (host: string) =>
      await promisify(execFile)("curl", [
        ...asTyped`-s -o /dev/null -w %{http_code}`,
        "-H",
        `Host: ${host}`,
        `${address}/console/`,
      ]);
    expect((await page("people.example.com")).stdout).toBe("200");
    expect((await page("other.example.com")).stdout).toBe("421");
  });
});
