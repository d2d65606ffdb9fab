import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import {
  answerEnvelope,
  answerError,
  fakeClock,
  rawServer,
  type TestContextOptions,
  testContext,
} from "../support/client.ts";
import { long } from "../support/long.ts";
import { noticesIn } from "../support/notices.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 200, credits: 1234.5, plan: {} });

async function run(argv: readonly string[], options: TestContextOptions & { url?: string } = {}) {
  const { url, env, ...others } = options;
  const tested = testContext({
    ...others,
    env: { HEADCOUNT_API_KEY: service.key, HEADCOUNT_BASE_URL: url ?? service.url, ...env },
  });
  const code = await main(argv, { ...tested.context, argv });
  return { code, stdout: tested.stdout(), stderr: tested.stderr(), interrupt: tested.interrupt };
}

describe("account", () => {
  test("a terminal gets a card", async () => {
    const { code, stdout, stderr } = await run(["account"], { tty: true, env: { NO_COLOR: "1" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^account {7}default$/m);
    expect(stdout).toMatch(/^balance {7}1,234.5 credits$/m);
    expect(stdout).toMatch(/^key {11}live, .*, hc_live_.*, from environment$/m);
    expect(stdout).toMatch(/^rate limit {4}600 a minute, 100,000 a day$/m);
    expect(stdout).toMatch(/^prices {8}search 1, employees 1 a profile; enrich 1 a match$/m);
    expect(stdout).not.toContain(service.key);
  });

  test("a pipe gets a name and a value a line", async () => {
    const { stdout } = await run(["account"]);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    expect(lines.every((cells) => cells.length === 2)).toBe(true);
    expect(Object.fromEntries(lines)).toMatchObject({
      "credits.balance": "1234.5",
      "costs.person_search": "1",
      plan: "standard",
    });
  });

  test("--json has every documented key", async () => {
    const { stdout } = await run(["account", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      connection: "environment",
      base_url: service.url,
      told: true,
      account: { id: "default", name: "default" },
      key: {
        ...{
          id: expect.any(String),
          name: expect.any(String),
          mode: "live",
          source: "environment",
        },
        prefix: expect.stringMatching(/^hc_live_/),
        ...{ scopes: null, created_at: expect.any(String), expires_at: null },
        // The service notes it every second: by the calls of the tests before, or not yet.
        last_used_at: expect.toBeOneOf([null, expect.any(String)]),
      },
      cap: { max_credits: null, spent: null, held: null, left: null },
      plan: "standard",
      credits: { balance: 1234.5, held: 0, used_today: 0 },
      rate_limits: { per_minute: 600, per_day: 100_000 },
      costs: { person_search: 1, company_enrich: 1, company_employees: 1 },
      limits: { per_page_max: 1000, max_depth: null },
      dataset: { version: expect.any(String), people: 200, companies: expect.any(Number) },
    });
  });

  long("a test key says so on stderr, and not with --quiet", async () => {
    const env = { HEADCOUNT_API_KEY: service.testKey };
    expect(await run(["account", "--json"], { env })).toMatchObject({
      code: 0,
      stderr: `${JSON.stringify({ notice: "TEST key: synthetic people and simulated credits" })}\n`,
    });
    expect(await run(["account", "--json", "-q"], { env })).toMatchObject({ code: 0, stderr: "" });
  });

  test("--verbose: one line a request, without the key", async () => {
    const { stderr } = await run(["account", "-v", "--json"]);
    expect(noticesIn(stderr)).toMatch(
      /^GET \/v1\/account 200 \d+ ms 0 credits \S+\nGET \/key 200 /,
    );
  });

  test("a price that is not told is null, and said", async () => {
    const server = await rawServer((_, response) =>
      answerEnvelope(response, { balance: 5, costs: { person_search: 2 } }),
    );
    const { code, stderr, stdout } = await run(["account", "--json"], { url: server.url });
    await server.close();
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      costs: { person_search: 2, company_enrich: null },
      account: { id: null },
    });
    expect(stderr).toMatch(/company_enrich costs; a purchase assumes 1 credit/);
  });
});

describe("what goes wrong with a call, in exit codes and in words", () => {
  async function against(
    status: number,
    headers: Record<string, string> = {},
    argv: readonly string[] = ["account"],
  ) {
    const clock = fakeClock();
    const server = await rawServer((_, response) =>
      answerError(response, status, ["because", "and so"], headers),
    );
    const outcome = await run(argv, { url: server.url, clock });
    await server.close();
    return { ...outcome, clock, calls: server.seen.length };
  }

  test("a refusal that is no reply of the API is no proof against the key", async () => {
    const page = await rawServer((_, response) =>
      response.writeHead(403, { "content-type": "text/html" }).end("<title>Blocked</title>"),
    );
    const ran = await run(["account"], { url: page.url, clock: fakeClock() });
    await page.close();
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain('not the API\'s JSON but text/html: "Blocked"');
    expect(ran.stderr).toMatch(/hint: .* a proxy or firewall in between may have refused it\n/);
  });

  test.each([
    [401, 3, "key_refused"],
    [403, 3, "forbidden"],
    [402, 4, "insufficient_credits"],
    [404, 8, "not_the_api"],
    [422, 2, "request_refused"],
    [413, 2, "request_refused"],
  ])("a %i ends with %i at once", async (status, code, name) => {
    const outcome = await against(status, {}, ["account", "--json"]);
    expect(outcome).toMatchObject({ code, stdout: "", calls: 1 });
    expect(JSON.parse(outcome.stderr)).toEqual({
      error: {
        code: name,
        message: expect.stringMatching(/because; nothing was charged\nand so/),
        exit_code: code,
        status,
        request_id: "req-1",
        hint: expect.toSatisfy((hint: unknown) => hint === null || typeof hint === "string"),
        resumable: false,
        next: null,
      },
    });
  });

  test("a 500 is tried again, then ends with 8 and the request id", async () => {
    const { code, stderr, calls } = await against(500);
    expect({ code, calls }).toEqual({ code: 8, calls: 5 });
    expect(stderr).toMatch(
      /error: the service answered 500: because\n {2}and so\n {2}request id: req-1\nhint: /,
    );
  });

  test("a 429 is waited for, within --max-wait", async () => {
    const clock = fakeClock();
    const server = await rawServer((_, response, count) =>
      count === 1
        ? answerError(response, 429, ["slow down"], { "retry-after": "20" })
        : answerEnvelope(response, { balance: 5 }),
    );
    const outcome = await run(["account", "--json"], { url: server.url, clock, random: () => 0 });
    await server.close();
    expect(outcome.code).toBe(0);
    expect(clock.sleeps).toEqual([20_000]);
    expect(outcome.stderr).toContain("rate limit reached: waiting 20 s");
    const refused = await against(429, { "retry-after": "20" }, ["account", "--max-wait", "19"]);
    expect(refused).toMatchObject({ code: 7, calls: 1 });
    expect(refused.clock.sleeps).toEqual([]);
    expect(refused.stderr).toMatch(
      /wait of 20 s, longer than --max-wait 19; nothing was charged[\s\S]*--max-wait 25/,
    );
  });

  test.each<[string, Parameters<typeof rawServer>[0], number, RegExp]>([
    [
      "an HTML page",
      (_, response) => response.end("<title>Sign in</title>"),
      8,
      /not the API's JSON.*"Sign in"/,
    ],
    [
      "a redirect",
      (_, response) => response.writeHead(302, { location: "https://elsewhere.example" }).end(),
      8,
      /redirect to https:\/\/elsewhere.example.*not followed/,
    ],
    [
      "a cut reply",
      (_, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write('{"status":', () => response.destroy());
      },
      8,
      /no whole answer came.*nothing was charged/,
    ],
  ])("%s", async (_, answer, code, message) => {
    const server = await rawServer(answer);
    const outcome = await run(["account"], { url: server.url, clock: fakeClock() });
    await server.close();
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr).not.toContain(service.key);
  });

  test("a server that is down", async () => {
    const outcome = await run(["account"], { url: "http://127.0.0.1:1", clock: fakeClock() });
    expect(outcome.code).toBe(8);
    expect(outcome.stderr).toMatch(
      /error: the request was not sent: http:\/\/127.0.0.1:1: nothing listens there/,
    );
  });

  test("server text cannot reach into the terminal", async () => {
    const server = await rawServer((_, response) =>
      answerError(response, 422, ["\u001b]0;owned\u0007\u202eevil", "\u009b31m"]),
    );
    const outcome = await run(["account"], { url: server.url, tty: true });
    await server.close();
    expect(outcome.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  test("a deprecated service warns once", async () => {
    const headers = { deprecation: "true", sunset: "Sat, 31 Oct 2026 23:59:59 GMT" };
    const server = await rawServer((_, response) =>
      answerEnvelope(
        response,
        { balance: 1, costs: { person_search: 1, company_enrich: 1, company_employees: 1 } },
        { headers },
      ),
    );
    const outcome = await run(["account"], { url: server.url });
    await server.close();
    expect(outcome.stderr).toBe(
      "warning: this part of the API is deprecated: true, goes away: Sat, 31 Oct 2026 23:59:59 GMT\n",
    );
  });
});

test("a proxy that takes Authorization away is told from a key that is refused", async () => {
  const proxy = await rawServer(async ({ url }, response) => {
    const { headers, status, text } = await fetch(`${service.url}${url}`).then(async (answer) => ({
      headers: Object.fromEntries(answer.headers),
      status: answer.status,
      text: await answer.text(),
    }));
    response.writeHead(status, headers).end(text);
  });
  const lost = await run(["account", "--json"], { url: proxy.url });
  await proxy.close();
  expect([lost.code, JSON.parse(lost.stderr).error.code]).toEqual([3, "key_lost"]);
  expect(lost.stderr).toContain("something in between takes the header Authorization away (401)");

  // A service that declares nothing of it is not guessed at.
  const other = await rawServer((_, response) => answerError(response, 401, ["send the API key"]));
  const refused = await run(["account", "--json"], { url: other.url });
  await other.close();
  expect(JSON.parse(refused.stderr).error.code).toBe("key_refused");
});
