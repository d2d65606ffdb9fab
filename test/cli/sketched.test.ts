import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { user } from "../support/export.ts";
import { expectFiles, inSales, keysIn, keysOf, without } from "../support/kept-list.ts";
import { balanceOf, bought, following, moves, RICH } from "../support/sketched.ts";

// Where the service gives set sketches: who is gone and who is new, in a few free calls, and nobody else is paid for.

describe("headcount refresh", () => {
  test("after a week of 5 %: five free calls at most, and a credit for each new person", async () => {
    const { crowd, people, engine, service, me } = await bought(3_000);
    const before = people.filter(inSales);
    const later = crowd.week(people, { gone: 0.05, moved: 0.02, born: 0.05 });
    engine.become(later);
    const now = later.filter(inSales);
    const balance = await balanceOf(service);
    const { stdout } = await me.ran(asTyped`refresh sales.ndjson --max-credits 500 --json`);
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
    await me.ran(["search", "--department", "Legal", "--yes", "-o", "legal.csv"]);
    engine.become(
      people.map((human) =>
        human.department === "Legal" ? { ...human, department: "Sales" } : human,
      ),
    );
    const balance = await balanceOf(service);
    const { stdout } = await me.ran(["refresh", "sales.ndjson", "--json"]);
    const moved = people.filter(({ department }) => department === "Legal").length;
    expect(JSON.parse(stdout)).toMatchObject({ added: moved, credits: 0 });
    expect(await balanceOf(service)).toBe(balance);
  });

  test("ids that did not outlive the dataset: nobody is bought again, since counts find them by address", async () => {
    const { people, engine, service, me } = await bought(600, {}, 3, 0);
    engine.become(people.map((human) => ({ ...human, id: `n-${human.id}` })));
    const balance = await balanceOf(service);
    expect(await me.json(["refresh", "sales.ndjson", "--json"])).toMatchObject({
      count: people.filter(inSales).length,
      removed: 0,
      credits: 0,
    });
    expect(await balanceOf(service)).toBe(balance);
  });

  test("somebody who was taken in without an id is looked for by counts, as where no sketch is given", async () => {
    const { people, me, service } = await bought(400);
    const [first, ...others] = people
      .filter(inSales)
      .filter(({ network_url: url }) => url !== null);
    const rows = [{ ...first, id: undefined }, ...others].map((human) => JSON.stringify(human));
    writeFileSync(me.file("elsewhere.ndjson"), `${rows.join("\n")}\n`);
    const other = user(service.url, service.key);
    writeFileSync(other.file("elsewhere.ndjson"), `${rows.join("\n")}\n`);
    await other.ran(["owned", "import", "elsewhere.ndjson"]);
    expect(
      await other.json(asTyped`search --department Sales --new-only --dry-run --json`),
    ).toMatchObject({ owned: rows.length });
  });

  test("an account whose plan gives no sketch of so few people goes on by counts", async () => {
    const { crowd, people, engine, me } = await bought(200, {
      plan: { ...RICH, smallCounts: 1_000 },
    });
    engine.become(crowd.week(people, { gone: 0, moved: 0, born: 0.02 }));
    await me.ran(asTyped`refresh sales.ndjson --again --max-credits 100`);
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
  await me.ran([...command, "--limit", "7", "-o", "some.ndjson"]);
  expect(await balanceOf(service)).toBe(balance - 7);
  await me.ran([...command, "-o", "rest.ndjson"]);
  expect([...keysIn(me, "some.ndjson"), ...keysIn(me, "rest.ndjson")].sort()).toEqual(fresh);
  expect(await balanceOf(service)).toBe(balance - fresh.length);
});

test("a plain search of a segment that is partly owned buys the others, and writes all", async () => {
  const { people, service } = await bought(1_000);
  const me = user(service.url, service.key);
  const some = asTyped`search --department Sales --connections-max 200 --yes -o some.ndjson`;
  await me.ran(some);
  // A few of the very same search too: whoever is owned counts, and not that run alone.
  await me.ran(asTyped`search --department Sales --limit 3 --yes -o few.ndjson`);
  const owned = new Set([...keysIn(me, "some.ndjson"), ...keysIn(me, "few.ndjson")]).size;
  const balance = await balanceOf(service);
  await me.ran(asTyped`search --department Sales --yes -o all.ndjson`);
  expect(keysIn(me, "all.ndjson")).toEqual(keysOf(people.filter(inSales)));
  expect(balance - (await balanceOf(service))).toBe(people.filter(inSales).length - owned);
});

describe("a job with hand_to", () => {
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
      (await me.json(["jobs", "status", "--file", "jobs.json", "--json"])).jobs[0];
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
});
