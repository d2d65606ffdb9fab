import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, runIds, type User, user, visibleFiles } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";
import { isLeftOut } from "../support/tools.ts";

const CREDITS = 1_000_000;
let service: TestService;
let proxy: FaultProxy;
let u: User;
let before: number;
beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: CREDITS,
  });
}, 60_000);
afterAll(() => service.close());
beforeEach(async () => {
  proxy = await faultProxy({ target: service.url });
  u = user(proxy.url, service.key);
  before = await charged(service, CREDITS);
});
afterEach(() => proxy.close());

const spent = async (): Promise<number> => (await charged(service, CREDITS)) - before;
const SEARCH = ["search", "--department", "Sales", "--per-page", "10", "--limit", "150", "--yes"];

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a shell or the program; `until` resolves when stderr or stdout holds a text. */
function start(
  command: string,
  args: readonly string[],
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(command, args, {
    cwd: u.dir,
    env: { PATH: process.env.PATH ?? "", ...u.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<Ended>((resolve) =>
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr })),
  );
  return { child, ended };
}

const paidRequests = (): number => proxy.seen.filter(({ paid }) => paid > 0).length;
/** @throws Error where the program ended before, with what it said */
async function untilPaid(count: number, ended: Promise<Ended>): Promise<void> {
  let early: Ended | undefined;
  void ended.then((end) => {
    early = end;
  });
  while (paidRequests() < count) {
    if (early !== undefined) throw new Error(`ended too early: ${JSON.stringify(early)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("pipes", () => {
  test("| head -3 gets its three rows, the buying stops, exit 141, what was paid is said; the run goes on later", async () => {
    const line = `${process.execPath} ${BIN} ${SEARCH.join(" ")} --format ndjson | head -3; exit \${PIPESTATUS[0]}`;
    const piped = await start("bash", ["-c", line]).ended;
    expect(piped.stdout.trim().split("\n").length).toBe(3);
    expect({ code: piped.code, stderr: piped.stderr.replace(/^\d+% .*\n/gm, "") }).toEqual({
      code: 141,
      stderr: expect.stringMatching(
        /^the reader closed the pipe: \d+ of 150 rows are paid for and kept in run (\S+); headcount runs export \1 writes them at 0 credits\n$/,
      ),
    });
    const bought = await spent();
    expect(bought).toBeLessThan(150);
    const whole = await spawnUser(u, [...SEARCH, "--format", "ndjson"]);
    expect({ code: whole.code, rows: whole.stdout.trim().split("\n").length }).toEqual({
      code: 0,
      rows: 150,
    });
    expect(whole.stderr).toContain(`continuing run ${runIds(u)[0]}`);
    expect(await spent()).toBe(150);
  });

  long("a reader that takes its time stops the buying for as long, and loses nothing", async () => {
    // Rows of a pipe's buffer (64 KiB) and of the pages in hand may be bought ahead, no more.
    const argv = asTyped`search --all --per-page 10 --limit 1500 --yes --concurrency 2 -q`;
    const { child, ended } = start(process.execPath, [BIN, ...argv]);
    child.stdout?.pause();
    await untilPaid(10, ended);
    let seen = 0;
    for (let same = 0; same < 5; ) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      same = paidRequests() === seen ? same + 1 : 0;
      seen = paidRequests();
    }
    expect(seen).toBeLessThan(75);
    child.stdout?.resume();
    const done = await ended;
    expect({ code: done.code, rows: done.stdout.trim().split("\n").length }).toEqual({
      code: 0,
      rows: 1500,
    });
    expect(await spent()).toBe(1500);
  });
});

describe("signals", () => {
  const WINDOWS = [
    "--import",
    "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})",
  ];
  test.each([
    ["SIGINT", "this system", []],
    ["SIGTERM", "this system", []],
    ["SIGHUP", "Windows (a window is closed)", WINDOWS],
  ] as const)(
    "%s on %s settles what is in flight, says how to resume, exits 130",
    async (signal, _, before) => {
      proxy.decide = ({ paid }) => (paid > 3 ? { kind: "delay", ms: 150 } : { kind: "none" });
      const { child, ended } = start(process.execPath, [...before, BIN, ...SEARCH, "-o", "p.csv"]);
      await untilPaid(5, ended);
      child.kill(signal);
      const stopped = await ended;
      expect(stopped).toMatchObject({ code: 130, stdout: "" });
      expect(stopped.stderr).toMatch(/interrupted: \d+ of 150 rows are paid for and kept in run/);
      expect(stopped.stderr).toContain(`hint: headcount resume ${runIds(u)[0]}`);
      expect(stopped.stderr).not.toContain("may be charged");
      expect(visibleFiles(u)).toEqual([]);
      const kept = Number(/interrupted: (\d+)/.exec(stopped.stderr)?.[1]);
      // Everything that was charged is on the disk.
      expect(await spent()).toBe(kept);
      proxy.decide = () => ({ kind: "none" });
      const resumed = await spawnUser(u, ["resume"]);
      expect({ code: resumed.code, rows: readCsv(u.read("p.csv")).length }).toEqual({
        code: 0,
        rows: 150,
      });
      expect(await spent()).toBe(150);
    },
  );

  test("a wait for the rate limit before the quote is interrupted like any other", async () => {
    const full = {
      "X-RateLimit-Limit": "60",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": "30",
    };
    const limited = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "Content-Type": "application/json", ...full });
      response.end(
        JSON.stringify({
          status: true,
          detail: [],
          result: {},
          credits_used: 0,
          credits_remaining: 9,
        }),
      );
    });
    await new Promise<void>((resolve) => limited.listen(0, "127.0.0.1", resolve));
    u = user(`http://127.0.0.1:${(limited.address() as AddressInfo).port}`, service.key);
    const { child, ended } = start(process.execPath, [BIN, ...SEARCH, "-o", "p.csv"]);
    const waits = new Promise<void>((resolve) =>
      child.stderr?.on(
        "data",
        (chunk: Buffer) => chunk.includes("near the rate limit") && resolve(),
      ),
    );
    await waits;
    child.kill("SIGTERM");
    const { code, stderr } = await ended;
    limited.close();
    expect({ code, last: stderr.trim().split("\n").at(-1) }).toEqual({
      code: 130,
      last: "error: interrupted",
    });
  });

  test("the second Ctrl-C leaves at once; what was in flight is asked for again under its key", async () => {
    proxy.decide = ({ paid }) => (paid > 3 ? { kind: "delay", ms: 20_000 } : { kind: "none" });
    const { child, ended } = start(process.execPath, [BIN, ...SEARCH, "-o", "p.csv"]);
    await untilPaid(5, ended);
    child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    proxy.decide = () => ({ kind: "none" });
    const resumed = await spawnUser(u, ["resume"]);
    expect({ code: resumed.code, rows: readCsv(u.read("p.csv")).length }).toEqual({
      code: 0,
      rows: 150,
    });
    expect(await spent()).toBe(150);
  });
});

// A real small disk: needs the right to mount.
const mayMount = process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0;
test.skipIf(isLeftOut(mayMount))(
  "a disk that fills up in the middle: nothing lost, resume with room ends the run",
  async () => {
    const { mkdirSync } = await import("node:fs");
    mkdirSync(u.file("small"));
    // Its own mount namespace, so that nothing is left behind however the test ends.
    const inside = `mount -t tmpfs -o size=1500k tmpfs small && export HEADCOUNT_STATE_DIR=$PWD/small/state
    ${process.execPath} ${BIN} search --all --per-page 50 --limit 1500 --yes -o small/p.csv; echo "first $?"
    ls small; mount -o remount,size=40m small
    ${process.execPath} ${BIN} resume -q; echo "second $?"; wc -l < small/p.csv`;
    const ran = await start("unshare", ["-m", "bash", "-c", inside]).ended;
    expect(ran.stderr).toMatch(/disk .*(full|almost full)/);
    expect(ran.stdout).toBe("first 5\nstate\nsecond 0\n1501\n");
    expect(await spent()).toBe(1500);
    expect(existsSync(u.file("small/p.csv"))).toBe(false);
  },
);

long.each(["csv", "ndjson"])(
  "%s is the same file where there is no WebAssembly",
  async (format) => {
    const made = async (options: string): Promise<string> => {
      const someone = user(service.url, service.key);
      const argv = [...SEARCH, "-o", `o.${format}`];
      const { code, stderr } = await spawnUser(someone, argv, { NODE_OPTIONS: options });
      expect(code, stderr).toBe(0);
      return someone.read(`o.${format}`);
    };
    expect(await made("--jitless")).toBe(await made(""));
  },
);
