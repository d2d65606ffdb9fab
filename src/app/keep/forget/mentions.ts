import { createReadStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Disk } from "../../../engine/runs/disk.ts";
import { withLock } from "../../../engine/runs/lock.ts";
import { removeDrafts } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import type { SuppressedEntry } from "../../../shared/contract/suppression.ts";
import type { PersonMatcher } from "../../../shared/person.ts";
import { historyFile, jobsFolder, lockOf, type RunOutcome } from "../../jobs/history.ts";
import { usersFiles } from "../store.ts";

export interface HistoryFound {
  readonly job: string;
  readonly lines: number;
}

const linesOf = async (context: Context, job: string): Promise<string[]> => {
  const text = await readFile(historyFile(context, job), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
};

export async function historiesWith(
  person: PersonMatcher,
  context: Context,
): Promise<HistoryFound[]> {
  const histories: HistoryFound[] = [];
  for (const job of (await readdir(jobsFolder(context)).catch(() => [])).sort()) {
    const lines = (await linesOf(context, job)).filter((line) => person.isNamedIn(line)).length;
    if (lines > 0) histories.push({ job, lines });
  }
  return histories;
}

/**
 * Writes a job's history again: when, how and for how much stay.
 * @throws CliError exit 9 while the job runs
 */
export async function forgetHistory(
  job: string,
  person: PersonMatcher,
  disk: Disk,
  context: Context,
): Promise<void> {
  const { now, sleep, interrupted: signal } = context;
  await withLock(lockOf(context, job), { now, sleep, signal, what: `job ${job}` }, async () => {
    await removeDrafts(join(jobsFolder(context), job));
    const lines = (await linesOf(context, job)).flatMap((line) => withoutName(line, person));
    await disk.replaceFile(
      historyFile(context, job),
      lines.map((line) => `${line}\n`).join(""),
      "history",
    );
  });
}

/** Half a line, or one that has the name in what must stay, goes. */
function withoutName(line: string, person: PersonMatcher): string[] {
  if (!person.isNamedIn(line)) return [line];
  try {
    const outcome = JSON.parse(line) as RunOutcome;
    const error = outcome.error && {
      ...outcome.error,
      message: "forgotten",
      hint: null,
      next: null,
    };
    const after = JSON.stringify({ ...outcome, error, receipt: null } satisfies RunOutcome);
    return person.isNamedIn(after) ? [] : [after];
  } catch {
    return [];
  }
}

/** A file of the user's own that names the person: it is not ours to change. */
export interface MentionFound {
  readonly path: string;
  /** From 1. */
  readonly lines: readonly number[];
}

export async function mentionsOf(person: PersonMatcher, context: Context): Promise<MentionFound[]> {
  const mentions: MentionFound[] = [];
  for (const { path } of await usersFiles(context)) {
    const lines: number[] = [];
    let at = 0;
    for await (const line of createInterface({
      input: createReadStream(path),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      at++;
      if (person.isNamedIn(line)) lines.push(at);
    }

    if (lines.length > 0) mentions.push({ path, lines });
  }

  return mentions;
}

const MOST_LINES = 5;

/** A line for each place, as editors open it. */
export const mentionLines = ({ path, lines }: MentionFound): string[] => [
  ...lines.slice(0, MOST_LINES).map((line) => `${path}:${line}`),
  ...(lines.length > MOST_LINES ? [`${path}: ${lines.length - MOST_LINES} more lines`] : []),
];

/** Notes that name the person go; the entries stay. */
export function withoutNotes(entries: readonly SuppressedEntry[], person: PersonMatcher) {
  const isNamed = ({ note }: SuppressedEntry): boolean => person.isNamedIn(note ?? "");
  const after = entries.map((entry) => (isNamed(entry) ? { ...entry, note: null } : entry));
  return { entries: after, changed: entries.filter(isNamed).length };
}
