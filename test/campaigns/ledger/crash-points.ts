import { expect } from "vitest";
import { ALL, type Campaign, stepOver } from "../campaign.ts";
import {
  checkLedger,
  countCalls,
  eachPoint,
  HAS_STRACE,
  type LifeOptions,
  runLife,
  throwAll,
} from "./rig.ts";

// The process is killed at the entry of its Nth system call that changes or syncs the ledger's files, for N = 1 until the run gets
// through. Between two such calls nothing changes on the disk, so this is before and after each of them.
const CALLS = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink"] as const;

export const crashPoints: Campaign = {
  name: "crash-points",
  seed: 1,
  cases: { quick: 2, whole: ALL },
  canRun: HAS_STRACE,
  control: { without: "that nothing is acknowledged before its commit", seen: /LOST: / },

  async run(course) {
    const options: LifeOptions = course.isWhole ? { rounds: 3, width: 6 } : { rounds: 1, width: 3 };
    const life = course.isBroken ? { ...options, lies: "early" as const } : options;
    const trace = `trace=${CALLS.join(",")}`;
    const whole = await runLife(options, [trace]);
    expect(whole.lines.at(-1)).toEqual({ ack: { kind: "close" } });
    const total = CALLS.reduce((sum, call) => sum + countCalls(whole.trace, call), 0);
    whole.remove();
    expect(total).toBeGreaterThan(100);

    const figures = { points: 0, killed: 0, acknowledged: 0 };
    const problems: string[] = [];
    await eachPoint(total + 1, stepOver(total, course), async (when) => {
      const inject = `inject=${CALLS.join(",")}:signal=SIGKILL:when=${when}`;
      const { code, lines, path, remove, signal } = await runLife(life, [trace, inject]);
      figures.points += 1;
      if (signal === "SIGKILL" || code === 137) figures.killed += 1;
      figures.acknowledged += lines.filter(({ ack }) => ack !== undefined).length;
      for (const problem of await checkLedger(path, lines, true))
        problems.push(`call ${when}: ${problem}`);
      remove();
    });

    throwAll(problems);
    expect(figures.killed).toBeGreaterThanOrEqual(Math.floor(figures.points * 0.75));
    return figures;
  },
};
