import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { creditsOf } from "../../src/engine/runs/journal.ts";
import { type NewPlan, RunStore } from "../../src/engine/runs/run-store.ts";
import type { Context } from "../../src/shared/context.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";
import { fakeClock, type TestContextOptions, testContext } from "../support/client.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const PERSON = { id: "p1", name: "Ada", title: "=cmd", email: "a@x.com", connections: 5 };
const PAGES = [[PERSON], [PERSON, { id: "p2", name: "Bo", title: null, email: null, n: { x: 1 } }]];

const plan = (context: Context, more: Partial<NewPlan> = {}): NewPlan => ({
  command: "search",
  connection: "work",
  base_url: "https://api.example.com",
  account_id: "acme",
  key_mode: "live",
  target: {
    kind: "search",
    filters: { department: "Sales" },
    canonical: '{"department":["Sales"]}',
  },
  dataset_version: "v1",
  unit_price: "0.5",
  matches: 4,
  paging: "page",
  output: join(context.cwd, "people.csv"),
  view: { format: "csv", fields: null, excel: false, raw: false },
  per_page: 2,
  misses: null,
  receipt: null,
  ...more,
});

const HEADER =
  "id,last_at,target,rows,settled,output,status,command,connection,base_url,expected,created_at\n";

/** A run as a paid export leaves it. */
async function makeRun(
  context: Context,
  options: { at?: number; done?: boolean; plan?: Partial<NewPlan> } = {},
): Promise<string> {
  const at = options.at ?? NOW;
  const store = new RunStore(context.env.HEADCOUNT_STATE_DIR ?? "", new Disk());
  const { now, sleep } = context;
  const run = await store.create(plan(context, options.plan), at, { now, sleep, what: "the run" });
  for (const [index, rows] of PAGES.entries()) {
    const n = index + 1;
    const body = Buffer.from(
      `{"status":true,"detail":[],"result":${JSON.stringify(rows)},"credits_used":1}`,
    );
    await run.append({
      t: "intent",
      n,
      target: 0,
      offset: index * 2,
      perPage: 2,
      key: `k${n}`,
      hold: creditsOf("1"),
      at,
    });
    await run.settle(
      { t: "settled", n, rows: rows.length, used: creditsOf(rows.length / 2), at },
      body,
    );
  }
  if (options.done === true) await store.finish(run, at);
  await run.close();
  return run.id;
}

function setUp(options: TestContextOptions = {}) {
  const tested = testContext({ clock: fakeClock(NOW + 1000), ...options });
  tested.context.stdout.setMaxListeners(0);
  let printed = [0, 0] as [number, number];
  const run = async (...argv: string[]) => {
    const code = await main(["runs", ...argv], { ...tested.context, argv: ["runs", ...argv] });
    const [out, err] = [tested.stdout(), tested.stderr()];
    const answer = { code, stdout: out.slice(printed[0]), stderr: err.slice(printed[1]) };
    printed = [out.length, err.length];
    return answer;
  };
  return {
    tested,
    run,
    context: tested.context,
    path: (name: string) => join(tested.context.cwd, name),
  };
}

describe("runs list and show", () => {
  test("no runs: a header for a pipe, an empty array, a sentence for a person", async () => {
    const piped = setUp();
    expect(await piped.run()).toEqual({ code: 0, stdout: HEADER, stderr: "" });
    expect(await piped.run("--json")).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
    const person = setUp({ tty: true });
    expect(await person.run("list")).toEqual({
      code: 0,
      stdout: "",
      stderr: "No runs yet: headcount search makes the first one.\n",
    });
  });

  test("a pipe gets CSV with ISO times, the newest first", async () => {
    const { run, context, path } = setUp();
    const first = await makeRun(context, { done: true });
    const second = await makeRun(context, { at: NOW + 60_000, plan: { output: null } });
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const filters = '"{""department"":""Sales""}"';
    const [noon, later] = ["2026-01-15T12:00:00.000Z", "2026-01-15T12:01:00.000Z"];
    const from = "search,work,https://api.example.com,4";
    expect(stdout).toBe(
      `${HEADER}${second},${later},${filters},3,1.5,,unfinished,${from},${later}\n` +
        `${first},${noon},${filters},3,1.5,${path("people.csv")},finished,${from},${noon}\n`,
    );
  });

  test("--json: every key of every run", async () => {
    const { run, context, path } = setUp();
    const id = await makeRun(context, { done: true });
    const [document] = JSON.parse((await run("list", "--json")).stdout) as unknown[];
    expect(document).toEqual({
      id,
      status: "finished",
      command: "search",
      connection: "work",
      base_url: "https://api.example.com",
      account_id: "acme",
      key_mode: "live",
      target: { department: "Sales" },
      sample: null,
      matches: 4,
      expected: 4,
      rows: 3,
      misses: 0,
      settled: 1.5,
      uncertain: 0,
      foreign: 0,
      pending: 0,
      output: path("people.csv"),
      format: "csv",
      created_at: "2026-01-15T12:00:00.000Z",
      last_at: "2026-01-15T12:00:00.000Z",
      problem: null,
    });
    const shown = JSON.parse((await run("show", "last", "--json")).stdout) as Record<
      string,
      unknown
    >;
    expect(shown).toMatchObject({ id, unit_price: 0.5, dataset_version: "v1", receipt: null });
    expect(shown.bytes).toBeGreaterThan(300);
  });

  test("a terminal gets a table, and a card that says how to go on", async () => {
    const { run, context } = setUp({ tty: true, columns: 120, env: { NO_COLOR: "1" } });
    const id = await makeRun(context);
    const list = await run();
    expect(list.stderr).toBe("");
    expect(list.stdout.split("\n").slice(0, 2)).toEqual([
      "run     when      what     rows  credits  output      status",
      `${id.slice(-6)}  just now  Sales  3 of 4      1.5  people.csv  unfinished`,
    ]);
    const card = await run("show", id.slice(-6));
    expect(card.stdout).toContain(`continue     headcount resume ${id}\n`);
    expect(card.stdout).toContain("credits      1.5 at 0.5 each\n");
    expect(card.stdout).toContain("began        2026-01-15 12:00 UTC\n");
  });

  test("what, when and how many: filters of the list, and what a terminal leaves out is said", async () => {
    const { run, context } = setUp({ tty: true, columns: 120, env: { NO_COLOR: "1" } });
    const search = (filters: Filters): Partial<NewPlan> => ({
      target: { kind: "search", filters, canonical: JSON.stringify(filters) },
      output: null,
    });
    const spoken = search({
      department: ["Legal", "Sales"],
      title_prefix: "chief",
      connections_min: 500,
    });
    const old = await makeRun(context, { at: NOW - 3 * 86_400_000, done: true, plan: spoken });
    const other = await makeRun(context, { at: NOW - 3_600_000, plan: { connection: "other" } });
    const newest = await makeRun(context, { done: true, plan: search({}) });
    const whats = async (...argv: string[]): Promise<string[]> => {
      const { stdout } = await run(...argv);
      return stdout
        .split("\n")
        .slice(1, -1)
        .map((line) => line.slice(0, 6));
    };
    const short = (id: string): string => id.slice(-6);
    expect(await whats()).toEqual([newest, other, old].map(short));
    expect(await whats("--since", "1d")).toEqual([newest, other].map(short));
    expect(await whats("--limit", "1")).toEqual([short(newest)]);
    expect(await whats("-c", "other")).toEqual([short(other)]);
    const lines = (await run()).stdout.split("\n");
    expect(lines[1]).toContain("just now    everybody ");
    expect(lines[2]).toContain("1 h ago ");
    expect(lines[3]).toContain("3 days ago  Legal, Sales · chief… · connections_min 500 ");
    for (let more = 0; more < 29; more++) await makeRun(context);
    expect((await run()).stderr).toBe("2 more: --limit 32 lists them\n");
    expect((await run("-c", "nobody")).stderr).toBe("None of 32 runs fits.\n");
    expect((await run("show", "2026")).stderr).toMatch(
      /names 32 runs: (\S+, ){4}\S+ and 27 more\n/,
    );
  });

  test("nothing of a service's words moves a terminal or a reader of lines", async () => {
    const { run, context } = setUp();
    await makeRun(context, { plan: { dataset_version: "v\u001b[2J\u0000\u009b\u202e1" } });
    const { stdout } = await run("show", "last");
    expect(stdout).toContain("dataset_version\tv\ufffd[2J\ufffd\ufffd\ufffd1\n");
    expect(stdout).toContain("target.department\tSales\n");
  });

  test("an unknown run, and a name that fits several", async () => {
    const { run, context } = setUp();
    expect(await run("show", "nope")).toMatchObject({ code: 2, stdout: "" });
    await makeRun(context);
    await makeRun(context);
    const { code, stderr } = await run("show", "20260115");
    expect(code).toBe(2);
    expect(stderr).toContain('"20260115" names 2 runs');
  });
});

describe("runs export", () => {
  test("every form from what was kept, each person once, offline", async () => {
    const { run, context } = setUp();
    await makeRun(context, { done: true });
    expect(await run("export", "last")).toEqual({
      code: 0,
      stderr: "",
      stdout:
        '{"id":"p1","name":"Ada","title":"=cmd","email":"a@x.com","connections":5}\n' +
        '{"id":"p2","name":"Bo","title":null,"email":null,"n":{"x":1}}\n',
    });
    expect((await run("export", "last", "--format", "csv")).stdout).toBe(
      'id,name,title,connections,email,extra\np1,Ada,\'=cmd,5,a@x.com,\np2,Bo,,,,"{""n.x"":1}"\n',
    );
    expect(
      (
        await run(
          "export",
          "last",
          "--format",
          "csv",
          "--csv",
          "raw",
          "--fields",
          "title,n.x,email",
        )
      ).stdout,
    ).toBe("title,n.x,email\n=cmd,,a@x.com\n,1,\n");
    expect(JSON.parse((await run("export", "last", "--json", "--fields", "id")).stdout)).toEqual([
      { id: "p1" },
      { id: "p2" },
    ]);
    const table = await run("export", "last", "--format", "table");
    expect(table.stdout).toMatch(/^name +title +company_name/);
    expect(table.stdout).not.toContain("a@x.com");
    expect((await run("export", "last", "--format", "table", "--fields", "all")).stdout).toContain(
      "a@x.com",
    );
  });

  test("a file has the union of the columns, appears whole, and is for its owner alone", async () => {
    const { run, context, path } = setUp();
    const id = await makeRun(context, { done: true });
    expect(await run("export", id, "-o", "again.csv", "--csv", "excel")).toEqual({
      code: 0,
      stdout: "",
      stderr: `Wrote 2 profiles of run ${id} to again.csv at 0 credits\n`,
    });
    expect(readFileSync(path("again.csv"), "utf8")).toBe(
      "\ufeffid,name,title,connections,email,n.x\r\np1,Ada,'=cmd,5,a@x.com,\r\np2,Bo,,,,1\r\n",
    );
    expect(statSync(path("again.csv")).mode & 0o777).toBe(0o600);
    expect(await run("export", id, "-o", "again.csv")).toMatchObject({ code: 2, stdout: "" });
    expect(
      (await run("export", id, "-o", "again.csv", "--overwrite", "--fields", "id", "--quiet"))
        .stderr,
    ).toBe("");
    expect(parse(readFileSync(path("again.csv")))).toEqual([["id"], ["p1"], ["p2"]]);
    expect((await run("export", id, "-o", "people.parquet")).code).toBe(0);
    expect(readFileSync(path("people.parquet")).subarray(0, 4).toString()).toBe("PAR1");
    expect(readdirSync(context.cwd).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("an unfinished run gives what it has, and says so", async () => {
    const { run, context } = setUp();
    const id = await makeRun(context);
    const { code, stdout, stderr } = await run("export", id, "--fields", "id");
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"id":"p1"}\n{"id":"p2"}\n' });
    expect(stderr).toBe(
      `run ${id} is unfinished: this is what it has so far; headcount resume ${id} goes on\n`,
    );
  });

  test("--require-complete wants a finished run; --json says what was written, and where", async () => {
    const { run, context, path } = setUp();
    const id = await makeRun(context);
    const refused = await run("export", id, "-o", "x.csv", "--require-complete");
    expect({ code: refused.code, there: existsSync(path("x.csv")) }).toEqual({
      code: 5,
      there: false,
    });
    expect(refused.stderr).toContain(`run ${id} is not finished: it has 3 rows`);
    const { code, stdout, stderr } = await run("export", id, "-o", "x.csv", "--json", "--quiet");
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("is unfinished") });
    const bytes = readFileSync(path("x.csv"));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(JSON.parse(stdout)).toEqual({
      run: id,
      finished: false,
      unread: 0,
      rows: 2,
      credits: 0,
      output: { file: path("x.csv"), format: "csv", bytes: bytes.length, sha256, added: null },
    });
  });

  test("a damaged page is named, and no file is left", async () => {
    const { run, context, path } = setUp();
    const id = await makeRun(context, { done: true });
    const journal = join(context.env.HEADCOUNT_STATE_DIR ?? "", "runs", id, "journal.ndjson");
    writeFileSync(journal, readFileSync(journal, "utf8").replace('"name":"Bo"', '"name":"Bu"'));
    const { code, stdout, stderr } = await run("export", id, "-o", "out.ndjson");
    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr).toContain("page 2 in");
    expect(stderr).toContain("journal.ndjson is damaged: its 2 paid rows cannot be read");
    expect(existsSync(path("out.ndjson"))).toBe(false);
    expect(readdirSync(context.cwd).filter((name) => name.includes("out"))).toEqual([]);
  });

  test("a cursor of megabytes does not make the page that it came with unreadable", async () => {
    const { run, context } = setUp();
    const store = new RunStore(context.env.HEADCOUNT_STATE_DIR ?? "", new Disk());
    const made = await store.create(plan(context), NOW, { ...context, what: "the run" });
    await made.append({
      t: "intent",
      n: 1,
      target: 0,
      offset: 0,
      perPage: 1,
      key: "k",
      hold: creditsOf("1"),
      at: NOW,
    });
    const reply = Buffer.from(`{"result":[{"id":"p1"}],"next_cursor":"${"c".repeat(5 << 20)}"}`);
    const page = { t: "settled", n: 1, rows: 1, used: creditsOf("1"), at: NOW } as const;
    await made.settle({ ...page, next: "c".repeat(5 << 20), version: "v".repeat(5 << 20) }, reply);
    await made.append({ t: "learned", perPageMax: 1 });
    await made.close();
    expect((await run("export", made.id)).stdout).toBe('{"id":"p1"}\n');
    const { state } = await store.open(made.id);
    expect(state.units.get(1)?.settled).toMatchObject({ cursorLength: 5 << 20 });
    expect(state.units.get(1)?.settled?.next).toBeUndefined();
  });

  test("wrong options are refused before anything is written", async () => {
    const { run, context } = setUp();
    await makeRun(context, { done: true });
    // It means CSV where nothing else is said.
    const csv = await run("export", "last", "--csv", "excel", "--fields", "id");
    expect(csv).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\ufeffid\r\n/) });
    for (const [argv, message] of [
      [["--fields", "titel"], "did you mean title?"],
      [["--fields", "emial"], "unknown field: emial"],
      [["--format", "xlsy"], "unknown format: xlsy"],
      [["--format", "parquet"], "Parquet needs a file"],
      [["--format", "json", "--csv", "excel"], "--csv excel is about CSV, not json"],
      [["-o", "people.txt"], "does not tell the format"],
      [["-o", "people.csv.bz2"], "the first five also with .gz"],
      [["-o", "people.xls"], "name it .xlsx"],
      [["-o", "nowhere/people.csv"], "does not exist"],
    ] as const) {
      const { code, stdout, stderr } = await run("export", "last", ...argv);
      expect({ argv, code, stdout }).toEqual({ argv, code: 2, stdout: "" });
      expect(stderr).toContain(message);
    }
  });
});

describe("runs remove and prune", () => {
  test("a person is asked; a script has to say yes", async () => {
    const person = setUp({ tty: true, answers: ["n", "y"] });
    const id = await makeRun(person.context, { done: true });
    expect((await person.run("remove", id)).code).toBe(10);
    expect(await person.run("remove", id)).toMatchObject({ code: 0, stdout: `${id}\n` });
    expect(person.tested.questions[0]).toBe(`Remove run ${id} with 3 rows? [y/N]`);

    const script = setUp();
    const other = await makeRun(script.context, { done: true });
    expect(await script.run("remove", other, "--dry-run")).toMatchObject({
      code: 0,
      stdout: `${other}\n`,
      stderr: "would remove 1 run\n",
    });
    const refused = await script.run("remove", other);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(`hint: headcount runs remove ${other} --yes`);
    expect(await script.run("remove", other, "--yes")).toEqual({
      code: 0,
      stdout: `${other}\n`,
      stderr: "removed 1 run\n",
    });
    expect((await script.run()).stdout).toBe(HEADER);
  });

  test("an unfinished run goes only by force, and then nothing else goes with it", async () => {
    const { run, context } = setUp();
    const kept = await makeRun(context, { done: true });
    const id = await makeRun(context);
    const { code, stderr } = await run("remove", id, "-y");
    expect(code).toBe(2);
    expect(stderr).toContain(`run ${id} is unfinished and holds 3 rows`);
    // What is copied does it, also where nobody can be asked.
    expect(stderr).toContain(`or remove it: headcount runs remove ${id} -y --force\n`);
    expect((await run("remove", id)).stderr).toContain(
      `or remove it: headcount runs remove ${id} --force --yes\n`,
    );
    expect((await run("remove", id, "-y", "--force", "--json")).stdout).toBe(
      `{"removed":["${id}"]}\n`,
    );
    expect((await run()).stdout).toContain(kept);
  });

  test("prune takes finished runs that are old enough", async () => {
    const { run, context } = setUp();
    const old = await makeRun(context, { at: NOW - 100 * 86_400_000, done: true });
    const unfinished = await makeRun(context, { at: NOW - 100 * 86_400_000 });
    const fresh = await makeRun(context, { done: true });
    expect(await run("prune", "90d", "--dry-run")).toEqual({
      code: 0,
      stdout: `${old}\n`,
      stderr: "would remove 1 run\n",
    });
    expect((await run("prune", "90d", "--yes")).stdout).toBe(`${old}\n`);
    const left = (await run()).stdout;
    expect(left).toContain(unfinished);
    expect(left).toContain(fresh);
    expect(await run("prune", "90")).toMatchObject({ code: 2 });
    expect(await run("prune", "1000d")).toEqual({
      code: 0,
      stdout: "",
      stderr: "removed 0 runs\n",
    });
  });
});
