import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

let service: TestService;
let u: User;
beforeAll(async () => {
  service = await startTestService({ people: 200, credits: 1_000 });
  u = user(service.url, service.key);
  expect(
    (await spawnUser(u, ["search", "--department", "Sales", "--limit", "3", "--yes"])).code,
  ).toBe(0);
}, 60_000);
afterAll(() => service.close());

const ENDLESS_SQL = [
  "sql",
  "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
];

/** Whose command line names the query: the program, and what it began. */
const runningFor = (mark: string): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`MARK=${mark}`);
      } catch {
        return false;
      }
    })
    .map(Number);

/** Starts it, waits until its own process for the person's program is there, and sends the signal. */
async function signalled(
  argv: readonly string[],
  signal: NodeJS.Signals,
): Promise<{ code: number | null; left: number[] }> {
  const mark = `${signal}-${argv[0]}-${Math.random().toString(36).slice(2)}`;
  const env = { PATH: process.env.PATH ?? "", ...u.env, MARK: mark };
  const child = spawn(process.execPath, [BIN, ...argv], { cwd: u.dir, env, stdio: "ignore" });
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  while (runningFor(mark).length < 2 && child.exitCode === null) await pause(20);
  await pause(300);
  child.kill(signal);
  const code = await exited;
  for (let tries = 0; tries < 100 && runningFor(mark).length > 0; tries++) await pause(20);
  return { code, left: runningFor(mark) };
}

long.each([
  [ENDLESS_SQL, "SIGTERM", 130],
  [ENDLESS_SQL, "SIGINT", 130],
  [ENDLESS_SQL, "SIGKILL", null],
] as const)("%j ends at %s and leaves nothing behind", async (argv, signal, code) => {
  expect(await signalled(argv, signal)).toEqual({ code, left: [] });
});

test("a home that can never be made is said at once", async () => {
  const env = {
    HOME: "/proc/1/x",
    XDG_STATE_HOME: "",
    HEADCOUNT_STATE_DIR: "",
    HEADCOUNT_CONFIG_DIR: "",
  };
  const { code, stderr } = await spawnUser(
    u,
    ["search", "--department", "Sales", "--limit", "1", "--yes"],
    env,
  );
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining("/proc/1/x")]);
  expect(code).not.toBe(0);
});
