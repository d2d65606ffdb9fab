import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { heartbeat } from "../../src/app/jobs/ping.ts";
import { freePort } from "../support/free-port.ts";
import type { Serving } from "../support/serving.ts";
import { serveUsers } from "../support/serving.ts";

let { u } = {} as Serving;
serveUsers((now) => ({ u } = now));

const LEGAL = {
  command: "search",
  filters: { department: "Legal" },
  limit: 12,
  max_credits: 100,
  output: "legal.csv",
};

function jobs(document: object): string[] {
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify(document));
  return ["--file", "jobs.jsonc"];
}

/** A monitor: hears calls in the order in which they come, and answers as it is told. */
let heard: string[];
let address: string;
let close: () => void;
let answers: (path: string) => Promise<number> | number;

beforeEach(async () => {
  heard = [];
  answers = () => 200;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    heard.push(`${request.method} ${request.url}${body === "" ? "" : ` ${body}`}`);
    response.writeHead(await answers(request.url ?? "")).end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterEach(() => close());

describe("ping", () => {
  const of = (form: string, path: string) => ({ form, url: `${address}${path}` });
  const run = (job: object, ping: object) =>
    u.run(["jobs", "run", "l", ...jobs({ jobs: { l: { ...job, ping } } })]);

  test("healthchecks.io hears the start, the end and a failure", async () => {
    const ping = of("healthchecks", "/u-u-i-d/?create=1");
    expect(await run(LEGAL, ping)).toMatchObject({ code: 0 });
    expect(heard).toEqual([
      "POST /u-u-i-d/start?create=1",
      "POST /u-u-i-d?create=1 12 rows, 12 credits",
    ]);
    heard = [];
    expect(await run({ ...LEGAL, min_rows: 99 }, ping)).toMatchObject({ code: 5 });
    expect(heard).toEqual([
      "POST /u-u-i-d/start?create=1",
      "POST /u-u-i-d/fail?create=1 exit 5: too_few_rows",
    ]);
  });

  test("Uptime Kuma hears up and down, and no start, which would hide a failure", async () => {
    const ping = of("uptime-kuma", "/api/push/token?status=up&msg=OK&ping=");
    expect(await run(LEGAL, ping)).toMatchObject({ code: 0 });
    expect(await run({ ...LEGAL, min_rows: 99 }, ping)).toMatchObject({ code: 5 });
    expect(heard).toEqual([
      "GET /api/push/token?status=up&msg=12+rows%2C+12+credits&ping=",
      "GET /api/push/token?status=down&msg=exit+5%3A+too_few_rows&ping=",
    ]);
  });

  test("a monitor that answers late delays no job: the start is answered once the file is there", async () => {
    const arrived = async (): Promise<number> => {
      await expect.poll(() => existsSync(u.file("legal.csv")), { timeout: 5_000 }).toBe(true);
      return 200;
    };
    answers = (path) => (path.endsWith("/start") ? arrived() : 200);
    expect(await run(LEGAL, of("healthchecks", "/id"))).toMatchObject({ code: 0 });
    expect(heard.map((line) => line.split(" ")[1])).toEqual(["/id/start", "/id"]);
  });

  test("what nobody hears fails no job, is said without the token, and is found by jobs check", async () => {
    answers = () => 404;
    const ran = await run(LEGAL, of("healthchecks", "/s-e-c-r-e-t"));
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`l: warning: ping: ${address}: HTTP 404`),
    });
    expect(ran.stderr).not.toContain("s-e-c-r-e-t");
    const checked = await u.ends(5, ["jobs", "check", "--file", "jobs.jsonc", "--json"]);
    expect(JSON.parse(checked.stdout)).toEqual([
      { job: "l", finding: "ping", message: expect.stringContaining("HTTP 404") },
    ]);
    answers = () => 200;
    expect(await run(LEGAL, of("healthchecks", "/id"))).toMatchObject({ code: 0 });
    await u.ran(["jobs", "check", "--file", "jobs.jsonc"]);
    const { stdout } = await u.run(["jobs", "status", "--file", "jobs.jsonc", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [{ ping: "healthchecks" }] });
  });

  test("a call that is never answered is given up, and so is one where nobody listens", async () => {
    const problems: (string | undefined)[] = [];
    const told = (url: string) => {
      const way = { env: {}, now: () => 0 };
      const beat = heartbeat(
        { form: "healthchecks", url: new URL(url) },
        way,
        (problem) => void problems.push(problem),
        200,
      );
      beat.tell("success", "1 rows");
      return beat.told();
    };
    answers = () => new Promise<number>(() => undefined);
    await told(`${address}/id`);
    await told(`http://127.0.0.1:${await freePort()}/id`);
    expect(problems).toEqual([
      expect.stringMatching(/^http:\S+: no (whole )?answer within 0.2 s$/),
      expect.stringContaining("nothing listens there"),
    ]);
  });

  test("a job that breaks a rule fails for the monitor, and a dry run is none", async () => {
    const ping = of("healthchecks", "/id");
    expect(await run({ ...LEGAL, filters: { department: "Legl" } }, ping)).toMatchObject({
      code: 2,
    });
    expect(heard).toEqual(["POST /id/fail exit 2: invalid_jobs_file"]);
    await u.run(["jobs", "run", "l", "--dry-run", ...jobs({ jobs: { l: { ...LEGAL, ping } } })]);
    expect(heard.length).toBe(1);
  });

  test.each([
    ["an address alone", "https://hc-ping.com/id"],
    ["a form that is none", { form: "pingdom", url: "https://hc-ping.com/id" }],
    ["another scheme", { form: "healthchecks", url: "file:///etc/passwd" }],
    ["a password", { form: "healthchecks", url: "https://me:pw@hc-ping.com/id" }],
    ["a key more", { form: "healthchecks", url: "https://hc-ping.com/id", method: "PUT" }],
  ])("%s is refused with what it takes", async (_, ping) => {
    expect(await run(LEGAL, ping as object)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '"ping" is {"form": "healthchecks" or "uptime-kuma", "url": "https://..."}',
      ),
    });
  });
});

describe("warn_at", () => {
  const of = (department: string, limit: number, max_credits: number) => ({
    ...LEGAL,
    filters: { department },
    output: `${department}.csv`,
    limit,
    max_credits,
  });
  const file = (more: object = {}) =>
    jobs({
      budget: "60/month",
      log: "log.ndjson",
      notify: "cat >> told.ndjson",
      ...more,
      jobs: {
        legal: of("Legal", 12, 15),
        sales: of("Sales", 30, 48),
        few: of("Marketing", 7, 18),
        more: of("Operations", 2, 11),
        last: of("Product", 1, 9),
      },
    });
  const lines = (name: string) =>
    u
      .read(name)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { job: string; warnings: object[] })
      .map(({ job, warnings }) => [job, warnings]);
  const run = (name: string, more?: object) => u.run(["jobs", "run", name, ...file(more)]);
  const check = async (more?: object) => {
    const { code, stdout } = await u.run(["jobs", "check", ...file(more), "--json"]);
    return { code, findings: JSON.parse(stdout) as object };
  };

  test("a cap that a run nearly spent is said by log, notice and check, once a run", async () => {
    const ran = await run("legal");
    const near = { of: "max_credits", spent: 12, cap: 15 };
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'warning: 12 of 15 credits of "max_credits" are spent or at risk',
      ),
    });
    expect(lines("log.ndjson")).toEqual([["legal", [near]]]);
    expect(lines("told.ndjson")).toEqual([["legal", [near]]]);
    const message = 'its last run: 12 of 15 credits of "max_credits" are spent or at risk';
    expect(await check()).toEqual({
      code: 0,
      findings: [{ job: "legal", finding: "near", message }],
    });
    // All of it is owned: nothing is spent, and nothing is told.
    await run("legal");
    expect(lines("log.ndjson").at(-1)).toEqual(["legal", []]);
    expect(lines("told.ndjson").length).toBe(1);
    expect(await check()).toEqual({ code: 0, findings: [] });
  });

  test("a budget is said once in its month, by whoever passes the share, and again where it is raised", async () => {
    const warned = async (name: string, more?: object) => {
      expect(await run(name, { warn_at: "82%", ...more })).toMatchObject({ code: 0 });
      return lines("log.ndjson").at(-1);
    };
    // Of the cap 80 % are spent, and 82 % are asked for.
    expect(await warned("legal")).toEqual(["legal", []]);
    expect(await warned("sales")).toEqual(["sales", []]);
    expect(await check()).toMatchObject({ code: 0, findings: [] });
    const near = { of: "budget", spent: 49, cap: 60 };
    expect(await warned("few", { warn_at: "81%" })).toEqual(["few", [near]]);
    expect(lines("told.ndjson").at(-1)).toEqual(["few", [near]]);
    expect(await warned("more", { warn_at: "81%" })).toEqual(["more", []]);
    expect(await warned("last", { budget: "62/month" })).toEqual([
      "last",
      [{ of: "budget", spent: 52, cap: 62 }],
    ]);
    const { stdout } = await u.run(["jobs", "check", ...file()]);
    expect(stdout).toMatch(
      /^job,finding,message\n,near,52 of 60 credits of the month's budget are spent or at risk at http\S+\n$/,
    );
  });
});
