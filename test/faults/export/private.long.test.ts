import { spawn, spawnSync } from "node:child_process";
import { existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asTyped } from "../../support/as-typed.ts";
import { type User, user } from "../../support/export.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { BIN } from "../../support/spawned.ts";
import { isLeftOut } from "../../support/tools.ts";

const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;
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
    }, 60_000);
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
