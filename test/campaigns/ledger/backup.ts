import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect } from "vitest";
import { backUp, type Manifest, restoreBackup } from "../../../src/service/admin/backup.ts";
import { endsOf } from "../../../src/service/ledger/chain/check.ts";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../../src/service/ledger/sqlite-file.ts";
import { tempDir } from "../../support/client.ts";
import { ACCOUNT, answer, c, fund, held } from "../../support/store.ts";
import { ALL, type Campaign, type Course, stepOver } from "../campaign.ts";
import {
  checkLedger,
  countCalls,
  eachPoint,
  HAS_STRACE,
  type Line,
  runLife,
  throwAll,
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
const TRACE = `trace=${WRITES.join(",")}`;

interface Figures {
  points: number;
  restored: number;
  refused: number;
  acknowledged: number;
}

/** What a backup that is made and restored while a process stands still in a write does not have. */
async function backUpMeanwhile(
  path: string,
  lines: readonly Line[],
  figures: Figures,
  isBroken: boolean,
): Promise<readonly string[]> {
  const place = tempDir();
  const [to, dir] = [join(place, "backup"), join(place, "data")];
  const acknowledged = lines.filter(({ ack }) => ack !== undefined).length;
  try {
    if (isBroken) {
      // What `cp` copies, without the log.
      mkdirSync(dir);
      copyFileSync(path, join(dir, "ledger.db"));
    } else await backUp({ dir: dirname(path), ledger: path, to, now: Date.now });
  } catch (error) {
    figures.refused += 1;
    const problems: string[] = [];
    // Before its account is there, and where its process has locked everybody out, to begin with it or to leave it.
    const isSoon = acknowledged < 2 || lines.some((line) => line.try?.kind === "close");
    if (!isSoon) problems.push(String(error));
    if (existsSync(to)) problems.push("something of a refused backup is there");
    return problems;
  }
  if (!isBroken) await restoreBackup({ from: to, dir, now: Date.now, actor: "me" });
  figures.restored += 1;
  figures.acknowledged += acknowledged;
  const problems = await checkLedger(join(dir, "ledger.db"), lines, true);
  rmSync(place, { recursive: true });
  return problems;
}

async function playMiddles(course: Course): Promise<Figures> {
  const options = course.isWhole ? { rounds: 3, width: 6 } : { rounds: 1, width: 3 };
  const whole = await runLife(options, [TRACE]);
  const total = WRITES.reduce((sum, call) => sum + countCalls(whole.trace, call), 0);
  whole.remove();

  const figures: Figures = { points: 0, restored: 0, refused: 0, acknowledged: 0 };
  const problems: string[] = [];
  await eachPoint(total, stepOver(total, course), async (when) => {
    figures.points += 1;
    const stopped = async (path: string, lines: readonly Line[]): Promise<void> => {
      for (const problem of await backUpMeanwhile(path, lines, figures, course.isBroken))
        problems.push(`call ${when}: ${problem}`);
    };
    const inject = `inject=${WRITES.join(",")}:signal=SIGSTOP:when=${when}`;
    const life = await runLife(options, [TRACE, inject], [], { stopped });
    // The backup was in nobody's way.
    if (life.lines.at(-1)?.ack?.kind !== "close")
      problems.push(`call ${when}: the life did not go on: ${life.stderr}`);
    for (const problem of await checkLedger(life.path, life.lines, true))
      problems.push(`call ${when}, afterwards: ${problem}`);
    life.remove();
  });

  throwAll(problems);
  expect(figures.restored).toBeGreaterThan(figures.points / 2);
  return figures;
}

/** A backup and a restore are killed: they are whole or not there, hurt nothing, and are done by the same command again. */
async function playKills(course: Course): Promise<{ points: number; killed: number }> {
  const data = tempDir();
  const store = await openSqliteStore({ path: join(data, "ledger.db"), now: Date.now });
  await fund(store, 100);
  await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
  const place = tempDir();
  const [whole, made] = [join(place, "whole"), join(place, "made")];
  run(["backup", whole, "--data", data], "rename");
  const { head } = JSON.parse(readFileSync(join(whole, "backup.json"), "utf8")) as Manifest;

  const commands = [
    ["backup", made, "--data", data],
    ["restore", whole, "--data", made],
  ] as const;
  const calls = course.isWhole ? CALLS : ["rename"];
  let [points, killed] = [0, 0];
  for (const argv of course.isWhole ? commands : commands.slice(0, 1)) {
    for (const call of calls) {
      const { calls: total } = run(argv, call);
      rmSync(made, { recursive: true });
      for (let when = 1; when <= total; when += stepOver(total, { ...course, cases: 1 })) {
        points += 1;
        if (run(argv, call, when).killed) killed += 1;
        if (!existsSync(made)) run(argv, "rename");
        expect((await verifySqliteFile(join(made, "ledger.db"))).breaches).toEqual([]);
        expect(existsSync(`${made}.part`)).toBe(false);
        rmSync(made, { recursive: true });
      }
    }
  }

  expect(killed).toBeGreaterThan(course.isWhole ? 10 : 0);
  expect(await store.verify()).toEqual([]);
  expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(97));
  expect((await store.look(endsOf())).head).toBe(head);
  await store.close();
  return { points, killed };
}

export const backup: Campaign = {
  name: "backup",
  seed: 1,
  cases: { quick: 2, whole: ALL },
  canRun: HAS_STRACE,
  control: { without: "the log of the ledger that is copied", seen: /LOST: / },

  async run(course) {
    const figures = await playMiddles(course);
    const { killed, points } = await playKills(course);
    return { ...figures, kill_points: points, killed };
  },
};
