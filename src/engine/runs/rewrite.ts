import { closeSync, openSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "./disk.ts";
import type { JournalRecord } from "./journal.ts";
import { readLog } from "./log.ts";
import { checksum, encodeLine, logSourceOf, undamaged } from "./log-lines.ts";

/**
 * Writes a journal again with other replies, whole or not at all. Its lines, and so what was spent, stay as they are. The caller holds
 * the run's lock.
 * @param change the reply that is kept in place of one; undefined: the same
 * @returns whether a reply changed @throws CliError where the journal is damaged
 */
export async function rewriteReplies(
  disk: Disk,
  path: string,
  change: (body: Buffer) => Buffer | undefined,
): Promise<boolean> {
  const { entries } = undamaged(readLog<JournalRecord>(path));
  const parts: Buffer[] = [];
  let at = 0;
  let changed = false;
  const put = (bytes: Buffer): void => {
    parts.push(bytes);
    at += bytes.length;
  };
  const file = openSync(path, "r");
  try {
    const source = logSourceOf(file);
    for (const [index, { record, end }] of entries.entries()) {
      const { follows } = record;
      const body = follows === undefined ? undefined : source(end, follows);
      // A damaged reply is told where it is read; it is no matter of this.
      const sound = body !== undefined && checksum(body) === record.crc;
      const other = sound ? change(body) : undefined;
      changed ||= other !== undefined;
      const kept = other ?? body;
      const facts = other === undefined ? record : { ...record, follows: other.length, crc: checksum(other) };
      // Everything is on the disk before anything is built on it: the last line says so.
      const group = index === 0 || index === entries.length - 1 ? at : undefined;
      put(Buffer.from(encodeLine(facts, group)));
      if (kept === undefined) continue;
      put(kept);
      put(Buffer.from("\n"));
    }
  } finally {
    closeSync(file);
  }
  if (changed) await disk.replaceFile(path, Buffer.concat(parts), "forget");
  return changed;
}

/** Removes the drafts that a process left that died while it wrote a file of a run's folder. The caller holds the run's lock. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (/^\..*\.tmp$/.test(name)) await rm(join(folder, name));
}
