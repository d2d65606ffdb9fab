import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { modeOf, type User, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { isLeftOut } from "../support/tools.ts";

const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");
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
      expect((await u.run(["search", "--country", "x", "--yes", "-o", "first.csv"])).code).toBe(0);
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
