import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, copyOf, readCsv, runIds, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { testService } from "../support/serving.ts";

// Where few free counts tell the new people of a segment from those who are owned, nobody is paid for again unasked.

const CREDITS = 100_000;
const SALES = ["search", "--department", "Sales"];

const service = testService({
  people: 2_000,
  credits: CREDITS,
});
/** Who owns all but a few of the segment. */
let owner: User;
/** The same, of each test. */
let u: User;
/** Those of all but a few. */
let names: readonly string[];
let fresh: number;
let all: readonly string[];

const ids = (name: string): string[] =>
  readCsv(u.read(name))
    .map(({ id = "" }) => id)
    .sort();

async function paid<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = await charged(service, CREDITS);
  const result = await work();
  return [result, (await charged(service, CREDITS)) - before];
}

beforeAll(async () => {
  u = user(service.url, service.key);
  await u.ran([...SALES, "--yes", "-o", "all.csv"]);
  all = ids("all.csv");
  const named = readCsv(u.read("all.csv")).map(({ name = "" }) => name);
  names = [...new Set(named.slice(3))].filter((name) => !named.slice(0, 3).includes(name));
  fresh = named.filter((name) => !names.includes(name)).length;
  u = user(service.url, service.key);
  await u.ran(asTyped`${SALES} ${names.flatMap((name) => ["--name", name])} --yes -o own.csv`);
  expect(ids("own.csv")).toHaveLength(all.length - fresh);
  owner = u;
});

beforeEach(() => {
  u = copyOf(owner);
});

test("how many of a list were paid for again is counted where some may be", async () => {
  const some = user(service.url, service.key);
  await some.ran(asTyped`${SALES} --country germany --country france --yes -o own.csv`);
  const own = readCsv(some.read("own.csv")).map(({ id }) => id);
  const line = asTyped`${SALES} --max-credits 100 --yes -o c.csv --receipt r.json`;
  const { stderr } = await some.ran(line);
  const again = readCsv(some.read("c.csv")).filter(({ id }) => own.includes(id)).length;
  expect(again).toBeGreaterThan(0);
  expect(JSON.parse(some.read("r.json"))).toMatchObject({ paid_again: again, received: 100 });
  expect(stderr).toContain(
    `notice: ${again} of the 100 rows are of people you owned: paid for again`,
  );
});

test("only who is new is paid for, and the file, the receipt and the run hold everybody", async () => {
  const argv = [...SALES, "--yes", "-o", "sales.csv", "--receipt", "r.json"];
  const [ran, credits] = await paid(() => u.run(argv));
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toContain(
    `notice: ${all.length - fresh} of the ${all.length} are yours already: not paid for again, and written from what you own (--again pays for all)\n`,
  );
  expect(credits).toBeLessThanOrEqual(Math.ceil(fresh * 1.1) + 2);
  expect(ids("sales.csv")).toEqual(all);
  const receipt = JSON.parse(u.read("r.json"));
  expect(receipt).toMatchObject({ distinct: all.length, complete: true, credits });
  expect(receipt.reused + receipt.received - receipt.duplicates).toBe(all.length);
  await u.ran(["runs", "export", "last", "-o", "again.csv"]);
  expect(u.read("again.csv")).toBe(u.read("sales.csv"));
  expect((await u.json(["runs", "list", "--json"]))[0]).toMatchObject({
    rows: receipt.received + receipt.reused,
  });
  // Nobody's newest record is one that was only taken along.
  const spend = await u.json(["owned", "--json"]);
  expect(JSON.stringify(spend)).toContain(String(all.length));
});

test("a limit that bounds nothing changes nothing of it", async () => {
  const argv = [...SALES, "--limit", String(all.length + 50), "--yes", "-o", "limited.csv"];
  const [ran, credits] = await paid(() => u.run(argv));
  expect(ran.code, ran.stderr).toBe(0);
  expect(credits).toBeLessThanOrEqual(Math.ceil(fresh * 1.1) + 2);
  expect(ids("limited.csv")).toEqual(all);
});

test("of a run that is named a limit counts the rows of both, as that of the search does", async () => {
  const owned = all.length - fresh;
  const limit = (rows: number) => ["--limit", String(rows), "--yes"];
  const [, first] = await paid(() => u.ran([...SALES, ...limit(owned + 1), "-o", "some.csv"]));
  expect([first, ids("some.csv").length]).toEqual([1, owned + 1]);
  const [, more] = await paid(() => u.ran(["resume", "last", ...limit(owned + 2)]));
  expect([more, new Set(ids("some.csv")).size, ids("some.csv").length]).toEqual([
    1,
    owned + 2,
    owned + 2,
  ]);
  const said = await u.run(["resume", "last", ...limit(owned + 2)]);
  expect(said.stderr).toContain("stopped at --limit; the same command with a higher --limit");
  const [, none] = await paid(() => u.ran(["resume", "last", ...limit(3)]));
  expect([none, ids("some.csv").length]).toEqual([0, owned + 2]);
  const [, rest] = await paid(() => u.ran(["resume", "last", ...limit(all.length + 9)]));
  expect(first + more + rest).toBeLessThanOrEqual(Math.ceil(fresh * 1.1) + 2);
  expect(ids("some.csv")).toEqual(all);
});

test("where all are owned nothing is paid, at every door", async () => {
  await u.ran([...SALES, "--new-only", "--yes", "-o", "few.csv"]);
  const jobs = u.file("jobs.jsonc");
  mkdirSync(dirname(jobs), { recursive: true });
  const sales = {
    command: "search",
    filters: { department: "Sales" },
    output: "job.csv",
    max_credits: 5_000,
  };
  writeFileSync(jobs, JSON.stringify({ jobs: { sales } }));
  for (const [argv, name] of [
    [[...SALES, "--yes", "-o", "sales.csv"], "sales.csv"],
    [[...SALES, "--max-credits", "5000", "-o", "capped.csv"], "capped.csv"],
    [[...SALES, "--max-credits", "3", "-o", "low.csv"], "low.csv"],
    [["jobs", "run", "sales", "--file", "jobs.jsonc"], "job.csv"],
  ] as const) {
    const [ran, credits] = await paid(() => u.run(argv));
    expect(ran.code, ran.stderr).toBe(0);
    expect(credits).toBe(0);
    expect(ids(name)).toEqual(all);
  }
  // Nobody new is not nobody: there is nothing to explain.
  const [{ country = "" } = {}] = readCsv(u.read("own.csv"));
  const narrower = await u.run([...SALES, "--country", country, "--yes", "-o", "narrower.csv"]);
  expect(narrower.stderr).toContain("Exported 0 new profiles and ");
  expect(narrower.stderr).not.toContain("hint:");
  const quote = await u.json([...SALES, "--dry-run", "--json"]);
  expect(quote).toMatchObject({ credits: 0, owned: all.length, paid_again: 0 });
  const [again, credits] = await paid(() =>
    u.run([...SALES, "--again", "--yes", "-o", "anew.csv"]),
  );
  expect(again.code, again.stderr).toBe(0);
  expect(credits).toBe(all.length);
});

test("a person is asked for the price of the new ones", async () => {
  const asked = await u.run([...SALES, "-o", "asked.csv"], {
    answers: ["n"],
    tty: { stdin: true, stderr: true },
  });
  expect(asked.code, asked.stderr).toBe(10);
  expect(asked.stderr).toContain(`${all.length} credits with --again\n`);
  expect(asked.stderr).toContain(`Export ${fresh} new profiles for at most`);
});

describe("a limit makes nothing dearer: who is owned comes first within it", () => {
  test("of fewer rows than are owned none is paid for, also where nobody is new", async () => {
    const five = [...SALES, "--limit", "5", "--max-credits", "5", "-o", "five.csv"];
    const [ran, credits] = await paid(() => u.run(five));
    expect([ran.code, credits], ran.stderr).toEqual([0, 0]);
    expect(ran.stderr).toContain("and 5 that you own for 0 credits");
    expect(ran.stderr).toContain(
      "notice: stopped at --limit; the same command with a higher --limit and --overwrite goes on",
    );
    expect(ids("five.csv")).toHaveLength(5);
    expect(ids("own.csv")).toEqual(expect.arrayContaining(ids("five.csv")));

    await u.ends(0, [...SALES, "--new-only", "--yes", "-o", "n.csv"]);
    const [again, cost] = await paid(() => u.run([...five, "--overwrite"]));
    expect([again.code, cost], again.stderr).toEqual([0, 0]);
    expect(ids("five.csv")).toHaveLength(5);
  });

  test("of more rows than are owned only the others are paid for, and a job and an agent do the same", async () => {
    const most = all.length - fresh + 1;
    const quoted = await u.run([...SALES, "--limit", `${most}`, "--dry-run", "--json"]);
    expect(JSON.parse(quoted.stdout)).toMatchObject({ credits: 1, rows: 1, bound: "limit" });

    const sales = {
      command: "search",
      filters: { department: "Sales" },
      limit: most,
      max_credits: 5_000,
      output: "job.csv",
    };
    writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { sales } }));
    const run = ["jobs", "run", "sales", "--file", "jobs.json"];
    const [ran, credits] = await paid(() => u.run(run));
    expect([ran.code, credits], ran.stderr).toEqual([0, 1]);
    expect(ids("job.csv")).toHaveLength(most);

    const [again, cost] = await paid(() => u.run(run));
    expect([again.code, cost], again.stderr).toEqual([0, 0]);
    expect(ids("job.csv")).toHaveLength(most);

    const agent = await startAgent(u, ["--max-credits", "100"], { answer: YES });
    onTestFinished(() => agent.close());
    const given = { kind: "people", filters: { department: "Sales" }, profiles: most + 1 };
    const offer = await agent.call("quote", given);
    const [bought, price] = await paid(() =>
      agent.call("buy", { quote_id: String(offer.data.quote_id) }),
    );
    expect([bought.failed, price], bought.text).toEqual([false, 1]);
  });
});

describe("a search that stopped, and whose rest came to be owned by others", () => {
  let stopped: { readonly hint: string; readonly id: string };

  beforeEach(async () => {
    u = user(service.url, service.key);
    const ran = await u.run([...SALES, "--max-credits", "10", "-o", "sales.csv"]);
    const [, hint = "", id = ""] =
      /headcount (resume (\S+) --max-credits \d+) buys the other/.exec(ran.stderr) ?? [];
    stopped = { hint, id };
    await u.ran([...SALES, "--new-only", "--yes", "-o", "others.csv"]);
  });

  test("is not gone on with, and the command that it names writes all for nothing", async () => {
    for (const options of ["", " --max-credits 25", " --limit 100000 --max-credits 50"]) {
      const argv = options === "" ? stopped.hint : `resume ${stopped.id}${options}`;
      const [ran, credits] = await paid(() => u.run([...argv.split(" "), "--json"]));
      expect([ran.code, credits], ran.stderr).toEqual([2, 0]);
      const { error } = JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "");
      expect(error.message).toMatch(
        / to buy are yours already and would be paid for again; nobody is new; nothing more was spent$/,
      );
      const next = `headcount search --department=Sales --with-owned --max-credits 0 -o ${u.file("sales.csv")} --overwrite`;
      expect(error).toMatchObject({ code: "owned_meanwhile", next });
    }
    const next = `search --department=Sales --with-owned --max-credits 0 -o sales.csv --overwrite`;
    const [ran, credits] = await paid(() => u.run(next.split(" ")));
    expect([ran.code, credits], ran.stderr).toEqual([0, 0]);
    expect(ids("sales.csv")).toEqual(all);
  });

  test("under a limit that leaves some out it is gone on with, and said", async () => {
    const [ran, credits] = await paid(() =>
      u.run(["resume", stopped.id, "--limit", "13", "--max-credits", "20"]),
    );
    expect([ran.code, credits], ran.stderr).toEqual([0, 3]);
    expect(ran.stderr).toContain(
      "3 of the 3 to buy are yours already and would be paid for again; nobody is new",
    );
    const next = "headcount search --department=Sales --with-owned --max-credits 0 -o ";
    expect(ran.stderr).toContain(
      `stopped at --limit; ${next}${u.file("sales.csv")} --overwrite writes all, and pays `,
    );
  });

  test("and the others are new to a part: they are what the command buys", async () => {
    u = user(service.url, service.key);
    await u.ran([...SALES, "--max-credits", "10", "-o", "some.csv"]);
    const some = names.slice(20, 60).flatMap((name) => ["--name", name]);
    await u.ran([...SALES, ...some, "--yes", "-o", "part.csv"]);
    const [id = ""] = runIds(u);
    // A run that is named has no option for the new people alone: the search has.
    const [warned, two] = await paid(() => u.run(["resume", id, "--max-credits", "12"]));
    expect([warned.code, two], warned.stderr).toEqual([0, 2]);
    const around = / again; headcount (search .*) buys only new people for /.exec(warned.stderr);
    await u.ran([...(around?.[1] ?? "").split(" "), "--dry-run"]);
    const [ran, credits] = await paid(() => u.run(["resume", id, "--max-credits", "5000"]));
    expect([ran.code, credits], ran.stderr).toEqual([2, 0]);
    const [, next = "", most] =
      /headcount (search .* --max-credits (\d+) .*) writes all, and pays/.exec(ran.stderr) ?? [];
    const [bought, cost] = await paid(() => u.run(next.split(" ")));
    expect(bought.code, bought.stderr).toBe(0);
    expect(cost).toBeLessThanOrEqual(Number(most));
    expect(cost).toBeLessThan(all.length - 10);
    expect(ids("some.csv")).toEqual(all);
  });
});

test.each([["--max-credits 2", 2]])(
  "stopped with %s where most are owned, the command that is named goes on: it pays for nobody again",
  async (bound, most) => {
    const search = [...SALES, ...bound.split(" ")];
    const [ran, credits] = await paid(() =>
      u.run([...search, "--require-complete", "-o", "a.csv", "--json"]),
    );
    expect([ran.code, credits], ran.stderr).toEqual([5, most]);
    const { error } = JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "");
    expect(error.message).not.toContain("a higher --");
    expect([error.next, error.resumable]).toEqual([null, false]);
    const [, raised = ""] =
      /headcount (search --department=Sales --with-owned --max-credits \d+ -o \S+ --overwrite)/.exec(
        error.hint,
      ) ?? [];
    // As a job says it.
    const job = (own: object) => {
      const said = {
        command: "search",
        filters: { department: "Sales" },
        output: "job.csv",
        require_complete: true,
      };
      writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { x: { ...said, ...own } } }));
    };
    job({ max_credits: 2 });
    await u.ends(
      5,
      ["jobs", "run", "x", "--file", "jobs.json"],
      /hint: with "with_owned" and "max_credits": \d+ in the job, headcount jobs run x --file \S+ goes/,
    );
    const [whole, cost] = await paid(() => u.run(raised.split(" ")));
    expect(whole.code, whole.stderr).toBe(0);
    expect(cost).toBeLessThanOrEqual(fresh + 2);
    expect(ids("a.csv")).toEqual(all);
    job({ with_owned: true, max_credits: 0 });
    await u.ran(["jobs", "run", "x", "--file", "jobs.json"]);
    expect(ids("job.csv")).toEqual(all);
  },
);

test("stopped with a cap where few are owned, the cap that is named is of what came since", async () => {
  u = user(service.url, service.key);
  await u.ran([
    ...SALES,
    ...names.slice(-2).flatMap((name) => ["--name", name]),
    "--yes",
    "-o",
    "few.csv",
  ]);
  const ran = await u.run([...SALES, "--max-credits", "30", "-o", "a.csv"]);
  const [, raised = "", most] =
    /headcount (search --department=Sales --with-owned --max-credits (\d+) -o \S+ --overwrite)/.exec(
      ran.stderr,
    ) ?? [];
  const [whole, cost] = await paid(() => u.run(raised.split(" ")));
  expect([whole.code, Number(most)], whole.stderr).toEqual([0, all.length - 30]);
  expect(cost).toBeLessThanOrEqual(Number(most));
  expect(ids("a.csv")).toEqual(all);
});

test("who said --again pays for all, and going on does so too", async () => {
  const [ran, credits] = await paid(() =>
    u.run([...SALES, "--again", "--max-credits", "5", "-o", "a.csv"]),
  );
  expect([ran.code, credits], ran.stderr).toEqual([0, 5]);
  const [, hint = ""] =
    /headcount (resume \S+ --max-credits \d+) buys the other/.exec(ran.stderr) ?? [];
  const [rest, cost] = await paid(() => u.run(hint.split(" ")));
  expect([rest.code, cost], rest.stderr).toEqual([0, all.length - 5]);
  expect(rest.stderr).not.toContain("yours already");
  expect(ids("a.csv")).toEqual(all);
});

test("who was forgotten makes nobody else be paid for again, and is not bought", async () => {
  u = user(service.url, service.key);
  await u.ran([...SALES, "--limit", "5", "--yes", "-o", "few.csv"]);
  await u.ran([...SALES, "--new-only", "--yes", "-o", "all.csv"]);
  const [{ id = "", network_url: address = "" } = {}] = readCsv(u.read("all.csv"));
  await u.ran(["forget", address, "--yes"]);
  const [ran, credits] = await paid(() => u.run([...SALES, "--yes", "-o", "left.csv"]));
  expect([ran.code, credits], ran.stderr).toEqual([0, 0]);
  expect(ran.stderr).toContain("1 person of the segment, whom you forgot, is not bought\n");
  expect(ids("left.csv")).toEqual(all.filter((each) => each !== id));
});

describe("the same command, after others bought whom its unfinished run lacks", () => {
  const CUT = [...SALES, "--require-complete", "-o", "sales.csv", "--max-credits"];
  const wholeFor = async (argv: readonly string[], most: number): Promise<void> => {
    const [ran, credits] = await paid(() => u.run(argv));
    expect([ran.code, credits], ran.stderr).toEqual([0, most]);
    expect(ids("sales.csv")).toEqual(all);
  };

  beforeEach(async () => {
    u = user(service.url, service.key);
    await u.ends(5, [...CUT, "10"]);
    await u.ends(0, [...SALES, "--new-only", "--yes", "-o", "others.csv"]);
  });

  test("begins anew, and pays for nobody again; its quote says so", async () => {
    const [quoted] = await paid(() => u.run([...CUT, String(all.length), "--dry-run", "--json"]));
    expect(JSON.parse(quoted.stdout)).toMatchObject({ credits: 0 });
    await wholeFor([...CUT, String(all.length)], 0);
    expect(await u.run(["resume"])).toMatchObject({
      stderr: "Nothing to resume: no run is unfinished\n",
    });
    await wholeFor([...CUT, String(all.length), "--overwrite"], 0);
  });

  test("as a job", async () => {
    const job = {
      command: "search",
      filters: { department: "Sales" },
      output: "sales.csv",
      require_complete: true,
    };
    const write = (max_credits: number) =>
      writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { x: { ...job, max_credits } } }));
    u = user(service.url, service.key);
    write(10);
    await u.ends(5, ["jobs", "run", "x", "--file", "jobs.json"]);
    await u.ends(0, [...SALES, "--new-only", "--yes", "-o", "others.csv"]);
    write(all.length);
    await wholeFor(["jobs", "run", "x", "--file", "jobs.json"], 0);
  });
});

test("what is owned whole is written whole under any cap, whatever an earlier run holds of it under its own", async () => {
  u = user(service.url, service.key);
  await u.ends(0, [...SALES, "--max-credits", "5", "-o", "five.csv"]);
  await u.ends(0, [...SALES, "--new-only", "--yes", "-o", "others.csv"]);
  for (const cap of ["0", "5", "7"]) {
    const [ran, credits] = await paid(() =>
      u.run([...SALES, "--max-credits", cap, "-o", `${cap}.csv`]),
    );
    expect([ran.code, credits], ran.stderr).toEqual([0, 0]);
    expect(ids(`${cap}.csv`)).toEqual(all);
  }
});

long(
  "who was forgotten is not bought again with the rest of what a finished run held",
  async () => {
    u = user(service.url, service.key);
    const some = all.length - 3;
    await u.ran([...SALES, "--limit", String(some), "--yes", "-o", "most.csv"]);
    for (const { id = "" } of readCsv(u.read("most.csv")).slice(0, 2)) {
      await u.ran(["forget", id, "--yes"]);
    }
    const [ran, credits] = await paid(() => u.run([...SALES, "--yes", "-o", "whole.csv"]));
    expect([ran.code, credits], ran.stderr).toEqual([0, 3]);
    expect(ids("whole.csv")).toHaveLength(all.length - 2);
  },
);
