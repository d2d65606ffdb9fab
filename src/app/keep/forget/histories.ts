import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "../../../engine/runs/disk.ts";
import { acquireLock } from "../../../engine/runs/lock.ts";
import { removeDrafts } from "../../../engine/runs/rewrite.ts";
import type { Context } from "../../../shared/context.ts";
import type { PersonMatcher } from "../../../shared/person.ts";
import { historyFile, jobsFolder, lockOf } from "../../jobs/history.ts";
import type { RunOutcome } from "../../jobs/outcome.ts";

/** A job in whose history the person is named: by what it bought, or by an error. */
export interface HistoryFound {
  readonly job: string;
  readonly lines: number;
}

const linesOf = async (context: Context, job: string): Promise<string[]> => {
  const text = await readFile(historyFile(context, job), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
};

export async function historiesWith(person: PersonMatcher, context: Context): Promise<HistoryFound[]> {
  const found: HistoryFound[] = [];
  for (const job of (await readdir(jobsFolder(context)).catch(() => [])).sort()) {
    const lines = (await linesOf(context, job)).filter((line) => person.isNamedIn(line)).length;
    if (lines > 0) found.push({ job, lines });
  }
  return found;
}

/** Writes a job's history again: when, how and for how much stay. @throws CliError exit 9 while the job runs */
export async function forgetHistory(job: string, person: PersonMatcher, disk: Disk, context: Context): Promise<void> {
  const { now, sleep, interrupted: signal } = context;
  const lock = await acquireLock(lockOf(context, job), { now, sleep, signal, what: `job ${job}` });
  try {
    const path = historyFile(context, job);
    await removeDrafts(join(jobsFolder(context), job));
    const lines = (await linesOf(context, job)).flatMap((line) => withoutName(line, person));
    await disk.replaceFile(path, lines.map((line) => `${line}\n`).join(""), "history");
  } finally {
    await lock.release();
  }
}

/** Half a line, or one that has the name in what must stay, goes. */
function withoutName(line: string, person: PersonMatcher): string[] {
  if (!person.isNamedIn(line)) return [line];
  try {
    const outcome = JSON.parse(line) as RunOutcome;
    const error = outcome.error && { code: outcome.error.code, message: "forgotten", hint: null };
    const after = JSON.stringify({ ...outcome, error, receipt: null } satisfies RunOutcome);
    return person.isNamedIn(after) ? [] : [after];
  } catch {
    return [];
  }
}
