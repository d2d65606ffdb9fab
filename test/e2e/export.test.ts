import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, runIds, type User, user, visibleFiles } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { CREDITS, type Serving, serveThroughProxy } from "../support/serving.ts";
import { BIN, spawnUser } from "../support/spawned.ts";
import { isLeftOut } from "../support/tools.ts";

const GRANTED = 1_000_000;
let service: TestService;
let proxy: FaultProxy;
let u: User;
let before: number;
let domain = "";
beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: GRANTED,
  });
  const { json } = await service.call("/v1/person/search", { body: { filters: {}, per_page: 50 } });
  const people = json.result as readonly { company_domain?: string | null }[];
  domain = people.find(({ company_domain }) => company_domain)?.company_domain ?? "";
});
afterAll(() => service.close());
beforeEach(async () => {
  proxy = await faultProxy({ target: service.url });
  u = user(proxy.url, service.key);
  before = await charged(service, GRANTED);
});
afterEach(() => proxy.close());

const spent = async (): Promise<number> => (await charged(service, GRANTED)) - before;
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

describe.each([
  ["search", () => ["search", "--department", "Sales", "--limit", "3"]],
  ["enrich", () => ["enrich", domain]],
] as const)("%s with rows for a stdout that is closed", (_, argv) => {
  const shell = async (redirect: string) => {
    const before = await spent();
    const words = ["-c", `exec "$0" "$@" ${redirect}`, process.execPath, BIN, ...argv(), "--yes"];
    const ran = await start("sh", words).ended;
    return { ...ran, spent: (await spent()) - before };
  };

  test("is refused before anything is bought; to a file, or thrown away on purpose, it is bought", async () => {
    const closed = await shell(">&-");
    expect(closed).toMatchObject({ code: 2, spent: 0 });
    expect(closed.stderr).toContain(
      "stdout leads nowhere, and the answer goes there; nothing was spent\nhint: > FILE keeps it",
    );
    const thrown = await shell("> /dev/null");
    expect(thrown.code, thrown.stderr).toBe(0);
    expect(thrown.spent).toBeGreaterThan(0);
    expect((await shell("-o rows.csv --overwrite >&-")).code).toBe(0);
  });
});

test("filters come out of a pipe that a shell names", async () => {
  const script = `exec "$0" "$1" count -f <(printf '{"department":"Sales"}') --json`;
  const { code, stdout } = await start("bash", ["-c", script, process.execPath, BIN]).ended;
  const straight = await u.run(["count", "--department", "Sales", "--json"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: straight.stdout });
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

describe("runs", { tags: ["long"] }, () => {
  const UNSHARE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
  const CAN_UNSHARE = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
  let { service, proxy, u } = {} as Serving & { proxy: FaultProxy };
  serveThroughProxy((now) => ({ service, proxy, u } = now));

  test("a run whose reader had enough is no hindrance to a bare resume, and the same command goes on without paying twice", async () => {
    const search = [
      "search",
      "--department",
      "Sales",
      "--limit",
      "100",
      "--per-page",
      "10",
      "--yes",
    ];
    const before = await charged(service, CREDITS);
    const line = `${process.execPath} ${BIN} ${search.join(" ")} | head -1`;
    const child = spawn("bash", ["-c", line], {
      cwd: u.dir,
      env: { PATH: process.env.PATH ?? "", ...u.env },
    });
    await new Promise((done) => child.on("close", done));
    expect(await u.json(["runs", "--json"])).toMatchObject([
      { status: "closed", problem: "the reader closed the pipe" },
    ]);
    const bare = await u.run(["resume"]);
    expect(bare).toMatchObject({ code: 0, stdout: "" });
    expect(bare.stderr).toMatch(
      /no run is unfinished; headcount resume \S+ goes on with one whose reader closed the pipe/,
    );
    const again = await spawnUser(u, search);
    expect({ code: again.code, rows: again.stdout.trim().split("\n").length }).toEqual({
      code: 0,
      rows: 100,
    });
    expect({ runs: runIds(u).length, spent: (await charged(service, CREDITS)) - before }).toEqual({
      runs: 1,
      spent: 100,
    });
  });

  describe.skipIf(isLeftOut(CAN_UNSHARE))(
    "two containers with one state folder and one host name",
    () => {
      const SEARCH = asTyped`search --department Sales --limit 60 --per-page 20 --concurrency 1 --yes`;

      function inside(argv: readonly string[]): {
        child: ChildProcess;
        ended: Promise<{ code: number | null; stderr: string }>;
      } {
        const child = spawn("unshare", [...UNSHARE, process.execPath, BIN, ...argv], {
          cwd: u.dir,
          env: { PATH: process.env.PATH ?? "", ...u.env },
          stdio: ["ignore", "ignore", "pipe"],
        });
        let stderr = "";
        child.stderr?.on("data", (chunk: Buffer) => {
          stderr += chunk.toString();
        });
        return {
          child,
          ended: new Promise((done) => child.on("close", (code) => done({ code, stderr }))),
        };
      }

      test("a run that is at work is not taken over; one that was killed is, and no page is paid for twice", async () => {
        const before = await charged(service, CREDITS);
        let held = true;
        proxy.decide = ({ paid }) =>
          held && paid === 2 ? { kind: "delay", ms: 60_000 } : { kind: "none" };
        const argv = [...SEARCH, "-o", "p.csv"];
        const first = inside(argv);
        while (proxy.seen.filter(({ paid }) => paid > 0).length < 2)
          await new Promise((wait) => setTimeout(wait, 20));
        const second = await inside(argv).ended;
        expect(second.code).toBe(9);
        expect(second.stderr).toContain("in another container since");
        expect((await inside(["resume"]).ended).stderr).toContain("Nothing to resume");
        expect(await u.json(["runs", "--json"])).toMatchObject([{ status: "running", rows: 20 }]);
        first.child.kill("SIGKILL");
        await first.ended;
        held = false;
        expect(await inside(argv).ended).toMatchObject({ code: 0 });
        expect(new Set(readCsv(u.read("p.csv")).map(({ id }) => id)).size).toBe(60);
        expect((await charged(service, CREDITS)) - before).toBe(60);
      });
    },
  );
});

describe("what has no end", () => {
  let service: TestService;
  let u: User;
  beforeAll(async () => {
    service = await startTestService({ people: 200, credits: 1_000 });
    u = user(service.url, service.key);
    expect(
      (await spawnUser(u, ["search", "--department", "Sales", "--limit", "3", "--yes"])).code,
    ).toBe(0);
  });
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
    // An ignored stdout is one that is closed, where no rows go.
    const stdio = ["ignore", "pipe", "ignore"] as const;
    const child = spawn(process.execPath, [BIN, ...argv], { cwd: u.dir, env, stdio: [...stdio] });
    child.stdout?.resume();
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
});
