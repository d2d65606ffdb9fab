import { existsSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { fakeClock } from "../support/client.ts";
import { charged, readCsv, seeded } from "../support/export.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

const HOUR = 3_600_000;
let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

const LEGAL = { filters: { department: "Legal" }, max_credits: 100, output: "legal.csv" };
const write = (document: unknown, name = "jobs.jsonc"): string[] => {
  writeFileSync(u.file(name), JSON.stringify(document));
  return ["--file", name];
};
const run = (file: readonly string[], ...argv: readonly string[]) =>
  u.run(["jobs", "run", ...argv, ...file]);

test("a job with a file refreshes it: whoever is owned is bought no second time, and the quote says what the run does", async () => {
  const file = write({ jobs: { legal: LEGAL } });
  expect((await u.run(["jobs", "status", "legal", ...file])).stdout).toContain(
    "\nlegal,refresh,never,",
  );
  const before = await charged(service, CREDITS);
  const quotes: unknown[] = [];
  const outcomes: unknown[] = [];
  for (let week = 0; week < 2; week++) {
    quotes.push(...JSON.parse((await run(file, "legal", "--dry-run", "--json")).stdout));
    outcomes.push(...JSON.parse((await run(file, "legal", "--json")).stdout));
  }
  const rows = readCsv(u.read("legal.csv")).length;
  expect(rows).toBeGreaterThan(20);
  expect(quotes).toMatchObject([
    { job: "legal", quote: { count: rows, owned: 0, new: rows, credits_at_most: rows } },
    { job: "legal", quote: { count: rows, owned: rows, new: 0, credits_at_most: 0 } },
  ]);
  expect(outcomes).toMatchObject([
    { command: "refresh", status: "done", rows, credits: rows, changed: true },
    { command: "refresh", status: "done", rows, credits: 0, changed: false },
  ]);
  expect((await charged(service, CREDITS)) - before).toBe(rows);
  const shown = await run(file, "legal", "--dry-run");
  expect(shown.stdout).toMatch(/^legal\n.*segment/);
});

test("a filter that nobody has says what has, each time the job runs", async () => {
  const file = write({
    jobs: { legal: { ...LEGAL, filters: { department: "Legal", country: "frnace" } } },
  });
  for (const _ of ["first", "again"]) {
    const ran = await run(file, "legal");
    expect([ran.code, ran.stderr]).toEqual([
      0,
      expect.stringMatching(/^legal: hint: country "france" counts \d+ people$/m),
    ]);
  }
});

test("what only a search can do says which word makes the job one", async () => {
  const file = write({ jobs: { legal: { ...LEGAL, limit: 3 } } });
  const ran = await run(file, "legal");
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      '"limit" is a key of a search, so it goes with "command": "search"',
    ),
  });
});

test("two files with a job of one name share no history, no status and no lock", async () => {
  const one = write({ jobs: { legal: { ...LEGAL, schedule: "@daily" } } });
  const other = write(
    { jobs: { legal: { ...LEGAL, output: "other.csv", schedule: "@daily" } } },
    "other.jsonc",
  );
  expect(await run(one)).toMatchObject({ code: 0 });
  expect(existsSync(u.file("legal.csv"))).toBe(true);
  const status = async (file: readonly string[]) =>
    (await u.json(["jobs", "status", ...file, "--json"])).jobs[0];
  expect(await status(one)).toMatchObject({ status: "done", due: false });
  expect(await status(other)).toMatchObject({ status: "never", rows: null, due: true });
  expect(await run(other)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("legal: other.csv: "),
  });
  expect(existsSync(u.file("other.csv"))).toBe(true);
});

test.each(["refresh", "search"])(
  "a %s replaces nothing that another wrote, but by its word",
  async (command) => {
    const job = { ...LEGAL, command };
    const file = write({ jobs: { legal: job, twin: { ...job, output: "twin.csv" } } });
    const byHand = asTyped`search --department Sales --max-credits 2 -o legal.csv --overwrite`;
    await u.ran(byHand);
    const list = u.read("legal.csv");
    const before = await charged(service, CREDITS);
    const ran = await run(file, "legal");
    // A list of another segment is told as one.
    const said = command === "search" ? '"overwrite": true in the job' : "is a list of";
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
    expect(ran.stderr).toContain('"overwrite"');
    expect(await run(file, "legal", "--dry-run")).toMatchObject({ code: 2, stderr: ran.stderr });
    expect({ list: u.read("legal.csv"), charged: await charged(service, CREDITS) }).toEqual({
      list,
      charged: before,
    });
    const allowed = write({ jobs: { legal: { ...job, overwrite: true } } }, "allowed.jsonc");
    expect(await run(allowed, "legal")).toMatchObject({ code: 0 });
    // Its own it replaces without a word, until somebody else wrote it.
    expect(await run(file, "twin")).toMatchObject({ code: 0 });
    expect(await run(file, "twin")).toMatchObject({ code: 0 });
    await u.ran([...byHand.slice(0, -3), "-o", "twin.csv", "--overwrite", "--again"]);
    expect(await run(file, "twin")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("by hand"),
    });
    // Nor does the job of another file.
    const another = write(
      { jobs: { sales: { ...job, filters: { department: "Sales" }, max_credits: 500 } } },
      "b.jsonc",
    );
    expect(await run(another, "sales")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("legal.csv"),
    });
  },
);

test("a job whose filters are another segment than its list's is refused with both, and replaces nothing", async () => {
  const of = (country: string, more = {}) =>
    write({ jobs: { legal: { ...LEGAL, filters: { department: "Legal", country }, ...more } } });
  await u.ran(["jobs", "run", "legal", ...of("germany")]);
  const list = u.read("legal.csv");
  const before = await charged(service, CREDITS);
  const both = /legal\.csv is a list of \{[^}]*germany[^}]*\}, and the filters [^}]*france/;
  for (const dry of [[], ["--dry-run"]])
    await u.ends(2, ["jobs", "run", "legal", ...of("france"), ...dry], both);
  // By hand it is the same rule.
  const byHand = asTyped`refresh --department Legal --country france --yes -o legal.csv`;
  await u.ends(2, byHand, both);
  expect({ list: u.read("legal.csv"), charged: await charged(service, CREDITS) }).toEqual({
    list,
    charged: before,
  });
  await u.ran(["jobs", "run", "legal", ...of("france", { overwrite: true })]);
  expect(u.read("legal.csv")).not.toBe(list);
});

test("a run of a time that is yet to come is no proof: the job is due, and that is said", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 5, 12));
  const daily = { ...LEGAL, schedule: "0 6 * * *" };
  write({ jobs: { legal: daily } });
  const jobs = (...words: readonly string[]) =>
    u.run(["jobs", ...words, "--file", "jobs.jsonc"], { clock });

  clock.advance(400 * 24 * HOUR);
  expect((await jobs("run")).code).toBe(0);
  clock.advance(-400 * 24 * HOUR);

  const checked = await jobs("check", "--json");
  expect(checked.code).toBe(5);
  expect(JSON.parse(checked.stdout)).toMatchObject([{ job: "legal", finding: "clock" }]);
  const status = await jobs("status", "--json");
  expect(JSON.parse(status.stdout)).toMatchObject({ jobs: [{ job: "legal", due: true }] });

  const ran = await jobs("run");
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).toContain("yet to come");
  expect(await jobs("run")).toMatchObject({ stderr: expect.stringContaining("No job is due") });
});

test("jobs check: an output that could not be written, before its job is due", async () => {
  mkdirSync(u.file("lists"));
  writeFileSync(u.file("plain"), "");
  symlinkSync("real.csv", u.file("link.csv"));
  writeFileSync(u.file("real.csv"), "");
  const at = (output: string) => ({ ...LEGAL, output });
  const table = (file: string) => ({ ...at(`duckdb:${file}#people`), command: "search" });
  const file = write({
    jobs: {
      gone: at("nowhere/legal.csv"),
      folder: at("lists"),
      below: at("plain/legal.csv"),
      one: at("real.csv"),
      other: at("link.csv"),
      base: table("nowhere/people.duckdb"),
      server: { ...at("postgres://db.example/crm#people"), command: "search" },
      old: at("lists/people.xls"),
      stdout: at("-"),
      misspelt: { ...at("lists/fields.csv"), fields: "nmae" },
      unsaved: { segment: "nobody-saved-it", max_credits: 5, output: "lists/unsaved.csv" },
      good: at("lists/legal.csv"),
      both: table("lists/people.duckdb"),
      too: { ...at("duckdb:lists/people.duckdb#others"), command: "search" },
    },
  });
  const { stdout } = await u.ends(2, ["jobs", "check", "--json", ...file]);
  const found = JSON.parse(stdout) as Record<string, string>[];
  expect(found.map(({ job, message }) => [job, message?.replaceAll(u.dir, "")])).toEqual([
    ["gone", "the folder /nowhere does not exist"],
    ["folder", "/lists is a folder, not a file"],
    ["below", "/plain is not a folder"],
    ["other", expect.stringContaining("it writes the same output as one")],
    ["base", "the folder /nowhere does not exist"],
    ["old", expect.stringContaining("the name /lists/people.xls does not tell the format")],
    ["stdout", expect.stringContaining(": - is no regular file")],
    ["misspelt", expect.stringContaining("unknown field: nmae (did you mean name?)")],
    ["unsaved", expect.stringContaining('there is no segment "nobody-saved-it"')],
  ]);
});

test("jobs check: what breaks a rule, failed last or should have run by now, with an exit code", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 5, 12));
  const written = Date.UTC(2026, 0, 5, 11) / 1_000;
  const check = async (jobs: object, ...more: readonly string[]) => {
    write({ jobs });
    utimesSync(u.file("jobs.jsonc"), written, written);
    const { code, stdout, stderr } = await u.run(
      ["jobs", "check", "--file", "jobs.jsonc", "--json", ...more],
      {
        clock,
      },
    );
    return {
      code,
      found: JSON.parse(stdout) as { job: string; finding: string; message: string }[],
      stderr,
    };
  };
  const daily = { ...LEGAL, schedule: "0 6 * * *" };
  // It never ran, and its first time has not come since it was written down.
  expect(await check({ legal: daily })).toMatchObject({ code: 0, found: [] });
  clock.advance(18 * HOUR + HOUR / 2);
  expect(await check({ legal: daily })).toMatchObject({ code: 0, found: [] });
  clock.advance(HOUR);
  expect(await check({ legal: daily })).toMatchObject({
    code: 5,
    found: [
      { job: "legal", finding: "overdue", message: "due since 2026-01-06 06:00 UTC, never done" },
    ],
  });
  expect(await u.run(["jobs", "run", "--file", "jobs.jsonc"], { clock })).toMatchObject({
    code: 0,
  });
  expect(await check({ legal: daily })).toMatchObject({ code: 0, found: [] });
  await check({ legal: { ...daily, min_rows: 1_000 } });
  expect((await u.run(["jobs", "run", "legal", "--file", "jobs.jsonc"], { clock })).code).toBe(5);
  const failed = await check({ legal: daily, bad: { ...daily, min_row: 1, output: "b.csv" } });
  expect(failed).toMatchObject({
    code: 2,
    found: [
      { job: "legal", finding: "failed", message: expect.stringContaining("exit 5: ") },
      { job: "bad", finding: "invalid", message: expect.stringContaining("min_rows") },
    ],
  });
  const told = JSON.parse(failed.stderr).error;
  expect(told).toMatchObject({ code: "jobs_check", exit_code: 2 });
  // The hint names the file, so that it is of these jobs where it is typed.
  const [, status = ""] = /^headcount (.*) says how each went$/.exec(told.hint) ?? [];
  expect(await u.run(status.split(" "), { clock })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("min_rows"),
  });
  // All that is wrong with one, and nothing of what was only refused.
  const typos = await check({
    bad: { ...daily, filters: { department: "Legl" }, schedule: "0 6 * * 8" },
  });
  expect(typos.found[0]?.message).toMatch(/did you mean "Legal".*"0 6 \* \* 8"/);
  expect(typos.found[0]?.message).not.toContain("who is wanted");
  expect(await check({ legal: daily })).toMatchObject({ code: 5, found: [{ finding: "failed" }] });
  // A look is no failure of its own.
  expect(await u.run(["jobs", "status", "--file", "jobs.jsonc"], { clock })).toMatchObject({
    code: 0,
  });
});

test("notify_failure is run after a failure alone", async () => {
  const file = write({ notify_failure: "cat >> failed.ndjson", jobs: { legal: LEGAL } });
  expect(await run(file, "legal")).toMatchObject({ code: 0 });
  expect(existsSync(u.file("failed.ndjson"))).toBe(false);
  const few = write({
    notify_failure: "cat >> failed.ndjson",
    jobs: { legal: { ...LEGAL, min_rows: 1_000 } },
  });
  expect(await run(few, "legal")).toMatchObject({ code: 5 });
  expect(JSON.parse(u.read("failed.ndjson"))).toMatchObject({
    job: "legal",
    status: "failed",
    exit_code: 5,
  });
});

test("a budget is of one service: what a job spends at another is no part of it", async () => {
  const crowd = new Crowd(seeded(3), 0);
  const elsewhere = await startPeopleService({
    people: Array.from({ length: 200 }, () => crowd.born()),
  });
  const there = {
    filters: { department: "Sales" },
    max_credits: 3,
    output: "there.csv",
    base_url: elsewhere.url,
  };
  const here = { ...LEGAL, command: "search", max_credits: 12 };
  const more = { ...here, filters: { department: "Marketing" }, output: "more.csv" };
  const file = write({
    budget: "13/month",
    jobs: { here, more, there: { ...there, command: "search" } },
  });
  const env = { HEADCOUNT_API_KEY: elsewhere.key };
  await u.ran(["jobs", "run", "there", ...file], { env });
  expect(await run(file, "here")).toMatchObject({ code: 0 });
  const status = await u.json(["jobs", "status", ...file, "--json"]);
  expect(status.services.map(({ spent }: { spent: number }) => spent).sort()).toEqual([12, 3]);
  expect(await run(file, "more")).toMatchObject({ code: 4 });
  await elsewhere.close();
});

test("jobs run --json says what failed on stdout, and one JSON error on stderr", async () => {
  const file = write({
    jobs: { a: { ...LEGAL, min_rows: 1_000 }, b: { ...LEGAL, output: "no/b.csv" } },
  });
  const ran = await run(file, "a", "b", "--json");
  expect(JSON.parse(ran.stdout)).toMatchObject([
    { job: "a", error: { code: "too_few_rows" } },
    { job: "b", error: { message: expect.any(String) } },
  ]);
  expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: "jobs_failed" } });
});

test("jobs run says which jobs are not due", async () => {
  const clock = fakeClock(Date.UTC(2026, 0, 5, 12));
  const daily = { ...LEGAL, schedule: "0 6 * * *" };
  const file = write({ jobs: { legal: daily, hand: { ...LEGAL, output: "h.csv" } } });
  expect((await u.run(["jobs", "run", ...file], { clock })).stderr).toContain(
    "not due: hand (by its name)\n",
  );
});

test("a refusal speaks in the keys of a job, and of no option that it has none for", async () => {
  const file = write({
    jobs: {
      legal: { ...LEGAL, max_credits: 1 },
      some: { ...LEGAL, command: "search", output: "s.csv", min_rows: 9999 },
    },
  });
  const [refresh, search] = [await run(file, "legal"), await run(file, "some")];
  expect(refresh).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/hint: "max_credits": \d+ brings the list up/),
  });
  expect(refresh.stderr).not.toMatch(/--again|--max-credits/);
  const [quoted] = JSON.parse((await run(file, "legal", "--dry-run", "--json")).stdout);
  expect(quoted.error.hint).toMatch(/^"max_credits": \d+ brings the list up to date$/);
  expect(quoted.error.message).toContain('"max_credits": 1 pays for 1');
  expect(search).toMatchObject({ code: 5, stderr: expect.stringContaining('"min_rows"') });
});

test("a job whose disk was full once its file had its name goes on: the file is its own", async () => {
  const file = write({ jobs: { legal: { ...LEGAL, command: "search", max_credits: 10 } } });
  const before = await charged(service, CREDITS);
  const env = { HEADCOUNT_FAILPOINT: "42:ENOSPC" };
  const full = await u.run(["jobs", "run", "legal", ...file], { env });
  // The step behind the one that gives the file its name.
  expect([full.code, existsSync(u.file("legal.csv"))]).toEqual([5, true]);
  expect(await run(file, "legal")).toMatchObject({ code: 0 });
  expect(readCsv(u.read("legal.csv"))).toHaveLength(10);
  expect((await charged(service, CREDITS)) - before).toBe(10);
});

test("a job that was killed before its history was written knows its file by its run", async () => {
  const file = write({ jobs: { legal: { ...LEGAL, command: "search", max_credits: 10 } } });
  expect(await run(file, "legal")).toMatchObject({ code: 0 });
  rmSync(u.file("state/jobs"), { recursive: true });
  const before = await charged(service, CREDITS);
  expect(await run(file, "legal")).toMatchObject({ code: 0 });
  expect((await charged(service, CREDITS)) - before).toBe(0);
});

test("a file that another put there is not a job's, also where the job has a run that is not over", async () => {
  const file = write({ jobs: { legal: { ...LEGAL, command: "search", max_credits: 10 } } });
  const env = { HEADCOUNT_FAILPOINT: "30:ENOSPC" };
  expect((await u.run(["jobs", "run", "legal", ...file], { env })).code).toBe(5);
  writeFileSync(u.file("legal.csv"), "mine\n");
  expect(await run(file, "legal")).toMatchObject({ code: 2 });
  expect(u.read("legal.csv")).toBe("mine\n");
});
