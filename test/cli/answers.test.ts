import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { startAgent } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { readCsv } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { long } from "../support/long.ts";

// Only a 200 with what the contract says, and a 404, are answers: what is neither is asked for
// again, and never taken for nothing.

const SEARCH = ["search", "--country", "x", "--per-page", "10", "-o", "o.csv", "--yes"];
const EMPLOYEES = asTyped`employees acme.example --limit 60 --per-page 10 -o o.csv --yes`;
const ENRICH = asTyped`enrich a.example b.example c.example -o o.csv --misses m.txt --yes`;

describe("a success that is no answer", () => {
  long.each([202, 203, 206, 299])("%i and null is asked for again", async (status) => {
    for (const argv of [SEARCH, EMPLOYEES, ENRICH]) {
      const s = await foreignScene({
        people: 60,
        mishap: (call) => (call === 1 || call === 3 ? `null-${status}` : undefined),
      });
      const ran = await s.run(...argv);
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(s.ids()).toHaveLength(argv === ENRICH ? 1 : 60);
      if (argv === ENRICH) expect(s.u.read("m.txt")).toBe("");
    }
  });

  long.each([202, 206])(
    "%i for ever ends after --max-wait: exit 8, and nobody is taken for missing",
    async (status) => {
      for (const argv of [SEARCH, EMPLOYEES, ENRICH, ["enrich", "a.example", "--yes"]]) {
        const s = await foreignScene({ people: 60, mishap: () => `null-${status}` });
        const ran = await s.run(...argv, "--max-wait", "3");
        expect(ran, ran.stderr).toMatchObject({ code: 8, stdout: "" });
        expect({ o: existsSync(s.u.file("o.csv")), m: existsSync(s.u.file("m.txt")) }).toEqual({
          o: false,
          m: false,
        });
        expect(s.service.paidCalls()).toBeGreaterThan(2);
      }
    },
  );

  test.each([SEARCH, EMPLOYEES])("null is no page: it is asked for again: %s", async (...argv) => {
    const s = await foreignScene({
      people: 60,
      mishap: (call) => (call === 2 || call === 4 ? "null-200" : undefined),
    });
    expect(await s.run(...argv)).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids());
  });
});

describe("no answer at all", () => {
  long(
    "is given up after --max-wait at every door, with what was waited, and nothing is bought",
    async () => {
      const s = await foreignScene({ hangs: ["/v1/account", "/v1/person/count"] });
      const job = {
        command: "search",
        filters: { country: "y" },
        max_wait: 1,
        max_credits: 5,
        output: "j.csv",
      };
      writeFileSync(s.u.file("jobs.jsonc"), JSON.stringify({ jobs: { a: job } }));
      const doors = [
        ["account"],
        ["count", "--country", "x"],
        ["doctor"],
        SEARCH,
        EMPLOYEES,
        ENRICH,
      ].map((argv, at) =>
        s.run(...argv.map((word) => (word === "o.csv" ? `o${at}.csv` : word)), "--max-wait", "1"),
      );
      const agent = await startAgent(s.u, ["--max-wait", "1"]);
      const [told, ...rans] = await Promise.all([
        agent.call("account", {}),
        s.run("jobs", "run", "a", "--file", "jobs.jsonc"),
        ...doors,
      ]);
      await agent.close();
      for (const { code, stderr } of rans)
        expect({ code, stderr }).toEqual({
          code: 8,
          stderr: expect.stringContaining("no answer within 10 s"),
        });
      expect(told).toMatchObject({
        failed: true,
        text: expect.stringContaining("no answer within 10 s"),
      });
      expect(s.service.paidCalls()).toBe(0);
    },
  );
});

describe("how many there are", () => {
  test.each([
    ["employees of a domain", EMPLOYEES.slice(0, 2), true],
    ["a search that nobody counts", SEARCH.slice(0, 3), false],
  ])("%s: what a page told is the whole, and not the cap", async (_, what, counts) => {
    const s = await foreignScene({
      people: 60,
      counts,
      total: "header",
      mishap: (call) => (call > 4 ? "503" : undefined),
    });
    const argv = asTyped`${what} --per-page 10 --max-credits 100 --concurrency 1 -o o.csv`;
    const failed = await s.run(...argv);
    expect(failed).toMatchObject({
      code: 8,
      stderr: expect.stringContaining("40 of 60 rows are paid for"),
    });
    s.service.options.mishap = () => undefined;
    const quote = await s.run(...argv, "--dry-run", "--json");
    expect(JSON.parse(quote.stdout)).toMatchObject({ rows: 60, kept: 40, credits: 20 });
    const rest = await s.run("resume");
    expect(rest.stderr).toMatch(
      /40 rows are paid for and not bought again, 20 to buy for 20 credits/,
    );
    expect([rest.code, s.ids().length]).toEqual([0, 60]);
  });

  test("an empty page before rows that were counted is not the end, and a resume asks for it again", async () => {
    for (const concurrency of ["1", "4"]) {
      const s = await foreignScene({
        people: 60,
        mishap: (call) => (call === 3 ? "empty" : undefined),
      });
      const ran = await s.run(...SEARCH, "--concurrency", concurrency);
      expect(ran, ran.stderr).toMatchObject({ code: 5 });
      expect(s.service.charged()).toBe(50);
      const [, id = ""] = /(?:resume|export) (\S+)/.exec(ran.stderr) ?? [];
      expect(await s.run("resume", id, "--yes")).toMatchObject({ code: 0 });
      expect(s.ids()).toEqual(s.service.ids());
      expect(s.service.charged()).toBe(60);
    }
  });

  test("a newer total than the count is believed: exit 5, and a resume prices the rest", async () => {
    const s = await foreignScene({ people: 60, countedTooMany: -3, total: "header" });
    const ran = await s.run(...SEARCH);
    expect(ran, ran.stderr).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("57 profiles, and since then the pages say 60"),
    });
    expect(s.service.charged()).toBe(57);
    const [, id = ""] = /headcount resume (\S+) prices/.exec(ran.stderr) ?? [];
    const rest = await s.run("resume", id, "--yes");
    expect(rest, rest.stderr).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids());
    expect(s.service.charged()).toBe(60);
    // Who asked for fewer has what was asked for.
    const few = await foreignScene({ people: 60, countedTooMany: -3, total: "header" });
    expect(await few.run(...SEARCH, "--limit", "20")).toMatchObject({ code: 0 });
  });

  test("nobody came and nobody said how many there are: not complete where that is required", async () => {
    const s = await foreignScene({ people: 6, firstPage: 0, total: "header" });
    const argv = ["employees", "acme.example", "--limit", "1000", "-o", "o.csv", "--yes"];
    const ran = await s.run(...argv, "--require-complete");
    expect(ran).toMatchObject({ code: 5, stderr: expect.stringContaining("--paging page0") });
    expect(existsSync(s.u.file("o.csv"))).toBe(false);
    const untold = await foreignScene({ people: 6, firstPage: 0 });
    const nobody = await untold.run(...argv, "--require-complete");
    expect(nobody.code, nobody.stderr).toBe(5);
    expect(nobody.stderr.split("no profile came"), nobody.stderr).toHaveLength(2);
    expect(s.service.charged()).toBe(0);
    const zero = await s.run(...argv, "--require-complete", "--paging", "page0", "--again");
    expect(zero, zero.stderr).toMatchObject({ code: 0 });
    expect(s.ids()).toHaveLength(6);
  });
});

describe("a first page that nobody asked for", () => {
  const pages = { people: 57, maxPerPage: 20 };
  const commands = [
    ["search", "--country", "x"],
    ["employees", "acme.example"],
  ];

  test.each(commands)(
    "%s: where nobody says how many there are, nor what the first page is, it is not complete",
    async (...what) => {
      const argv = [...what, "--max-credits", "100", "-o", "o.csv"];
      for (const counts of what[0] === "search" ? [false] : [false, true]) {
        const s = await foreignScene({ ...pages, counts, firstPage: 0 });
        const ran = await s.run(...argv, "--receipt", "r.json");
        expect([ran.code, s.service.charged()], ran.stderr).toEqual([0, 37]);
        expect(ran.stderr).toContain(
          "warning: nobody said how many there are, nor that page 1 is the first",
        );
        expect(ran.stderr).not.toContain("stopped at");
        expect(JSON.parse(s.u.read("r.json"))).toMatchObject({
          complete: false,
          bound: "matches",
          received: 37,
        });
        const [, hint = ""] =
          /the same command with (--again --paging page0) gets/.exec(ran.stderr) ?? [];
        const whole = await s.run(...argv, ...hint.split(" "), "--overwrite", "--require-complete");
        expect([whole.code, s.ids()], whole.stderr).toEqual([0, s.service.ids()]);
      }
      const strict = await foreignScene({ ...pages, counts: false, firstPage: 0 });
      const required = await strict.run(...argv, "--require-complete");
      expect([required.code, existsSync(strict.u.file("o.csv"))], required.stderr).toEqual([
        5,
        false,
      ]);
      const told = await foreignScene({ ...pages, counts: false });
      const ran = await told.run(...argv, "--require-complete", "--paging", "page");
      expect([ran.code, told.ids()], ran.stderr).toEqual([0, told.service.ids()]);
    },
  );

  test("told by a total where nobody counts: the hint pays for all, and says who told", async () => {
    const s = await foreignScene({ ...pages, counts: false, firstPage: 0, total: "header" });
    const argv = ["search", "--country", "x", "--max-credits", "100", "-o", "o.csv"];
    const ran = await s.run(...argv);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain(
      "gave 37 of the 57 profiles that its pages told of (where it counts pages from 0",
    );
    expect(ran.stderr).toContain("--again --paging page0 gets the first page too");
    expect(await s.run(...argv, "--again", "--paging", "page0")).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids());
  });
});

test("companies of which no address is known: nobody was counted, and no count is told", async () => {
  const s = await foreignScene({ people: 57 });
  const argv = ["employees", "a.example", "b.example", "--seniority-level", "vp"];
  await s.run(...argv, "--max-credits", "50", "-o", "o.csv");
  const { stdout } = await s.run(...argv, "--dry-run", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ matches: null, rows: 0 });
});

describe("what a service writes otherwise", () => {
  const named = (rows: readonly object[]): unknown =>
    rows.map((row) => ({ ...row, name: "Zo\u00eb", email: "z@x.example" }));

  test("letters in another charset are read where it is declared, and said where it is not", async () => {
    for (const declares of ["; charset=iso-8859-1", '; charset="windows-1252"']) {
      const s = await foreignScene({ people: 20, shape: named, encoding: "latin1", declares });
      for (const argv of [SEARCH, [...EMPLOYEES, "--overwrite"]]) {
        const ran = await s.run(...argv);
        expect(ran, ran.stderr).toMatchObject({
          code: 0,
          stderr: expect.not.stringContaining("UTF-8"),
        });
        expect(new Set(readCsv(s.u.read("o.csv")).map(({ name }) => name))).toEqual(
          new Set(["Zo\u00eb"]),
        );
      }
    }
    const s = await foreignScene({ people: 20, shape: named, encoding: "latin1" });
    const ran = await s.run(...SEARCH);
    expect(ran.stderr.match(/warning: a reply is not in UTF-8/g)).toHaveLength(1);
  });

  test("fields of its own can be asked for; a slip of the pen is refused still", async () => {
    for (const argv of [SEARCH, EMPLOYEES]) {
      const s = await foreignScene({ people: 20, shape: named });
      const ran = await s.run(...argv, "--fields", "id,email,twitter_handle");
      expect(ran, ran.stderr).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("no row has twitter_handle"),
      });
      expect(readCsv(s.u.read("o.csv"))[0]).toMatchObject({
        email: "z@x.example",
        twitter_handle: "",
      });
      expect(await s.run(...argv, "--fields", "titel", "--overwrite")).toMatchObject({ code: 2 });
    }
  });

  test("a field without a name has one in a table", async () => {
    const s = await foreignScene({
      people: 5,
      shape: (rows) => rows.map((row) => ({ ...row, "": "x" })),
    });
    const ran = await s.run("search", "--country", "x", "-o", "o.parquet", "--yes");
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    const read = await s.run("runs", "export", "last", "-o", "p.xlsx");
    expect(read, read.stderr).toMatchObject({ code: 0 });
  });

  test("where nobody tells a price, neither before nor after, pages are as large as ever", async () => {
    const s = await foreignScene({ people: 60, tellsCosts: false, usedIs: "missing" });
    const ran = await s.run(...SEARCH);
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(s.service.paidCalls()).toBeLessThan(20);
  });

  test.each([EMPLOYEES.slice(0, 4), SEARCH])(
    "where no cursor is found, it says where it was looked for: %s",
    async (...argv) => {
      const s = await foreignScene({ people: 60, paging: "cursor", nextUnder: "after" });
      const ran = await s.run(
        ...argv,
        "--per-page",
        "10",
        "-o",
        "o.csv",
        "--yes",
        "--paging",
        "cursor",
      );
      expect(ran).toMatchObject({
        code: 5,
        stderr: expect.stringContaining("in X-Next-Cursor, or as next_cursor"),
      });
    },
  );

  test("where page 0 was not told, of a company too whose pages are asked for larger than all of it", async () => {
    const s = await foreignScene({ people: 6, firstPage: 0, total: "header" });
    const ran = await s.run(
      "employees",
      "acme.example",
      "--max-credits",
      "30",
      "--require-complete",
    );
    expect(ran).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("--again --paging page0"),
    });
  });

  test("where page 0 was not told, the advice is to buy the missing people alone", async () => {
    const s = await foreignScene({ people: 60, firstPage: 0 });
    const ran = await s.run(
      ...SEARCH.filter((word) => word !== "10" && word !== "--per-page"),
      "--per-page",
      "20",
    );
    expect(ran).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("--paging page0 --with-owned buys the missing"),
    });
  });

  test("a key that is refused: said how it was sent", async () => {
    const s = await foreignScene({});
    const ran = await s.u.run(["count", "--country", "x"], {
      env: { HEADCOUNT_API_KEY: "acme_live_wrong" },
    });
    expect(ran).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("sent as Authorization: Bearer"),
    });
  });

  test("a price of requests: every page is as large as it may be, and the end says what was paid", async () => {
    const s = await foreignScene({ people: 150, chargesRequests: true });
    const ran = await s.run("search", "--country", "x", "-o", "o.csv", "--yes");
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("150 profiles for 1 credit "),
    });
    expect([s.service.paidCalls(), s.service.charged(), s.ids().length]).toEqual([1, 1, 150]);
  });

  test("a header Idempotency-Key that is refused: said which, at both doors, and nothing is charged", async () => {
    const s = await foreignScene({ refusesKey: true });
    for (const argv of [SEARCH, ENRICH]) {
      const ran = await s.run(...argv);
      expect(ran).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("Unknown header: Idempotency-Key"),
      });
    }
    expect(s.service.charged()).toBe(0);
  });

  test("a limit that pages of at least ten cannot reach: what came is kept, never beyond it, and why", async () => {
    const s = await foreignScene({ people: 150, minPerPage: 10, maxPerPage: 25 });
    const ran = await s.run("search", "--country", "x", "-o", "o.csv", "--yes", "--limit", "37");
    expect(ran).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("the smallest that is known has 25 rows: 25 of 37 rows came"),
    });
    expect([s.service.charged(), existsSync(s.u.file("o.csv"))]).toEqual([25, false]);
  });
});

test("people of a company are of the dataset that counted them, where it moved since the account told its own", async () => {
  for (const [versions, code] of [
    [["v1", "v2", "v2"], 0],
    [["v1", "v2", "v1"], 5],
  ] as const) {
    const s = await foreignScene({ people: 12 });
    const steps = ["account", "count"];
    s.service.options.version = () => {
      const step = steps.findIndex((path) => s.service.seen.at(-1)?.path.endsWith(path));
      return versions[step < 0 ? 2 : step] ?? "";
    };
    const ran = await s.run("employees", "acme", "-o", "o.csv", "--yes");
    expect(ran.code, ran.stderr).toBe(code);
  }
});

test("a run with pages of two datasets is no stock for the next one, though all of its rows are paid for", async () => {
  const s = await foreignScene({ people: 40, version: (calls) => (calls === 2 ? "v2" : "v1") });
  const buy = ["search", "--country", "x", "--per-page", "20", "-o", "o.csv", "--yes"];
  expect((await s.run(...buy)).code).toBe(5);
  expect(s.service.charged()).toBe(40);
  s.service.options.version = () => "v1";
  const again = await s.run(...buy);
  expect([again.code, s.service.charged()], again.stderr).toEqual([0, 80]);
});
