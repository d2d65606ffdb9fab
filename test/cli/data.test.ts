import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fakeClock } from "../support/client.ts";
import { type User, user } from "../support/export.ts";
import { ok as endsWell } from "../support/ran.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 400, credits: 1_000_000 });

const DAY = 86_400_000;
const buying = ["search", "--department", "Sales", "--yes", "--again"];

const ok = (me: User, argv: readonly string[], clock = fakeClock()): Promise<string> =>
  endsWell(me, argv, { clock });

interface Kept {
  readonly what: string;
  readonly items: number;
  readonly people: number | null;
  readonly rows: number | null;
  readonly oldest: string | null;
}
const kept = async (me: User): Promise<{ retention: { runs: string | null }; kept: Kept[] }> =>
  JSON.parse(await ok(me, ["data", "--json"]));

test("what is kept where, of how many people, and how old", async () => {
  const me = user(service.url, service.key);
  expect(await kept(me)).toEqual({ retention: { runs: null }, kept: [] });
  const count = Number(await ok(me, ["count", "--department", "Sales"]));
  await ok(me, [...buying, "-o", "sales.csv"]);
  await ok(me, [...buying, "-o", "again.ndjson", "--limit", "3"]);
  await ok(me, ["owned"]);
  await ok(me, ["suppress", "add", "network.example/in/somebody"]);
  await ok(me, ["segment", "save", "sales", "--department", "Sales"]);
  const { kept: all } = await kept(me);
  const of = (what: string) => all.filter((one) => one.what === what);
  expect(of("runs")).toMatchObject([
    { items: 2, rows: count + 3, people: null, oldest: "2026-01-15T12:00:00.000Z" },
  ]);
  expect(of("library")).toMatchObject([{ people: count, rows: count + 3 }]);
  expect(
    of("output")
      .map(({ rows }) => rows)
      .sort((a, b) => Number(a) - Number(b)),
  ).toEqual([3, count]);
  expect(of("suppression list")).toMatchObject([{ items: 1, people: null }]);
  expect(of("segments")).toMatchObject([{ items: 1 }]);
  expect((await me.run(["data"], { tty: true, columns: 160 })).stdout).toContain("library");
  const csv = await ok(me, ["data"]);
  expect(csv.split("\n")[0]).toBe("what,items,people,rows,bytes,oldest,newest,path");
});

test("runs go by the policy: prune without an age, and jobs", async () => {
  const me = user(service.url, service.key);
  const clock = fakeClock();
  await ok(me, [...buying, "--limit", "3", "--format", "csv"], clock);
  const none = await me.run(["runs", "prune", "--yes"], { clock });
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining("headcount data set runs=90d"),
  ]);
  for (const wrong of ["runs=soon", "runs", "library=9d", "runs=0d"])
    expect((await me.run(["data", "set", wrong], { clock })).code).toBe(2);
  await ok(me, ["data", "set", "runs=90d"], clock);
  expect((await kept(me)).retention).toEqual({ runs: "90d" });
  const runs = async (): Promise<number> =>
    JSON.parse(await ok(me, ["runs", "--json"], clock)).length;
  clock.advance(89 * DAY);
  await ok(me, ["runs", "prune", "--yes"], clock);
  expect(await runs()).toBe(1);
  // The flag says otherwise.
  expect(
    JSON.parse(await ok(me, ["runs", "prune", "8w", "--dry-run", "--json"], clock)),
  ).toMatchObject({
    would_remove: [expect.any(String)],
  });
  const job = {
    command: "search",
    max_credits: 5,
    limit: 2,
    output: "legal.csv",
    filters: { department: "Legal" },
  };
  writeFileSync(me.file("jobs.jsonc"), JSON.stringify({ jobs: { legal: job } }));
  await ok(me, ["jobs", "run", "legal", "--file", "jobs.jsonc", "--dry-run"], clock);
  expect(await runs()).toBe(1);
  clock.advance(2 * DAY);
  const ran = await me.run(["jobs", "run", "legal", "--file", "jobs.jsonc"], { clock });
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringContaining("removed 1 run older than 90d"),
  ]);
  expect(await runs()).toBe(1);
  // What was spent stays known, and the people stay owned.
  expect(JSON.parse(await ok(me, ["owned", "--json"], clock))).toMatchObject({
    people: 5,
    credits: 5,
  });
  await ok(me, ["data", "set", "runs=forever"], clock);
  expect((await kept(me)).retention).toEqual({ runs: null });
  clock.advance(400 * DAY);
  await ok(me, ["jobs", "run", "legal", "--file", "jobs.jsonc"], clock);
  expect(await runs()).toBe(2);
});

test("a policy in the config that nobody can read is refused, and nothing goes", async () => {
  const me = user(service.url, service.key);
  await ok(me, ["data", "set", "runs=90d"]);
  writeFileSync(
    me.file("config/config.json"),
    JSON.stringify({ retention: { runs: "ninety days" } }),
  );
  const { code, stderr } = await me.run(["runs", "prune", "--yes"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("no span such as 90d")]);
});
