import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import {
  answerEnvelope,
  answerError,
  rawServer,
  type TestContextOptions,
  tempDir,
  testContext,
} from "../support/client.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 200, credits: 50 });

interface Found {
  readonly name: string;
  readonly area: string;
  readonly status: string;
  readonly message: string;
  readonly fix?: string;
}

async function run(argv: readonly string[], options: TestContextOptions = {}) {
  const tested = testContext(options);
  const code = await main(argv, { ...tested.context, argv });
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

async function doctor(options: TestContextOptions & { argv?: readonly string[] } = {}) {
  const { argv = [], ...others } = options;
  const outcome = await run(["doctor", "--json", ...argv], others);
  const document = JSON.parse(outcome.stdout) as {
    readonly ok: boolean;
    readonly checks: readonly Found[];
  };
  return {
    ...outcome,
    ok: document.ok,
    find: (name: string) => document.checks.find((check) => check.name === name),
  };
}

const costs = { person_search: 1, company_enrich: 1, company_employees: 1 };

/** A service that speaks otherwise, strict as the contract asks. Counts what it would have charged. */
async function otherService(
  fields: readonly string[],
  more: { lenient?: boolean; zero?: boolean; max?: number } = {},
) {
  const charged = { rows: 0 };
  const limits = {
    "x-ratelimit-limit": "60",
    "x-ratelimit-remaining": "50",
    "x-ratelimit-reset": "30",
  };
  const server = await rawServer(({ url, body }, response) => {
    if (url.endsWith("/account"))
      return answerEnvelope(response, { balance: 5, costs }, { headers: limits });
    if (url.includes("/employees")) return answerError(response, 404, ["no such company"]);
    const { filters, ...rest } = JSON.parse(body) as { filters: Record<string, unknown> };
    const unknown = Object.keys(filters).filter((key) => key.includes("probe"));
    if (!more.lenient && unknown.length > 0) {
      const detail = [`unknown filter: ${unknown.join(", ")}`];
      for (const [key, value] of Object.entries(rest)) {
        if (!fields.includes(key)) detail.push(`${key}: unexpected field`);
        else if (typeof value !== "number" || key === "cursor")
          detail.push(`${key} must be an integer`);
        else if (key === "per_page" && value > (more.max ?? 100))
          detail.push(`per_page must be at most ${more.max ?? 100}`);
        else if (key === "page" && value < 0) detail.push(`page counts from ${more.zero ? 0 : 1}`);
      }
      return answerError(response, 422, detail);
    }
    if (url.endsWith("/count")) return answerEnvelope(response, { total: 7 });
    charged.rows += 10;
    return answerEnvelope(response, [], { used: 10 });
  });
  return { server, charged };
}

describe("doctor", () => {
  test("on our own service finds all in order, and spends nothing", async () => {
    const env = { HEADCOUNT_API_KEY: service.key, HEADCOUNT_BASE_URL: service.url };
    const { code, ok, find, stderr } = await doctor({ env });
    expect({ code, ok, stderr }).toEqual({ code: 0, ok: true, stderr: "" });
    expect(find("Key")).toMatchObject({
      status: "ok",
      area: "key",
      message: expect.stringMatching(/^live key hc_live_....….... from HEADCOUNT_API_KEY$/),
    });
    expect(find("Clock")).toMatchObject({ status: "ok" });
    expect(find("Count")).toMatchObject({ status: "ok", message: 'under "count"' });
    expect(find("Paging")).toMatchObject({ status: "ok", message: "by page, counting from 1" });
    expect(find("Largest page")).toMatchObject({ status: "ok", message: "1,000 profiles" });
    expect(find("Account")?.message).toContain("balance 50");
    const account = await service.call("/v1/account");
    expect(account.json.result.credits).toMatchObject({ remaining: 50, used_today: 0 });
  });

  test.each<[readonly string[], { zero?: boolean; max?: number }, object]>([
    [
      ["per_page", "page"],
      { zero: true, max: 250 },
      { paging: "page", firstPage: 0, perPageMax: 250 },
    ],
    [["per_page", "offset"], {}, { paging: "offset", perPageMax: 100 }],
    [["per_page", "cursor"], {}, { paging: "cursor", perPageMax: 100 }],
  ])(
    "learns the dialect of a service with %j, and keeps it with the connection",
    async (fields, more, dialect) => {
      const { server, charged } = await otherService(fields, more);
      const dir = tempDir();
      const file = join(dir, "config.json");
      const connection = { baseUrl: server.url, accountId: "a" };
      writeFileSync(file, JSON.stringify({ default: "work", connections: { work: connection } }));
      const env = { HEADCOUNT_CONFIG_DIR: dir, HEADCOUNT_API_KEY: "x_live_12345678" };
      const { code, find } = await doctor({ env });
      expect(code).toBe(0);
      expect(find("Count")?.message).toBe('under "total"');
      expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
        default: "work",
        connections: { work: { ...connection, dialect } },
      });
      expect((await doctor({ env })).find("Saved")?.message).toContain("up to date");
      await server.close();
      expect(charged.rows).toBe(0);
    },
  );

  test.each([
    ["page", "ok", "by page, counting from 1"],
    [
      "page0",
      "warn",
      "by page, counting from 0; nothing keeps it, as no connection has this address",
    ],
    ["offset", "warn", "by offset; nothing keeps it, as no connection has this address"],
    ["cursor", "warn", "by cursor; nothing keeps it, as no connection has this address"],
  ] as const)(
    "learns %s from a service that stops at the first fault: the filters",
    async (how, status, message) => {
      let spent = 0;
      const name = how === "page0" ? "page" : how;
      const server = await rawServer(({ url, body }, response) => {
        if (url.endsWith("/account")) return answerEnvelope(response, { balance: 5, costs });
        if (url.includes("/person/")) {
          if (body.includes("doctor_probe"))
            return answerError(response, 422, ["unknown filter: headcount_doctor_probe"]);
          if (url.endsWith("/search")) spent++;
          return answerEnvelope(response, 7);
        }
        const { searchParams } = new URL(url, "http://x");
        for (const [key, value] of searchParams) {
          if (!["company_network_url", "per_page", name].includes(key))
            return answerError(response, 422, [
              `unknown parameter: ${key}; valid: company_network_url, per_page, ${name}`,
            ]);
          const least = key === "page" && how === "page" ? 1 : 0;
          if (key !== "company_network_url" && !(Number(value) >= least))
            return answerError(response, 422, [`${key}: must be >= ${least}`]);
          if (key === "per_page" && Number(value) > 50)
            return answerError(response, 422, ["Input should be less than or equal to 50"]);
        }
        return answerError(response, 404, ["no such company"]);
      });
      const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: "x_live_12345678" };
      const told = await doctor({ env });
      expect(told.find("Paging")).toMatchObject({ status, message });
      expect(told.find("Largest page")).toMatchObject({ status: "ok", message: "50 profiles" });
      if (status === "warn") expect(told.find("Paging")?.fix).toBe(`set HEADCOUNT_PAGING=${how}`);
      const said = await doctor({ env: { ...env, HEADCOUNT_PAGING: how } });
      expect(said.find("Paging")).toMatchObject({ status: "ok" });
      await server.close();
      expect(spent).toBe(0);
    },
  );

  test.each(["page", "page0", "offset", "cursor"] as const)(
    "learns %s from a service that looks the company up first, by searches for nobody",
    async (how) => {
      let sold = 0;
      const name = how === "page0" ? "page" : how;
      const server = await rawServer(({ url, body }, response) => {
        if (url.endsWith("/account")) return answerEnvelope(response, { balance: 5, costs });
        if (url.includes("/company/")) return answerError(response, 404, ["no such company"]);
        const { filters, ...rest } = JSON.parse(body) as {
          filters: Record<string, unknown>;
          per_page?: number;
        };
        if ("headcount_doctor_probe" in filters)
          return answerError(response, 422, ["unknown filter"]);
        const people = Object.keys(filters).length === 0 ? 7 : 0;
        if (url.endsWith("/count")) return answerEnvelope(response, { count: people });
        if ((rest.per_page ?? 0) < 10)
          return answerError(response, 422, ["per_page must be at least 10"]);
        for (const [key, value] of Object.entries(rest)) {
          if (key !== "per_page" && key !== name)
            return answerError(response, 422, [`unknown field: ${key}`]);
          if (key === "page" && !(Number(value) >= (how === "page" ? 1 : 0)))
            return answerError(response, 422, ["bad page"]);
        }
        sold += people;
        return answerEnvelope(response, how === "cursor" ? { results: [] } : [], { used: people });
      });
      const env = {
        HEADCOUNT_BASE_URL: server.url,
        HEADCOUNT_API_KEY: "x_live_12345678",
        HEADCOUNT_PAGING: how,
      };
      const found = (await doctor({ env })).find("Paging");
      await server.close();
      expect(found).toMatchObject({ status: "ok" });
      expect(found?.message).toContain(
        { page: "from 1", page0: "from 0", offset: "offset", cursor: "cursor" }[how],
      );
      expect(sold).toBe(0);
    },
  );

  test("does not say ok of what no answer showed", async () => {
    const server = await rawServer(({ url, body }, response) => {
      if (url.endsWith("/account")) return answerEnvelope(response, { balance: 5, costs });
      if (body.includes("doctor_probe")) return answerError(response, 422, ["unknown filter"]);
      if (url.includes("/employees")) return answerError(response, 404, ["no such company"]);
      return answerEnvelope(response, 7);
    });
    const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: "x_live_12345678" };
    const told = (await doctor({ env })).find("Paging");
    await server.close();
    expect(told).toMatchObject({
      status: "warn",
      message: "not told; by page, counting from 1, is used",
    });
    expect(told?.fix).toContain("set HEADCOUNT_PAGING=offset");
  });

  test("-c environment, as messages call it, is what the variables make up", async () => {
    const env = { HEADCOUNT_API_KEY: service.key, HEADCOUNT_BASE_URL: service.url };
    expect((await doctor({ env, argv: ["-c", "environment"] })).ok).toBe(true);
  });

  test("never tries a search on a service that takes unknown filters", async () => {
    const { server, charged } = await otherService([], { lenient: true });
    const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: "x_live_12345678" };
    const { code, find } = await doctor({ env });
    await server.close();
    expect(code).toBe(0);
    expect(find("Paging")).toMatchObject({
      status: "warn",
      message: expect.stringContaining("does not refuse unknown filters"),
    });
    expect(server.seen.some(({ url }) => url.includes("search"))).toBe(false);
    expect(charged.rows).toBe(0);
  });

  test("stops at once where a search with an unknown filter is not refused", async () => {
    let searches = 0;
    const server = await rawServer(({ url, body }, response) => {
      if (url.endsWith("/account")) return answerEnvelope(response, { balance: 5, costs });
      if (url.endsWith("/search")) {
        searches++;
        return answerEnvelope(response, [], { used: 0 });
      }
      return body.includes("probe")
        ? answerError(response, 422, ["unknown"])
        : answerEnvelope(response, 7);
    });
    const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: "x_live_12345678" };
    const { code, ok, find } = await doctor({ env });
    await server.close();
    expect({ code, ok, searches }).toEqual({ code: 8, ok: false, searches: 1 });
    expect(find("Paging")).toMatchObject({ status: "fail" });
  });

  test("a clock that is off is a warning with the way it is off", async () => {
    const server = await rawServer(({ url, body }, response) => {
      response.sendDate = false;
      const headers = { date: new Date(Date.now() + 600_000).toUTCString() };
      if (url.endsWith("/account"))
        return answerEnvelope(response, { balance: 5, costs }, { headers });
      return body.includes("probe")
        ? answerError(response, 400, ["no"])
        : answerEnvelope(response, 7);
    });
    const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: "x_live_12345678" };
    const clock = (await doctor({ env })).find("Clock");
    await server.close();
    expect(clock?.status).toBe("warn");
    expect(clock?.message).toMatch(
      /this machine's clock is (9 min 59 s|10 min|10 min 1 s) behind the service's/,
    );
  });

  test.each<[string, TestContextOptions, number, string]>([
    ["no key", {}, 3, "Key"],
    [
      "a service that is down",
      { env: { HEADCOUNT_API_KEY: "x_live_12345678", HEADCOUNT_BASE_URL: "http://127.0.0.1:1" } },
      8,
      "Service",
    ],
    [
      "a state folder that cannot be",
      { env: { HEADCOUNT_STATE_DIR: "/etc/hostname/state" } },
      2,
      "State folder",
    ],
    ["a bad proxy", { env: { HTTPS_PROXY: "proxy:3128" } }, 2, "Proxy"],
  ])("%s fails with its code, its fix and all the other checks", async (_, options, code, name) => {
    const outcome = await doctor(options);
    expect(outcome).toMatchObject({ code, ok: false });
    expect(outcome.find(name)).toMatchObject({ status: "fail", fix: expect.any(String) });
    expect(outcome.find("Node")).toMatchObject({ status: "ok", message: process.versions.node });
    expect(JSON.parse(outcome.stderr)).toMatchObject({
      error: { code: "doctor_failed", exit_code: code },
    });
  });

  test.each([
    ["doctor"],
    ["account"],
    ["connections", "list", "--json"],
    ["search", "--department", "Sales"],
  ])("%s shows nothing of what stands in the query of an address", async (...argv) => {
    const env = {
      HEADCOUNT_API_KEY: "x_live_12345678",
      HEADCOUNT_BASE_URL: "https://127.0.0.1:1/?api_key=hidden",
    };
    const { stdout, stderr } = await run(argv, { env });
    expect(stdout + stderr).toContain("https://127.0.0.1:1/?…");
    expect(stdout + stderr).not.toContain("hidden");
  });

  test("free calls that lower the balance, and do not say so, are told by the balance before and after", async () => {
    const { u, service: other } = await foreignScene({ usedIs: 0 });
    const { checks } = (await u.json(["doctor", "--json"])) as {
      readonly checks: readonly Found[];
    };
    expect(other.charged()).toBeGreaterThan(1);
    expect(checks.find(({ name }) => name === "Account")).toMatchObject({
      status: "warn",
      message: expect.stringContaining(`; ${other.charged()} credits less after these free calls`),
    });
  });

  test.each([{ HEADCOUNT_PAGING: "odd" }, { HEADCOUNT_BASE_URL: "http://127.0.0.1:1" }])(
    "does not send whoever ran it to itself (%o)",
    async (more) => {
      const env = {
        HEADCOUNT_API_KEY: "x_live_12345678",
        HEADCOUNT_BASE_URL: service.url,
        ...more,
      };
      const { code, stdout, stderr } = await doctor({ env });
      expect(code).toBeGreaterThan(0);
      expect(stdout + stderr).not.toContain("headcount doctor");
    },
  );

  test("whoever keeps keys in files is told that no keychain is needed", async () => {
    const env = { HEADCOUNT_CONFIG_DIR: tempDir(), HEADCOUNT_BASE_URL: service.url };
    expect((await doctor({ env })).find("Keychain")?.fix).toMatch(
      /; or nothing, where headcount login keeps the key in a file \(--insecure-storage\)$/,
    );
  });

  test("a refused key is the key's failure", async () => {
    const env = { HEADCOUNT_API_KEY: "hc_live_refused", HEADCOUNT_BASE_URL: service.url };
    expect((await doctor({ env })).code).toBe(3);
  });

  test("a terminal gets marks, a pipe gets CSV with a header", async () => {
    const env = { HEADCOUNT_API_KEY: "x_live_12345678", HEADCOUNT_BASE_URL: "http://127.0.0.1:1" };
    const piped = await run(["doctor"], { env });
    expect(piped.code).toBe(8);
    expect(piped.stdout).toMatch(/^status,name,message,fix\nok,Node,/);
    expect(piped.stdout).toMatch(/^fail,Service,/m);
    const plain = { ...env, NO_COLOR: "1", LANG: "C.UTF-8" };
    const terminal = await run(["doctor"], { env: plain, tty: true, columns: 60 });
    expect(terminal.stdout).toMatch(/^✓ Node {12}\d/m);
    expect(terminal.stdout).toMatch(/^! Keychain {8}the keychain cannot be reached/m);
    expect(Math.max(...terminal.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(
      60 + 40,
    );
    const ascii = await run(["doctor"], { env: { ...plain, LANG: "C" }, tty: true });
    expect(ascii.stdout).toMatch(/^ok +Node +\d/m);
    expect(ascii.stdout).not.toMatch(/[✓✗·]/);
  });
});
