import { closeSync, openSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "./disk.ts";
import type { JournalRecord } from "./journal.ts";
import { readLog } from "./log.ts";
import { checksum, encodeLine, logSourceOf, undamaged } from "./log-lines.ts";

/** Whole or not at all. @returns whether one changed */
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
      const sound = body !== undefined && checksum(body) === record.crc;
      const other = sound ? change(body) : undefined;
      changed ||= other !== undefined;
      const kept = other ?? body;
      const facts = other === undefined ? record : { ...record, follows: other.length, crc: checksum(other) };
      // Everything is on the disk before anything is built on it.
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

export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (/^\..*\.tmp$/.test(name)) await rm(join(folder, name));
}
