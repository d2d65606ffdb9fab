import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { backUp, type Manifest, restoreBackup } from "../../../src/service/admin/backup.ts";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../../src/service/ledger/sqlite-file.ts";
import { everyNth, LONG } from "../../support/campaign.ts";
import { tempDir } from "../../support/client.ts";
import { ACCOUNT, answer, c, fund, held } from "../../support/store.ts";
import { isLeftOut } from "../../support/tools.ts";
import {
  checkLedger,
  countCalls,
  eachPoint,
  HAS_STRACE,
  type Line,
  report,
  runLife,
} from "./rig.ts";

const BIN = resolve(import.meta.dirname, "../../../bin/headcount.js");
const CALLS = [
  "pwrite64",
  "fsync",
  "rename",
  "link",
  "mkdir",
  "unlink",
  "rmdir",
  "copy_file_range",
  "sendfile",
];

/** Runs a command of the built program under strace. @param when the position of the call at whose entry it is killed */
function run(
  argv: readonly string[],
  call: string,
  when?: number,
): { calls: number; killed: boolean } {
  const trace = join(tempDir(), "trace");
  const what = when === undefined ? `trace=${call}` : `inject=${call}:signal=SIGKILL:when=${when}`;
  const { signal, status, stderr } = spawnSync(
    "strace",
    ["-f", "-qq", "-o", trace, "-e", what, process.execPath, BIN, "service", ...argv],
    { encoding: "utf8", env: { PATH: process.env.PATH, HOME: tempDir() } },
  );
  if (signal === null && status !== 0 && status !== 137)
    throw new Error(`${argv.join(" ")}: ${stderr}`);
  const calls = readFileSync(trace, "latin1")
    .split("\n")
    .filter((line) => line.includes(` ${call}(`)).length;
  return { calls, killed: signal !== null || status === 137 };
}

const WRITES = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink"];

describe.skipIf(isLeftOut(HAS_STRACE))(
  "a backup of a ledger whose process is in the middle of a write",
  () => {
    it("restores to all that was acknowledged by then, or is refused while the file is its process's alone", {
      timeout: 3_600_000,
    }, async () => {
      const life = LONG ? { rounds: 3, width: 6 } : { rounds: 1, width: 3 };
      const trace = `trace=${WRITES.join(",")}`;
      const whole = await runLife(life, [trace]);
      const total = WRITES.reduce((sum, call) => sum + countCalls(whole.trace, call), 0);
      whole.remove();
      const figures = { points: 0, restored: 0, refused: 0, acknowledged: 0 };
      const problems: string[] = [];
      await eachPoint(total, everyNth(total / 12), async (when) => {
        figures.points += 1;
        const stopped = async (path: string, lines: readonly Line[]): Promise<void> => {
          const place = tempDir();
          const [to, dir] = [join(place, "backup"), join(place, "data")];
          const acknowledged = lines.filter(({ ack }) => ack !== undefined).length;
          try {
            await backUp({ dir: dirname(path), ledger: path, to, now: Date.now });
          } catch (error) {
            figures.refused += 1;
            // Before its account is there, and where its process has locked everybody out, to begin with it or to leave it.
            const soon = acknowledged < 2 || lines.some((line) => line.try?.kind === "close");
            if (!soon) problems.push(`call ${when}: ${error}`);
            if (existsSync(to))
              problems.push(`call ${when}: something of a refused backup is there`);
            return;
          }
          await restoreBackup({ from: to, dir, now: Date.now, actor: "me" });
          figures.restored += 1;
          figures.acknowledged += acknowledged;
          for (const problem of await checkLedger(join(dir, "ledger.db"), lines, true))
            problems.push(`call ${when}: ${problem}`);
          rmSync(place, { recursive: true });
        };
        const inject = `inject=${WRITES.join(",")}:signal=SIGSTOP:when=${when}`;
        const { lines, path, remove, stderr } = await runLife(life, [trace, inject], [], {
          stopped,
        });
        // The backup was in nobody's way.
        if (lines.at(-1)?.ack?.kind !== "close")
          problems.push(`call ${when}: the life did not go on: ${stderr}`);
        for (const problem of await checkLedger(path, lines, true))
          problems.push(`call ${when}, afterwards: ${problem}`);
        remove();
      });
      report("backups in the middle of a write", {
        calls: total,
        ...figures,
        problems: problems.length,
      });
      expect(problems).toEqual([]);
      expect(figures.restored).toBeGreaterThan(figures.points / 2);
    });
  },
);

describe.skipIf(isLeftOut(HAS_STRACE))("a backup and a restore that are killed", () => {
  it("are whole or not there, hurt nothing, and are done by the same command again", {
    timeout: 3_600_000,
  }, async () => {
    const data = tempDir();
    const path = join(data, "ledger.db");
    const store = await openSqliteStore({ path, now: Date.now });
    await fund(store, 100);
    await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
    const place = tempDir();
    const whole = join(place, "whole");
    let points = 0;
    let killed = 0;
    const check = async (target: string, argv: readonly string[]): Promise<void> => {
      if (existsSync(target)) {
        expect((await verifySqliteFile(join(target, "ledger.db"))).breaches).toEqual([]);
        rmSync(target, { recursive: true });
      } else {
        run(argv, "rename");
        expect((await verifySqliteFile(join(target, "ledger.db"))).breaches).toEqual([]);
        expect(existsSync(`${target}.part`)).toBe(false);
        rmSync(target, { recursive: true });
      }
    };
    run(["backup", whole, "--data", data], "rename");
    const { head } = JSON.parse(readFileSync(join(whole, "backup.json"), "utf8")) as Manifest;
    for (const [name, argv] of [
      ["backup", ["backup", join(place, "made"), "--data", data]],
      ["restore", ["restore", whole, "--data", join(place, "made")]],
    ] as const) {
      for (const call of CALLS) {
        const { calls } = run(argv, call);
        rmSync(join(place, "made"), { recursive: true });
        const step = everyNth(Math.max(1, Math.ceil(calls / 2)));
        for (let when = 1; when <= calls; when += step) {
          points += 1;
          if (run(argv, call, when).killed) killed += 1;
          await check(join(place, "made"), argv);
        }
      }
      report(`${name} killed`, { points, killed });
    }
    expect(killed).toBeGreaterThan(10);
    expect(await store.verify()).toEqual([]);
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(97));
    expect((await store.ends()).head).toBe(head);
    await store.close();
  });
});
