import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { asTyped } from "../support/as-typed.ts";
import {
  answerEnvelope,
  answerError,
  fakeClock,
  rawServer,
  type SeenRequest,
  type TestContextOptions,
  tempDir,
  testContext,
} from "../support/client.ts";

async function run(argv: readonly string[], options: TestContextOptions = {}) {
  const tested = testContext(options);
  const code = await main(argv, { ...tested.context, argv });
  return { code, stdout: tested.stdout(), stderr: tested.stderr(), dir: tested.dir };
}

describe("the sample connection", { tags: ["long"] }, () => {
  const home = tempDir();
  const env = { XDG_DATA_HOME: home, HEADCOUNT_STATE_DIR: join(home, "state") };
  const folder = join(home, "headcount", "sample");
  const sample = (...argv: string[]) => run(["-c", "sample", ...argv], { env });

  test("two commands at once make it once, and both answer", async () => {
    const both = await Promise.all([sample("account", "--json"), sample("account", "--json")]);
    const documents = both.map(({ code, stdout }) => {
      expect(code).toBe(0);
      return JSON.parse(stdout) as { dataset: object; credits: object; key: { prefix: string } };
    });
    expect(documents[0]).toMatchObject({
      connection: "sample",
      dataset: { people: 50_000 },
      credits: { balance: 10_000 },
      key: { mode: "live", source: "sample" },
    });
    expect(documents[1]?.dataset).toEqual(documents[0]?.dataset);
    expect(statSync(join(folder, "sample.key")).mode & 0o777).toBe(0o600);
  });

  test("the next one uses what is there, says nothing of making it, and needs no config", async () => {
    const key = readFileSync(join(folder, "sample.key"), "utf8");
    const { code, stdout, stderr, dir } = await sample("count", "--department", "Sales");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Number(stdout)).toBeGreaterThan(100);
    expect(readFileSync(join(folder, "sample.key"), "utf8")).toBe(key);
    expect(existsSync(join(dir, "config"))).toBe(false);
  });

  test("a dataset of another version is made again, and the accounts stay", async () => {
    const meta = join(folder, "dataset", "v-sample-1", "meta.json");
    writeFileSync(meta, readFileSync(meta, "utf8").replace(/"format": \d+/, '"format": 1'));
    const key = readFileSync(join(folder, "sample.key"), "utf8");
    const { code, stdout, stderr } = await sample("count");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "50000\n" });
    expect(stderr).toMatch(/^making the sample dataset/);
    expect(readFileSync(join(folder, "sample.key"), "utf8")).toBe(key);
  });

  test.each([
    ["broken", () => writeFileSync(join(folder, "sample.key"), "nonsense\n")],
    ["gone", () => rmSync(join(folder, "sample.key"))],
  ])("a key that is %s is made again", async (_, harm) => {
    harm();
    expect((await sample("account", "-q")).code).toBe(0);
    expect(readFileSync(join(folder, "sample.key"), "utf8")).toMatch(/^hc_live_\w+\n$/);
    expect(statSync(join(folder, "sample.key")).mode & 0o777).toBe(0o600);
  });

  test("HEADCOUNT_CONNECTION names it too, and a key of one's own is not sent to it", async () => {
    const more = {
      ...env,
      HEADCOUNT_CONNECTION: "sample",
      HEADCOUNT_API_KEY: "hc_live_somebody-elses",
    };
    expect((await run(["account", "-q"], { env: more })).code).toBe(0);
  });

  test("a place that cannot be written is named, with the fix", async () => {
    const file = join(tempDir(), "file");
    writeFileSync(file, "");
    const { code, stderr, stdout } = await run(["-c", "sample", "account"], {
      env: { XDG_DATA_HOME: file },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/sample's folder .* cannot be made or written[\s\S]*XDG_DATA_HOME/);
  });

  test("doctor looks at it as at any other", async () => {
    const { code, stdout } = await sample("doctor");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok,Paging,"by page, counting from 1",$/m);
  });
});

describe("calls share one budget", () => {
  test("a second process waits for what the first one used up", async () => {
    const clock = fakeClock();
    const headers = () => ({
      "x-ratelimit-limit": "60",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(Math.floor(clock.now() / 1000) + 30),
    });
    const costs = { person_search: 1, company_enrich: 1, company_employees: 1 };
    const server = await rawServer((_, response) =>
      answerEnvelope(response, { balance: 1, costs, count: 1 }, { headers: headers() }),
    );
    const env = {
      HEADCOUNT_STATE_DIR: tempDir(),
      HEADCOUNT_BASE_URL: server.url,
      HEADCOUNT_API_KEY: "x_live_12345678",
    };
    expect((await run(["count", "--country", "x", "-q"], { env, clock })).code).toBe(0);
    expect(clock.sleeps).toEqual([]);
    expect((await run(["count", "--country", "x", "-q"], { env, clock })).code).toBe(0);
    expect(clock.sleeps).toHaveLength(1);
    expect(clock.sleeps[0]).toBeGreaterThan(25_000);
    const other = { ...env, HEADCOUNT_API_KEY: "x_live_87654321" };
    await run(["count", "--country", "x", "-q"], { env: other, clock });
    expect(clock.sleeps).toHaveLength(1);
    await server.close();
  });
});

describe("a rate limit that never lets a call through", () => {
  const costs = { person_search: 1, company_enrich: 1, company_employees: 1 };

  /** Two people, one a page; 429 with a wait of hardly anything for whatever `blocked` says. */
  async function against(blocked: (request: SeenRequest) => boolean, argv: readonly string[]) {
    const clock = fakeClock();
    const state = { blocked, calls: 0, sold: 0 };
    const server = await rawServer((request, response) => {
      if (state.blocked(request)) {
        state.calls++;
        answerError(response, 429, ["slow down"], { "retry-after-ms": "20" });
      } else if (request.url.endsWith("/count")) answerEnvelope(response, { count: 2 });
      else if (request.url.endsWith("/search")) {
        const { page } = JSON.parse(request.body) as { page: number };
        state.sold++;
        answerEnvelope(response, [{ id: `p${page}` }], { used: 1, remaining: 10 - state.sold });
      } else answerEnvelope(response, { balance: 10 - state.sold, costs });
    });
    const dir = tempDir();
    const env = {
      HEADCOUNT_STATE_DIR: dir,
      HEADCOUNT_BASE_URL: server.url,
      HEADCOUNT_API_KEY: "x_live_12345678",
    };
    const again = (...args: string[]) => run(args, { env, clock, cwd: dir, random: () => 0.5 });
    const began = clock.now();
    const outcome = await again(...argv);
    return {
      ...outcome,
      state,
      again,
      waited: clock.now() - began,
      dir,
      close: () => server.close(),
    };
  }

  test("ends a free call with 7 after --max-wait in all, and says how long it was", async () => {
    const account = ({ url }: SeenRequest): boolean => url.endsWith("/account");
    const { code, stderr, state, waited, close } = await against(account, [
      "account",
      "--max-wait",
      "40",
    ]);
    await close();
    expect(code).toBe(7);
    expect(waited).toBeLessThanOrEqual(40_250);
    expect(state.calls).toBeLessThan(20);
    expect(stderr).toMatch(
      /error: the rate limit has held up one call for [\d.]+ s, and the next wait is \d+ s: in all longer than --max-wait 40; nothing was charged/,
    );
    expect(stderr).toMatch(/hint: run it again after \S+Z, or with --max-wait \d+/);
  });

  test("ends an export with 7, and the run goes on where the service does", async () => {
    const search = asTyped`search --department Sales --per-page 1 --concurrency 1 --yes -o out.csv`;
    const second = ({ url, body }: SeenRequest): boolean =>
      url.endsWith("/search") && /"page":2/.test(body);
    const { code, stderr, state, waited, again, dir, close } = await against(second, [
      ...search,
      "--max-wait",
      "40",
    ]);
    expect(code).toBe(7);
    // The wait that is under way when the time is over is at most 15 s.
    expect(waited).toBeLessThanOrEqual(40_000 + 15_250);
    expect(stderr).toContain("longer than --max-wait 40");
    state.blocked = () => false;
    expect((await again("resume")).code).toBe(0);
    await close();
    expect(readFileSync(join(dir, "out.csv"), "utf8")).toMatch(/p1[\s\S]*p2/);
  });
});

describe("what a service says that cannot be", () => {
  const KEY = "hc_live_xq8Xabcdefghijklmnop1234FHl8";
  const costs = { person_search: 1, company_enrich: 1, company_employees: 1 };
  const rows = [{ id: "1" }, { id: "2" }];

  test("one odd reset of the rate limit does not stop a later purchase", async () => {
    for (const reset of ["99999999999", "1790847060000000", "Fri, 31 Dec 9999 23:59:59 GMT"]) {
      let odd = true;
      const server = await rawServer(({ url }, response) => {
        const told = odd ? ["0", reset] : ["599", "30"];
        odd = false;
        const headers = {
          "x-ratelimit-limit": "600",
          "x-ratelimit-remaining": told[0] ?? "",
          "x-ratelimit-reset": told[1] ?? "",
        };
        const result = url.endsWith("/account")
          ? { costs }
          : url.endsWith("/count")
            ? { count: 2 }
            : rows;
        answerEnvelope(response, result, { headers, used: url.endsWith("/search") ? 2 : 0 });
      });
      const dir = tempDir();
      const env = {
        HEADCOUNT_BASE_URL: server.url,
        HEADCOUNT_API_KEY: KEY,
        HEADCOUNT_STATE_DIR: dir,
      };
      const clock = fakeClock(Date.now());
      expect((await run(["account", "-q"], { env, clock })).code).toBe(0);
      const bought = await run(["search", "--department", "Sales", "--yes", "-q"], { env, clock });
      expect({ reset, code: bought.code, rows: bought.stdout.trim().split("\n").length }).toEqual({
        reset,
        code: 0,
        rows: 2,
      });
      await server.close();
    }
  });

  test("what is nested without end is told as such, and is no bug", async () => {
    const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const server = await rawServer(({ url }, response) => {
      if (url.endsWith("/account")) return answerEnvelope(response, { costs });
      if (url.endsWith("/count")) return answerEnvelope(response, { count: 1 });
      const result = url.endsWith("/search") ? `[{"id":"1","x":${deep(50_000)}}]` : "null";
      response.statusCode = result === "null" ? 422 : 200;
      response.end(
        `{"status":${result !== "null"},"detail":[${result === "null" ? deep(100_000) : ""}],"result":${result},"credits_used":1,"credits_remaining":9}`,
      );
    });
    const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: KEY };
    const paid = await run(["search", "--all", "--yes", "--format", "csv"], { env });
    const refused = await run(["enrich", "acme.example"], { env });
    await server.close();
    expect(paid.code).not.toBe(0);
    for (const { stderr } of [paid, refused]) {
      expect(stderr).toContain("nested too deep");
      expect(stderr).not.toContain("bug in headcount");
    }
  });

  test("a refused key is named by what may be shown of it and by where it came from", async () => {
    const server = await rawServer((_, response) =>
      answerError(response, 401, ["the API key was revoked"]),
    );
    const env = { HEADCOUNT_BASE_URL: server.url, HEADCOUNT_API_KEY: KEY };
    const { code, stderr } = await run(["count", "--department", "Sales"], { env });
    await server.close();
    expect(code).toBe(3);
    expect(stderr).toContain(
      "the service refused the key hc_live_xq8X…FHl8 from HEADCOUNT_API_KEY (401)",
    );
    expect(stderr).toContain("hint: put another key into HEADCOUNT_API_KEY");
    expect(stderr).not.toContain(KEY);
    expect(stderr).not.toMatch(/hint: .*headcount login \w+ stores/);
  });
});
