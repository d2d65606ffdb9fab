import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Dialect } from "../../src/engine/client/dialect.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { wrapped } from "../support/dataset.ts";
import { charged, readCsv, runIds, type User, user } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import {
  type ForeignOptions,
  type ForeignService,
  startForeignService,
} from "../support/foreign-service.ts";
import { long } from "../support/long.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

const CREDITS = 100_000;
const service = testService({ people: 2_000, credits: CREDITS });
let sales: string[];
let people: Person[];
beforeAll(async () => {
  const all = async (filters: object, page: number): Promise<Person[]> =>
    (await service.call("/v1/person/search", { body: { filters, per_page: 1_000, page } })).json
      .result as Person[];
  sales = (await all({ department: "Sales" }, 1)).map(({ id }) => id);
  people = [...(await all({}, 1)), ...(await all({}, 2))];
});

const someone = (): User => user(service.url, service.key);
const idsOf = (u: User, file = "p.csv"): string[] =>
  readCsv(u.read(file)).map(({ id }) => id ?? "");
const receiptOf = (u: User): Record<string, unknown> =>
  JSON.parse(u.read("r.json")) as Record<string, unknown>;
const SAMPLE = ["search", "--department", "Sales", "--yes", "-o", "p.csv", "--receipt", "r.json"];

long(
  "who is yours already is drawn as everybody else, and that is said before and after, by a job too",
  async () => {
    const u = someone();
    const half = Math.floor(sales.length / 2);
    await u.ran(asTyped`search --department Sales --limit ${half} --yes -o half.csv`);
    const mine = new Set(idsOf(u, "half.csv"));
    const about = Math.round((40 * half) / sales.length);
    const said = `about ${about} of the 40 to buy are yours already`;
    const dry = await u.run(asTyped`search --department Sales --sample 40 --seed 7 --dry-run`);
    expect(dry.stdout).toMatch(new RegExp(`paid again +${said}`));
    expect(dry.stdout).not.toContain("--new-only");
    const ran = await u.run([...SAMPLE, "--sample", "40", "--seed", "7"]);
    expect(ran.stderr).toContain(`warning: ${said}`);
    const owned = idsOf(u).filter((id) => mine.has(id)).length;
    expect(owned).toBeGreaterThan(0);
    expect(ran.stderr).toContain(
      `notice: ${owned} of the 40 rows are of people you owned: paid for again, as a sample`,
    );
    expect(receiptOf(u)).toMatchObject({ credits: 40, paid_again: owned });
    // Held by a run: nothing is paid for again.
    await u.ran([...SAMPLE, "--sample", "40", "--seed", "7", "--overwrite"]);
    expect(receiptOf(u)).toMatchObject({ credits: 0, reused: 40, paid_again: 0 });
    const job = {
      filters: { department: "Sales" },
      command: "search",
      sample: 30,
      seed: 8,
      max_credits: 30,
      output: "j.csv",
    };
    writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { a: job } }));
    expect((await u.run(["jobs", "run", "a", "--file", "jobs.jsonc"])).stderr).toMatch(
      /warning: about \d+ of the 30 to buy are yours/,
    );
  },
);

describe("a sample", () => {
  test("is so many people of the whole segment, each once, for exactly that many credits, and the same again by its seed", async () => {
    const u = someone();
    const before = await charged(service, CREDITS);
    const ran = await u.run([...SAMPLE, "--sample", "40", "--seed", "7"]);
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        "Exported 40 profiles by chance (--seed 7) for 40 credits to p.csv",
      ),
    });
    expect((await charged(service, CREDITS)) - before).toBe(40);
    const ids = idsOf(u);
    expect(new Set(ids).size).toBe(40);
    expect(ids.every((id) => sales.includes(id))).toBe(true);
    const places = ids.map((id) => sales.indexOf(id));
    expect(places).not.toEqual([...places].sort((a, b) => a - b));
    expect(Math.max(...places)).toBeGreaterThan(sales.length / 2);
    expect(receiptOf(u)).toMatchObject({
      sample: { seed: 7, rows: 40, together: 1 },
      count: sales.length,
      wanted: 40,
      bound: "sample",
      received: 40,
      credits: 40,
      complete: true,
    });
    const again = someone();
    await again.run([...SAMPLE, "--sample", "60", "--seed", "7", "--concurrency", "1"]);
    expect(idsOf(again).slice(0, 40)).toEqual(ids);
  });

  test("is quoted with its calls, credits and time before it is bought", async () => {
    const slow = await startTestService({
      people: 2_000,
      credits: 5_000,
      plan: { perMinute: 30, perDay: 100_000 },
    });
    try {
      const quote = async (...argv: string[]): Promise<object> =>
        JSON.parse(
          (await user(slow.url, slow.key).run(["search", "--dry-run", "--json", ...argv])).stdout,
        );
      expect(await quote("--sample", "250", "--seed", "1")).toMatchObject({
        matches: 2_000,
        rows: 250,
        credits: 250,
        requests: 250,
        rate_limited_seconds: 480,
        sample: { seed: 1, rows: 250, together: 1 },
      });
      // Row by row it would take longer than ten minutes at this rate limit.
      expect(await quote("--sample", "900", "--seed", "1")).toMatchObject({
        rows: 900,
        requests: 300,
        sample: { rows: 900, together: 3 },
      });
      expect(await quote("--sample", "900", "--seed", "1", "--per-page", "1")).toMatchObject({
        requests: 900,
      });
    } finally {
      await slow.close();
    }
  });

  test("shows on a terminal how it is drawn, and asks", async () => {
    const shown = await someone().run(["search", "--department", "Sales", "--sample", "5"], {
      tty: true,
      answers: ["n"],
      env: { NO_COLOR: "1" },
    });
    expect(shown.code).toBe(10);
    expect(shown.stderr).toMatch(/drawn +by chance, each row alone, seed \d+/);
    expect(shown.stderr).toMatch(/requests +5/);
  });

  test("of as many people as there are is all of them, in whole pages", async () => {
    const u = someone();
    await u.ran([...SAMPLE, "--sample", "100000"]);
    expect(idsOf(u).sort()).toEqual([...sales].sort());
    expect(receiptOf(u)).toMatchObject({ sample: { rows: sales.length, together: 1_000 } });
  });

  long(
    "that a cap cuts short is a fair one still: the beginning of the whole, and resume buys the rest",
    async () => {
      const u = someone();
      const ran = await u.run([...SAMPLE, "--sample", "30", "--seed", "3", "--max-credits", "12"]);
      expect({ code: ran.code, rows: idsOf(u).length }).toEqual({ code: 0, rows: 12 });
      const [, run = ""] =
        /stopped at --max-credits; headcount resume (\S+) --max-credits 30 buys the other 18/.exec(
          ran.stderr,
        ) ?? [];
      const first = idsOf(u);
      const before = await charged(service, CREDITS);
      await u.ran(["resume", run, "--max-credits", "30", "--yes"]);
      expect((await charged(service, CREDITS)) - before).toBe(18);
      expect(idsOf(u).slice(0, 12)).toEqual(first);
      const whole = someone();
      await whole.run([...SAMPLE, "--sample", "30", "--seed", "3"]);
      expect(idsOf(u)).toEqual(idsOf(whole));
    },
  );

  test("without a seed is another one each time, but what was interrupted goes on with its own", async () => {
    const proxy = await faultProxy({ target: service.url });
    try {
      const u = user(proxy.url, service.key);
      proxy.decide = ({ paid }) =>
        (paid > 6 ? { kind: "error", status: 422, detail: "not now" } : { kind: "none" }) as never;
      const broken = await u.run([...SAMPLE, "--sample", "20"], { random: () => 0.25 });
      expect(broken.code).not.toBe(0);
      proxy.decide = () => ({ kind: "none" }) as never;
      const before = await charged(service, CREDITS);
      const whole = await u.run([...SAMPLE, "--sample", "20"], { random: () => 0.75 });
      expect(whole.stderr).toContain(`(--seed ${0.25 * 2 ** 31})`);
      expect((await charged(service, CREDITS)) - before).toBe(14);
      expect(runIds(u)).toHaveLength(1);
      const other = await u.run([...SAMPLE, "--sample", "20", "--overwrite"], {
        random: () => 0.75,
      });
      expect(other.stderr).toContain(`(--seed ${0.75 * 2 ** 31})`);
      expect(other.stderr).not.toContain("holds");
      const known = await u.run([
        ...SAMPLE,
        "--sample",
        "20",
        "--seed",
        `${0.75 * 2 ** 31}`,
        "--overwrite",
      ]);
      expect(known.stderr).toMatch(
        /notice: run \S+ of .* holds these 20 rows already: not paid for again/,
      );
    } finally {
      await proxy.close();
    }
  });

  test("a smaller one of the same seed is not paid for again, and of a larger one only the rest", async () => {
    const u = someone();
    const bought = async (rows: number, ...more: readonly string[]) => {
      const before = await charged(service, CREDITS);
      const argv = asTyped`${SAMPLE} --sample ${rows} --seed 5 --max-credits 60 --overwrite ${more}`;
      const ran = await u.ran(argv);
      return { said: ran.stderr, ids: idsOf(u), cost: (await charged(service, CREDITS)) - before };
    };
    const twenty = await bought(20);
    const fewer = await bought(19);
    expect(fewer).toMatchObject({ cost: 0, ids: twenty.ids.slice(0, 19) });
    expect(fewer.said).toMatch(
      /notice: run \S+ of .* holds these 19 rows already: not paid for again/,
    );
    expect(fewer.said).not.toContain("yours already");
    const more = await bought(25);
    expect(more.said).toMatch(/holds 20 rows of the same: not paid for again/);
    expect(more).toMatchObject({ cost: 5, ids: { length: 25 } });
    expect(more.ids.slice(0, 20)).toEqual(twenty.ids);
    expect(await bought(25, "--again")).toMatchObject({ cost: 25, ids: more.ids });
  });

  test("another seed, size or way of drawing is another run", async () => {
    const proxy = await faultProxy({ target: service.url });
    try {
      const u = user(proxy.url, service.key);
      for (const argv of [
        ["--sample", "20", "--seed", "1"],
        ["--sample", "20", "--seed", "2"],
        ["--sample", "20", "--seed", "1", "--per-page", "2"],
        ["--sample", "21", "--seed", "1"],
      ]) {
        // The second page of each is refused: a run that bought nothing at all would be none.
        let paid = 0;
        proxy.decide = (request) =>
          request.paid > 0 && ++paid === 2
            ? { kind: "error", status: 422, detail: "not now" }
            : { kind: "none" };
        await u.run([...SAMPLE, ...argv]);
      }
      expect(runIds(u)).toHaveLength(4);
    } finally {
      await proxy.close();
    }
  });
});

describe("of several segments", () => {
  long("everybody has one chance, and who is excepted has none", async () => {
    const u = someone();
    for (const [name, filters] of Object.entries({
      sales: { department: "Sales" },
      france: { country: "france" },
      legal: { department: "Legal" },
    })) {
      writeFileSync(u.file(`${name}.json`), JSON.stringify(filters));
    }
    const argv = asTyped`search -f sales.json -f france.json --except legal.json --yes`;
    const wanted = people.filter(
      ({ department, country }) =>
        department === "Sales" || (country?.toLowerCase() === "france" && department !== "Legal"),
    );
    const before = await charged(service, CREDITS);
    await u.ends(0, [...argv, "-o", "p.csv", "--sample", "30", "--seed", "1"]);
    expect((await charged(service, CREDITS)) - before).toBe(30);
    expect(new Set(idsOf(u)).size).toBe(30);
    const ids = new Set(wanted.map(({ id }) => id));
    expect(idsOf(u).every((id) => ids.has(id))).toBe(true);
    expect(readCsv(u.read("p.csv")).some(({ department }) => department !== "Sales")).toBe(true);
    await u.ran([...argv, "-o", "all.csv", "--sample", "5000", "--seed", "1"]);
    expect(idsOf(u, "all.csv").sort()).toEqual([...ids].sort());
  });
});

test.each([
  [["--sample", "0"], "--sample takes a whole number from 1"],
  [["--sample", "5", "--limit", "5"], "--limit is the first so many, --sample so many by chance"],
  [["--seed", "5"], "--seed goes with --sample"],
  [["--sample", "5", "--per-page", "20"], "a sample of 5 rows is smaller than the pages of 20"],
])("search --department Sales %j is refused before anything is spent", async (argv, message) => {
  const before = await charged(service, CREDITS);
  const ran = await someone().run(["search", "--department", "Sales", "--yes", ...argv]);
  expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  expect(await charged(service, CREDITS)).toBe(before);
});

describe("behind a depth wall", () => {
  long(
    "rows are drawn from parts of which only those are found that have one, and everybody has a chance",
    async () => {
      const walled = await startTestService({
        people: 2_000,
        maxDepth: 100,
        credits: 10_000,
      });
      try {
        const u = user(walled.url, walled.key);
        await u.ran([...SAMPLE, "--sample", "25", "--seed", "1"]);
        expect(new Set(idsOf(u)).size).toBe(25);
        expect(idsOf(u).every((id) => sales.includes(id))).toBe(true);
        expect(await charged(walled, 10_000)).toBe(25);
        const all = user(walled.url, walled.key);
        await all.ran([...SAMPLE, "--sample", `${sales.length - 1}`]);
        expect(new Set(idsOf(all)).size).toBe(sales.length - 1);
        const few = await user(walled.url, walled.key).run(
          asTyped`${SAMPLE} --sample 20 --per-page 5`,
        );
        expect(few).toMatchObject({
          code: 2,
          stderr: expect.stringContaining("rows are drawn one by one"),
        });
      } finally {
        await walled.close();
      }
    },
  );

  test("a drawn row that the service does not give is told before anything is bought", async () => {
    const walled = await startTestService({
      people: 2_000,
      maxDepth: 30,
      credits: 10_000,
      wrapEngine: (engine) =>
        wrapped(engine, {
          count: async (filters) =>
            filters.prefix.name_prefix === undefined ? engine.count(filters) : 0,
        }),
    });
    try {
      const ran = await user(walled.url, walled.key).run(asTyped`${SAMPLE} --sample 50 --seed 1`);
      expect(ran).toMatchObject({
        code: 8,
        stderr: expect.stringContaining("a row was drawn that the service does not give"),
      });
      expect(await charged(walled, 10_000)).toBe(0);
    } finally {
      await walled.close();
    }
  });
});

describe("at a service of somebody else", () => {
  const open: ForeignService[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  async function scene(
    change: Partial<ForeignOptions>,
    dialect?: Dialect,
  ): Promise<{ foreign: ForeignService; u: User }> {
    const foreign = await startForeignService(change);
    open.push(foreign);
    const u = user(foreign.url, foreign.key);
    mkdirSync(join(u.dir, "config"));
    const work = { baseUrl: foreign.url, ...(dialect === undefined ? {} : { dialect }) };
    writeFileSync(join(u.dir, "config", "config.json"), JSON.stringify({ connections: { work } }));
    return { foreign, u };
  }
  const DRAW = asTyped`-c work search --country x -o p.csv --receipt r.json --yes --seed 5`;

  test.each([
    { paging: "page", firstPage: 1 },
    { paging: "page", firstPage: 0 },
    { paging: "offset", firstPage: 1 },
  ] as const)("%o: the sample costs what it has", async (dialect) => {
    const { foreign, u } = await scene({ ...dialect, price: 0.25, total: "header" }, dialect);
    await u.ran([...DRAW, "--sample", "30"]);
    expect(new Set(idsOf(u)).size).toBe(30);
    expect(idsOf(u).every((id) => foreign.ids().includes(id))).toBe(true);
    expect({ charged: foreign.charged(), sold: foreign.rowsSold() }).toEqual({
      charged: 7.5,
      sold: 30,
    });
  });

  test("that pages by cursor: refused, with the reason", async () => {
    const { foreign, u } = await scene({ paging: "cursor" }, { paging: "cursor", firstPage: 1 });
    const ran = await u.run([...DRAW, "--sample", "30"]);
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("this service pages by cursor"),
    });
    expect(foreign.charged()).toBe(0);
  });

  test("whose smallest page is fixed: what is refused says how rows are drawn together, and then the sample has no row too many", async () => {
    const { foreign, u } = await scene({ minPerPage: 5 });
    const ran = await u.run([...DRAW, "--sample", "30"]);
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /refused a page of 1 row of the sample[\s\S]*--per-page draws more rows/,
      ),
    });
    expect({ charged: foreign.charged(), runs: runIds(u) }).toEqual({ charged: 0, runs: [] });
    await u.ran([...DRAW, "--sample", "33", "--per-page", "5"]);
    expect(foreign.charged()).toBe(30);
    const places = idsOf(u).map((id) => Number(id) - 1_000_000);
    expect(places.map((place) => place % 5)).toEqual(Array.from({ length: 30 }, (_, at) => at % 5));
    expect(receiptOf(u)).toMatchObject({
      sample: { rows: 30, together: 5 },
      wanted: 30,
      received: 30,
    });
  });

  test.each<Partial<ForeignOptions>>([
    { maxPerPage: 25, clamp: true },
    { maxPerPage: 25 },
    { fixedPage: 25 },
    { maxPerPage: 25, tellsMaxPerPage: true },
  ])(
    "of fewer people than the sample, in pages smaller than that (%o): all of them, each paid once",
    async (change) => {
      const { foreign, u } = await scene({ people: 57, ...change });
      const ran = await u.ran([...DRAW, "--sample", "100", "--max-credits", "100"]);
      expect([...idsOf(u)].sort()).toEqual([...foreign.ids()].sort());
      expect({ charged: foreign.charged(), sold: foreign.rowsSold() }).toEqual({
        charged: 57,
        sold: 57,
      });
      if (change.tellsMaxPerPage !== true)
        expect(ran.stderr).toContain("57 people match: the sample is all of them");
      expect(receiptOf(u)).toMatchObject({ wanted: 57, received: 57, complete: true });
    },
  );

  test("that gives the same page each time is found out by the second row", async () => {
    const { foreign, u } = await scene({ pageIgnored: true });
    const ran = await u.run([...DRAW, "--sample", "30"]);
    expect(ran).toMatchObject({ code: 5, stderr: expect.stringContaining("gave a page twice") });
    expect(foreign.charged()).toBe(2);
  });

  test("that goes less deep than it says refuses at the deepest row, before any is bought", async () => {
    const { foreign, u } = await scene({});
    const proxy = await faultProxy({ target: foreign.url });
    try {
      writeFileSync(
        join(u.dir, "config", "config.json"),
        JSON.stringify({ connections: { work: { baseUrl: proxy.url } } }),
      );
      proxy.decide = ({ body }) =>
        ((JSON.parse(body || "{}") as { page?: number }).page ?? 0) > 200
          ? ({ kind: "error", status: 422, detail: "page beyond the maximum depth" } as never)
          : ({ kind: "none" } as never);
      const ran = await user(proxy.url, foreign.key).run(
        asTyped`search --country x --sample 30 --seed 5 --yes`,
      );
      expect(ran).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /refused a page of 1 row of the sample[\s\S]*if it does not go as deep/,
        ),
      });
      expect(foreign.charged()).toBe(0);
    } finally {
      await proxy.close();
    }
  });

  test("that gives smaller pages than were asked for is stopped at the first", async () => {
    const { foreign, u } = await scene({ maxPerPage: 3, clamp: true });
    const ran = await u.run([...DRAW, "--sample", "30", "--per-page", "10"]);
    expect(ran).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("gave 3 rows for a page of 10 that was drawn"),
    });
    // It would end the same way.
    expect(ran.stderr).not.toContain("resume");
    expect(foreign.charged()).toBe(3);
  });

  test("a sample of all of them under a cap: it is said that they are bought together, and the hint fits", async () => {
    const { foreign, u } = await scene({ people: 40 });
    const ran = await u.run([...DRAW, "--sample", "100", "--max-credits", "5"]);
    expect(ran).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("are bought together, for more than --max-credits"),
    });
    expect(ran.stderr).toContain("hint: --sample N of what the cap pays for fits");
    expect(foreign.charged()).toBe(0);
    await u.ends(0, [...DRAW, "--sample", "5", "--max-credits", "5"]);
    expect(foreign.charged()).toBe(5);
  });

  test("whose rows come twice: all of the sample is bought, and it is said", async () => {
    const { foreign, u } = await scene({ duplicateEvery: 2, people: 40 });
    const ran = await u.run([...DRAW, "--sample", "36"]);
    expect(ran).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/\d+ of 36 rows came twice/),
    });
    expect(foreign.charged()).toBe(36);
  });

  test("that loses replies and knows no keys: no row is asked for in vain, and what may be charged is told", async () => {
    const { foreign, u } = await scene({ mishap: (call) => (call === 4 ? "drop" : undefined) });
    const ran = await u.run([...DRAW, "--sample", "20"]);
    expect(foreign.charged()).toBeLessThanOrEqual(20);
    expect(ran.code).toBe(5);
    expect(receiptOf(u)).toMatchObject({ uncertain_credits: 1, credits: 19 });
  });
});
