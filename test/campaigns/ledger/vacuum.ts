import { rmSync } from "node:fs";
import { expect } from "vitest";
import type { Store } from "../../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../../src/service/ledger/sqlite-file.ts";
import { ACCOUNT, answer, c, held } from "../../support/store.ts";
import { ALL, type Campaign, type Course, stepOver } from "../campaign.ts";
import { GRANTED, oldLedger } from "./old-ledger.ts";
import {
  type Action,
  checkLedger,
  countCalls,
  eachPoint,
  HAS_STRACE,
  type Life,
  type Line,
  runLife,
  throwAll,
} from "./rig.ts";

// The process is killed at a system call while stored replies are pruned, their room is given back, and the whole file is built again
// (what `service forget` does), alone and beside a process that goes on charging.
const CALLS = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink"] as const;
const OLD = 12;
const TRACE = `trace=${CALLS.join(",")}`;

interface Played {
  readonly points: number;
  readonly killed: number;
  readonly acknowledged: number;
}

async function playLives(course: Course, isBeside: boolean): Promise<Played> {
  const { from, lines: before } = await oldLedger(OLD);
  const run = async (inject: readonly string[]): Promise<{ life: Life; others: Store[] }> => {
    const others: Store[] = [];
    const open = async (path: string): Promise<void> => {
      others.push(await openSqliteStore({ path, now: Date.now, heartbeatMs: 3_600_000 }));
    };
    const options = { rounds: 0, width: 0, store: { heartbeatMs: 100 } };
    const start = { work: "vacuum", from, ...(isBeside ? { beside: open } : {}) } as const;
    return { life: await runLife(options, [TRACE, ...inject], [], start), others };
  };
  const { life: whole, others: first } = await run([]);
  await closeAll(first);
  expect(whole.lines.at(-1), whole.stderr).toEqual({ ack: { kind: "close" } });
  const total = CALLS.reduce((sum, call) => sum + countCalls(whole.trace, call), 0);
  whole.remove();

  const figures = { points: 0, killed: 0, tidying: 0, wiping: 0, acknowledged: 0 };
  const problems: string[] = [];
  await eachPoint(total, stepOver(total, course), async (when) => {
    const inject = [`inject=${CALLS.join(",")}:signal=SIGKILL:when=${when}`];
    const { life, others } = await run(inject);
    if (course.isBroken) rmSync(`${life.path}-wal`, { force: true });
    figures.points += 1;
    if (life.signal === "SIGKILL" || life.code === 137) figures.killed += 1;
    const last = life.lines.findLast((line) => line.try !== undefined)?.try?.kind;
    if (last === "tidy") figures.tidying += 1;
    if (last === "wipe") figures.wiping += 1;
    figures.acknowledged += life.lines.filter(({ ack }) => ack !== undefined).length;
    const found = await look(life, before, others).catch((error: unknown) => [String(error)]);
    problems.push(...found.map((problem) => `call ${when}: ${problem}`));
    life.remove();
  });

  throwAll(problems);
  expect(figures.killed).toBeGreaterThanOrEqual(Math.floor(figures.points * 0.75));
  expect(figures.tidying + figures.wiping).toBeGreaterThan(0);
  if (course.isWhole) expect(Math.min(figures.tidying, figures.wiping)).toBeGreaterThan(0);
  return figures;
}

export const vacuum: Campaign = {
  name: "vacuum",
  seed: 1,
  cases: { quick: 2, whole: ALL },
  canRun: HAS_STRACE,
  control: { without: "the log that a kill leaves", seen: /LOST: |verify of what was left: / },

  async run(course) {
    const played = [await playLives(course, false)];
    if (course.isWhole) played.push(await playLives(course, true));
    const sum = (of: (each: Played) => number): number =>
      played.reduce((total, each) => total + of(each), 0);
    return {
      points: sum(({ points }) => points),
      killed: sum(({ killed }) => killed),
      acknowledged: sum(({ acknowledged }) => acknowledged),
    };
  },
};

async function closeAll(stores: Store[]): Promise<void> {
  for (const store of stores.splice(0)) await store.close();
}

/** Verifies what was left, has those beside it charge once more, closes them, and opens it. @returns one sentence per contradiction */
async function look(life: Life, before: readonly Line[], others: Store[]): Promise<string[]> {
  // What `service verify` says of the folder as it was left, before anybody opens it to write.
  const problems = (await verifySqliteFile(life.path)).breaches.map(
    (breach) => `verify of what was left: ${breach}`,
  );
  const lines = [...before, ...life.lines];
  try {
    for (const [n, store] of others.entries()) {
      const action: Action = {
        kind: "settle",
        name: `beside-${n}`,
        posted: String(c(2)),
        idempotent: false,
      };
      lines.push({ try: action });
      const holdId = await held(store, c(4), { requestId: `beside-${n}`, keyId: "k3" });
      await store.settle({ holdId, amount: c(2), reply: answer() });
      lines.push({ ack: action });
    }
  } finally {
    await closeAll(others);
  }
  problems.push(...(await checkLedger(life.path, lines, true)));
  const store = await openSqliteStore({ path: life.path, now: Date.now });
  const { balance, held: left } = await store.balance(ACCOUNT, "live");
  await store.close();
  // What was on its way when the process died may stand or not.
  const [least, most] = (["ack", "try"] as const).map((which) =>
    charged(lines.flatMap((line) => line[which] ?? [])),
  );
  const spent = c(GRANTED) - balance;
  if (spent < (least ?? 0n) || spent > (most ?? 0n))
    problems.push(`${spent} are charged, not ${least} to ${most}`);
  return left === 0n ? problems : [...problems, `${left} are held`];
}

const charged = (actions: readonly Action[]): bigint =>
  actions.reduce(
    (sum, action) => sum + (action.kind === "settle" ? BigInt(action.posted) : 0n),
    0n,
  );
