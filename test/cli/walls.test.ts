import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { readCsv, seeded, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import {
  Crowd,
  type PeopleOptions,
  type PeopleService,
  startPeopleService,
} from "../support/people-service.ts";

// Services that give only the first rows of a segment, and tell it of no account: only a refusal does.

const open: PeopleService[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

const SALES = ["search", "--department", "Sales"];

async function scene(
  change: Partial<PeopleOptions>,
  { size = 4_000, addressless = 0 }: { readonly size?: number; readonly addressless?: number } = {},
  dialect: object = {},
): Promise<{
  readonly service: PeopleService;
  readonly u: User;
  readonly sales: number;
  readonly saved: () => object;
}> {
  const crowd = new Crowd(seeded(7), addressless);
  const people = Array.from({ length: size }, () => crowd.born());
  const service = await startPeopleService({ people, wall: 500, maxPerPage: 100, ...change });
  open.push(service);
  const u = user(service.url, service.key);
  mkdirSync(join(u.dir, "config"));
  const file = join(u.dir, "config", "config.json");
  const work = { baseUrl: service.url, dialect: { paging: "page", firstPage: 1, ...dialect } };
  writeFileSync(file, JSON.stringify({ connections: { work } }));
  const run = u.run;
  return {
    service,
    u: { ...u, run: (argv, ...rest) => run(["-c", "work", ...argv], ...rest) },
    sales: service.matching({ department: "Sales" }).length,
    saved: () => JSON.parse(readFileSync(file, "utf8")).connections.work.dialect,
  };
}

const mostSold = ({ sold }: PeopleService): number => Math.max(...sold.values());

describe("a wall that only a refusal tells", () => {
  test.each([
    "page*per_page must not exceed 500",
    "Result window is too large, from + size must be less than or equal to: [500]",
    "Only the first 500 results are available",
    "page: must be less than or equal to 5",
    "you cannot page that deep",
  ])("%s: what lies behind it is divided and bought, nobody twice", async (wallSays) => {
    const { service, u, sales, saved } = await scene({ wallSays });
    const ran = await u.run([...SALES, "--yes", "-o", "o.csv", "--receipt", "r.json"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(new Set(readCsv(u.read("o.csv")).map(({ id }) => id)).size).toBe(sales);
    expect(service.rowsSold()).toBe(sales);
    expect(mostSold(service)).toBe(1);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({ credits: sales, complete: true });
    expect(saved()).toMatchObject({ maxDepth: 500 });
    const refused = service.refusedPages();
    const next = await u.run(["search", "--department", "Legal", "--yes", "-o", "legal.csv"]);
    expect(next.code, next.stderr).toBe(0);
    expect(service.refusedPages(), "the next segment is divided from the start").toBe(refused);
  });

  test("the cap holds over both, and what it left is resumed for its own price", async () => {
    const { service, u, sales } = await scene({ wallSays: "page*per_page must not exceed 500" });
    const capped = await u.run([...SALES, "--max-credits", "733", "-o", "o.csv"]);
    expect(capped.code, capped.stderr).toBe(0);
    expect(service.rowsSold()).toBe(733);
    const rest = await u.run(["resume", "last", "--max-credits", String(sales), "--overwrite"]);
    expect(rest.code, rest.stderr).toBe(0);
    expect(service.rowsSold()).toBe(sales);
    expect(mostSold(service)).toBe(1);
  });

  test("people without an address are told by their names and departments", async () => {
    const { service, u, sales } = await scene(
      { wallSays: "at most 500 rows: page x per_page" },
      { addressless: 0.1 },
    );
    const ran = await u.run([...SALES, "--yes", "-o", "o.csv"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect([service.rowsSold(), mostSold(service)]).toEqual([sales, 1]);
  });

  test("parts that lie in another order end it at the first person who comes again", async () => {
    const order: PeopleOptions["order"] = (people, { name_prefix: prefix }) =>
      prefix === undefined ? people : people.reverse();
    const { service, u } = await scene({ wallSays: "page*per_page must not exceed 500", order });
    const ran = await u.run([...SALES, "--yes", "-o", "o.csv"]);
    expect(ran.code, ran.stderr).toBe(5);
    expect([...service.sold.values()].filter((times) => times > 1).length).toBeLessThan(400);
  });

  test("pages by offset", async () => {
    const { service, u, sales } = await scene(
      { wallSays: "offset + limit must be at most 500" },
      {},
      { paging: "offset" },
    );
    const ran = await u.run([...SALES, "--yes", "-o", "o.csv"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect([service.rowsSold(), mostSold(service)]).toEqual([sales, 1]);
  });

  test("--new-only goes past it too", async () => {
    const { service, u, sales } = await scene({ wallSays: "page*per_page must not exceed 500" });
    const first = await u.run([...SALES, "--new-only", "--yes", "-o", "o.csv"]);
    expect(first.code, first.stderr).toBe(0);
    const again = await u.run([...SALES, "--again", "--yes", "-o", "again.csv"]);
    expect(again.code, again.stderr).toBe(0);
    expect(service.rowsSold()).toBe(2 * sales);
  });
});

describe("pages whose size is not asked for", () => {
  test.each([
    [60, 100],
    [75, 100],
    [10, 100],
    [60, 25],
  ])(
    "%i people in pages of 25, whatever is asked for, where the account tells %i",
    async (size, maxPerPage) => {
      const { service, u } = await scene({
        wall: undefined,
        fixedPage: 25,
        maxPerPage,
        people: [],
      });
      const crowd = new Crowd(seeded(3));
      service.options.people = Array.from({ length: size }, () =>
        crowd.born({ department: "Sales" }),
      );
      const ran = await u.run([...SALES, "--yes", "-o", "o.csv"]);
      expect(ran.code, ran.stderr).toBe(0);
      expect([service.rowsSold(), mostSold(service)]).toEqual([size, 1]);
    },
  );

  test.each([
    ["search", "75"],
    ["refresh", "10"],
  ])(
    "%s stakes no page beyond its cap, says what one takes, and goes on",
    async (command, rest) => {
      const { service, u } = await scene({ wall: undefined, fixedPage: 25, people: [] });
      const crowd = new Crowd(seeded(3));
      service.options.people = Array.from({ length: 60 }, () =>
        crowd.born({ department: "Sales" }),
      );
      const run = (cap: string) =>
        u.run([command, "--department", "Sales", "--max-credits", cap, "-o", "o.csv"]);
      const short = await run("60");
      expect(short.code, short.stderr).toBe(5);
      expect(short.stderr).toContain(
        "a page came with 25 where more was asked for, and the last one may have as many: --max-credits 75 leaves room for it",
      );
      expect(service.rowsSold()).toBe(50);
      const ran = await run(rest);
      expect(ran.code, ran.stderr).toBe(0);
      expect([service.rowsSold(), mostSold(service)]).toEqual([60, 1]);
    },
  );
});

describe("whoever buys learns it", () => {
  const BUYERS: Readonly<
    Record<string, (u: User) => Promise<{ readonly code: number; readonly stderr: string }>>
  > = {
    search: (u) => u.run([...SALES, "--yes", "-o", "o.csv"]),
    "search --new-only": (u) => u.run([...SALES, "--new-only", "--yes", "-o", "o.csv"]),
    refresh: (u) =>
      u.run(["refresh", "--department", "Sales", "--max-credits", "4000", "-o", "o.csv"]),
    "a job": (u) => {
      const job = { filters: { department: "Sales" }, max_credits: 4_000, output: "o.csv" };
      writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { sales: job } }));
      return u.run(["jobs", "run", "sales", "--file", "jobs.json"]);
    },
    "a tool": async (u) => {
      const agent = await startAgent(u, ["-c", "work", "--max-credits", "4000"], { answer: YES });
      const { data } = await agent.call("quote", {
        kind: "people",
        filters: { department: "Sales" },
      });
      const bought = await agent.call("buy", { quote_id: data.quote_id });
      await agent.close();
      return { code: bought.failed ? 1 : 0, stderr: bought.text };
    },
  };
  const HABITS: Readonly<Record<string, Partial<PeopleOptions>>> = {
    "a wall": { wallSays: "page*per_page must not exceed 500" },
    "pages of 25": { wall: undefined, fixedPage: 25 },
  };
  const all = Object.keys(HABITS).flatMap((habit) =>
    Object.keys(BUYERS).map((buyer) => [habit, buyer] as const),
  );
  test.each(all)("%s: %s", async (habit, buyer) => {
    const { service, u, sales } = await scene(HABITS[habit] ?? {}, { size: 2_500 });
    expect(sales).toBeGreaterThan(500);
    const ran = await BUYERS[buyer]?.(u);
    expect(ran?.code, ran?.stderr).toBe(0);
    expect([service.rowsSold(), mostSold(service)]).toEqual([sales, 1]);
  });

  long("a list beyond a wall is kept up to date by the same commands", async () => {
    const { service, u } = await scene(
      { wallSays: "page*per_page must not exceed 500" },
      { size: 2_500 },
    );
    expect(await u.run([...SALES, "--yes", "-o", "o.csv"])).toMatchObject({ code: 0 });
    const sold = service.rowsSold();
    const crowd = new Crowd(seeded(8));
    const came = Array.from({ length: 100 }, () => crowd.born({ department: "Sales" }));
    service.options.people = [
      ...service.options.people,
      ...came.map((human, at) => ({
        ...human,
        id: `n${at}`,
        network_url: `https://www.people.example/in/n${at}`,
      })),
    ];
    const ran = await u.run(["refresh", "o.csv", "--max-credits", "4000", "--max-calls", "20000"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(new Set(readCsv(u.read("o.csv")).map(({ id }) => id)).size).toBe(
      service.matching({ department: "Sales" }).length,
    );
    expect(service.rowsSold() - sold).toBeLessThan(150);
  });
});
