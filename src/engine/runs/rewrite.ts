// Tested by test/cli/forget.test.ts.
import type { JournalRecord } from "./journal.ts";
import { checksum, encodeLine, type LogSource, reading, scanLog, undamaged } from "./log.ts";

/** Whole or not at all. */
export interface Forgetting {
  /** A reply without somebody; undefined where it stays. */
  readonly change: (body: Buffer) => Buffer | undefined;
  /** The facts of a line without somebody; the same where they stay. */
  readonly facts: (record: JournalRecord) => JournalRecord;
}

const LINE_END = Buffer.from("\n");

/** The journal of a path without somebody; undefined where it stays. */
export const rewritten = (path: string, forgetting: Forgetting): Buffer | undefined =>
  reading(path, (source, size) => rewrittenLog(source, size, path, forgetting));

/** The same of a journal that is read from anywhere. @param path what it is called in errors */
export function rewrittenLog(
  source: LogSource,
  size: number,
  path: string,
  { change, facts: cut }: Forgetting,
): Buffer | undefined {
  const { entries } = undamaged(scanLog<JournalRecord>(source, size, path));
  const parts: Buffer[] = [];
  let at = 0;
  let changed = false;

  const put = (bytes: Buffer): void => {
    parts.push(bytes);
    at += bytes.length;
  };

  for (const [index, { record: written, end }] of entries.entries()) {
    const record = cut(written);
    changed ||= record !== written;
    const { follows } = record;
    const body = follows === undefined ? undefined : source(end, follows);
    const other = body && checksum(body) === record.crc ? change(body) : undefined;
    changed ||= other !== undefined;

    const bytes = other ?? body;
    const facts =
      other === undefined ? record : { ...record, follows: other.length, crc: checksum(other) };
    // Everything is on the disk before anything is built on it.
    const isGroup = index === 0 || index === entries.length - 1;
    put(Buffer.from(encodeLine(facts, isGroup ? at : undefined)));
    if (bytes !== undefined) put(Buffer.concat([bytes, LINE_END]));
  }

  return changed ? Buffer.concat(parts) : undefined;
}
