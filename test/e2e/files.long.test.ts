import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { execPath } from "node:process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { modeOf, runIds, type User, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN, type Spawned, spawnUser } from "../support/spawned.ts";
import { isLeftOut } from "../support/tools.ts";

describe.skipIf(!existsSync("/dev/full"))(
  "rows that stdout does not take are paid for, kept, and said",
  () => {
    let full: number;
    let service: ForeignService;
    let u: User;
    beforeAll(() => {
      full = openSync("/dev/full", "w");
    });
    afterAll(() => closeSync(full));
    beforeEach(async () => {
      service = await startForeignService({ people: 30 });
      u = user(service.url, service.key);
    });
    afterEach(() => service.close());

    const toFull = (...argv: string[]): Promise<Spawned> => spawnUser(u, argv, {}, full);

    test.each(["csv", "json", "table"])(
      "search as %s: exit 5, and resume writes them without buying again",
      async (format) => {
        const ran = await toFull("search", "--country", "x", "--yes", "--format", format);
        const [run] = runIds(u);
        expect(ran.code).toBe(5);
        expect(ran.stderr).not.toContain("Exported");
        expect(ran.stderr).toContain("the disk is full");
        expect(ran.stderr).toContain(`30 of 30 rows are paid for and kept in run ${run}`);
        expect(ran.stderr).toContain(`headcount resume ${run}`);
        const resumed = await u.run(["resume"]);
        expect({
          code: resumed.code,
          rows: resumed.stdout.length > 0,
          charged: service.charged(),
        }).toEqual({
          code: 0,
          rows: true,
          charged: 30,
        });
      },
    );

    test("an agent's server whose answers nobody takes ends as every command, and at once", async () => {
      const child = spawn(execPath, [BIN, "mcp"], {
        cwd: u.dir,
        env: { PATH: process.env.PATH ?? "", ...u.env },
        stdio: ["pipe", full, "pipe"],
      });
      const hello = {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      };
      child.stdin?.write(
        `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`,
      );
      const [[code], stderr] = await Promise.all([
        once(child, "close"),
        text(child.stderr as Readable),
      ]);
      expect({ code, stderr }).toEqual({
        code: 5,
        stderr: expect.stringContaining("the disk is full"),
      });
    });

    /** Ends with its code, and what it left on the disk. */
    async function onDisk(size: string, argv: readonly string[]) {
      const disk = u.file("disk");
      mkdirSync(disk);
      const mounted = `mount -t tmpfs -o size=${size} none "$0" && { "$@"; code=$?; find . -path "./disk/*" -type f -size +0; exit $code; }`;
      const child = spawn("unshare", ["-rm", "sh", "-c", mounted, disk, execPath, BIN, ...argv], {
        cwd: u.dir,
        env: { PATH: process.env.PATH ?? "", ...u.env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [[code], left, stderr] = await Promise.all([
        once(child, "close"),
        text(child.stdout),
        text(child.stderr),
      ]);
      return { code, left, stderr };
    }

    describe.skipIf(spawnSync("unshare", ["-rm", "true"]).status !== 0)("on a full disk", () => {
      // What DuckDB cannot write any more when it closes a file, it does not tell.
      test.each([
        ["Parquet", "disk/o.parquet", "4k"],
        ["a table of DuckDB that has no room for its head", "duckdb:disk/o.duckdb#people", "4k"],
        ["a table of DuckDB that has none for its rows", "duckdb:disk/o.duckdb#people", "64k"],
      ])(
        "%s: exit 5, nothing is left there, and what was paid goes elsewhere",
        async (_, to, size) => {
          const ended = await onDisk(size, ["search", "--country", "x", "--yes", "-o", to]);
          expect(ended).toMatchObject({ code: 5, left: "" });

          await u.ran(["runs", "export", "last", "-o", to]);
          expect(service.charged()).toBe(30);
        },
      );

      test("an import: exit 5, and the dataset is as it was", async () => {
        writeFileSync(u.file("people.csv"), "id,name\n1,Ada\n");
        const argv = ["service", "import", "--people", "people.csv", "--data", "disk/data"];
        const { code, stderr } = await onDisk("16k", argv);
        expect(stderr).toContain("the disk is full; the dataset is as it was before");
        expect(code).toBe(5);
      });
    });

    test.each([
      ["a single look-up", ["enrich", "globex.example", "--yes", "--json"]],
      ["a receipt", ["search", "--country", "x", "--yes", "-o", "o.csv", "--json"]],
    ])("%s: exit 5, and the hint writes it", async (_, argv) => {
      const ran = await toFull(...argv);
      const [run = ""] = runIds(u);
      expect(ran.code).toBe(5);
      expect(ran.stderr).toContain(`kept in run ${run}`);
      expect(ran.stderr).toContain(`headcount runs export ${run}`);
      expect(ran.stderr).not.toContain("run it again");
      const spent = service.charged();
      await u.ran(["runs", "export", run, "--format", "ndjson"]);
      expect(service.charged()).toBe(spent);
    });

    test("what stderr does not take ends nothing: the export is whole, and so is the exit code", async () => {
      const argv = asTyped`search --country x --yes -o o.csv --per-page 10 --verbose`;
      const ran = await spawnUser(u, argv, {}, "pipe", full);
      expect({ code: ran.code, charged: service.charged() }).toEqual({ code: 0, charged: 30 });
      expect(u.read("o.csv").match(/^\d+,/gm)?.length).toBe(30);
    });

    test("what was paid for and could not be written goes elsewhere for nothing", async () => {
      service.options.version = () => "v1";
      const argv = ["search", "--country", "x", "--max-credits", "30"];
      expect([(await toFull(...argv)).code, service.charged()]).toEqual([5, 30]);
      const ran = await u.run([...argv, "-o", "o.csv"]);
      expect([ran.code, service.charged()], ran.stderr).toEqual([0, 30]);
      expect(u.read("o.csv").match(/^\d+,/gm)?.length).toBe(30);
    });
  },
);

const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;

/** What others may read or enter, below a folder that nobody else can enter. */
function open(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below)).flatMap((name) => {
    const path = join(below, name);
    const stat = lstatSync(join(folder, path));
    const found = (stat.mode & 0o077) === 0 ? [] : [path];
    // What is inside a closed folder is closed.
    return stat.isDirectory() && found.length > 0 ? [...found, ...open(folder, path)] : found;
  });
}

describe.skipIf(isLeftOut(HAS_STRACE))(
  "files with people in them, under umask 000 and killed at every step",
  () => {
    let service: ForeignService;
    let u: User;
    beforeAll(async () => {
      service = await startForeignService({ people: 50 });
      u = user(service.url, service.key);
      await u.ran(["search", "--country", "x", "--yes", "-o", "first.csv"]);
    });
    afterAll(() => service.close());

    const exported = (file: string, inject: readonly string[]) =>
      spawnSync(
        "sh",
        [
          "-c",
          'umask 000; exec strace -f -qq -o /dev/null "$@"',
          "sh",
          ...["-e", "trace=rename,renameat,renameat2,link,linkat,fchmod,mkdir,unlink", ...inject],
          ...[execPath, BIN, "runs", "export", "last", "-o", file, "--overwrite"],
        ],
        { cwd: u.dir, env: { ...process.env, ...u.env }, encoding: "utf8" },
      );

    test.each(["e.parquet", "e.csv"])("%s", (file) => {
      let killed = 0;
      for (const call of ["mkdir", "fchmod", "rename", "link"]) {
        for (let at = 1; at <= 4; at++) {
          const ran = exported(file, ["-e", `inject=${call}:signal=SIGKILL:when=${at}`]);
          expect(open(u.dir), `${call} ${at}`).toEqual([]);
          if (ran.status === 0) break;
          killed++;
        }
      }
      expect(killed).toBeGreaterThan(0);
      expect(exported(file, []).status).toBe(0);
      expect(modeOf(u.file(file))).toBe("600");
      expect(readdirSync(u.dir).filter((name) => /part|scratch|tmp/.test(name))).toEqual([]);
    });
  },
);

const CALLS = "trace=open,openat,creat,mkdir,mkdirat,chmod,fchmod,fchmodat";

/** Paths that a trace saw made below a folder, with the mode that was asked for; under umask 000 it is the mode they had. */
function made(trace: string, below: string): { readonly path: string; readonly mode: number }[] {
  return trace.split("\n").flatMap((line) => {
    const [, path = "", mode = ""] =
      /(?:openat|open)\([^"]*"([^"]+)", [^)]*O_CREAT[^)]*, (0\d*)\) += \d/.exec(line) ??
      /(?:mkdir|mkdirat|creat)\([^"]*"([^"]+)", (0\d*)\) += \d/.exec(line) ??
      [];
    const whole = resolve(below, path);
    return path !== "" && whole.startsWith(`${below}/`)
      ? [{ path: whole, mode: Number.parseInt(mode, 8) }]
      : [];
  });
}

describe.skipIf(isLeftOut(HAS_STRACE))(
  "nothing with personal data is ever readable by others, not for a moment",
  () => {
    let service: TestService;
    let u: User;
    beforeAll(async () => {
      service = await startTestService({ people: 2_000, credits: 100_000 });
      u = user(service.url, service.key);
      writeFileSync(u.file("companies.txt"), "helix-wave.example\nnosuch.example\n");
    });
    afterAll(() => service.close());

    test.each([
      [
        "a CSV file with its receipt",
        "search --all --limit 60 --per-page 20 --yes -o people.csv --receipt receipt.json",
      ],
      ["a Parquet file", "search --all --limit 30 --yes -o people.parquet"],
      ["a pipe", "search --all --limit 20 --yes"],
      [
        "companies, and what was not found",
        "enrich --input companies.txt --yes -o companies.csv --misses misses.txt",
      ],
      ["a run that is written again", "runs export last -o again.ndjson"],
      ["a run that is removed", "runs remove last --yes"],
    ])(
      "%s",
      async (_, words) => {
        const trace = u.file("trace");
        // What earlier commands made: opening it makes nothing, and a folder that was closed stays so.
        const there = readdirSync(u.dir, { recursive: true, encoding: "utf8" }).map((name) =>
          join(u.dir, name),
        );
        const command = asTyped`
          -f -qq -e ${CALLS} -o ${trace} ${process.execPath} ${BIN} ${words.split(" ")}
        `;
        const child = spawn("sh", ["-c", 'umask 000; exec strace "$@"', "sh", ...command], {
          cwd: u.dir,
          env: { PATH: process.env.PATH ?? "", ...u.env },
          stdio: ["ignore", openSync("/dev/null", "w"), "ignore"],
        });
        expect(await new Promise((done) => child.on("close", done))).toBe(0);
        const all = made(readFileSync(trace, "utf8"), u.dir);
        const seen = all.filter(({ path }) => !there.includes(path));
        expect(all.length).toBeGreaterThan(0);
        const folders = there.filter(
          (path) => existsSync(path) && (statSync(path).mode & 0o777) === 0o700,
        );
        const closed = new Set([
          ...folders,
          ...seen.filter(({ mode }) => mode === 0o700).map(({ path }) => path),
        ]);
        const isInside = (path: string): boolean =>
          path !== u.dir && (closed.has(dirname(path)) || isInside(dirname(path)));
        expect(seen.filter(({ path, mode }) => (mode & 0o077) !== 0 && !isInside(path))).toEqual(
          [],
        );
        const own = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;
        expect(
          readdirSync(u.dir, { recursive: true, encoding: "utf8" })
            .filter((name) => !["trace", "companies.txt"].includes(name))
            .filter((name) => own(join(u.dir, name))),
        ).toEqual([]);
      },
      60_000,
    );
  },
);

test.skipIf(process.platform === "win32")(
  "a pipe that nobody writes into holds no command beyond SIGTERM; one that somebody does is read",
  () => {
    const u = user("http://127.0.0.1:9", "hc_test_nobody");
    spawnSync("mkfifo", [u.file("p")]);
    const options = { cwd: u.dir, env: { PATH: process.env.PATH ?? "", ...u.env } };
    const ran = spawnSync(
      "timeout",
      ["-k", "20", "3", execPath, BIN, "suppress", "import", "p"],
      options,
    );
    expect([ran.status, `${ran.stderr}`]).toEqual([124, "error: interrupted\n"]);

    const script = `echo acme.example > p & '${execPath}' '${BIN}' suppress import p`;
    const read = spawnSync("bash", ["-c", script], options);
    expect([read.status, `${read.stderr}`]).toEqual([0, expect.stringContaining("added 1 entry")]);
  },
  60_000,
);
