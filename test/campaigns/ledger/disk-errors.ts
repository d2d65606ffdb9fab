import { expect } from "vitest";
import { ALL, type Campaign, type Course, stepOver } from "../campaign.ts";
import {
  checkLedger,
  countCalls,
  eachPoint,
  HAS_STRACE,
  type LifeOptions,
  type Line,
  runLife,
  throwAll,
} from "./rig.ts";

// The Nth write or sync of the ledger's files fails, once or from then on, for N = 1 until a run passes without meeting it. The process
// goes on: what it refused must not have happened, what it acknowledged must be there.
interface Fault {
  readonly name: string;
  readonly call: string;
  readonly inject: string;
  /** A refused commit may be whole in the log: the process that dies right after the refusal must not bring it back. */
  readonly isFragileToo: boolean;
}

const FAULTS: readonly Fault[] = [
  { name: "full", call: "pwrite64", inject: "error=ENOSPC", isFragileToo: false },
  { name: "write", call: "pwrite64", inject: "error=EIO", isFragileToo: true },
  { name: "sync", call: "fsync", inject: "error=EIO", isFragileToo: true },
];

/** An account or a key that was never made: that follows from a refusal. */
const isOtherwiseRefused = ({ message, name, refused }: Line): boolean =>
  refused !== undefined &&
  name !== "StoreUnavailableError" &&
  name !== "UnknownAccountError" &&
  message !== "there is no key to revoke";

async function playFault(
  { call, inject, isFragileToo }: Fault,
  course: Course,
): Promise<{ points: number; refused: number }> {
  const lies = course.isBroken ? { lies: "always" as const } : {};
  const options: LifeOptions = { rounds: course.isWhole ? 2 : 1, width: 3, tolerant: true };
  const whole = await runLife(options, [`trace=${call}`]);
  const total = countCalls(whole.trace, call);
  whole.remove();

  // `when=N+` from then on: a disk that stays full.
  const variants = [
    { suffix: "", fragile: false },
    { suffix: "+", fragile: false },
    ...(isFragileToo ? [{ suffix: "", fragile: true }] : []),
  ].filter(({ suffix }) => !course.isBroken || suffix === "+");
  // The whole form meets every sync and every second write.
  const step = stepOver(total, course) * (course.isWhole && call !== "fsync" ? 2 : 1);
  const figures = { points: 0, refused: 0 };
  const problems: string[] = [];
  for (const { fragile, suffix } of variants) {
    await eachPoint(total, step, async (when) => {
      const what = `call ${when}${suffix}${fragile ? ", then killed" : ""}`;
      const life = await runLife({ ...options, ...lies, fragile }, [
        `trace=${call}`,
        `inject=${call}:${inject}:when=${when}${suffix}`,
      ]);
      figures.points += 1;
      figures.refused += life.lines.filter(({ refused }) => refused !== undefined).length;
      for (const { message, name } of life.lines.filter(isOtherwiseRefused))
        problems.push(`${what}: refused with ${name}: ${message}`);
      for (const problem of await checkLedger(life.path, life.lines, true))
        problems.push(`${what}: ${problem}`);
      life.remove();
    });
  }

  throwAll(problems);
  if (!course.isBroken) expect(figures.refused).toBeGreaterThan(0);
  return figures;
}

export const diskErrors: Campaign = {
  name: "disk-errors",
  seed: 1,
  cases: { quick: 1, whole: ALL },
  canRun: HAS_STRACE,
  control: { without: "that what a disk refused is not acknowledged", seen: /LOST: / },

  async run(course) {
    const figures: Record<string, number> = {};
    for (const fault of course.isWhole ? FAULTS : FAULTS.slice(1, 2)) {
      const { points, refused } = await playFault(fault, course);
      figures[`${fault.name}_points`] = points;
      figures[`${fault.name}_refused`] = refused;
    }
    return figures;
  },
};
