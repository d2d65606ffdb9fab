import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Dialect } from "../../src/engine/client/dialect.ts";
import { readCsv } from "../support/export.ts";
import { type ForeignScene, foreignScene } from "../support/foreign-scene.ts";
import type { ForeignOptions } from "../support/foreign-service.ts";

// Our client at a service that we did not write: what counts is what its books say.

const BUY = ["search", "--country", "x", "-o", "o.csv", "--yes", "--receipt", "r.json"];

interface Scene extends ForeignScene {
  receipt(): Record<string, unknown>;
}

async function scene(change: Partial<ForeignOptions> = {}, dialect?: Dialect): Promise<Scene> {
  const bare = await foreignScene(change);
  const { service, u } = bare;
  if (dialect !== undefined) {
    mkdirSync(join(u.dir, "config"));
    const config = { connections: { work: { baseUrl: service.url, dialect } } };
    writeFileSync(join(u.dir, "config", "config.json"), JSON.stringify(config));
  }
  return {
    ...bare,
    run: (...argv) => u.run(dialect === undefined ? argv : ["-c", "work", ...argv]),
    receipt: () => JSON.parse(u.read("r.json")) as Record<string, unknown>,
  };
}

/** Everything that keeps books says the same: the service, the receipt, the local ledger. */
async function expectBooks(s: Scene, credits: number, uncertain = 0): Promise<void> {
  expect(s.service.charged()).toBe(credits + uncertain);
  expect(s.receipt()).toMatchObject({ credits, uncertain_credits: uncertain });
  const spend = JSON.parse((await s.run("spend", "--json")).stdout) as { total: object };
  expect(spend.total).toMatchObject({ settled: credits, uncertain, foreign: 0 });
}

describe("where the contract is silent", () => {
  test("a count is read as a bare number and under every usual name", async () => {
    for (const countUnder of [
      undefined,
      "count",
      "total",
      "total_results",
      "total_count",
      "results_count",
    ]) {
      const s = await scene({ countUnder });
      expect(await s.run("count", "--country", "x")).toMatchObject({ code: 0, stdout: "260\n" });
    }
  });

  test("a page is read under every usual name, and every field is kept", async () => {
    for (const rowsUnder of [
      undefined,
      "profiles",
      "people",
      "persons",
      "results",
      "items",
      "data",
      "employees",
    ]) {
      const s = await scene({ rowsUnder, people: 30 });
      expect(await s.run(...BUY)).toMatchObject({ code: 0, stdout: "" });
      expect(s.ids()).toEqual(s.service.ids());
      expect(readCsv(s.u.read("o.csv"))[4]).toMatchObject({
        name: "Person 4",
        title: 'Sales, "Lead"',
        nickname: "P4",
        "current.since.year": "2004",
        skills: "a; b;4",
      });
      await expectBooks(s, 30);
    }
  });

  test("balance, limits and prices are found under other names, and only the price that matters is missed aloud", async () => {
    const s = await scene({ price: 0.25 });
    const account = JSON.parse((await s.run("account", "--json")).stdout) as Record<
      string,
      unknown
    >;
    expect(account).toMatchObject({
      credits: { balance: 5_000 },
      rate_limits: { per_minute: 6_000, per_day: 100_000 },
      costs: { person_search: 0.25, company_enrich: 0.25, company_employees: 0.25 },
    });
    const quiet = await scene({ tellsCosts: false });
    const ran = await quiet.run(...BUY);
    expect(ran.code).toBe(0);
    expect(ran.stderr.match(/does not tell what \w+ costs/g)).toEqual([
      "does not tell what person_search costs",
    ]);
  });

  test.each([
    { paging: "page", firstPage: 0 },
    { paging: "offset", firstPage: 1 },
    { paging: "cursor", firstPage: 1 },
  ] as const)("paging by $paging from $firstPage, whole and up to a cap", async (dialect) => {
    const s = await scene(dialect, dialect);
    expect(await s.run(...BUY, "--per-page", "30")).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids());
    await expectBooks(s, 260);
    expect(
      await s.run(...BUY, "--per-page", "30", "--max-credits", "77", "--overwrite"),
    ).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids().slice(0, 77));
    expect(s.service.charged()).toBe(260 + 77);
  });

  test.each([
    { maxPerPage: 25 },
    { maxPerPage: 25, tellsMaxPerPage: true },
    { maxPerPage: 25, clamp: true },
  ])("a largest page that is refused, told or clamped: %o", async (change) => {
    const s = await scene(change);
    expect(await s.run(...BUY)).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids());
    await expectBooks(s, 260);
  });

  test("companies: a match in a wrapper, a free miss, employees up to a limit", async () => {
    const s = await scene();
    const found = await s.run("enrich", "globex.example", "--yes", "--json");
    expect({ code: found.code, name: JSON.parse(found.stdout).name }).toEqual({
      code: 0,
      name: "Globex",
    });
    expect(await s.run("enrich", "missing.example", "--yes")).toMatchObject({
      code: 6,
      stdout: "",
    });
    expect(await s.run("employees", "missing.example", "--limit", "5", "--yes")).toMatchObject({
      code: 6,
      stdout: "",
    });
    expect(s.service.charged()).toBe(1);
    const people = await s.run(
      "employees",
      "globex.example",
      "--limit",
      "41",
      "--yes",
      "--per-page",
      "20",
    );
    expect({ code: people.code, rows: people.stdout.trim().split("\n").length }).toEqual({
      code: 0,
      rows: 41,
    });
    expect(s.service.charged()).toBe(42);
  });
});

describe("caps land exactly on the service's own books", () => {
  test.each([1, 3, 8])("1,007 credits with %i pages in flight", async (concurrency) => {
    const s = await scene({ people: 1_500 });
    const ran = await s.run(
      ...BUY,
      "--max-credits",
      "1007",
      "--per-page",
      "100",
      "--concurrency",
      String(concurrency),
    );
    expect(ran).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids().slice(0, 1_007));
    await expectBooks(s, 1_007);
  });

  test.each([
    ["0.75", 3],
    ["3.5", 14],
    ["0.26", 1],
    ["0.2", 0],
  ] as const)("%s credits at 0.25 a profile buy %i", async (cap, rows) => {
    const s = await scene({ price: 0.25 });
    const ran = await s.run(...BUY, "--max-credits", cap);
    if (rows === 0) {
      expect({ ...ran, charged: s.service.charged() }).toMatchObject({
        code: 4,
        stdout: "",
        charged: 0,
      });
      expect(ran.stderr).toContain(
        "one profile costs 0.25 credits, more than --max-credits; nothing was spent",
      );
    } else {
      expect(ran).toMatchObject({ code: 0 });
      expect(s.ids()).toEqual(s.service.ids().slice(0, rows));
      await expectBooks(s, rows / 4);
    }
  });

  test("more than the balance is refused before anything is spent, with the limit that fits", async () => {
    const s = await scene({ price: 0.25, balance: 10 });
    const ran = await s.run(...BUY);
    expect(ran).toMatchObject({ code: 4, stdout: "" });
    expect(ran.stderr).toContain("--limit 40 would fit");
    expect(s.service.paidCalls()).toBe(0);
    expect(await s.run(...BUY, "--limit", "40")).toMatchObject({ code: 0 });
    await expectBooks(s, 10);
  });
});

describe("what goes wrong on the way", () => {
  test.each(["503", "500", "429-date", "429-ms"] as const)(
    "a %s is waited out and nothing is bought twice",
    async (mishap) => {
      const s = await scene({ mishap: (call) => (call === 3 ? mishap : undefined) });
      expect(await s.run(...BUY, "--per-page", "50")).toMatchObject({ code: 0, stdout: "" });
      expect(s.ids()).toEqual(s.service.ids());
      await expectBooks(s, 260);
    },
  );

  // A service that tells the version of its dataset promises nothing of keys by that.
  test.each([
    ["drop", undefined],
    ["cut", undefined],
    ["drop", () => "v1"],
  ] as const)(
    "a reply that was charged and lost (%s) is booked as uncertain, inside the cap",
    async (mishap, version) => {
      for (const concurrency of ["1", "4"]) {
        const s = await scene({ version, mishap: (call) => (call === 3 ? mishap : undefined) });
        const ran = await s.run(
          ...BUY,
          "--per-page",
          "50",
          "--max-credits",
          "200",
          "--concurrency",
          concurrency,
        );
        expect({ code: ran.code, file: existsSync(s.u.file("o.csv")) }).toEqual({
          code: 5,
          file: false,
        });
        expect(ran.stderr).toContain("50 credits may have been charged");
        await expectBooks(s, 150, 50);
        // A higher cap goes on with the same run: what came is not bought again. The one that is named is enough.
        const [, goesOn = ""] =
          /; headcount (resume \S+ --max-credits 310) buys the other 110\n/.exec(ran.stderr) ?? [];
        expect(await s.run(...goesOn.split(" "))).toMatchObject({ code: 0 });
        expect(s.ids()).toEqual(s.service.ids());
        await expectBooks(s, 260, 50);
      }
    },
  );

  test("a service that is down ends in bounded time: exit 8, stdout empty, nothing charged", async () => {
    const s = await scene({ mishap: () => "503" });
    const ran = await s.run(...BUY);
    expect(ran).toMatchObject({ code: 8, stdout: "" });
    expect(ran.stderr).not.toContain("\u001b");
    expect(s.service.charged()).toBe(0);
    expect(s.service.paidCalls()).toBeLessThanOrEqual(12);
  });
});

describe("complete or said", () => {
  test("rows that come twice: exit 5, no file, and a receipt that says so", async () => {
    const s = await scene({ duplicateEvery: 10 });
    const ran = await s.run(...BUY, "--per-page", "50");
    expect({ code: ran.code, file: existsSync(s.u.file("o.csv")) }).toEqual({
      code: 5,
      file: false,
    });
    expect(s.receipt()).toMatchObject({
      received: 260,
      distinct: 234,
      duplicates: 26,
      complete: false,
      output: null,
    });
    const kept = await s.run("runs", "export", "last", "--format", "ndjson");
    expect(
      new Set(
        kept.stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line).id),
      ).size,
    ).toBe(234);
    await expectBooks(s, 260);
  });

  test("fewer than were counted: exit 5, and nothing is asked for again and again", async () => {
    const s = await scene({ countedTooMany: 30 });
    expect(await s.run(...BUY, "--per-page", "50")).toMatchObject({ code: 5 });
    expect(s.receipt()).toMatchObject({ count: 290, received: 260, complete: false });
    await expectBooks(s, 260);
  });

  test("a dataset that moves while a run is at work: exit 5, and the same command begins anew", async () => {
    const s = await scene({ people: 100, version: (calls) => (calls < 3 ? "v1" : "v2") });
    const moved = await s.run(...BUY, "--per-page", "20", "--concurrency", "1");
    expect(moved).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("changed its dataset from v1 to v2"),
    });
    expect(moved.stderr).toContain("the same command begins anew");
    const paid = s.service.charged();
    const [run] = JSON.parse((await s.run("runs", "--json")).stdout) as { status: string }[];
    expect({ paid, status: run?.status }).toEqual({ paid: 60, status: "stale" });
    const anew = await s.run(...BUY, "--per-page", "20");
    expect(anew, anew.stderr).toMatchObject({ code: 0 });
    expect(anew.stderr).not.toContain("continuing");
    expect(s.ids()).toEqual(s.service.ids());
    expect(s.service.charged()).toBe(160);
  });

  test("a service that never turns the page is stopped, not paid to the end", async () => {
    // It pages by offset, and nobody told us: `page` is ignored and every page is the first.
    const s = await scene({ people: 2_000, paging: "offset" });
    const ran = await s.run(...BUY, "--per-page", "20", "--concurrency", "2");
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain("gave a page twice");
    expect(s.service.paidCalls()).toBe(2);
    expect(s.receipt()).toMatchObject({ distinct: 20, complete: false });
    const before = s.service.charged();
    const again = await s.run(...BUY, "--per-page", "20");
    expect(again).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("cannot be continued: the service gave"),
    });
    expect(again.stderr).not.toContain("to buy for");
    expect(s.service.charged()).toBe(before);
  });

  test("a run that buys no more on what came is over: a quote says why, and nothing is to be resumed", async () => {
    const s = await scene({ people: 100, paging: "offset" });
    const argv = [...BUY, "--per-page", "20"];
    const ran = await s.run(...argv);
    expect(ran.code, ran.stderr).toBe(5);
    expect(ran.stderr).not.toContain("tries to go on");
    const [run] = JSON.parse((await s.run("runs", "list", "--json")).stdout);
    expect(run).toMatchObject({
      status: "over",
      problem: expect.stringContaining("gave a page twice"),
    });
    const quote = await s.run(...argv, "--dry-run");
    expect(quote).toMatchObject({ code: 5, stderr: expect.stringContaining("gave a page twice") });
    const resumed = await s.run("resume", "last", "--yes");
    expect(resumed).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("--again buys everything anew"),
    });
    expect((await s.run("resume")).stderr).toContain("no run is unfinished");
    expect(s.service.charged()).toBe(40);
    const anew = await s.run(...argv, "--again", "--paging", "offset", "--overwrite");
    expect([anew.code, s.service.charged()], anew.stderr).toEqual([0, 140]);
  });

  test("a run whose rows came twice is over, and runs export names nothing that goes on with it", async () => {
    const s = await scene({ people: 60, duplicateEvery: 5 });
    expect((await s.run(...BUY)).stderr).toContain("12 of 60 rows came twice");
    const [run] = JSON.parse((await s.run("runs", "list", "--json")).stdout);
    expect(run).toMatchObject({ status: "over", problem: expect.stringContaining("came twice") });
    const written = await s.run("runs", "export", "last", "-o", "some.csv");
    expect([written.code, written.stderr]).toEqual([
      0,
      expect.not.stringContaining("headcount resume"),
    ]);
    const again = await s.run(...BUY);
    expect([again.code, s.service.charged()], again.stderr).toEqual([5, 60]);
  });

  test("a run that is gone with its dataset names the command that begins anew, with what it takes", async () => {
    let version = "v1";
    const s = await scene({ people: 60, version: () => version });
    const some = ["search", "--country", "x", "--max-credits", "25", "-o", "o.csv"];
    expect((await s.run(...some)).code).toBe(0);
    version = "v2";
    const gone = await s.run("resume", "last", "--max-credits", "60");
    const anew = expect.stringContaining("the same command with --overwrite begins anew");
    expect([gone.code, gone.stderr]).toEqual([5, anew]);
    const again = await s.run(...some, "--overwrite");
    expect([again.code, s.service.charged()], again.stderr).toEqual([0, 50]);
  });

  test("a paid page that holds no rows: its run is over, and what the others hold is written", async () => {
    let answers = 0;
    const shape = (rows: readonly object[]): unknown =>
      ++answers === 2 ? "oops" : { people: rows };
    const s = await scene({ people: 30, maxPerPage: 10, shape, rowsUnder: "people" });
    const ran = await s.run(...BUY, "--per-page", "10", "--concurrency", "1");
    expect(ran).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("a paid reply cannot be read"),
    });
    const next = await s.run(...BUY, "--per-page", "10", "--dry-run");
    expect(next).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("cannot be continued: a paid reply"),
    });
    const written = await s.run("runs", "export", "last", "--json", "-o", "o.csv");
    expect([written.code, s.service.charged()], written.stderr).toEqual([5, 20]);
    expect(s.ids()).toEqual(s.service.ids().slice(0, 10));
    const forgotten = await s.run("forget", "network.example/in/person-25", "--yes");
    expect(forgotten).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("nobody knows whom it holds"),
    });
  });
});

describe("employees and search share one rule of completeness", () => {
  const SLUG = ["employees", "acme", "-o", "o.csv", "--yes", "--receipt", "r.json"];
  const DOMAIN = [
    "employees",
    "acme.example",
    "-o",
    "o.csv",
    "--limit",
    "1000",
    "--yes",
    "--receipt",
    "r.json",
  ];

  test.each([SLUG, DOMAIN])(
    "a short page is not the last one where nothing says so: %s %s",
    async (...argv) => {
      for (const total of [undefined, "own-length", "header", "result"] as const) {
        for (const change of [{ clamp: true }, { clamp: false }]) {
          const s = await scene({ people: 237, maxPerPage: 25, total, ...change });
          expect(await s.run(...argv, "--require-complete", "--paging", "page")).toMatchObject({
            code: 0,
          });
          expect(s.ids()).toEqual(s.service.ids());
          await expectBooks(s, 237);
        }
      }
    },
  );

  test.each([SLUG, DOMAIN, BUY])(
    "a page that comes again ends the buying: %s %s",
    async (...argv) => {
      for (const people of [40, 3_000]) {
        const s = await scene({ people, pageIgnored: true, maxPerPage: 100, clamp: true });
        const ran = await s.run(...argv, "--concurrency", "8");
        // Where a count says that the first page was all, no second one is asked for.
        const isWhole = people === 40 && argv[1] !== "acme.example";
        expect({ argv, people, code: ran.code }).toEqual({ argv, people, code: isWhole ? 0 : 5 });
        const paid = isWhole ? 40 : 2 * Math.min(people, 100);
        expect(s.service.charged()).toBe(paid);
        if (isWhole) continue;
        expect(ran.stderr).toContain("gave a page twice");
        expect((await s.run(...argv)).code).toBe(5);
        expect(s.service.charged()).toBe(paid);
      }
    },
  );

  test("a page that came again behind a page that is missing is known when the run goes on", async () => {
    // Of b the first page alone: it is slow, and meanwhile c's second one shows that pages are not turned.
    let replies = 0;
    const random = (): number => (++replies === 2 ? 1 : 0);
    const companies = { "a.example": 0, "b.example": 300, "c.example": 7 };
    const s = await scene({ companies, pageIgnored: true, maxPerPage: 50, jitterMs: 300, random });
    const argv = [
      "employees",
      ...Object.keys(companies),
      ...["--limit", "1000", "--per-page", "20", "--yes", "-o", "o.csv"],
    ];
    expect(await s.run(...argv)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("gave a page twice"),
    });
    const before = s.service.charged();
    // Which of the two requests comes first is the machine's choice.
    expect([20 + 2 * 7, 2 * 20 + 7]).toContain(before);
    expect(await s.run(...argv)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("gave a page twice"),
    });
    expect(s.service.charged()).toBe(before);
  });

  test("a whole page without a cursor, a count or a total leaves it open whether there are more", async () => {
    const s = await scene({
      people: 237,
      maxPerPage: 100,
      clamp: true,
      paging: "cursor",
      nextUnder: "after",
    });
    const ran = await s.run(...DOMAIN, "--paging", "cursor", "--per-page", "100");
    expect(ran).toMatchObject({ code: 5, stderr: expect.stringContaining("nobody knows") });
    await expectBooks(s, 100);
    const known = await scene({
      people: 237,
      maxPerPage: 100,
      clamp: true,
      paging: "cursor",
      nextUnder: "after",
    });
    const short = await known.run(...SLUG, "--paging", "cursor");
    expect(short).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("gave 100 of the 237 profiles"),
    });
  });

  test("pages of a minimum or of fixed sizes are bought to the last row, and never beyond a cap", async () => {
    for (const change of [
      { minPerPage: 10, maxPerPage: 100 },
      { sizes: [10, 25, 50, 100], maxPerPage: 100 },
    ]) {
      for (const refusal of ["laravel", "between", "pydantic", "bad-request"] as const) {
        const s = await scene({ people: 237, refusal, ...change });
        const ran = await s.run(...BUY);
        expect(ran, ran.stderr).toMatchObject({ code: 0 });
        expect(s.ids()).toEqual(s.service.ids());
        await expectBooks(s, 237);
        const capped = await s.run(...SLUG, "--max-credits", "203", "--overwrite");
        expect(capped).toMatchObject({
          code: 5,
          stderr: expect.stringContaining("no page that is as small"),
        });
        expect(s.service.charged() - 237).toBeLessThanOrEqual(203);
      }
    }
  });
});

test("a limit that no pages make says which ones do, and they do", async () => {
  const s = await scene({ people: 237, minPerPage: 10, maxPerPage: 10 });
  const ran = await s.run(...BUY, "--limit", "37");
  expect(ran).toMatchObject({ code: 5, stderr: expect.stringContaining("30 of 37 rows came") });
  const [, more, less] =
    /(--limit \d+) buys the next one, (--limit \d+) ends whole/.exec(ran.stderr) ?? [];
  expect([less, more]).toEqual(["--limit 30", "--limit 40"]);
  for (const limit of [less, more]) {
    const fresh = await scene({ people: 237, minPerPage: 10, maxPerPage: 10 });
    expect(await fresh.run(...BUY, ...(limit ?? "").split(" "))).toMatchObject({ code: 0 });
  }
});

describe("money that a service tells otherwise, or not", () => {
  test("a price that rises while pages are under way: what was charged above the cap is said, also the next time", async () => {
    const mishap = (call: number): undefined => {
      if (call === 3) s.service.options.price = 5;
    };
    const s = await scene({ people: 400, jitterMs: 5, mishap });
    const argv = [...BUY, "--per-page", "20", "--concurrency", "4", "--max-credits", "150"];
    for (let time = 0; time < 2; time++) {
      const ran = await s.run(...argv);
      const above = s.service.charged() - 150;
      expect(above).toBeGreaterThan(0);
      expect(ran, ran.stderr).toMatchObject({
        code: time === 0 ? 5 : 0,
        stderr: expect.stringContaining(
          `${above} more than the 150 that were agreed to: the service took more`,
        ),
      });
    }
  });

  test("replies that overtake each other: nobody else spent, and the balance at the end is the account's", async () => {
    for (const people of [237, 1_000]) {
      const s = await scene({ people, jitterMs: 12 });
      const ran = await s.run(...BUY, "--per-page", "10", "--concurrency", "8");
      expect(ran.code).toBe(0);
      expect(ran.stderr).toContain(`(balance ${(5_000 - people).toLocaleString("en")})`);
      expect(ran.stderr).not.toContain("others spent");
      await expectBooks(s, people);
    }
  });

  test("the first paid call is alone: it tells price, page size and keys to the others", async () => {
    const s = await scene({ people: 3, jitterMs: 30, random: () => 1 });
    const names = ["a.example", "b.example", "c.example", "d.example", "e.example"];
    expect(
      (await s.run("enrich", ...names, "--yes", "-o", "o.csv", "--concurrency", "4")).code,
    ).toBe(0);
    const [first, ...others] = s.service.seen.filter(({ key }) => key !== undefined);
    expect(others.length).toBe(4);
    for (const { at } of others) expect(at).toBeGreaterThanOrEqual((first?.done ?? 0) - 5);
  });

  test("a price that nobody told is learned with one row, and the cap holds", async () => {
    const s = await scene({ people: 237, price: 3, tellsCosts: false });
    const ran = await s.run(...BUY, "--max-credits", "150");
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(s.service.seen.find(({ path }) => path.endsWith("/search"))?.size).toBe(1);
    expect(s.ids()).toEqual(s.service.ids().slice(0, 50));
    await expectBooks(s, 150);
    expect(s.receipt()).toMatchObject({ unit_cost: 3, complete: false });
    const agreed = await scene({ people: 100, price: 3, tellsCosts: false });
    const short = await agreed.run(...BUY);
    expect(short).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("33 of 100 rows came"),
    });
    const [, hint = ""] =
      /headcount (resume \S+ --max-credits \d+) buys the rest/.exec(short.stderr) ?? [];
    expect(await agreed.run(...hint.split(" "), "--yes")).toMatchObject({ code: 0 });
    expect(agreed.ids()).toEqual(agreed.service.ids());
    expect(agreed.service.charged()).toBe(300);
    const cheap = await scene({ people: 100, price: 0.25, tellsCosts: false });
    expect(await cheap.run(...BUY, "--max-credits", "30")).toMatchObject({ code: 0 });
    expect(cheap.ids()).toEqual(cheap.service.ids());
    await expectBooks(cheap, 25);
  });

  test("a negative charge is no charge: it ends the run, and every later try", async () => {
    const s = await scene({ people: 100, usedIs: -5 });
    for (let attempt = 0; attempt < 3; attempt++) {
      const ran = await s.run(...BUY, "--per-page", "10");
      expect(ran).toMatchObject({
        code: 5,
        stderr: expect.stringContaining("charged -5 credits, which cannot be"),
      });
    }
    expect(s.service.charged()).toBe(10);
    const spend = JSON.parse((await s.run("spend", "--json")).stdout) as {
      total: { settled: number };
    };
    expect(spend.total.settled).toBe(0);
  });

  test("a reply that tells the charge of a lost one again is that charge: no credit of the cap is given away", async () => {
    // It honours keys, and does not say so.
    const s = await scene({
      people: 120,
      idempotent: true,
      mishap: (call) => (call === 2 ? "drop" : undefined),
    });
    const ran = await s.run(
      ...BUY,
      "--per-page",
      "20",
      "--max-credits",
      "120",
      "--concurrency",
      "1",
    );
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(s.ids()).toEqual(s.service.ids());
    expect(s.service.charged()).toBe(120);
    expect(s.receipt()).toMatchObject({ credits: 120, uncertain_credits: 0 });
    const spend = JSON.parse((await s.run("spend", "--json")).stdout) as { total: object };
    expect(spend.total).toMatchObject({ settled: 120, uncertain: 20, refunded: 20, foreign: 0 });
  });

  test("a reply that does not say what it cost is booked at the price of the quote, and that is said once", async () => {
    const s = await scene({ people: 100, price: 0.25, usedIs: "missing" });
    const ran = await s.run(...BUY, "--per-page", "10");
    expect(ran.stderr.match(/does not say what a call cost/g)).toHaveLength(1);
    await expectBooks(s, 25);
  });
});
