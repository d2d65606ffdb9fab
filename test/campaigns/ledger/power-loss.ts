import { expect } from "vitest";
import { ALL, type Campaign, type Course, stepOver } from "../campaign.ts";
import { type PowerLossFigures, recordLife, replay } from "./disks.ts";
import { oldLedger } from "./old-ledger.ts";
import { HAS_STRACE, throwAll } from "./rig.ts";

// The power fails after any system call, and what was not synced is gone, whole or torn at 512 bytes.

function throwLosses({ broken, losses, statesWithLoss }: PowerLossFigures): void {
  throwAll(broken);
  if (statesWithLoss > 0) throw new Error(`${statesWithLoss} disks lost ${losses} changes`);
}

async function playLife(course: Course): Promise<PowerLossFigures & { calls: number }> {
  const shape = course.isWhole ? { rounds: 8, width: 8 } : { rounds: 2, width: 3 };
  const sync = course.isBroken ? { store: { synchronous: "NORMAL" as const } } : {};
  const { events, life } = await recordLife({ ...shape, ...sync });
  life.remove();
  expect(life.lines.at(-1)).toEqual({ ack: { kind: "close" } });

  const every = Math.round(stepOver(events.length, course));
  const random = course.isWhole ? 40 : 1;
  const figures = await replay(events, { random, seed: course.seed, every });
  throwLosses(figures);
  return { ...figures, calls: events.length };
}

/** While stored replies are pruned and the file is made smaller. */
async function playVacuum(course: Course): Promise<PowerLossFigures> {
  const { from, lines: before } = await oldLedger(12);
  const options = { rounds: 0, width: 0, store: { heartbeatMs: 100 } };
  const { events, life } = await recordLife(options, { work: "vacuum", from });
  life.remove();
  expect(life.lines.at(-1), life.stderr).toEqual({ ack: { kind: "close" } });

  const every = Math.round(stepOver(events.length, course));
  const figures = await replay(events, { random: 20, seed: course.seed, every, from, before });
  throwLosses(figures);
  return figures;
}

/** Few calls, of which only some of the torn disks show what is missing: all of them are played, many times. */
async function playClose(course: Course): Promise<PowerLossFigures> {
  const { events, life } = await recordLife({ rounds: 0, width: 0 });
  life.remove();
  const [random, last] = course.isWhole ? [1_000, 10] : [1, 6];
  const figures = await replay(events, { random, seed: course.seed, every: 1, last });
  throwLosses(figures);
  return figures;
}

export const powerLoss: Campaign = {
  name: "power-loss",
  seed: 20_260_505,
  cases: { quick: 6, whole: ALL },
  canRun: HAS_STRACE,
  control: { without: "the sync of each charge", seen: /^\d+ disks lost \d+ changes$/ },

  async run(course) {
    const life = await playLife(course);
    const closed = await playClose(course);
    const smaller = course.isWhole ? await playVacuum(course) : undefined;
    return {
      calls: life.calls,
      states: life.states + closed.states + (smaller?.states ?? 0),
    };
  },
};
