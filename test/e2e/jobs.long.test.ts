import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { shellWord } from "../../src/shared/errors.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, modeOf, readCsv, runIds } from "../support/export.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { CREDITS, type Serving, serveThroughProxy } from "../support/serving.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

let { service, proxy, u } = {} as Serving & { proxy: FaultProxy };
serveThroughProxy((now) => ({ service, proxy, u } = now));

const SLOW = { per_page: 10, concurrency: 1 };
const job = (department: string, max_credits: number, more: object = {}) => ({
  ...{
    command: "search",
    schedule: "@daily",
    filters: { department },
    max_credits,
    output: `${department}.csv`,
  },
  ...more,
});
const write = (document: object): void =>
  writeFileSync(u.file("jobs.jsonc"), `// jobs\n${JSON.stringify(document)}`);
const jobs = (...argv: readonly string[]) =>
  asTyped`${argv.slice(0, 1)} ${argv.slice(1)} --file jobs.jsonc`;
const run = (...names: readonly string[]) => u.run(["jobs", ...jobs("run", ...names)]);
const historyOf = (name: string): string => {
  const folder = join(u.dir, "state/jobs");
  const [own = ""] = readdirSync(folder).filter((file) => file.startsWith(`${name}@`));
  return join(folder, own, "history.ndjson");
};
const status = async () =>
  (
    (await u.json(["jobs", ...jobs("status", "--json")])) as {
      jobs: { status: string; due: boolean; next: string }[];
    }
  ).jobs;

/** A process that is at its n-th paid page, and waits there until it is let go. */
async function held(argv: readonly string[], at: number) {
  let letGo = (): void => undefined;
  const waiting = new Promise<void>((done) => {
    letGo = done;
  });
  let arrived = (): void => undefined;
  const there = new Promise<void>((done) => {
    arrived = done;
  });
  proxy.decide = async ({ paid }) => {
    if (paid === at) {
      arrived();
      await waiting;
    }
    return { kind: "none" };
  };
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: u.dir,
    env: { PATH: process.env.PATH ?? "", ...u.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (data: Buffer) => {
    stderr += data.toString();
  });
  const ended = new Promise<number | null>((done) => child.on("close", (code) => done(code)));
  await Promise.race([there, ended]);
  return { child, ended, letGo, stderr: () => stderr };
}

test("kill -9 in the middle of a job, then jobs run again: it goes on and pays once", async () => {
  write({ budget: "40/month", log: "log.ndjson", jobs: { sales: job("Sales", 40, SLOW) } });
  const before = await charged(service, CREDITS);
  const killed = await held(["jobs", ...jobs("run")], 3);
  killed.child.kill("SIGKILL");
  await killed.ended;
  killed.letGo();
  expect(existsSync(u.file("Sales.csv"))).toBe(false);
  expect(await status()).toMatchObject([{ status: "killed", due: true }]);
  // Its own cap still fits into the budget: what it has spent already is not counted twice.
  const again = await run();
  expect({ code: again.code, stderr: again.stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^sales: Exported 40 of /),
  });
  expect(readCsv(u.read("Sales.csv")).length).toBe(40);
  expect((await charged(service, CREDITS)) - before).toBe(40);
  expect(runIds(u).length).toBe(1);
  expect((await u.run(["spend", "--by", "job"])).stdout).toContain("\nsales,40,40,0,0,0,0,0\n");
  expect(await status()).toMatchObject([{ status: "done", due: false }]);
  expect([modeOf(u.file("log.ndjson")), modeOf(historyOf("sales"))]).toEqual(["600", "600"]);
});

test("the same job twice at once: the second says so with 9, and touches nothing", async () => {
  write({ jobs: { sales: job("Sales", 40, SLOW) } });
  const before = await charged(service, CREDITS);
  const first = await held(["jobs", ...jobs("run", "sales")], 2);
  expect(await status()).toMatchObject([{ status: "running" }]);
  const second = await run("sales");
  expect(second).toMatchObject({
    code: 9,
    stderr: expect.stringContaining("error: sales: another run is at work on job sales"),
  });
  first.letGo();
  expect(await first.ended).toBe(0);
  expect((await charged(service, CREDITS)) - before).toBe(40);
});

test("two jobs at once do not pass a budget together: the second waits, counts, and ends with 4", async () => {
  write({ budget: "50/month", jobs: { sales: job("Sales", 30, SLOW), legal: job("Legal", 30) } });
  const before = await charged(service, CREDITS);
  const first = await held(["jobs", ...jobs("run", "sales")], 2);
  const second = spawn(process.execPath, [BIN, "jobs", ...jobs("run", "legal")], {
    cwd: u.dir,
    env: { PATH: process.env.PATH ?? "", ...u.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  await new Promise<void>((done) => {
    second.stderr.on("data", (data: Buffer) => {
      said += data.toString();
      if (said.includes("waiting")) done();
    });
    second.on("close", () => done());
  });
  expect(said).toBe("legal: waiting for another job: a budget is counted one job at a time\n");
  const ended = new Promise<number | null>((done) => second.on("close", (code) => done(code)));
  first.letGo();
  expect(await first.ended).toBe(0);
  expect(await ended).toBe(4);
  expect(said).toContain("the budget has 20 left; nothing was spent");
  expect((await charged(service, CREDITS)) - before).toBe(30);
});

test("SIGTERM settles the pages in flight; jobs that were not begun are named by their number", async () => {
  write({ jobs: { sales: job("Sales", 40, SLOW), legal: job("Legal", 5) } });
  const first = await held(["jobs", ...jobs("run")], 2);
  first.child.kill("SIGTERM");
  first.letGo();
  expect(await first.ended).toBe(130);
  expect(first.stderr()).toContain("interrupted; 1 job was not begun");
  expect((await status()).map(({ status: said }) => said)).toEqual(["failed", "never"]);
  expect(await run()).toMatchObject({ code: 0 });
  expect(readCsv(u.read("Sales.csv")).length).toBe(40);
});

test("a schedule is in the zone of the machine", async () => {
  write({ jobs: { legal: job("Legal", 5, { schedule: "0 6 * * *" }) } });
  const next = async (TZ: string): Promise<string> => {
    const { stdout } = await spawnUser(u, ["jobs", ...jobs("status", "legal"), "--json"], { TZ });
    return /"next":"[^"]+T([^"]+)"/.exec(stdout)?.[1] ?? stdout;
  };
  expect([await next("UTC"), await next("Asia/Tokyo"), await next("Asia/Kolkata")]).toEqual([
    "06:00:00.000Z",
    "21:00:00.000Z",
    "00:30:00.000Z",
  ]);
});

test("the crontab line of the help runs what is due in a bare shell, with key and address from its file", async () => {
  const odd = join(u.dir, "odd 100% 'x'");
  const bin = join(u.dir, "bin");
  for (const folder of [odd, bin]) mkdirSync(folder);
  symlinkSync(BIN, join(bin, "headcount"));
  const all = {
    legal: job("Legal", 5, { schedule: "0 6 * * MON-FRI" }),
    hand: job("Sales", 5, { schedule: undefined }),
  };
  writeFileSync(join(odd, "jobs.jsonc"), JSON.stringify({ jobs: all }));
  const told = [
    `HEADCOUNT_API_KEY=${service.key}`,
    `HEADCOUNT_BASE_URL=${u.env.HEADCOUNT_BASE_URL ?? ""}`,
  ];
  writeFileSync(u.file(".headcount.env"), `${told.join("\n")}\n`, { mode: 0o600 });
  const line =
    (await u.run(["jobs", "--help"])).stdout.split("\n").find((text) => /^ +7 \* /.test(text)) ??
    "";
  const command = line
    .trim()
    .replace(/^(\S+ +){5}/, "")
    .replace("~/jobs.jsonc", () => shellWord(join(odd, "jobs.jsonc")));
  const env = { HOME: u.dir, PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin` };
  const shell = spawn("/bin/sh", ["-c", command], { cwd: "/", env });
  let said = "";
  shell.stderr.on("data", (data: Buffer) => {
    said += data.toString();
  });
  const code = await new Promise((done) => shell.on("close", done));
  expect({ code, said }).toEqual({
    code: 0,
    said: expect.stringContaining("legal: Exported 5 of "),
  });
  expect(said).toContain("not due: hand (by its name)");
  expect(readCsv(readFileSync(join(odd, "Legal.csv"), "utf8")).length).toBe(5);
});

test("a log that was rotated goes on under its name, and lines of many at once never mix", async () => {
  // Each of a segment of its own: of one two at once would wait, or say so.
  const names = ["Legal", "Marketing", "Sales", "Product"];
  const job = (name: string) => ({
    command: "search",
    filters: { department: name },
    max_credits: 2,
    output: `${name}.csv`,
  });
  const all = Object.fromEntries(names.map((name) => [name, job(name)]));
  writeFileSync(u.file("many.jsonc"), JSON.stringify({ log: "log.ndjson", jobs: all }));
  const ran = await Promise.all(
    names.map((name) => spawnUser(u, ["jobs", "run", name, "--file", "many.jsonc"])),
  );
  for (const { code, stderr } of ran) expect(code, stderr).toBe(0);
  const lines = u.read("log.ndjson").trim().split("\n");
  const rows = lines.map((line) => (JSON.parse(line) as { rows: number }).rows);
  expect(rows, lines.join("\n")).toEqual([2, 2, 2, 2]);
});
