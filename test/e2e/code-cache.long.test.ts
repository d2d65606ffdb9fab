import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
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
import { join, resolve } from "node:path";
import { versions } from "node:process";
import { beforeEach, describe, expect, test } from "vitest";
import { tempDir } from "../support/client.ts";

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
