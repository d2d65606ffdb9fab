import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/main.ts";
import {
  answerEnvelope,
  fakeClock,
  rawServer,
  type TestContextOptions,
  tempDir,
  testContext,
} from "../support/client.ts";

async function run(argv: readonly string[], options: TestContextOptions = {}) {
  const tested = testContext(options);
  const code = await main(argv, { ...tested.context, argv });
  return { code, stdout: tested.stdout(), stderr: tested.stderr(), dir: tested.dir };
}

describe("the sample connection", () => {
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
      credits: { remaining: 10_000 },
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
    const more = { ...env, HEADCOUNT_CONNECTION: "sample", HEADCOUNT_API_KEY: "hc_live_somebody-elses" };
    expect((await run(["account", "-q"], { env: more })).code).toBe(0);
  });

  test("a place that cannot be written is named, with the fix", async () => {
    const file = join(tempDir(), "file");
    writeFileSync(file, "");
    const { code, stderr, stdout } = await run(["-c", "sample", "account"], { env: { XDG_DATA_HOME: file } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/sample's folder .* cannot be made or written[\s\S]*XDG_DATA_HOME/);
  });

  test("doctor looks at it as at any other", async () => {
    const { code, stdout } = await sample("doctor");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok\tPaging\tby page, counting from 1\t$/m);
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
      answerEnvelope(response, { balance: 1, costs }, { headers: headers() }),
    );
    const env = {
      HEADCOUNT_STATE_DIR: tempDir(),
      HEADCOUNT_BASE_URL: server.url,
      HEADCOUNT_API_KEY: "x_live_12345678",
    };
    expect((await run(["account", "-q"], { env, clock })).code).toBe(0);
    expect(clock.sleeps).toEqual([]);
    expect((await run(["account", "-q"], { env, clock })).code).toBe(0);
    expect(clock.sleeps).toHaveLength(1);
    expect(clock.sleeps[0]).toBeGreaterThan(25_000);
    const other = { ...env, HEADCOUNT_API_KEY: "x_live_87654321" };
    await run(["account", "-q"], { env: other, clock });
    expect(clock.sleeps).toHaveLength(1);
    await server.close();
  });
});
