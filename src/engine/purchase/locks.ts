// Tested by test/cli/search.test.ts.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { makeFolder } from "../../shared/folder.ts";
import { lockedPart } from "../output/tables/target.ts";
import { acquireLock, type Lock, type LockOptions } from "../runs/lock.ts";
import type { Run } from "../runs/run.ts";
import type { ExportDeps, Trade } from "./order.ts";

export const lockOptions = (what: string, wait: boolean, deps: ExportDeps): LockOptions => ({
  what,
  wait,
  now: deps.now,
  sleep: deps.sleep,
  signal: deps.interrupted,
  onWait: (holder) =>
    deps.onNotice(`waiting for process ${holder?.pid ?? "?"}, which is at work on ${what}`),
});

export const openRun = (
  id: string,
  { store, options, deps }: Pick<Trade, "store" | "options" | "deps">,
): Promise<Run> => store.openForWriting(id, lockOptions(`run ${id}`, options.wait, deps));

/** One run for one output at a time, wherever its state folder keeps the runs. */
async function lockOutput(output: string, wait: boolean, deps: ExportDeps): Promise<Lock> {
  const folder = join(deps.stateDir, "locks");
  makeFolder(folder);
  const name = createHash("sha256").update(lockedPart(output)).digest("hex").slice(0, 32);
  return acquireLock(join(folder, `${name}.lock`), lockOptions(output, wait, deps));
}

/**
 * Two commands that look for a service's new people
 * would find the same ones, and both would buy them.
 * @param waits for another one that looks for them; undefined where nobody is looked for
 */
export async function withRunLock<T>(
  { output, wait }: Pick<Trade["options"], "output" | "wait">,
  waits: boolean | undefined,
  deps: ExportDeps,
  work: () => Promise<T>,
): Promise<T> {
  const outputLock = output === undefined ? undefined : await lockOutput(output, wait, deps);
  let newPeople: Lock | undefined;
  try {
    if (waits !== undefined)
      newPeople = await lockOutput(`the new people of ${deps.seller.serviceId}`, waits, deps);
    return await work();
  } finally {
    await newPeople?.release();
    await outputLock?.release();
  }
}
