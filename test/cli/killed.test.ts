// apart: each of its tests waits for programs that it kills
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { runIds, spentBy } from "../support/export.ts";
import { type ForeignScene, foreignScene } from "../support/foreign-scene.ts";
import { BIN } from "../support/spawned.ts";

// Runs that go on after a kill with pages in flight, at a service that keeps no keys: what those pages may have cost is counted before
// anything is said or bought.

const BUY = ["search", "--country", "x", "-o", "o.csv", "--yes"];

const scene = () => foreignScene({ people: 76, maxPerPage: 5 });

/** Kills a command once its fourth page and those beside it were charged, none of them answered, and three are kept. */
async function killed({ service, u }: ForeignScene, argv: readonly string[]): Promise<void> {
  const before = service.paidCalls();
  Object.assign(service.options, { random: () => 1, jitterMs: 0 });
  service.options.mishap = (call) => {
    if (call - before === 4) service.options.jitterMs = 600_000;
    return undefined;
  };
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: u.dir,
    env: { ...process.env, ...u.env },
  });
  const end = new Promise((done) => child.on("close", done));
  const written = (): number =>
    runIds(u).flatMap((id) => [
      ...readFileSync(join(u.dir, "state/runs", id, "journal.ndjson"), "latin1").matchAll(
        /"t":"settled"/g,
      ),
    ]).length;
  const isThere = (): void => {
    expect(service.paidCalls() - before).toBeGreaterThanOrEqual(7);
    expect(written()).toBeGreaterThanOrEqual(3);
  };
  await vi.waitFor(isThere, { timeout: 60_000, interval: 20 });
  child.kill("SIGKILL");
  await end;
  // What was on its way then is charged too.
  for (let seen = -1; seen !== service.paidCalls(); await delay(200)) seen = service.paidCalls();
  service.options.jitterMs = 0;
}

test.each([
  ["resume", "last", "--max-credits", "200"],
  [...BUY, "--max-credits", "200"],
])(
  "a cap with room pays for what lost pages may have cost, and for their rows: %s %s",
  async (...argv) => {
    const s = await scene();
    await killed(s, [...BUY, "--max-credits", argv[0] === "resume" ? "76" : "200"]);
    const lost = s.service.charged() - 15;
    const ran = await s.run(...argv, "--yes");
    expect(ran.code, ran.stderr).toBe(0);
    expect(s.ids()).toEqual(s.service.ids());
    expect(s.service.charged()).toBe(76 + lost);
    expect(await spentBy(s.u)).toMatchObject({ settled: 76, uncertain: lost, foreign: 0 });
  },
);

test("a cap below what is paid buys nothing and blames nobody; the hint it ends with buys the rest", async () => {
  const s = await scene();
  await killed(s, [...BUY, "--max-credits", "76"]);
  const charged = s.service.charged();
  const low = await s.run("resume", "last", "--max-credits", "10", "--yes");
  expect(low.code).toBe(5);
  expect(low.stderr).toContain("nothing to buy within --max-credits");
  expect(low.stderr).toContain("15 of 76 rows came");
  expect(low.stderr).not.toMatch(/the service (gave|took)/);
  expect(s.service.charged()).toBe(charged);
  const [, hint = ""] =
    /headcount (resume \S+ --max-credits \d+) buys the other 61/.exec(low.stderr) ?? [];
  expect(await s.run(...hint.split(" "), "--yes")).toMatchObject({ code: 0 });
  expect([s.ids(), s.service.charged()]).toEqual([s.service.ids(), charged + 61]);
});

test("a limit that is remembered is named where it leaves nothing to buy", async () => {
  const s = await scene();
  await killed(s, [...BUY, "--max-credits", "76"]);
  const charged = s.service.charged();
  expect(await s.run("resume", "last", "--limit", "10", "--yes")).toMatchObject({ code: 0 });
  const [id = ""] = runIds(s.u);
  const again = await s.run("resume", id, "--max-credits", "200", "--yes", "--overwrite");
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr).toContain("nothing to buy within --limit 10");
  expect(s.service.charged()).toBe(charged);
});

test("a refresh that goes on: the cap that is named is enough, and a page that is lost meanwhile nobody else spent", async () => {
  const list = ["refresh", "--country", "x", "-o", "o.csv", "--max-credits"];
  for (const isLost of [false, true]) {
    const s = await scene();
    await killed(s, [...list, "80"]);
    const lost = s.service.charged() - 15;
    const refused = await s.run(...list, "10");
    expect(refused).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("--max-credits 61 finishes it first"),
    });
    const at = s.service.paidCalls() + 6;
    s.service.options.mishap = (call) => (isLost && call === at ? "drop" : undefined);
    const ran = await s.run(...list, isLost ? "70" : "61");
    // Counts by beginnings of names are beyond this service: what was begun is finished before them.
    expect(ran.stderr).toContain("61 to buy for 61 credits");
    const uncertain = isLost ? lost + 5 : lost;
    expect(await spentBy(s.u)).toMatchObject({ settled: 76, uncertain, foreign: 0 });
    expect(s.service.charged()).toBe(76 + uncertain);
  }
});

test("of a first page that was in flight no more is in doubt than the balance lost since it was told", async () => {
  const { service, u, ids } = await foreignScene({
    people: 200,
    maxPerPage: 25,
    clamp: true,
    idempotent: true,
    // It is charged at once, and answered in a minute.
    jitterMs: 60_000,
    random: () => 1,
  });
  const child = spawn(process.execPath, [BIN, ...BUY, "--concurrency", "1"], {
    cwd: u.dir,
    env: { ...process.env, ...u.env },
  });
  const end = new Promise((done) => child.on("close", done));
  await vi.waitFor(() => expect(service.charged()).toBe(25), { timeout: 60_000, interval: 20 });
  child.kill("SIGKILL");
  await end;
  service.options.jitterMs = 0;

  const ran = await u.run(["resume", "last", "--yes"]);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toContain("for 200 credits");
  expect(await spentBy(u)).toMatchObject({ settled: 200, uncertain: 0, foreign: 0 });
  expect([ids(), service.charged()]).toEqual([service.ids(), 200]);
});
