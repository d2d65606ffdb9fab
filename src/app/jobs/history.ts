import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { stateDir } from "../../engine/connections/paths.ts";
import { FILE_MODE } from "../../engine/runs/disk.ts";
import { isLocked } from "../../engine/runs/lock.ts";
import type { Context } from "../../shared/context.ts";
import { jsonIn } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { makeFolder } from "../../shared/folder.ts";
import type { Of } from "../../shared/schema/build.ts";
import type { outcome } from "../../shared/schema/purchase.ts";
import { lastTime } from "./schedule.ts";

/**
 * How a job went: a line of its log, what `notify` gets,
 * and what `jobs status` reads (docs/reference/jobs-file.md, "Log").
 */
export type RunOutcome = Of<typeof outcome>;

export type History = Awaited<ReturnType<typeof historyOf>>;

/** So much of the end of a history is read: some hundred lines. */
const TAIL_BYTES = 1 << 18;

/** A job is known by its file and its name: another file may have one of the same name. */
export const keyOf = ({ path }: { readonly path: string }, name: string): string =>
  `${name}@${hash("sha256", path).slice(0, 8)}`;

/** The name of the job that a key was made of. */
export const keptName = (key: string): string => key.replace(/@[0-9a-f]{8}$/, "");

export const jobsFolder = (context: Context): string => join(stateDir(context), "jobs");
export const lockOf = (context: Context, key: string): string =>
  join(jobsFolder(context), key, "lock");
export const historyFile = (context: Context, key: string): string =>
  join(jobsFolder(context), key, "history.ndjson");

export async function makeJobFolder(context: Context, key: string): Promise<void> {
  makeFolder(join(jobsFolder(context), key));
}

export const appendOutcome = (context: Context, key: string, outcome: RunOutcome): Promise<void> =>
  appendLine(historyFile(context, key), `${JSON.stringify(outcome)}\n`);

export async function openJobLog(path: string) {
  try {
    // Opened anew for each line: a log that was rotated meanwhile goes on under its name.
    return await open(path, "a+", FILE_MODE);
  } catch (error) {
    const { message } = error as Error;
    throw usageError(
      `the log cannot be written: ${message}`,
      '"log" takes a file in a folder that exists',
      "log_file",
    );
  }
}

/** Appends a line in one write (O_APPEND): those of several processes never mix. */
export async function appendLine(path: string, line: string): Promise<void> {
  const file = await openJobLog(path);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    await file.write(size > 0 && last[0] !== 0x0a ? `\n${line}` : line);
  } finally {
    await file.close();
  }
}

/**
 * How a job went before. What cannot be read (half a line, a file that is gone) is no history,
 * and what is said to have begun later than now is no proof that it was done.
 */
export async function historyOf(context: Context, key: string) {
  const now = context.now();
  const outcomes = await readTail(historyFile(context, key));
  const lock = lockOf(context, key);
  const process = (await isLocked(lock)) ? ("running" as const) : ("killed" as const);

  return {
    last: outcomes.at(-1),
    done: outcomes.findLast(
      ({ started, status }) => status === "done" && Date.parse(started) <= now,
    ),
    /** The last that the clock of today denies: it was ahead then, or is behind now. */
    ahead: outcomes.findLast(({ started }) => Date.parse(started) > now),
    /** The last that wrote its file, whatever failed then. */
    wrote: outcomes.findLast(({ rows }) => rows !== null),
    /**
     * `running`: a living process holds it. `killed`:
     * the one that held it is gone and told nothing.
     */
    now: existsSync(lock) ? process : undefined,
  };
}

async function readTail(path: string): Promise<readonly RunOutcome[]> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return [];
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    await file.read(tail, 0, tail.length, size - tail.length);
    return tail.toString("utf8").split("\n").flatMap(outcomeOf);
  } finally {
    await file.close();
  }
}

function outcomeOf(line: string): RunOutcome[] {
  const value = jsonIn(line) as Partial<RunOutcome> | undefined;
  return typeof value?.status === "string" && typeof value.started === "string"
    ? [value as RunOutcome]
    : [];
}

export const aheadText = ({ started }: RunOutcome): string =>
  `its history has a run of ${started}, which is yet to come: a clock was wrong, then or now; ` +
  "that run does not count as done";

/** Whether a time of its schedule has come since it was last done, or it never was. */
export async function isDue(
  schedule: string | undefined,
  { done }: History,
  now: number,
): Promise<boolean> {
  if (schedule === undefined) return false;
  if (done === undefined) return true;
  const last = await lastTime(schedule, now);
  return last !== undefined && Date.parse(done.started) < last;
}
