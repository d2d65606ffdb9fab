import { existsSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { cases, LONG } from "../support/campaign.ts";
import { type CrowdEngine, crowdEngine } from "../support/crowd-engine.ts";
import { seeded, type User, user } from "../support/export.ts";
import { expectFiles, inSales, keysIn, keysOf, rowsIn, without } from "../support/kept-list.ts";
import { long } from "../support/long.ts";
import { Crowd, type Human, personKey } from "../support/people-service.ts";
import { startTestService, type TestService, type TestServiceOptions } from "../support/service.ts";
import { spawnUser } from "../support/spawned.ts";

// Where the service gives set sketches: who is gone and who is new, in a few free calls, and nobody else is paid for.

const CREDITS = 10_000;
const running: TestService[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.close();
});

const RICH = { perMinute: 1_000_000, perDay: 100_000_000 };

async function serving(
  engine: CrowdEngine,
  options: Partial<TestServiceOptions> = {},
): Promise<TestService> {
  const service = await startTestService({ engine, credits: CREDITS, plan: RICH, ...options });
  running.push(service);
  return service;
}

/** Somebody who bought the sales people of a crowd. */
async function bought(
  count: number,
  options: Partial<TestServiceOptions> = {},
  seed = 1,
  addressless = 0.05,
) {
  const crowd = new Crowd(seeded(seed), addressless);
  const people = Array.from({ length: count }, () => crowd.born());
  const engine = crowdEngine(people);
  const service = await serving(engine, options);
  const me = user(service.url, service.key);
  const { code, stderr } = await me.run(asTyped`search --department Sales --yes -o sales.ndjson`);
  expect(code, stderr).toBe(0);
  return { crowd, people, engine, service, me };
}

const balanceOf = async ({ store }: TestService): Promise<number> =>
  Number((await store.balance("default", "live")).balance) / 1e6;

describe("headcount refresh", () => {
  test("after a week of 5 %: five free calls at most, and a credit for each new person", async () => {
    const { crowd, people, engine, service, me } = await bought(3_000);
    const before = people.filter(inSales);
    const later = crowd.week(people, { gone: 0.05, moved: 0.02, born: 0.05 });
    engine.become(later);
    const now = later.filter(inSales);
    const balance = await balanceOf(service);
    const { code, stdout, stderr } = await me.run(
      asTyped`refresh sales.ndjson --max-credits 500 --json`,
    );
    expect(code, stderr).toBe(0);
    expectFiles(me, before, now);
    const fresh = without(now, before).length;
    expect(fresh).toBeGreaterThan(50);
    const receipt = JSON.parse(stdout);
    expect(receipt).toMatchObject({
      ...{ added: fresh, removed: without(before, now).length, credits: fresh, bought: fresh },
      certificate: { count: now.length, owned: now.length, equal: true },
    });
    expect(receipt.free_calls).toBeLessThanOrEqual(5);
    expect(balance - (await balanceOf(service))).toBe(fresh);
    const again = await me.run(["refresh", "sales.ndjson", "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({
      added: 0,
      removed: 0,
      credits: 0,
      free_calls: 1,
    });
  });

  test("whoever was bought for another list, and moved into this one, is not paid for again", async () => {
    const { people, engine, service, me } = await bought(800);
    expect(
      (await me.run(["search", "--department", "Legal", "--yes", "-o", "legal.csv"])).code,
    ).toBe(0);
    engine.become(
      people.map((human) =>
        human.department === "Legal" ? { ...human, department: "Sales" } : human,
      ),
    );
    const balance = await balanceOf(service);
    const { code, stdout, stderr } = await me.run(["refresh", "sales.ndjson", "--json"]);
    expect(code, stderr).toBe(0);
    const moved = people.filter(({ department }) => department === "Legal").length;
    expect(JSON.parse(stdout)).toMatchObject({ added: moved, credits: 0 });
    expect(await balanceOf(service)).toBe(balance);
  });

  test("ids that did not outlive the dataset: nobody is bought again, since counts find them by address", async () => {
    const { people, engine, service, me } = await bought(600, {}, 3, 0);
    engine.become(people.map((human) => ({ ...human, id: `n-${human.id}` })));
    const balance = await balanceOf(service);
    const { code, stdout, stderr } = await me.run(["refresh", "sales.ndjson", "--json"]);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      count: people.filter(inSales).length,
      removed: 0,
      credits: 0,
    });
    expect(await balanceOf(service)).toBe(balance);
  });

  test("somebody who was taken in without an id is looked for by counts, as where no sketch is given", async () => {
    const { people, me } = await bought(400);
    const [first, ...others] = people
      .filter(inSales)
      .filter(({ network_url: url }) => url !== null);
    const rows = [{ ...first, id: undefined }, ...others].map((human) => JSON.stringify(human));
    writeFileSync(me.file("elsewhere.ndjson"), `${rows.join("\n")}\n`);
    const other = user(running[0]?.url ?? "", running[0]?.key ?? "");
    writeFileSync(other.file("elsewhere.ndjson"), `${rows.join("\n")}\n`);
    expect((await other.run(["owned", "import", "elsewhere.ndjson"])).code).toBe(0);
    const quote = await other.run(asTyped`search --department Sales --new-only --dry-run --json`);
    expect(quote.code, quote.stderr).toBe(0);
    expect(JSON.parse(quote.stdout)).toMatchObject({ owned: rows.length });
  });

  test("an account whose plan gives no sketch of so few people goes on by counts", async () => {
    const { crowd, people, engine, me } = await bought(200, {
      plan: { ...RICH, smallCounts: 1_000 },
    });
    engine.become(crowd.week(people, { gone: 0, moved: 0, born: 0.02 }));
    const { code, stderr } = await me.run(asTyped`refresh sales.ndjson --again --max-credits 100`);
    expect(code, stderr).toBe(0);
    expect(keysIn(me, "sales.ndjson").length).toBeGreaterThan(0);
  });
});

test("--new-only buys exactly the new people, a limit some of them, and the next command the others", async () => {
  const { crowd, people, engine, service, me } = await bought(1_000);
  const later = crowd.week(people, { gone: 0.02, moved: 0, born: 0.1 });
  engine.become(later);
  const fresh = keysOf(without(later.filter(inSales), people));
  const balance = await balanceOf(service);
  const command = ["search", "--department", "Sales", "--new-only", "--yes"];
  const some = await me.run([...command, "--limit", "7", "-o", "some.ndjson"]);
  expect(some.code, some.stderr).toBe(0);
  expect(await balanceOf(service)).toBe(balance - 7);
  const rest = await me.run([...command, "-o", "rest.ndjson"]);
  expect(rest.code, rest.stderr).toBe(0);
  expect([...keysIn(me, "some.ndjson"), ...keysIn(me, "rest.ndjson")].sort()).toEqual(fresh);
  expect(await balanceOf(service)).toBe(balance - fresh.length);
});

test("a plain search of a segment that is partly owned buys the others, and writes all", async () => {
  const { people, service } = await bought(1_000);
  const me = user(service.url, service.key);
  const some = asTyped`search --department Sales --connections-max 200 --yes -o some.ndjson`;
  expect((await me.run(some)).code).toBe(0);
  // A few of the very same search too: whoever is owned counts, and not that run alone.
  const few = await me.run(asTyped`search --department Sales --limit 3 --yes -o few.ndjson`);
  expect(few.code, few.stderr).toBe(0);
  const owned = new Set([...keysIn(me, "some.ndjson"), ...keysIn(me, "few.ndjson")]).size;
  const balance = await balanceOf(service);
  const { code, stderr } = await me.run(asTyped`search --department Sales --yes -o all.ndjson`);
  expect(code, stderr).toBe(0);
  expect(keysIn(me, "all.ndjson")).toEqual(keysOf(people.filter(inSales)));
  expect(balance - (await balanceOf(service))).toBe(people.filter(inSales).length - owned);
});

long(
  "a refresh that is killed at any of its durable writes, and begun again, pays for each new person once",
  async () => {
    const { crowd, people, engine, service, me } = await bought(300);
    let now: readonly Human[] = people;
    let kills = 0;
    for (let step = 1; step < 60; step += LONG ? 4 : 12) {
      const before = now.filter(inSales);
      now = crowd.week(now, { gone: 0.02, moved: 0, born: 0.04 });
      engine.become(now);
      const balance = await balanceOf(service);
      const command = ["refresh", "sales.ndjson", "--max-credits", "50", "--base-url", service.url];
      const first = await spawnUser(me, command, { HEADCOUNT_FAILPOINT: String(step) });
      if (first.code !== 0) kills++;
      const again = first.code === 0 ? first : await spawnUser(me, command);
      expect({ step, ...again }).toMatchObject({ step, code: 0 });
      expect(keysIn(me, "sales.ndjson")).toEqual(keysOf(now.filter(inSales)));
      expect({ step, paid: balance - (await balanceOf(service)) }).toEqual({
        ...{ step, paid: without(now.filter(inSales), before).length },
      });
    }
    expect(kills).toBeGreaterThan(LONG ? 5 : 2);
  },
  120_000,
);

describe("a job with hand_to", () => {
  const job = { filters: { department: "Sales" }, max_credits: 500, output: "list.csv" };
  const moves = (me: User): { change: string; person: Human; fields?: string[] }[] =>
    existsSync(me.file("moves.ndjson"))
      ? rowsIn(me, "moves.ndjson").map((row) => row as never)
      : [];

  async function following(hand_to: string) {
    const { crowd, people, engine, service } = await bought(400);
    const me = user(service.url, service.key);
    writeFileSync(me.file("jobs.json"), JSON.stringify({ jobs: { sales: { ...job, hand_to } } }));
    const run = (...more: readonly string[]) =>
      me.run(["jobs", "run", "sales", "--file", "jobs.json", ...more]);
    return { crowd, people, engine, service, me, run };
  }

  test("gets who came, left and changed, a line each; nobody moved: it is not run", async () => {
    const { crowd, people, engine, me, run } = await following("cat >> moves.ndjson");
    expect(await run()).toMatchObject({ code: 0 });
    expect(moves(me).map(({ change }) => change)).toEqual(
      people.filter(inSales).map(() => "added"),
    );
    writeFileSync(me.file("moves.ndjson"), "");
    const later = crowd.week(people, { gone: 0.05, moved: 0, born: 0.05 });
    engine.become(later);
    expect(await run()).toMatchObject({ code: 0 });
    const [came, left] = [without(later, people), without(people, later)].map((some) =>
      keysOf(some.filter(inSales)),
    );
    const told = (change: string) =>
      keysOf(
        moves(me)
          .filter((one) => one.change === change)
          .map(({ person }) => person),
      );
    expect([told("added"), told("removed")]).toEqual([came, left]);
    writeFileSync(me.file("moves.ndjson"), "");
    expect(await run()).toMatchObject({ code: 0 });
    expect(me.read("moves.ndjson")).toBe("");
  });

  test("that fails says so, ends with 1, and is not run again for the same people", async () => {
    const { me, run } = await following("cat >> moves.ndjson; exit 3");
    const first = await run("--json");
    expect(first).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("what it is handed to ended with 3"),
    });
    const once = moves(me).length;
    const status = async (): Promise<Record<string, unknown>> =>
      JSON.parse((await me.run(["jobs", "status", "--file", "jobs.json", "--json"])).stdout)
        .jobs[0];
    expect(await status()).toMatchObject({
      status: "failed",
      exit_code: 1,
      rows: once,
      rows_before: null,
    });
    const [line] = JSON.parse(first.stdout) as Record<string, unknown>[];
    expect(line).toMatchObject({
      changed: true,
      receipt: { added: once },
      error: { code: "not_handed_on" },
    });
    expect(await run()).toMatchObject({ code: 0 });
    expect(moves(me).length).toBe(once);
    expect(await status()).toMatchObject({ status: "done", rows: once, rows_before: once });
  });

  long(
    "hands each move on at most once, wherever it is killed",
    async () => {
      const { crowd, people, engine, service, me } = await following("cat >> moves.ndjson");
      let now: readonly Human[] = people;
      for (let step = 3; step < 70; step += LONG ? 9 : 22) {
        const command = ["jobs", "run", "sales", "--file", "jobs.json", "--base-url", service.url];
        await spawnUser(me, command, { HEADCOUNT_FAILPOINT: String(step) });
        expect((await spawnUser(me, command)).code).toBe(0);
        const told = moves(me).map(({ change, person }) => `${change} ${personKey(person)}`);
        expect(new Set(told).size).toBe(told.length);
        now = crowd.week(now, { gone: 0.03, moved: 0, born: 0.04 });
        engine.become(now);
      }
      expect(moves(me).length).toBeGreaterThan(10);
    },
    120_000,
  );
});

/** So many weeks of one list by sketch and of one by counts, beside who is there; with kills and imports between. */
async function follow(
  seed: number,
  weeks: number,
): Promise<{ readonly kills: number; readonly moves: number }> {
  const random = seeded(seed + 100);
  // Replies to purchases are lost, charged or not.
  const onApp: TestServiceOptions["onApp"] = (app) =>
    app.addHook("onSend", async ({ call, raw }, _, payload) => {
      if (call.name === "people" && call.isAnswered && random() < 0.1) raw.socket.destroy();
      return payload;
    });
  const { crowd, engine, service, me, people } = await bought(150, { onApp }, seed, 0);
  const counting = await serving(engine, { sketches: false });
  const other = user(counting.url, counting.key);
  expect(
    (await other.run(["search", "--department", "Sales", "--yes", "-o", "sales.ndjson"])).code,
  ).toBe(0);
  const command = ["refresh", "sales.ndjson", "--max-credits", "400", "--json"];
  let now: readonly Human[] = people;
  let [kills, moves] = [0, 0];
  for (let week = 0; week < weeks; week++) {
    const before = now.filter(inSales);
    const churn = { gone: 0.04, moved: 0.02, born: 0.05 };
    now = crowd.week(now, churn);
    engine.become(now);
    const isKilled = week % 3 === 1;
    if (isKilled) {
      // Between the sketch and the list: at any of what is written, of the purchase and of the files.
      const step = { HEADCOUNT_FAILPOINT: String(1 + Math.floor(24 * random())) };
      const { code } = await spawnUser(me, [...command, "--base-url", service.url], step);
      if (code === 137) kills++;
      // What the sketch told is of a dataset that is gone when the same command comes again.
      const isMoved = random() < 0.5;
      if (isMoved) moves++;
      if (isMoved) now = crowd.week(now, churn);
      if (isMoved) engine.become(now);
    }
    // Now and then another import comes while pages are read, which ends it; the same command goes on then.
    let reads = 0;
    const at = random() < 0.3 ? 1 + Math.floor(3 * random()) : 0;
    engine.before = () => {
      if (++reads === at) engine.become([...now]);
    };
    let ran = await me.run(command);
    engine.before = () => undefined;
    for (let time = 0; ran.code === 5 && time < 3; time++) ran = await me.run(command);
    expect(ran.code, `week ${week}: ${ran.stderr}`).toBe(0);
    if (!isKilled) expectFiles(me, before, now.filter(inSales));
    expect(keysIn(me, "sales.ndjson"), `week ${week}`).toEqual(keysOf(now.filter(inSales)));
    const counted = await other.run(command);
    expect(counted.code, `week ${week}: ${counted.stderr}`).toBe(0);
    expect(keysIn(other, "sales.ndjson")).toEqual(keysIn(me, "sales.ndjson"));
  }
  // Nobody was paid for twice, whatever came between; what a kill left unanswered before an import is said.
  const owned = await me.run(["owned", "--json"]);
  const { settled, uncertain } = JSON.parse((await me.run(["spend", "--json"])).stdout).total;
  const charged = CREDITS - (await balanceOf(service));
  expect(settled).toBe(JSON.parse(owned.stdout).people);
  expect(charged).toBeGreaterThanOrEqual(settled);
  expect(charged).toBeLessThanOrEqual(settled + uncertain);
  return { kills, moves };
}

describe("by sketch, by counts and in truth the same, with kills and imports between", () => {
  long(
    "six weeks",
    async () => {
      expect((await follow(10, 6)).kills).toBeGreaterThan(0);
    },
    120_000,
  );

  for (let seed = 11; seed < 11 + cases(0, 12); seed++) {
    long(
      `52 weeks of seed ${seed}`,
      async () => {
        const { kills, moves } = await follow(seed, 52);
        expect(kills).toBeGreaterThan(5);
        expect(moves).toBeGreaterThan(2);
      },
      300_000,
    );
  }
});
