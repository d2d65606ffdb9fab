import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Context } from "../../../shared/context.ts";
import type { PersonMatcher } from "../../../shared/person.ts";
import { usersFiles } from "../store.ts";

/** A file of the user's own that names the person: it is not ours to change. */
export interface MentionFound {
  readonly path: string;
  /** From 1. */
  readonly lines: readonly number[];
}

/** Logs, files of jobs and saved segments that name the person, and where. */
export async function mentionsOf(person: PersonMatcher, context: Context): Promise<MentionFound[]> {
  const found: MentionFound[] = [];
  for (const { path } of await usersFiles(context)) {
    const lines: number[] = [];
    let at = 0;
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
      at++;
      if (person.isNamedIn(line)) lines.push(at);
    }
    if (lines.length > 0) found.push({ path, lines });
  }
  return found;
}

const MOST_LINES = 5;

/** A line for each place, as editors open it. */
export const mentionLines = ({ path, lines }: MentionFound): string[] => [
  ...lines.slice(0, MOST_LINES).map((line) => `${path}:${line}`),
  ...(lines.length > MOST_LINES ? [`${path}: ${lines.length - MOST_LINES} more lines`] : []),
];
