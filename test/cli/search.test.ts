import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { wrapped } from "../support/dataset.ts";
import { charged, modeOf, readCsv, runIds, user, visibleFiles } from "../support/export.ts";
import { startPeopleService } from "../support/people-service.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

const SALES = ["search", "--department", "Sales"];
const CREDITS = 100_000;

const service = testService({ people: 2_000, credits: CREDITS });
let sales: Person[];
beforeAll(async () => {
  const page = await service.call("/v1/person/search", {
    body: { filters: { department: "Sales" }, per_page: 1_000 },
  });
  sales = page.json.result as Person[];
});

const ids = (rows: readonly { readonly id?: string | undefined }[]): (string | undefined)[] =>
  rows.map(({ id }) => id);
const wanted = (count: number): string[] => sales.slice(0, count).map(({ id }) => id);
const someone = (): ReturnType<typeof user> => user(service.url, service.key);
/** Credits that a piece of work costs at the service. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = await charged(service, CREDITS);
  await work();
  return (await charged(service, CREDITS)) - before;
}

describe("an export", () => {
  test("to a file: every row once and in order, charged exactly, whole, for its owner alone, with a receipt", async () => {
    const u = someone();
    const spent = await cost(async () => {
      const ran = await u.run(
        asTyped`${SALES} --yes --per-page 100 -o people.csv --receipt receipt.json`,
      );
      expect(ran.stderr).toMatch(
        /^Exported \d+ profiles for \d+ credits to people\.csv \(balance [\d,]+\)$/m,
      );
      expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 0, stdout: "" });
    });
    expect(ids(readCsv(u.read("people.csv")))).toEqual(wanted(sales.length));
    expect(spent).toBe(sales.length);
    expect(modeOf(u.file("people.csv"))).toBe("600");
    expect(visibleFiles(u).sort()).toEqual(["people.csv", "receipt.json"]);
    const receipt = JSON.parse(u.read("receipt.json"));
    expect(receipt).toMatchObject({
      count: sales.length,
      received: sales.length,
      distinct: sales.length,
      duplicates: 0,
      credits: sales.length,
      uncertain_credits: 0,
      complete: true,
      shortfall: null,
    });
    const { createHash } = await import("node:crypto");
    expect(receipt.output.sha256).toBe(
      createHash("sha256").update(u.read("people.csv")).digest("hex"),
    );
    const run = join(u.dir, "state", "runs", runIds(u)[0] ?? "");
    expect([
      modeOf(run),
      modeOf(join(run, "journal.ndjson")),
      modeOf(join(run, "plan.json")),
    ]).toEqual(["700", "600", "600"]);
  });

  test.each([1, 2, 7])("with %i pages in flight writes the same bytes", async (concurrency) => {
    const u = someone();
    const argv = [...SALES, "--yes", "--per-page", "50", "--concurrency", String(concurrency)];
    const ran = await u.run([...argv, "--format", "ndjson"]);
    expect(
      ran.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).id),
    ).toEqual(wanted(sales.length));
  });

  test("to a pipe is NDJSON, to a terminal a table that says where the rest is", async () => {
    const piped = await someone().run([...SALES, "--yes", "--limit", "2"]);
    expect(piped.stdout.split("\n").map((line) => line.slice(0, 6))).toEqual([
      '{"id":',
      '{"id":',
      "",
    ]);
    const shown = await someone().run([...SALES, "--yes", "--limit", "2"], {
      tty: true,
      columns: 120,
      env: { NO_COLOR: "1" },
    });
    expect(shown.stdout).toMatch(/^name .*title/);
    expect(shown.stderr).toMatch(/headcount runs export .* writes all of them at 0 credits/);
  });

  test("--json with a file prints the receipt on stdout, and nothing else", async () => {
    const ran = await someone().run(asTyped`${SALES} --yes --limit 3 -o p.ndjson --json --quiet`);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      received: 3,
      bound: "limit",
      output: { format: "ndjson" },
    });
  });

  test("of nobody is an empty document, asks nothing and costs nothing", async () => {
    const u = someone();
    const ran = await u.run(["search", "--country", "USA", "-o", "none.csv"]);
    expect({ code: ran.code, rows: readCsv(u.read("none.csv")).length }).toEqual({
      code: 0,
      rows: 0,
    });
    expect(ran.stderr).toMatch(/^hint: --country "united states" counts [\d,]+ people$/m);
  });
});

describe("consent", () => {
  test("off a terminal neither --yes nor --max-credits: exit 2, nothing spent, the command that would work", async () => {
    const u = someone();
    const spent = await cost(async () => {
      const ran = await u.run([...SALES, "--title-prefix", "vice president's"]);
      expect(ran.code).toBe(0); // nobody matches: nothing to agree to
      const asked = await u.run([...SALES, "--country", "france", "--limit", "4"]);
      expect({ code: asked.code, stdout: asked.stdout }).toEqual({ code: 2, stdout: "" });
      expect(asked.stderr).toContain(
        "hint: headcount search --department Sales --country france --limit 4 --max-credits 4",
      );
    });
    expect(spent).toBe(0);
    expect(runIds(u).length).toBe(1);
  });

  test("on a terminal the quote is shown and the question asked; no is exit 10", async () => {
    const no = await someone().run([...SALES, "--limit", "5"], {
      tty: true,
      answers: ["n"],
      env: { NO_COLOR: "1" },
    });
    expect(no.code).toBe(10);
    expect(no.stderr).toMatch(/matches +\d+/);
    expect(no.stderr).toContain("Export 5 profiles for 5 credits? [y/N]");
    const yes = await someone().run([...SALES, "--limit", "5"], { tty: true, answers: ["y"] });
    expect(yes.code).toBe(0);
  });

  test("--dry-run shows the quote and buys nothing", async () => {
    const spent = await cost(async () => {
      const ran = await someone().run([...SALES, "--dry-run", "--json", "--max-credits", "7.5"]);
      expect(JSON.parse(ran.stdout)).toMatchObject({
        matches: sales.length,
        rows: 7,
        bound: "cap",
        credits: 7,
      });
    });
    expect(spent).toBe(0);
  });

  test("without a filter --all is asked for, before any request", async () => {
    const ran = await user("http://127.0.0.1:1", "hc_live_none").run(["search", "--yes"]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain("headcount search --yes --all");
  });
});

describe("caps", () => {
  test.each([
    [["--max-credits", "137"], 137],
    [["--limit", "93", "--yes"], 93],
    [["--max-credits", "50.9", "--limit", "60"], 50],
  ])("%j buys exactly %i, in pages of 40", async (flags, rows) => {
    const u = someone();
    const spent = await cost(async () => {
      await u.ends(
        0,
        [...SALES, ...flags, "--per-page", "40", "-o", "p.csv"],
        /stopped at --(max-credits|limit)/,
      );
    });
    expect(spent).toBe(rows);
    expect(ids(readCsv(u.read("p.csv")))).toEqual(wanted(rows));
  });

  test("--require-complete makes a reached cap exit 5, without a file; a higher cap goes on with the same run", async () => {
    const u = someone();
    const argv = asTyped`${SALES} --require-complete -o p.csv --per-page 40 --max-credits`;
    expect(await cost(() => u.run([...argv, "60"]).then(({ code }) => expect(code).toBe(5)))).toBe(
      60,
    );
    expect(existsSync(u.file("p.csv"))).toBe(false);
    const rest = await cost(() =>
      u
        .run([...argv, "100000"])
        .then((ran) => expect(ran).toEqual({ code: 0, stdout: "", stderr: expect.anything() })),
    );
    expect(rest).toBe(sales.length - 60);
    expect(ids(readCsv(u.read("p.csv")))).toEqual(wanted(sales.length));
    expect(runIds(u).length).toBe(1);
  });

  test("a quote above the balance is exit 4 before anything is spent, with the limit that fits", async () => {
    const poor = await startTestService({ people: 2_000, credits: 30 });
    try {
      const ran = await user(poor.url, poor.key).run([...SALES, "--yes"]);
      expect(ran.code).toBe(4);
      expect(ran.stderr).toContain("--limit 30 would fit");
      const list = await user(poor.url, poor.key).run(
        asTyped`refresh ${SALES.slice(1)} -o l.csv --max-credits 500`,
      );
      expect(list).toMatchObject({
        code: 4,
        stderr: expect.stringContaining("hint: top the account up"),
      });
      const quote = await user(poor.url, poor.key).run([...SALES, "--dry-run"]);
      expect(quote.stdout).toMatch(new RegExp(`after +${sales.length - 30} credits too few`));
      const all = await user(poor.url, poor.key).run([...SALES, "--limit", "30", "--dry-run"]);
      expect(all.stdout).toMatch(/^ *after +0 credits$/m);
      expect(await charged(poor, 30)).toBe(0);
    } finally {
      await poor.close();
    }
  });

  test("prices other than 1, and none at all", async () => {
    const plan = (price: string) => ({
      costs: {
        account: 0n,
        person_count: 0n,
        person_search: BigInt(price),
        company_enrich: 0n,
        company_employees: 0n,
      },
    });
    const quarter = await startTestService({
      people: 2_000,
      credits: 20,
      plan: plan("250000") as never,
    });
    try {
      const u = user(quarter.url, quarter.key);
      const ran = await u.run(asTyped`${SALES} --max-credits 12.6 --per-page 20 -o p.csv`);
      expect(ran.stderr).toContain(" profiles for 12.5 credits to p.csv (balance 7.5)");
      expect(await charged(quarter, 20)).toBe(12.5);
    } finally {
      await quarter.close();
    }
    const free = await startTestService({ people: 2_000, credits: 1, plan: plan("0") as never });
    try {
      const ran = await user(free.url, free.key).run([...SALES, "--per-page", "100"]);
      expect(ran.code).toBe(0);
      expect(ran.stdout.trim().split("\n").length).toBe(sales.length);
      const few = await user(free.url, free.key).run(asTyped`${SALES} --per-page 10 --limit 35`);
      expect(few.stdout.trim().split("\n").length).toBe(35);
    } finally {
      await free.close();
    }
  });

  test("a segment behind a depth wall is divided by free counts: everybody is bought once", async () => {
    const walled = await startTestService({
      people: 2_000,
      maxDepth: 100,
      credits: 10_000,
    } as never);
    try {
      const u = user(walled.url, walled.key);
      const quote = await u.run([...SALES, "--dry-run", "--json"]);
      expect(JSON.parse(quote.stdout)).toMatchObject({ rows: sales.length, max_depth: 100 });
      await u.ends(
        0,
        [...SALES, "--yes", "-o", "p.csv"],
        "the service gives at most 100 rows of one segment",
      );
      const rows = readCsv(u.read("p.csv"));
      expect(rows.map(({ id }) => id).sort()).toEqual(sales.map(({ id }) => id).sort());
      expect(await charged(walled, 10_000)).toBe(sales.length);
    } finally {
      await walled.close();
    }
  });

  test("a larger limit pays for the rows that a smaller one did not bring, whether the service divides or not", async () => {
    for (const options of [{}, { sketches: false }]) {
      const served = await startTestService({ people: 2_000, credits: 10_000, ...options });
      try {
        const u = user(served.url, served.key);
        let before = 0;
        for (const limit of [3, 5, 12]) {
          const ran = await u.ran(asTyped`
            ${SALES} --limit ${limit} --max-credits ${limit} -o ${limit}.csv
          `);
          expect(new Set(readCsv(u.read(`${limit}.csv`)).map(({ id }) => id)).size).toBe(limit);
          expect(await charged(served, 10_000)).toBe(limit);
          if (before > 0)
            expect(ran.stderr).toContain(
              `holds ${before} ${before === 1 ? "row" : "rows"} of the same: not paid for again`,
            );
          before = limit;
        }
      } finally {
        await served.close();
      }
    }
  });

  test("people whom no filter divides further are named with their number, and the export does not end well", async () => {
    const walled = await startTestService({
      people: 2_000,
      maxDepth: 30,
      credits: 10_000,
      // Who is named by a sketch lies above no wall.
      sketches: false,
      // Nobody's name begins with anything that is asked for.
      wrapEngine: (engine) =>
        wrapped(engine, {
          count: async (filters) =>
            filters.prefix.name_prefix === undefined ? engine.count(filters) : 0,
        }),
    });
    try {
      const u = user(walled.url, walled.key);
      const few = await u.ran([...SALES, "--limit", "2", "-o", "few.csv", "--yes"]);
      expect(few.stderr).not.toContain("dividing");
      const ran = await u.run([...SALES, "--yes", "-o", "p.csv"]);
      expect({ code: ran.code, file: existsSync(u.file("p.csv")) }).toEqual({
        code: 5,
        file: false,
      });
      expect(ran.stderr).toMatch(
        /no filter divides \d+ of its people further: \d+ whose names begin with another character/,
      );
    } finally {
      await walled.close();
    }
  });
});

describe("the output", () => {
  test("an existing file needs --overwrite, and is replaced only by a whole one", async () => {
    const u = someone();
    writeFileSync(u.file("p.csv"), "yesterday");
    const spent = await cost(async () => {
      const ran = await u.run([...SALES, "--yes", "--limit", "3", "-o", "p.csv"]);
      expect({ code: ran.code, file: u.read("p.csv") }).toEqual({ code: 2, file: "yesterday" });
      expect(ran.stderr).toContain("--overwrite");
    });
    expect(spent).toBe(0);
    await u.ran([...SALES, "--yes", "--limit", "3", "-o", "p.csv", "--overwrite"]);
    expect(readCsv(u.read("p.csv")).length).toBe(3);
  });

  test("a folder, a missing folder, a pipe and a foreign ending are refused before anything is spent", async () => {
    const u = someone();
    mkdirSync(u.file("folder.csv"));
    const spent = await cost(async () => {
      for (const output of ["folder.csv", "nowhere/p.csv", "/dev/null", "people.doc"]) {
        const ran = await u.run([...SALES, "--yes", "-o", output]);
        expect({ output, code: ran.code, stdout: ran.stdout }).toEqual({
          output,
          code: 2,
          stdout: "",
        });
      }
    });
    expect(spent).toBe(0);
  });

  test.skipIf(process.platform !== "linux")(
    "a pipe behind a link, as /dev/stdout is, is no link to nothing",
    async () => {
      const u = user(service.url, service.key);
      // One of this test's own: those of others in this process may be closed meanwhile.
      const server = createServer().listen(0);
      onTestFinished(() => void server.close());
      const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
      expect(statSync(`/proc/self/fd/${fd}`).isSocket()).toBe(true);
      symlinkSync(`/proc/self/fd/${fd}`, u.file("p.csv"));
      await u.ends(
        2,
        asTyped`search --department Sales --limit 3 --yes -o p.csv`,
        "p.csv is no regular file\nhint: name a file; without -o rows go to stdout, and > or | leads them on",
      );
    },
  );

  test("stdout by its name is what it is without -o", async () => {
    const u = user(service.url, service.key);
    const search = asTyped`search --department Sales --limit 3 --yes`;
    const plain = await u.ends(0, search);
    expect(plain.stdout.split("\n")).toHaveLength(4);
    for (const name of ["-", "/dev/stdout"])
      expect((await u.ends(0, [...search, "-o", name])).stdout).toBe(plain.stdout);
  });

  test("a symbolic link of one's own is followed, and stays a link", async () => {
    const u = someone();
    mkdirSync(u.file("real"));
    writeFileSync(u.file("real/p.csv"), "old");
    symlinkSync(u.file("real/p.csv"), u.file("p.csv"));
    await u.run([...SALES, "--yes", "--limit", "2", "-o", "p.csv", "--overwrite"]);
    expect(readCsv(readFileSync(u.file("real/p.csv"), "utf8")).length).toBe(2);
    expect(readdirSync(u.file("real"))).toEqual(["p.csv"]);
  });

  test("two runs for one output at once: the second is exit 9; with --wait it waits", async () => {
    const u = someone();
    const argv = [...SALES, "--yes", "--per-page", "20", "-o", "p.csv", "--overwrite", "--again"];
    const [first, second] = await Promise.all([u.run(argv), u.run(argv)]);
    expect([first.code, second.code].sort()).toEqual([0, 9]);
    const [third, fourth] = await Promise.all([u.run(argv), u.run([...argv, "--wait"])]);
    expect([third.code, fourth.code].sort((a, b) => a - b)[0]).toBe(0);
    expect(readCsv(u.read("p.csv")).length).toBe(sales.length);
  });

  test("columns that only later pages bring are in the file, in their place", async () => {
    const { faultProxy } = await import("../support/fault-proxy.ts");
    const proxy = await faultProxy({ target: service.url });
    try {
      proxy.decide = ({ paid }) => {
        if (paid === 0) return { kind: "none" };
        const result = [
          {
            id: `x${paid}`,
            name: `n${paid}`,
            ...(paid === 3 ? { headline: "new", zeta: { a: 1 } } : {}),
          },
        ];
        const body = {
          status: true,
          detail: [],
          result,
          credits_used: 1,
          credits_remaining: 1_000 - paid,
        };
        return { kind: "answer", status: 200, body: JSON.stringify(body) };
      };
      const u = user(proxy.url, service.key);
      await u.run([...SALES, "--yes", "--limit", "4", "--per-page", "1", "-o", "p.csv"]);
      expect(u.read("p.csv")).toBe(
        "id,name,headline,zeta.a\nx1,n1,,\nx2,n2,,\nx3,n3,new,1\nx4,n4,,\n",
      );
    } finally {
      await proxy.close();
    }
  });
});

test("--quiet prints one line", async () => {
  const ran = await someone().run([...SALES, "--yes", "--limit", "2", "--quiet", "-o", "p.csv"]);
  expect(ran.stderr).toMatch(
    /^Exported 2 of \d+ profiles for 2 credits to p\.csv \(balance [\d,]+\)\n$/,
  );
});

test("a file without rows is done, whatever becomes of the counts that would say why it has none", async () => {
  const away = await startPeopleService({ people: [] });
  try {
    const u = user(away.url, away.key);
    away.options.before = () => {
      if (away.asked.length > 0) throw new Error("away");
    };
    const ran = await u.run(asTyped`search --department Legal --yes -o none.csv --max-wait 1`);
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect([existsSync(u.file("none.csv")), away.asked.length]).toEqual([true, 1]);
  } finally {
    await away.close();
  }
});
