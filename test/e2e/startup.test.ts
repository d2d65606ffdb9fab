import { execFile, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { versions } from "node:process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { tempDir } from "../support/client.ts";
import { startTestService, type TestService } from "../support/service.ts";

/**
 * What a command loads is pinned: most of what a person feels of a command is its start-up, and one import too many is found here
 * before it is found by a stopwatch.
 */
const ROOT = pathToFileURL(`${resolve(import.meta.dirname, "../..")}/`).href;
const BIN = new URL("bin/headcount.js", ROOT).pathname;
const folder = mkdtempSync(join(tmpdir(), "headcount-startup-"));
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: folder,
  HEADCOUNT_API_KEY: service.key,
  HEADCOUNT_BASE_URL: service.url,
});

/** Files of ours and of packages that a command line loads, CommonJS and ES modules alike: V8's coverage names every script. */
async function loaded(name: string, argv: readonly string[]): Promise<string> {
  const coverage = join(folder, name);
  await promisify(execFile)(process.execPath, [BIN, ...argv], {
    env: { ...environment(), NODE_V8_COVERAGE: coverage },
  });
  const files = new Set<string>();
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8")) as {
      result: { url: string }[];
    };
    for (const { url } of result) {
      if (!url.startsWith(ROOT)) continue;
      const path = url.slice(ROOT.length);
      // A package is named, not each of its files; a chunk of the bundle goes without its hash.
      const inPackage = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
      files.add(inPackage ? `package ${inPackage[1]}` : path.replace(/-[\w-]{8}\.cjs$/, ".cjs"));
    }
  }
  return `${[...files].sort().join("\n")}\n`;
}

describe("what cannot be written", () => {
  const run = (line: string) =>
    promisify(execFile)(
      "bash",
      ["-c", line.replaceAll("headcount ", `"${process.execPath}" "${BIN}" `)],
      {
        // A folder of its own: what is kept there is not looked for at a first start.
        env: { ...environment(), HOME: join(folder, "writing") },
      },
    ).then(
      () => ({ code: 0, stderr: "" }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
    );

  // One of each way to print: without the program, of the program's help, of a command, of a list.
  test.each(["--version", "--help", "help count", "count --by department"])(
    "%s to a full disk is exit 5 and says so",
    async (argv) => {
      const { code, stderr } = await run(`headcount ${argv} > /dev/full`);
      expect({ code, stderr }).toMatchObject({
        code: 5,
        stderr: expect.stringMatching(/^error: the disk is full: ENOSPC/m),
      });
      expect(stderr).not.toMatch(/bug|node:|at /);
    },
  );

  test("a reader that is gone is exit 141 and not a word", async () => {
    for (const argv of ["--version", "account"]) {
      // The reader is gone before the first byte.
      const { code, stderr } = await run(
        `(sleep 0.2; headcount ${argv}; echo "$?" > '${folder}/code') | true; exit $(cat '${folder}/code')`,
      );
      expect({ argv, code, stderr }).toEqual({ argv, code: 141, stderr: "" });
    }
  });

  test("a purchase whose rows cannot be written keeps them, says how to go on, and calls nothing exported", async () => {
    const search = await run("headcount search --department Legal --limit 3 --yes > /dev/full");
    expect(search.code).toBe(5);
    expect(search.stderr).toMatch(/error: the disk is full/);
    expect(search.stderr).toMatch(/rows are paid for and kept in run \S+\n/);
    expect(search.stderr).toMatch(/hint: headcount resume \S+ goes on/);
    const { json } = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 50 },
    });
    const domain = (json.result as Person[]).find(
      ({ company_domain }) => company_domain,
    )?.company_domain;
    const enrich = await run(`headcount enrich ${domain} > /dev/full`);
    expect(enrich).toMatchObject({ code: 5 });
    expect(enrich.stderr).not.toContain("Exported");
  });
});

describe("what is loaded", () => {
  test("--version loads nothing", async () => {
    expect(await loaded("version", ["--version"])).toBe("bin/headcount.js\n");
  });

  test("--help loads nothing: the build has written it", async () => {
    expect(await loaded("help", ["--help"])).toBe("bin/headcount.js\n");
  });

  test("the help of a command loads its file and no package", async () => {
    const files = await loaded("count-help", ["help", "count"]);
    expect(files).not.toContain("package");
    await expect(files).toMatchFileSnapshot("startup/count-help.txt");
  });

  test("what the build wrote is the help that the program prints", async () => {
    const written = (await promisify(execFile)(process.execPath, [BIN, "--help"])).stdout;
    const printed = (await promisify(execFile)(process.execPath, [BIN, "--no-color", "--help"]))
      .stdout;
    expect(written).toEqual(printed);
  });

  test("count loads no package", async () => {
    const files = await loaded("count", ["count", "--department", "Sales"]);
    expect(files).not.toContain("package");
    await expect(files).toMatchFileSnapshot("startup/count.txt");
  });

  test("of Node itself count loads neither TLS nor cryptography nor child processes", async () => {
    const list = join(folder, "modules.txt");
    const preload = join(folder, "preload.cjs");
    writeFileSync(
      preload,
      `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join("\\n")));`,
    );
    await promisify(execFile)(process.execPath, [BIN, "count", "--department", "Sales"], {
      env: { ...environment(), NODE_OPTIONS: `--require=${preload}` },
    });
    const modules = readFileSync(list, "utf8").split("\n");
    expect(modules).toContain("NativeModule http");
    for (const name of ["tls", "https", "crypto", "child_process", "zlib", "worker_threads"]) {
      expect(modules).not.toContain(`NativeModule ${name}`);
    }
  });
});

describe("started in a folder that is gone", () => {
  /** Exit code, stdout and stderr of a command line there. */
  async function there(...argv: string[]): Promise<readonly unknown[]> {
    const gone = mkdtempSync(join(tmpdir(), "headcount-gone-"));
    const script = 'rmdir "$0" && exec "$@"';
    const options = { cwd: gone, env: environment() };
    const ran = promisify(execFile)(
      "/bin/sh",
      ["-c", script, gone, process.execPath, BIN, ...argv],
      options,
    );
    return ran.then(
      ({ stdout, stderr }) => [0, stdout, stderr],
      ({ code, stdout, stderr }) => [code, stdout, stderr],
    );
  }

  test("what needs no folder runs, and a path in it is refused before anything is bought", async () => {
    expect(await there("count", "--department", "Sales")).toEqual([
      0,
      expect.stringMatching(/^\d+\n$/),
      "",
    ]);
    const [code, stdout, stderr] = await there(
      "search",
      "--department",
      "Sales",
      "--max-credits",
      "1",
      "-o",
      "p.csv",
    );
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("the folder that this was started in is gone");
    expect(stderr).not.toContain("bug");
  });
});

describe("the code cache", { tags: ["long"] }, () => {
  const PROGRAM = resolve(import.meta.dirname, "../../bin/headcount.js");
  const COMMAND = [PROGRAM, "filters", "department"];

  describe("the code that is kept for the next start", () => {
    let home: string;
    let base: string;
    let env: Record<string, string | undefined>;
    beforeEach(() => {
      home = tempDir("headcount-code-");
      base = join(home, ".cache/headcount");
      env = { PATH: process.env.PATH, HOME: home };
    });

    const run = (...flags: string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, ...COMMAND], {
        env,
        encoding: "utf8",
      });
      return { status, stdout, stderr };
    };
    const folderOf = (): string =>
      join(
        base,
        readdirSync(base).find((name) => name.startsWith(`code-${versions.node}`)) ?? "none",
      );
    const files = (): string[] => readdirSync(folderOf()).map((name) => join(folderOf(), name));
    const plain = (): ReturnType<typeof run> => {
      env.NODE_DISABLE_COMPILE_CACHE = "1";
      const ran = run();
      delete env.NODE_DISABLE_COMPILE_CACHE;
      return ran;
    };

    test("is written by the first start, for its owner alone, used by the second, and changes nothing that is printed", () => {
      const expected = plain();
      expect(existsSync(base)).toBe(false);
      expect(run()).toEqual(expected);
      expect(statSync(folderOf()).mode & 0o777).toBe(0o700);
      const written = files().map((path) => [path, statSync(path).ino]);
      expect(written.length).toBeGreaterThan(0);
      expect(run()).toEqual(expected);
      expect(files().map((path) => [path, statSync(path).ino])).toEqual(written);
    });

    test("what V8 does not take is made again: a cut file, an empty one, one of other flags", () => {
      const expected = run();
      const [cut = "", empty = ""] = files();
      truncateSync(cut, statSync(cut).size >> 1);
      writeFileSync(empty, "");
      expect(run()).toEqual(expected);
      expect(statSync(cut).size).toBeGreaterThan(1000);
      expect(statSync(empty).size).toBeGreaterThan(1000);
      const written = (): number[] => files().map((path) => statSync(path).mtimeMs);
      for (const flags of [["--no-opt", "--max-lazy"], ["--stack-size=500"], []]) {
        const before = written();
        expect(run(...flags)).toEqual(expected);
        const made = written();
        expect(made).toHaveLength(before.length);
        expect(Math.min(...made), flags.join(" ")).toBeGreaterThan(Math.max(...before));
        expect(run(...flags)).toEqual(expected);
        expect(written()).toEqual(made);
      }
    });

    test.runIf(process.getuid?.() === 0)(
      "a folder of somebody else, or that others may write, is neither read nor written",
      () => {
        const expected = run();
        const paths = files();
        for (const path of paths) writeFileSync(path, "not to be read");
        const untouched = (): void => {
          expect(run()).toEqual(expected);
          expect(files()).toEqual(paths);
          expect(paths.every((path) => readFileSync(path, "utf8") === "not to be read")).toBe(true);
        };
        for (const folder of [folderOf(), base]) {
          chownSync(folder, 65534, 65534);
          untouched();
          chownSync(folder, 0, 0);
          chmodSync(folder, 0o777);
          untouched();
          chmodSync(folder, 0o700);
        }
      },
    );

    test("a home that cannot be written, or is a file, or is not there, is no matter", () => {
      const expected = plain();
      mkdirSync(join(home, "shut"), { mode: 0o500 });
      writeFileSync(join(home, "file"), "");
      // Root may write what is shut; nobody may write what the kernel shows.
      for (const cache of [
        join(home, "shut"),
        join(home, "file"),
        "/sys",
        "/proc/1/nothing",
        "relative",
        "",
      ]) {
        env.XDG_CACHE_HOME = cache;
        env.HOME = cache === "" ? "" : home;
        expect(run()).toEqual(expected);
      }
    });

    test.runIf(process.getuid?.() === 0)("in a home of somebody else no folder is made", () => {
      const expected = plain();
      chownSync(home, 65534, 65534);
      expect(run()).toEqual(expected);
      expect(readdirSync(home)).toEqual([]);
    });

    test("what this program did not write stays, and a link to a folder is no cache", () => {
      const theirs = join(home, "theirs");
      const aged = (...names: string[]): string => {
        const path = join(theirs, ...names);
        mkdirSync(path, { recursive: true, mode: 0o700 });
        return path;
      };
      const old = "code-20.19.0-x64-17-3155-1577836800000";
      writeFileSync(join(aged("code-review"), "notes.md"), "theirs");
      writeFileSync(join(aged(old), "main-1.cjs"), "");
      writeFileSync(join(aged(old), "notes.md"), "theirs");
      for (const name of ["code-review", old])
        utimesSync(join(theirs, name), new Date(2020, 1, 1), new Date(2020, 1, 1));

      mkdirSync(join(home, ".cache"));
      symlinkSync(theirs, base);
      expect(run()).toEqual(plain());
      expect(readdirSync(theirs).sort()).toEqual([old, "code-review"].sort());
      expect(existsSync(join(theirs, old, "main-1.cjs"))).toBe(true);

      // In a folder that is ours: only what is ours by its name goes.
      rmSync(base);
      renameSync(theirs, base);
      expect(run()).toEqual(plain());
      expect(existsSync(join(base, "code-review", "notes.md"))).toBe(true);
      expect(readdirSync(join(base, old))).toEqual(["notes.md"]);
    });

    test("two first starts at once leave whole files and nothing beside them; code of old builds goes", async () => {
      const old = join(base, "code-20.19.0-x64-17-3155-1577836800000");
      mkdirSync(old, { recursive: true, mode: 0o700 });
      utimesSync(old, new Date(2020, 1, 1), new Date(2020, 1, 1));
      const started = [1, 2, 3, 4].map(
        () =>
          new Promise<number | null>((ended) =>
            spawn(process.execPath, COMMAND, { env, stdio: "ignore" }).once("close", ended),
          ),
      );
      expect(await Promise.all(started)).toEqual([0, 0, 0, 0]);
      expect(existsSync(old)).toBe(false);
      expect(files().filter((path) => !path.endsWith(".cjs"))).toEqual([]);
      expect(run()).toEqual(plain());
    });
  });
});
