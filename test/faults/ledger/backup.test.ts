import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { Manifest } from "../../../src/service/backup.ts";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../../src/service/ledger/sqlite-file.ts";
import { everyNth } from "../../support/campaign.ts";
import { tempDir } from "../../support/client.ts";
import { ACCOUNT, answer, c, fund, held } from "../../support/store.ts";
import { HAS_STRACE, report } from "./rig.ts";

const BIN = resolve(import.meta.dirname, "../../../bin/headcount.js");
const CALLS = ["pwrite64", "fsync", "rename", "link", "mkdir", "unlink", "rmdir", "copy_file_range", "sendfile"];

/** Runs a command of the built program under strace. @param when the position of the call at whose entry it is killed */
function run(argv: readonly string[], call: string, when?: number): { calls: number; killed: boolean } {
  const trace = join(tempDir(), "trace");
  const what = when === undefined ? `trace=${call}` : `inject=${call}:signal=SIGKILL:when=${when}`;
  const { signal, status, stderr } = spawnSync(
    "strace",
    ["-f", "-qq", "-o", trace, "-e", what, process.execPath, BIN, "service", ...argv],
    { encoding: "utf8", env: { PATH: process.env.PATH, HOME: tempDir() } },
  );
  if (signal === null && status !== 0 && status !== 137) throw new Error(`${argv.join(" ")}: ${stderr}`);
  const calls = readFileSync(trace, "latin1")
    .split("\n")
    .filter((line) => line.includes(` ${call}(`)).length;
  return { calls, killed: signal !== null || status === 137 };
}

describe.skipIf(!HAS_STRACE)("a backup and a restore that are killed", () => {
  it("are whole or not there, hurt nothing, and are done by the same command again", {
    timeout: 1_200_000,
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
    expect(await store.head()).toBe(head);
    await store.close();
  });
});
