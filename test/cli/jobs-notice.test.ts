import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { notified } from "../../src/app/jobs/outcome.ts";
import { testContext } from "../support/client.ts";
import { charged, runIds, seeded, user } from "../support/export.ts";
import { jobsFile, LEGAL, loadJobs, outcomesIn } from "../support/jobs-file.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));
beforeAll(loadJobs);

const jobs = (document: unknown, name?: string) => jobsFile(u, document, name);
const outcomes = (name: string) => outcomesIn(u, name);

describe("log and notice", () => {
  const THREE = { ...LEGAL, max_credits: 3, output: "l.csv", overwrite: true };
  const run = (job: object, of: object = {}) =>
    u.run(["jobs", "run", "l", ...jobs({ ...of, jobs: { l: job } })]);

  test("one line a run is appended, also for what failed before it began", async () => {
    writeFileSync(u.file("log.ndjson"), '{"half":');
    const log = { log: "log.ndjson" };
    expect(await run(THREE, log)).toMatchObject({ code: 0 });
    expect(await run({ ...THREE, filters: { department: "Legl" } }, log)).toMatchObject({
      code: 2,
    });
    const [half, ...lines] = u.read("log.ndjson").trim().split("\n");
    expect(half).toBe('{"half":');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        job: "l",
        command: "search",
        status: "done",
        rows: 3,
        changed: true,
        credits: 3,
        receipt: { credits: 3 },
        error: null,
      },
      {
        status: "failed",
        exit_code: 2,
        credits: 0,
        run: null,
        error: { code: "invalid_jobs_file" },
        receipt: null,
      },
    ]);
    expect(Object.keys(JSON.parse(lines[0] ?? "") as object)).toEqual(
      Object.keys(JSON.parse(lines[1] ?? "") as object),
    );
  });

  test("a log that cannot be written is refused before anything is bought", async () => {
    const before = await charged(service, CREDITS);
    expect(await run(THREE, { log: "nowhere/log.ndjson" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the log cannot be written"),
    });
    expect(await charged(service, CREDITS)).toBe(before);
    expect(existsSync(u.file("l.csv"))).toBe(false);
  });

  test("what a failed run spent is in its line", async () => {
    const log = { log: "log.ndjson" };
    expect(await run({ ...THREE, require_complete: true }, log)).toMatchObject({ code: 5 });
    expect(outcomes("log.ndjson")).toMatchObject([
      {
        status: "failed",
        exit_code: 5,
        credits: 3,
        run: runIds(u)[0],
        error: { code: "incomplete" },
      },
    ]);
    // The same job has nothing left to buy.
    expect(await run(THREE, log)).toMatchObject({ code: 0 });
    expect(outcomes("log.ndjson").at(-1)).toMatchObject({
      status: "done",
      credits: 0,
      receipt: { credits: 3 },
    });
  });

  test("what notify runs is told no secret, but where things are", async () => {
    const { context, dir } = testContext({
      env: {
        HEADCOUNT_MCP_TOKEN: "s1",
        PGPASSWORD: "s2",
        HEADCOUNT_API_KEY: "s3",
        HEADCOUNT_CLICKHOUSE_PASSWORD: "s4",
        HEADCOUNT_STATE_DIR: "here",
        PATH: process.env.PATH,
      },
    });
    expect(await notified("env > env.txt", "{}\n", context)).toBeUndefined();
    const told = readFileSync(join(dir, "env.txt"), "utf8");
    expect(told).toContain("HEADCOUNT_STATE_DIR=here\n");
    expect(told).not.toMatch(/=s\d$/m);
  });

  test("notify gets the line of a failure and of a change, without the key, and its own failure is only said", async () => {
    const notify = { notify: 'cat >> told.ndjson; echo "key=$HEADCOUNT_API_KEY" >> told.env' };
    const told = () =>
      existsSync(u.file("told.ndjson"))
        ? outcomes("told.ndjson").map(({ status, changed }) => [status, changed])
        : [];
    expect(await run(THREE, notify)).toMatchObject({ code: 0 });
    expect(told()).toEqual([["done", true]]);
    // The same rows again: nothing to tell.
    expect(await run(THREE, notify)).toMatchObject({ code: 0 });
    expect(told()).toEqual([["done", true]]);
    expect(await run({ ...THREE, min_rows: 9 }, notify)).toMatchObject({ code: 5 });
    expect(told()).toEqual([
      ["done", true],
      ["failed", null],
    ]);
    expect(outcomes("told.ndjson")[0]).toMatchObject({
      receipt: { output: { file: u.file("l.csv") } },
    });
    expect(u.read("told.env")).toBe("key=\nkey=\n");
    const broken = await run({ ...THREE, output: "l2.csv" }, { notify: "echo heard; exit 3" });
    expect(broken).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("warning: notify ended with 3: echo heard; exit 3"),
    });
    expect(broken.stderr).toContain("heard\n");
    expect(broken.stdout).toBe("");
  });

  test("a command that does not end is ended, with what it started", async () => {
    const { context, dir } = testContext();
    const problem = await notified("sleep 600 & echo $! > child; wait", "{}\n", context, 300);
    expect(problem).toBe("took longer than 0.3 s and was ended");
    const child = readFileSync(join(dir, "child"), "utf8").trim();
    const stat = () =>
      existsSync(`/proc/${child}/stat`) ? readFileSync(`/proc/${child}/stat`, "utf8") : " Z ";
    await expect.poll(stat, { timeout: 10_000 }).toMatch(/ [ZX] /);
  });

  test("a job that cannot be read is told too", async () => {
    const file = jobs({
      notify: "cat > told.json",
      log: "log.ndjson",
      jobs: { bad: { ...LEGAL, min_row: 1 } },
    });
    await u.ends(2, ["jobs", "run", ...file]);
    expect(JSON.parse(u.read("told.json"))).toMatchObject({
      job: "bad",
      status: "failed",
      exit_code: 2,
      error: { code: "invalid_jobs_file" },
    });
    expect(outcomes("log.ndjson").length).toBe(1);
  });
});

test("a list that is kept up to date by a job: who is new is paid for, labelled, and within the budget", async () => {
  const crowd = new Crowd(seeded(3), 0);
  const people = Array.from({ length: 1_200 }, () => crowd.born());
  const crowded = await startPeopleService({ people });
  u = user(crowded.url, crowded.key);
  await u.ran(["search", "--department", "Sales", "--yes", "-o", "sales.ndjson"]);
  const paid = crowded.rowsSold();
  const refresh = {
    command: "refresh",
    list: "sales.ndjson",
    max_credits: 40,
    schedule: "@weekly",
  };
  const of = (budget: string, more = {}) =>
    jobs({ budget, log: "log.ndjson", jobs: { sales: { ...refresh, ...more } } });
  const file = of("60/month");
  expect((await u.run(["jobs", "status", "sales", ...file])).stdout).toContain("\nsales,refresh,");
  crowded.options.people = crowd.week(people, { gone: 0.01, moved: 0.01, born: 0.02 });
  const ran = await u.ran(["jobs", "run", ...file, "--json"]);
  const cost = crowded.rowsSold() - paid;
  expect(cost).toBeGreaterThan(0);
  const rows = u.read("sales.ndjson").trim().split("\n").length;
  expect(JSON.parse(ran.stdout)).toMatchObject([
    {
      job: "sales",
      command: "refresh",
      rows,
      credits: cost,
      changed: true,
      receipt: { added: expect.any(Number), certificate: { equal: true } },
    },
  ]);
  expect((await u.run(["spend", "--by", "job"])).stdout).toContain(
    `\nsales,${cost},${cost},0,0,0,0,0\n`,
  );
  // Nothing is new: nothing is spent, so no budget is in the way, though the cap would not fit any more.
  await u.ran(["jobs", "run", "sales", ...of("40/month")]);
  const before = u.read("sales.ndjson");
  crowded.options.people = crowd.week(crowded.options.people, {
    gone: 0.01,
    moved: 0.01,
    born: 0.02,
  });
  const over = await u.run(["jobs", "run", "sales", ...of("40/month")]);
  expect(over).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      `it costs up to 40 credits, and the budget has ${40 - cost} left; nothing was spent`,
    ),
  });
  expect({ sold: crowded.rowsSold() - paid, list: u.read("sales.ndjson") }).toEqual({
    sold: cost,
    list: before,
  });
  await crowded.close();
});
