import { existsSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { fakeClock, testContext } from "../support/client.ts";
import { charged, readCsv, runIds } from "../support/export.ts";
import { jobsFile, LEGAL, loadJobs, outcomesIn } from "../support/jobs-file.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));
beforeAll(loadJobs);

const SALES = {
  command: "search",
  filters: { department: "Sales" },
  max_credits: 20,
  output: "sales.ndjson",
};

const jobs = (document: unknown, name?: string) => jobsFile(u, document, name);
const outcomes = (name: string) => outcomesIn(u, name);

describe("the file", () => {
  test.each([
    ["a comma that is missing", '{\n  "jobs": {\n    "a" {} } }', "jobs.jsonc:3:9: "],
    ["nothing", "", "jobs.jsonc:1:1: it is empty"],
    ["a list", "[]", "jobs.jsonc:1:1: a file of jobs is one JSON object"],
    [
      "a typo of its own",
      '{\n  // a comment\n  "budgte": "5/month", "jobs": {}}',
      'jobs.jsonc:3:3: the file has no key "budgte" (did you mean "budget"?)',
    ],
    [
      "a budget that is none",
      '{"budget": "2000",\n "jobs": {}}',
      'jobs.jsonc:1:12: "budget" is credits a month, such as 2000/month',
    ],
    ...["1,5/month", "20,50/month", "2,000/month", "0/month", "-5/month", "5/month/x"].map(
      (budget) => [
        `a budget of ${budget}`,
        `{"budget": "${budget}",\n "jobs": {}}`,
        `"budget" is credits a month, such as 2000/month, not "${budget}"`,
      ],
    ),
    [
      "a budget that may be a thousand times more",
      '{"budget": "1.500/month",\n "jobs": {}}',
      '"budget" is credits a month, such as 2000/month, not "1.500/month": write the amount as 1.5 or 1500',
    ],
    [
      "a cap that may be one",
      '{"jobs": {"a": {"max_credits": "2.000"}}}',
      'jobs.jsonc:1:32: "max_credits" is an amount of credits with at most six decimals, not "2.000": write the amount as 2 or 2000',
    ],
    [
      "a limit of rows, which is no amount of credits",
      '{"jobs": {"a": {"limit": "1.500"}}}',
      '"limit" is a whole number from 1 to 1000000000000, not "1.500"\n',
    ],
    [
      "a wait that is none",
      '{"jobs": {"a": {"max_wait": "soon"}}}',
      '"max_wait" is seconds from 0 to 604800, or a span such as 2m (minutes) or 1h, not "soon"',
    ],
    ["a name twice", '{"jobs": {"a": {},\n"a": {}}}', 'jobs.jsonc:2:1: "a" stands twice'],
    ["no jobs", "{}", 'jobs.jsonc:1:1: the file has no "jobs"'],
  ])("%s is refused with line and column", async (_, text, why) => {
    const ran = await u.run(["jobs", "run", ...jobs(text)]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(why) });
  });

  test.each([
    ['"min_row": 5', '"min_row"', 'a job has no key "min_row" (did you mean "min_rows"?)'],
    ['"on-new-dataset": "fail"', '"on-new', 'did you mean "on_new_dataset"?'],
    [
      '"filters": {"departmnt": "Legal"}',
      '"departmnt"',
      '"filters" has no key "departmnt" (did you mean "department"?)',
    ],
    ['"filters": {"department": "Legl"}', '"Legl"', 'did you mean "Legal"?'],
    ['"schedule": "0 6 * * Mo"', '"0 6', 'its day of the week is "Mo"'],
    ['"overwrite": "yes"', '"yes"', '"overwrite" is true or false'],
    ['"limit": 1e400', "1e400", ', not "1e400"'],
    ['"limit": 9007199254740993', "9007", 'not "9007199254740993"'],
    ['"min_rows": [1]', "[1]", '"min_rows" is a whole number from 0 to '],
    ['"command": "serach"', '"serach"', '"command" is refresh or search'],
    ['"yes": true', '"yes"', 'no key "yes": a person decides that each time; "max_credits"'],
    ['"ids": "ids.csv"', '"ids"', 'no key "ids": "new_only": true in a search finds by ids'],
    ['"read": "ids.csv"', '"read"', 'no key "read": "new_only": true in a search finds by ids'],
    ['"input": "crm.csv"', '"input"', 'no key "input": a job keeps or buys people; headcount'],
    ['"fresh": true', '"fresh"', 'a job has no key "fresh"'],
  ])("%s names the place, and the other job runs", async (line, word, why) => {
    const text = `{"jobs": {\n "bad": {"max_credits": 5, "output": "x.csv", "segment": "s",\n   ${line}},\n "good": ${JSON.stringify(LEGAL)},\n}}`;
    const ran = await u.run(["jobs", "run", "bad", "good", ...jobs(text)]);
    const column = 4 + line.indexOf(word);
    expect(ran.stderr).toContain(`bad: error: jobs.jsonc:3:${column}: `);
    expect(ran.stderr).toContain(why);
    expect(ran.stderr).toContain("error: 1 of 2 jobs failed: bad (exit 2)");
    expect({ code: ran.code, rows: readCsv(u.read("legal.csv")).length }).toEqual({
      code: 2,
      rows: 12,
    });
  });

  test("a job needs a cap and an output, and no two write one file", async () => {
    const file = jobs({
      budget: "100/month",
      jobs: {
        a: { output: "a.csv" },
        b: { max_credits: 1 },
        c: LEGAL,
        d: { ...SALES, output: "./legal.csv" },
        e: { ...SALES, max_credits: 101 },
      },
    });
    const { stdout } = await u.run(["jobs", "status", ...file, "--json"]);
    expect(
      (JSON.parse(stdout) as { jobs: { job: string; message: string | null }[] }).jobs.map(
        ({ job, message }) => [job, message?.replace(/^\S+ /, "") ?? null],
      ),
    ).toEqual([
      ["a", 'it has no "max_credits": the most that it may spend each time, and the consent to it'],
      ["b", 'it has no "output": the file to write'],
      ["c", null],
      ["d", "it writes the same output as c"],
      ["e", '"max_credits" 101 is more than the whole budget of 100 a month'],
    ]);
  });

  test("a value that is none is refused with its place, before anything runs", async () => {
    const ran = await u.run(
      asTyped`jobs run a ${jobs({ jobs: { a: { ...LEGAL, max_shrink: "half" } } })}`,
    );
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /a: jobs.jsonc:1:\d+: "max_shrink" is a percentage from 0% to 100%/,
      ),
    });
  });

  test("a name that no job has, a file that is not there", async () => {
    const file = jobs({ jobs: { legal: LEGAL } });
    await u.ends(2, ["jobs", "run", "legl", ...file], "did you mean legal?");
    await u.ends(2, ["jobs", "status", "--file", "none.jsonc"], "there is no such file");
    await u.ends(2, ["jobs", "status"], "--file FILE names another");
  });

  test("a value that begins with @ is that value, and names no file", async () => {
    const file = jobs({ jobs: { a: { ...LEGAL, filters: { title: ["@founder", "@"] } } } });
    const quoted = await u.json(["jobs", "run", "a", ...file, "--dry-run", "--json"]);
    expect(quoted).toMatchObject([
      { error: null, quote: { target: expect.stringContaining('["@founder","@"]') } },
    ]);
  });

  test("the schema has every key of a job, and the file in the help is one", async () => {
    const schema = (await u.json(["schema", "jobs-file"])) as {
      properties: { jobs: { additionalProperties: { properties: Record<string, unknown> } } };
    };
    const keys = Object.keys(schema.properties.jobs.additionalProperties.properties);
    expect(keys).toEqual(
      expect.arrayContaining([
        "command",
        "schedule",
        "filters",
        "max_credits",
        "min_rows",
        "max_shrink",
        "csv",
        "on_new_dataset",
        "connection",
        "log",
        "notify",
        "output",
        "format",
        "fields",
      ]),
    );
    expect(keys).not.toEqual(expect.arrayContaining(["yes"]));
    for (const gone of [
      "fresh",
      "dry_run",
      "json",
      "quiet",
      "job",
      "budget_left",
      "country",
      "owned",
      "test",
    ])
      expect(keys).not.toContain(gone);
    const help = (await u.run(["jobs", "--help"])).stdout;
    const example = help.slice(help.indexOf("\n  {\n"), help.indexOf("\n  }\n") + 4);
    const file = jobs(example);
    expect((await u.run(["jobs", "status", "legal", ...file])).stdout).toContain(
      "\nlegal,refresh,never,",
    );
  });
});

describe("running", () => {
  test("relative to the file, over and over, with a history and the spending by job", async () => {
    const file = jobs({
      log: "log.ndjson",
      jobs: { legal: { ...LEGAL, schedule: "@daily" }, sales: SALES },
    });
    const elsewhere = testContext().dir;
    const first = await u.run(["jobs", "run", "--file", u.file("jobs.jsonc")], { cwd: elsewhere });
    expect(first).toMatchObject({ code: 0, stdout: "" });
    expect(first.stderr).toMatch(
      /^not due: sales \(by its name\)\nlegal: Exported 12 of [\d,]+ profiles for 12 credits to legal\.csv/,
    );
    expect(readCsv(u.read("legal.csv")).length).toBe(12);
    expect(existsSync(u.file("sales.ndjson"))).toBe(false);
    await u.ends(0, ["jobs", "run", ...file], /^No job is due; the next is at /);
    const named = await u.run(["jobs", "run", "sales", "legal", ...file, "--json"]);
    expect(
      (JSON.parse(named.stdout) as Record<string, unknown>[]).map(
        ({ job, status, rows, rows_before, changed, credits }) => [
          job,
          status,
          rows,
          rows_before,
          changed,
          credits,
        ],
      ),
    ).toEqual([
      ["legal", "done", 12, 12, false, 0],
      ["sales", "done", 20, null, true, 20],
    ]);
    expect(outcomes("log.ndjson").map(({ job, exit_code, run }) => [job, exit_code, run])).toEqual([
      ["legal", 0, runIds(u)[0]],
      ["legal", 0, runIds(u)[1]],
      ["sales", 0, runIds(u)[2]],
    ]);
    expect((await u.run(["spend", "--by", "job", "--since", "all"])).stdout).toBe(
      "job,profiles,settled,uncertain,pending,foreign,declared,told\nlegal,12,12,0,0,0,0,0\nsales,20,20,0,0,0,0,0\n",
    );
    const status = (await u.json(["jobs", "status", ...file, "--json"])) as {
      jobs: Record<string, unknown>[];
    };
    expect(status).toMatchObject({
      services: [{ key_mode: "live", spent: 32 }],
      budget: null,
      jobs: [
        { job: "legal", status: "done", rows: 12, rows_before: 12, credits: 0, due: false },
        { job: "sales", status: "done", next: null, due: false },
      ],
    });
    // What was removed still counts, and still has its name.
    await u.ran(["runs", "remove", ...runIds(u), "--yes"]);
    expect((await u.run(["spend", "--by", "job", "--since", "all"])).stdout).toContain(
      "\nsales,20,20,",
    );
  });

  test("into a table, over and over: such a job is a search", async () => {
    const file = jobs({
      jobs: { vp: { ...LEGAL, command: undefined, output: "duckdb:crm.duckdb#legal" } },
    });
    for (const changed of [true, false]) {
      const ran = await u.run(["jobs", "run", "vp", "--json", ...file]);
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({
        code: 0,
        stderr: expect.not.stringContaining("error"),
      });
      expect(JSON.parse(ran.stdout)).toMatchObject([
        { job: "vp", status: "done", rows: 12, changed },
      ]);
    }
  });

  test("one failure stops nothing; the exit code is the first one's; what failed is still due", async () => {
    writeFileSync(u.file("legal.csv"), "id\nkept\n");
    const file = jobs({
      jobs: {
        few: { ...LEGAL, overwrite: true, min_rows: 1_000, schedule: "@daily" },
        broke: { ...SALES, output: "nowhere/x.csv", schedule: "@daily" },
        sales: { ...SALES, schedule: "@daily" },
      },
    });
    const ran = await u.ends(5, ["jobs", "run", ...file, "--json"]);
    expect(
      (JSON.parse(ran.stdout) as Record<string, unknown>[]).map(({ job, exit_code, credits }) => [
        job,
        exit_code,
        credits,
      ]),
    ).toEqual([
      ["few", 5, 0],
      ["broke", 2, 0],
      ["sales", 0, 20],
    ]);
    expect(JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "")).toMatchObject({
      error: {
        code: "jobs_failed",
        exit_code: 5,
        message: "2 of 3 jobs failed: few (exit 5), broke (exit 2)",
      },
    });
    // Every line is JSON, so that a program reads all of it.
    const said = ran.stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { notice?: string });
    expect(said.at(0)?.notice).toMatch(/^sales: /);
    expect(said.at(-1)).toMatchObject({
      error: {
        resumable: false,
        next: `headcount jobs run few broke --file ${u.file(file[1] ?? "")}`,
      },
    });
    expect(u.read("legal.csv")).toBe("id\nkept\n");
    const status = (await u.json(["jobs", "status", ...file, "--json"])) as {
      jobs: Record<string, unknown>[];
    };
    expect(status.jobs.map(({ status: said, due }) => [said, due])).toEqual([
      ["failed", true],
      ["failed", true],
      ["done", false],
    ]);
  });

  test("--dry-run shows the quotes, and buys and remembers nothing", async () => {
    const file = jobs({ jobs: { legal: LEGAL, bad: { ...SALES, fields: "nmae" } } });
    const ran = await u.run(["jobs", "run", "legal", "bad", ...file, "--dry-run", "--json"]);
    expect(JSON.parse(ran.stdout)).toMatchObject([
      { job: "legal", quote: { rows: 12, credits: 12 }, error: null },
      { job: "bad", quote: null, error: { message: expect.stringContaining("nmae") } },
    ]);
    expect(ran.code).toBe(2);
    expect(runIds(u)).toEqual([]);
    expect((await u.run(["jobs", "status", ...file])).stdout).toContain("\nlegal,search,never,");
  });
});

describe("the budget", () => {
  const of = (department: string, max_credits: number) => ({
    ...{ ...LEGAL, max_credits, filters: { department } },
    output: `${department}-${max_credits}.csv`,
  });
  const file = (budget = "50/month") =>
    jobs({
      budget,
      jobs: {
        ...{ legal: LEGAL, sales: SALES, more: of("Marketing", 20), few: of("Marketing", 12) },
        ...{ last: of("Operations", 12), next: of("Product", 20) },
      },
    });

  test("is over all jobs of a month of UTC: a cap that would pass it ends with 4 before anything is spent", async () => {
    const clock = fakeClock(Date.UTC(2026, 0, 31, 23, 0));
    const run = (name: string, budget?: string) =>
      u.run(["jobs", "run", name, ...file(budget)], { clock });
    expect(await run("sales")).toMatchObject({ code: 0 });
    expect(await run("legal")).toMatchObject({ code: 0 });
    const before = await charged(service, CREDITS);
    const over = await run("more");
    expect(over).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        "it costs up to 20 credits, and the budget has 18 left; nothing was spent",
      ),
    });
    expect(over.stderr).toContain("32 of 50 credits of 2026-01 (UTC) are spent");
    // A smaller one still fits, to the credit.
    expect(await run("few")).toMatchObject({ code: 0 });
    expect(await run("last", "55/month")).toMatchObject({ code: 4 });
    expect(await run("last", "56/month")).toMatchObject({ code: 0 });
    expect((await charged(service, CREDITS)) - before).toBe(24);
    clock.advance(3_600_000);
    expect(await run("next")).toMatchObject({ code: 0 });
    const status = (await u.json(["jobs", "status", ...file(), "--json"], { clock })) as object;
    expect(status).toMatchObject({ month: "2026-02", services: [{ spent: 20 }], budget: 50 });
  });

  test("a dry run of several holds them against it in their order, as they would buy", async () => {
    const each = (name: string, limit: number) =>
      [name, { ...of("Sales", 50), limit, output: `${name}.csv` }] as const;
    const several = Object.fromEntries([each("a", 20), each("b", 31), each("c", 30)]);
    const lines = ["jobs", "run", "a", "b", "c", ...jobs({ budget: "50/month", jobs: several })];
    const { stdout, code } = await u.run([...lines, "--dry-run", "--json"]);
    const quoted = JSON.parse(stdout) as { budget_left: number | null; error: object | null }[];
    expect(quoted.map(({ budget_left: left, error }) => [left, error])).toEqual([
      [50, null],
      [null, expect.objectContaining({ code: "over_budget" })],
      [30, null],
    ]);
    expect(code).toBe(4);
  });

  test("what may be charged is held, not the cap; a dry run says what is left, and ends as the job would", async () => {
    const small = { ...of("Legal", 50), limit: 5 };
    const own = (budget: string) =>
      jobs({ budget, jobs: { sales: SALES, small, more: of("Marketing", 50) } });
    await u.ran(["jobs", "run", "sales", ...own("50/month")]);
    const [quoted] = (await u.json([
      "jobs",
      "run",
      "small",
      ...own("50/month"),
      "--dry-run",
      "--json",
    ])) as [{ quote: { credits: number }; budget_left: number }];
    const { credits } = quoted.quote;
    expect([credits, quoted.budget_left]).toEqual([5, 30]);
    const shown = await u.ran(["jobs", "run", "small", ...own("50/month"), "--dry-run"]);
    expect(shown.stdout).toContain("small, and the budget has 30 credits left\n");

    const before = await charged(service, CREDITS);
    const over = "it costs up to 50 credits, and the budget has";
    await u.ends(4, ["jobs", "run", "more", ...own("50/month"), "--dry-run"], over);
    await u.ends(4, ["jobs", "run", "more", ...own("50/month")], over);
    expect((await charged(service, CREDITS)) - before).toBe(0);
    // Its cap is more than is left, and its people are not.
    await u.ran(["jobs", "run", "small", ...own("50/month")]);
    expect((await charged(service, CREDITS)) - before).toBe(credits);
  });

  test("what somebody buys by hand is not the jobs'; a run that a job goes on with is", async () => {
    await u.run(["search", "--department", "Marketing", "--max-credits", "45", "-o", "m.csv"]);
    await u.ran(["jobs", "run", "sales", ...file()]);
    await u.ends(
      5,
      asTyped`
      search --department Legal --max-credits 5 --require-complete -o legal.csv --overwrite
    `,
    );
    await u.ends(4, ["jobs", "run", "legal", ...file("26/month")]);
    await u.ran(["jobs", "run", "legal", ...file("27/month")]);
    expect((await u.run(["spend", "--by", "job"])).stdout).toBe(
      "job,profiles,settled,uncertain,pending,foreign,declared,told\n(by hand),45,45,0,0,0,0,0\nlegal,12,12,0,0,0,0,0\nsales,20,20,0,0,0,0,0\n",
    );
  });

  test("a cap that was reached is said as a command says it; of one that is to be raised beyond the budget both are told", async () => {
    const fresh = { ...SALES, new_only: true, output: "fresh.csv" };
    const all = { ...SALES, require_complete: true, output: "all.csv" };
    const own = (budget: string) => jobs({ budget, jobs: { sales: SALES, fresh, all } });
    const sales = await u.run(["jobs", "run", "sales", ...own("100/month")]);
    expect(sales.stderr).toMatch(
      /^sales: notice: stopped at "max_credits"; headcount resume \S+ --max-credits \d+ buys the other/m,
    );
    const some = await u.ran(["jobs", "run", "fresh", ...own("100/month"), "--json"]);
    const text = 'stopped at "max_credits"; the same buys the next ones: these are owned by then';
    expect(some.stderr).toContain(JSON.stringify(text).slice(1, -1));
    const before = await charged(service, CREDITS);
    const strict = await u.run(["jobs", "run", "all", ...own("60/month")]);
    expect([strict.code, (await charged(service, CREDITS)) - before]).toEqual([5, 0]);
    const raised =
      /with "with_owned" and "max_credits": (\d+) in the job and a "budget" of at least \1 a month in the file, headcount jobs/;
    expect(strict.stderr).toMatch(raised);
  });

  test("a file that somebody changed by hand stays, and nothing is spent", async () => {
    const own = jobs({ jobs: { legal: LEGAL } });
    await u.run(["jobs", "run", "legal", ...own]);
    const changed = u.read("legal.csv").replace(/$/gm, ",mine");
    writeFileSync(u.file("legal.csv"), changed);
    const before = await charged(service, CREDITS);
    const again = await u.run(["jobs", "run", "legal", ...own]);
    expect(again).toMatchObject({ code: 5, stdout: "" });
    expect(again.stderr).toContain("legal.csv is not as it was written");
    expect(again.stderr).toContain('"overwrite"');
    expect(u.read("legal.csv")).toBe(changed);
    expect(await charged(service, CREDITS)).toBe(before);
    const allowed = jobs({ jobs: { legal: { ...LEGAL, overwrite: true } } });
    await u.ran(["jobs", "run", "legal", ...allowed]);
    expect(u.read("legal.csv")).not.toContain("mine");
  });

  test("a run that has all of its rows is written whatever the budget says", async () => {
    await u.run(["jobs", "run", "legal", ...file()]);
    const all = jobs({
      budget: "20/month",
      jobs: { legal: { ...LEGAL, overwrite: true, min_rows: 12 } },
    });
    writeFileSync(u.file("legal.csv"), "id\nold\n");
    // Nobody matches: nothing is spent, so no budget is in the way of saying so.
    const none = jobs(
      {
        budget: "20/month",
        jobs: { legal: { ...LEGAL, overwrite: true, filters: { country: "nowhere" } } },
      },
      "none.jsonc",
    );
    await u.ends(5, ["jobs", "run", "legal", ...none]);
    await u.ran(["jobs", "run", "legal", ...all]);
    expect(readCsv(u.read("legal.csv")).length).toBe(12);
  });

  test.each(["2000", "many/month", "0/month", "5/week"])(
    "a budget of %s is refused",
    async (budget) => {
      await u.ends(2, ["jobs", "run", ...file(budget)], "credits a month, such as 2000/month");
    },
  );
});
