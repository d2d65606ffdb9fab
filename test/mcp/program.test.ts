import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { kill } from "node:process";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from "vitest";
import { type Agent, startAgent, YES } from "../support/agent.ts";
import { rawProcess, spawnAgent } from "../support/agent-process.ts";
import { charged, type User, user } from "../support/export.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { quoteOf, rawAgent, textOf } from "../support/raw-agent.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { CREDITS, type Serving, serveThroughProxy, serveUsers } from "../support/serving.ts";
import { BIN } from "../support/spawned.ts";

// What is true of the built program only: its streams, and the lines that a person types into a shell.

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

test("stdout is the protocol's alone, and stderr tells neither key nor filter", async () => {
  const agent = rawProcess(u, ["--max-credits", "5", "--ask-over", "5", "--verbose"]);
  const quote = await agent.call("quote", {
    kind: "people",
    filters: { country: "france" },
    profiles: 2,
  });
  const quote_id = quoteOf(quote);
  expect(textOf(await agent.call("buy", { quote_id }))).toContain("2 rows");
  expect(await agent.end()).toBe(0);
  // Every line was read as JSON already.
  expect(agent.lines.map((line) => JSON.parse(line).jsonrpc)).toEqual(["2.0", "2.0"]);
  expect(agent.stderr()).toContain("POST");
  expect(agent.stderr()).not.toContain("france");
  expect(agent.stderr()).not.toContain(service.key);
});

test.each([
  ["claude", "claude mcp add -e "],
  ["codex", "codex mcp add headcount --env "],
])(
  "the line that mcp install prints for %s starts the server when it is typed",
  async (client, begins) => {
    const { stderr } = await u.run(["mcp", "install", "--max-credits", "5/total", client]);
    const line = /; or: (.*)$/m.exec(stderr)?.[1] ?? "";
    expect(line.startsWith(begins)).toBe(true);
    // What stands behind the two hyphens is what the client starts, in the environment that the line names.
    const script = `${client}() { while [ "$1" != -- ]; do shift; done; shift; exec "$@" < /dev/null; }; ${line}`;
    // Nobody asks it anything: it ends with its stdin, where it could be started.
    await promisify(execFile)("sh", ["-c", script], {
      env: { HEADCOUNT_API_KEY: service.key },
      cwd: u.dir,
    });
  },
);

test.each(["modern", "legacy"] as const)(
  "a client that cannot ask gets the command for a person (%s)",
  async (era) => {
    const before = await charged(service, CREDITS);
    const agent = await startAgent(u, ["--max-credits", "10"], { era });
    onTestFinished(() => agent.close());
    const filters = { country: "united states", title_prefix: "s" };
    const quote = await agent.call("quote", { kind: "people", filters, profiles: 2 });
    const refused = await agent.call("buy", { quote_id: quote.data.quote_id });
    expect(refused.failed).toBe(true);
    expect((await charged(service, CREDITS)) - before).toBe(0);
    const [, command = ""] = /a person may buy it: headcount (.*)$/m.exec(refused.text) ?? [];
    const typed = `exec < /dev/null; "${process.execPath}" "${BIN}" ${command} --format ndjson`;
    const { stdout } = await promisify(execFile)("sh", ["-c", typed], {
      env: { PATH: process.env.PATH, ...u.env },
      cwd: u.dir,
    });
    expect(stdout.trim().split("\n")).toHaveLength(2);
    expect((await charged(service, CREDITS)) - before).toBe(2);
  },
);

describe("faults", { tags: ["long"] }, () => {
  let { service, proxy, u } = {} as Serving & { proxy: FaultProxy };
  let before = 0;
  const ends: (() => Promise<unknown>)[] = [];
  serveThroughProxy((now) => ({ service, proxy, u } = now));
  beforeEach(async () => {
    before = await charged(service, CREDITS);
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  const isPaid = ({ paid }: { readonly paid: number }) => paid > 0;
  async function start(...argv: readonly string[]): Promise<Agent> {
    const budget = argv.includes("--max-credits") ? [] : ["--max-credits", "5/total"];
    const agent = await startAgent(u, [...budget, ...argv], { answer: YES });
    ends.push(() => agent.close());
    return agent;
  }
  const quote = async (agent: Agent, profiles: number, country = "france") =>
    String(
      (await agent.call("quote", { kind: "people", filters: { country }, profiles })).data.quote_id,
    );
  const buy = async (agent: Agent, profiles: number, country?: string) =>
    agent.call("buy", { quote_id: await quote(agent, profiles, country) });
  const budget = async (agent: Agent) =>
    (await agent.call("account")).data.budget as { readonly spent: number; readonly left: number };
  async function strange(
    change: Parameters<typeof startForeignService>[0],
  ): Promise<ForeignService> {
    const one = await startForeignService(change);
    ends.push(() => one.close());
    u = user(one.url, one.key);
    return one;
  }

  /** Paid calls are charged, and their replies wait; told once the first of them waits. */
  function withheld(): { readonly there: Promise<void>; readonly letGo: () => void } {
    let arrived = (): void => undefined;
    let letGo = (): void => undefined;
    const there = new Promise<void>((done) => {
      arrived = done;
    });
    const waiting = new Promise<void>((done) => {
      letGo = done;
    });
    proxy.decide = async (request) => {
      if (!isPaid(request)) return { kind: "none" };
      const {
        authorization,
        "content-type": type,
        "idempotency-key": key,
      } = request.headers as Record<string, string>;
      // The service charges it now; what comes after the wait is the stored reply.
      await fetch(`${service.url}${request.url}`, {
        method: request.method,
        headers: {
          authorization: authorization ?? "",
          "content-type": type ?? "",
          "idempotency-key": key ?? "",
        },
        ...(request.body === "" ? {} : { body: request.body }),
      });
      arrived();
      await waiting;
      return { kind: "none" };
    };
    return { there, letGo };
  }

  test("killed between charge and reply: it counts at once, and is paid for once", async () => {
    const { there, letGo } = withheld();
    const first = await spawnAgent(u, ["--max-credits", "5/total"], { answer: YES });
    ends.push(() => first.close());
    const buying = buy(first, 3).catch(() => undefined);
    await there;
    kill(first.pid, "SIGKILL");
    await buying;
    letGo();
    proxy.decide = () => ({ kind: "none" });
    const second = await start();
    expect(await budget(second)).toMatchObject({ spent: 3, left: 2 });
    expect((await buy(second, 3, "germany")).text).toContain("2 left");
    expect((await buy(second, 3)).data).toMatchObject({ profiles: 3, credits: 3, budget_left: 2 });
    expect((await charged(service, CREDITS)) - before).toBe(3);
  });

  test.each(["SIGTERM", "end of stdin"])(
    "%s while it buys: what was asked for is settled, and it ends with 0",
    async (how) => {
      const { there, letGo } = withheld();
      const agent = rawProcess(u, ["--max-credits", "5", "--ask-over", "5"]);
      const quoted = await agent.call("quote", {
        kind: "people",
        filters: { country: "france" },
        profiles: 3,
      });
      const { structuredContent } = quoted.result as { structuredContent: { quote_id: string } };
      void agent.call("buy", { quote_id: structuredContent.quote_id });
      await there;
      if (how === "SIGTERM") agent.child.kill("SIGTERM");
      else agent.to.end();
      letGo();
      expect(await agent.exited).toBe(0);
      // Throws where something is held.
      expect((await charged(service, CREDITS)) - before).toBe(3);
      proxy.decide = () => ({ kind: "none" });
      expect((await budget(await start("--max-credits", "5/day"))).spent).toBe(3);
    },
  );

  test.each([
    [402, /credits/],
    [429, /nothing was charged/],
    // What broke at the service's end it tells in its own words: nobody looked.
    [500, /^the service answered 500: "injected 500"/],
    [503, /^the service answered 503: "injected 503"/],
  ])(
    "a purchase answered with %i costs nothing, and is said in words",
    async (status, words) => {
      const agent = await start("--max-wait", "1");
      proxy.decide = (request) =>
        isPaid(request)
          ? { kind: "error", status, headers: { "retry-after": "30" } }
          : { kind: "none" };
      const refused = await buy(agent, 3);
      expect(refused).toMatchObject({
        failed: true,
        text: expect.stringMatching(words),
      });
      proxy.decide = () => ({ kind: "none" });
      const { spent } = await budget(agent);
      expect(spent).toBe(0);
      expect((await charged(service, CREDITS)) - before).toBe(0);
    },
    120_000,
  );

  test("a service that drops replies: what may have been charged is in the budget", async () => {
    const one = await strange({ people: 40, mishap: () => "drop" });
    const agent = await start();
    const refused = await buy(agent, 3);
    expect(refused.failed).toBe(true);
    expect(one.charged()).toBeGreaterThan(0);
    const { spent, left } = await budget(agent);
    expect(spent).toBeGreaterThanOrEqual(one.charged());
    expect(left).toBeLessThanOrEqual(5 - one.charged());
    one.options.mishap = () => undefined;
    for (let turn = 0; turn < 3; turn++) await buy(agent, 2, `country ${turn}`);
    expect(one.charged()).toBeLessThanOrEqual(5);
  });

  test.each([
    ["price", (one: ForeignService) => Object.assign(one.options, { price: 2 })],
    ["dataset", (one: ForeignService) => Object.assign(one.options, { version: () => "v2" })],
  ])("another %s than quoted: nothing is bought", async (what, change) => {
    const one = await strange({ people: 40, version: () => "v1" });
    const agent = await start();
    const quote_id = await quote(agent, 2);
    change(one);
    const refused = await agent.call("buy", { quote_id });
    expect(refused).toMatchObject({ failed: true, text: expect.stringContaining(what) });
    expect(refused.text).toContain("nothing was spent");
    expect(one.charged()).toBe(0);
  });

  test("a run that a person goes on with, or removes, still counts", async () => {
    const agent = await start();
    expect((await buy(agent, 3)).failed).toBe(false);
    await u.ran(["runs", "remove", "last", "--force", "--yes"]);
    expect(await budget(agent)).toMatchObject({ spent: 3, left: 2 });
    const asked = rawAgent(u, ["--max-credits", "5/total"]);
    expect(textOf(await asked.call("account", {}))).toContain("2 of 5 left");
    await asked.end();
  });
});

describe("over HTTP", { tags: ["long"] }, () => {
  const CREDITS = 100_000;
  let service: TestService;
  let u: User;
  let child: ChildProcess;
  let door: { readonly url: string; readonly token: string };
  beforeAll(async () => {
    service = await startTestService({ people: 300, credits: CREDITS });
    u = user(service.url, service.key);
    child = spawn(process.execPath, [BIN, "mcp", "--port", "0", "--max-credits", "5"], {
      cwd: u.dir,
      env: { PATH: process.env.PATH ?? "", ...u.env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    door = JSON.parse(line.toString());
  });
  afterAll(async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    await service.close();
  });

  /** fetch sets Host by itself. */
  const statusOf = (
    headers: Readonly<Record<string, string>>,
    path = "/mcp",
    body = "{}",
  ): Promise<number> =>
    new Promise((done, refuse) => {
      const { hostname, port } = new URL(door.url);
      const out = request({ hostname, port, path, method: "POST", headers }, (reply) => {
        reply.resume();
        done(reply.statusCode ?? 0);
      });
      out.on("error", refuse).end(body);
    });

  test("nobody gets in without the token, from a page, or by another name of this machine", async () => {
    expect(new URL(door.url).hostname).toBe("127.0.0.1");
    const authorization = `Bearer ${door.token}`;
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ authorization: `${authorization}x` })).toBe(401);
    expect(await statusOf({ authorization, host: "rebound.example" })).toBe(403);
    expect(await statusOf({ authorization, origin: "https://page.example" })).toBe(403);
    expect(await statusOf({ authorization }, "/")).toBe(404);
    expect(await statusOf({ authorization }, "/mcp", "x".repeat(2_000_000))).toBe(413);
  });

  test.each(["2026-07-28", "legacy"] as const)(
    "the tools are there over HTTP, and the cap (%s)",
    async (era) => {
      const client = new Client(
        { name: "test-agent", version: "1" },
        {
          capabilities: { elicitation: { form: {} } },
          versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: era } },
        },
      );
      let asked = 0;
      client.setRequestHandler("elicitation/create", async () => {
        asked++;
        return { action: "accept", content: { spend: true } };
      });
      const requestInit = { headers: { authorization: `Bearer ${door.token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(door.url), { requestInit }));
      const before = await charged(service, CREDITS);
      const call = (name: string, given: Record<string, unknown>) =>
        client.callTool({ name, arguments: given });
      const quote = await call("quote", {
        kind: "people",
        filters: { country: era === "legacy" ? "france" : "germany" },
        profiles: 2,
      });
      const { quote_id } = quote.structuredContent as { quote_id: string };
      const bought = await call("buy", { quote_id });
      const spent = (await charged(service, CREDITS)) - before;
      // Without a session the older protocol has no way to ask a person: then nothing is bought.
      if (era === "legacy")
        expect({ asked, spent, refused: bought.isError }).toEqual({
          asked: 0,
          spent: 0,
          refused: true,
        });
      else
        expect({ asked, spent, refused: bought.isError === true }).toEqual({
          asked: 1,
          spent: 2,
          refused: false,
        });
      await client.close();
    },
  );
});
