import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Disk, type DiskStep } from "../../src/engine/runs/disk.ts";
import { checksum, encodeLine, Log, readLastRecord, readLog } from "../../src/engine/runs/log.ts";
import type { LogRecord } from "../../src/engine/runs/record.ts";
import { tempDir } from "../support/client.ts";
import { decodeLog } from "../support/journals.ts";

interface Entry extends LogRecord {
  readonly n: number;
  readonly text?: string;
}

const file = (): string => join(tempDir(), "log.ndjson");
const numbers = (path: string): number[] =>
  readLog<Entry>(path).entries.map(({ record }) => record.n);

async function write(path: string, ...entries: readonly number[]): Promise<void> {
  const { log } = await Log.open<Entry>(new Disk(), path, "test");
  await Promise.all(entries.map((n) => log.append({ t: "x", n })));
  await log.close();
}

describe("a checksummed log", () => {
  test("keeps what was appended, as NDJSON, for its owner alone", async () => {
    const path = file();
    await write(path, 1, 2);
    await write(path, 3);
    expect(numbers(path)).toEqual([1, 2, 3]);
    for (const line of readFileSync(path, "utf8").trim().split("\n"))
      expect(JSON.parse(line)).toHaveProperty("sum");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("a last line that is torn at any byte is dropped, and the next append begins on a line of its own", async () => {
    const whole = encodeLine({ t: "x", n: 1 } as Entry);
    const last = encodeLine({ t: "x", n: 2, text: 'a "quoted" line\n' } as Entry);
    for (let cut = 0; cut < last.length; cut++) {
      const path = file();
      writeFileSync(path, whole + last.slice(0, cut));
      expect(numbers(path)).toEqual([1]);
      if (cut % 12 !== 0) continue;
      await write(path, 9);
      expect(numbers(path)).toEqual([1, 9]);
    }
  });

  test("any changed byte before the last line is an error that names the line; nothing is built on it", () => {
    const lines = [1, 2, 3].map((n) => encodeLine({ t: "x", n } as Entry));
    const bytes = Buffer.from(lines.join(""));
    fc.assert(
      fc.property(
        fc.nat((lines[0]?.length ?? 0) + (lines[1]?.length ?? 0) - 1),
        fc.integer({ min: 1, max: 255 }),
        (at, flip) => {
          const damaged = Buffer.from(bytes);
          damaged[at] = (damaged[at] ?? 0) ^ flip;
          expect(() => decodeLog(damaged, "journal.ndjson")).toThrow(
            /journal\.ndjson is damaged at line [12]/,
          );
        },
      ),
    );
  });

  test("no line is written that no reader would take as one", async () => {
    const path = file();
    const { log } = await Log.open<Entry>(new Disk(), path, "test");
    await log.append({ t: "x", n: 1 });
    await expect(log.append({ t: "x", n: 2, text: "x".repeat(2 << 20) })).rejects.toThrow(
      "too long for a log",
    );
    await log.append({ t: "x", n: 3, text: "\u0000".repeat(100_000) });
    await log.close();
    expect(numbers(path)).toEqual([1, 3]);
  });

  test("a full disk rejects the append and leaves the log sound", async () => {
    const path = file();
    let full = false;
    const step: DiskStep = (_, at) => {
      if (full && at === "half")
        throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    };
    const { log } = await Log.open<Entry>(new Disk(step), path, "test");
    await log.append({ t: "x", n: 1 });
    full = true;
    await expect(log.append({ t: "x", n: 2 })).rejects.toThrow("ENOSPC");
    full = false;
    await log.append({ t: "x", n: 3 });
    await log.close();
    expect(numbers(path)).toEqual([1, 3]);
  });

  test("what was appended for later goes out with the next append, or when it is needed", async () => {
    const path = file();
    const steps: string[] = [];
    const { log } = await Log.open<Entry>(
      new Disk((_, step) => void steps.push(step)),
      path,
      "test",
    );
    const later = log.appendLater({ t: "x", n: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(numbers(path)).toEqual([]);
    await log.append({ t: "x", n: 2 });
    await later;
    expect(steps.filter((step) => step === "synced").length).toBe(1);
    // Nor does the end of a sync that is under way take it along alone.
    const first = log.append({ t: "x", n: 21 });
    await new Promise((resolve) => setImmediate(resolve));
    const second = log.appendLater({ t: "x", n: 22 });
    await first;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(numbers(path)).toEqual([1, 2, 21]);
    log.hurry();
    await second;
    const needed = log.appendLater({ t: "x", n: 3 });
    log.hurry();
    await needed;
    void log.appendLater({ t: "x", n: 4 });
    await log.close();
    expect(numbers(path)).toEqual([1, 2, 21, 22, 3, 4]);
  });
});

/** A log of groups, each of one to three records, some of them with bytes that follow. */
const payload = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
  // What a hostile service would send: lines that look like ours.
  fc
    .integer({ min: 1_000_000 })
    .map((from) => Buffer.from(`{"result":[]}\n${encodeLine({ t: "x", n: 99 } as Entry, from)}`)),
);
const groups = fc.array(fc.array(fc.option(payload), { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 5,
});

async function writeGroups(
  path: string,
  contents: readonly (readonly (Buffer | null)[])[],
): Promise<number[]> {
  const { log } = await Log.open<Entry>(new Disk(), path, "test");
  const ends: number[] = [];
  let n = 0;
  for (const group of contents) {
    const appended: Promise<unknown>[] = [];
    for (const body of group) {
      const record: Entry = { t: "x", n: n++ };
      if (body === null || body.length === 0) appended.push(log.append(record));
      else
        appended.push(
          log.appendWith({ ...record, follows: body.length, crc: checksum(body) }, body),
        );
    }
    await Promise.all(appended);
    ends.push(statSync(path).size);
  }
  await log.close();
  return ends;
}

describe("groups, and bytes that follow a line", () => {
  test("are read as they were written, each in its place", async () => {
    await fc.assert(
      fc.asyncProperty(groups, async (contents) => {
        const path = file();
        await writeGroups(path, contents);
        const bytes = readFileSync(path);
        const bodies = contents.flat();
        const { entries } = readLog<Entry>(path);
        expect(entries.map(({ record }) => record.n)).toEqual(bodies.map((_, n) => n));
        for (const [n, { record, end }] of entries.entries()) {
          expect(
            bytes.subarray(end, end + (record.follows ?? 0)).equals(bodies[n] ?? Buffer.alloc(0)),
          ).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("of a last group that is torn anyhow, a sound beginning is left; the groups before it stay whole", async () => {
    await fc.assert(
      fc.asyncProperty(
        groups,
        fc.array(fc.boolean(), { minLength: 1 }),
        fc.nat(),
        async (contents, kept, cut) => {
          const path = file();
          const ends = await writeGroups(path, contents);
          const last = ends.at(-2) ?? 0;
          const torn = Buffer.from(readFileSync(path));
          // Some of its 64 bytes long pieces are holes, and its end is gone.
          for (let at = last, piece = 0; at < torn.length; at += 64, piece++) {
            if (kept[piece % kept.length] === false)
              torn.fill(0, at, Math.min(at + 64, torn.length));
          }
          const image = torn.subarray(0, last + (cut % (torn.length - last + 1)));
          // The very first line alone can be told from no log of an earlier version; nothing is built on it.
          if (ends.length === 1) return;
          const { entries, validBytes } = decodeLog<Entry>(image, "log.ndjson");
          const before = contents.slice(0, -1).flat().length;
          expect(entries.slice(0, before).map(({ record }) => record.n)).toEqual([
            ...Array(before).keys(),
          ]);
          expect(entries.map(({ record }) => record.n)).toEqual([...entries.keys()]);
          expect(validBytes).toBeGreaterThanOrEqual(last);
          for (const { record, end } of entries.slice(before)) {
            if (record.follows !== undefined) {
              expect(checksum(image.subarray(end, end + record.follows))).toBe(record.crc);
            }
          }
          // A writer goes on from there.
          writeFileSync(path, image);
          await write(path, 1_000);
          expect(numbers(path)).toEqual([...entries.keys(), 1_000]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("a changed line before the last group is damage, whatever follows it; so is a changed number of bytes", async () => {
    await fc.assert(
      fc.asyncProperty(
        groups,
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (contents, place, flip) => {
          const path = file();
          const ends = await writeGroups(path, contents);
          if (ends.length < 2) return;
          const { entries } = readLog<Entry>(path);
          const early = entries.filter(({ end }) => end <= (ends.at(-2) ?? 0));
          const { end, record } = early[place % early.length] ?? { end: 1, record: undefined };
          const bytes = readFileSync(path);
          const start = bytes.lastIndexOf(10, end - 2) + 1;
          const at = start + (place % (end - start));
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          expect(record).toBeDefined();
          expect(() => decodeLog(bytes, "journal.ndjson")).toThrow(
            /journal\.ndjson is damaged at line \d+/,
          );
        },
      ),
      // The line break before the last group, which parts it from what is bad.
      { numRuns: 200, examples: [[[[null, null], [null]], 2_147_483_645, 1]] },
    );
  });

  test("the last record is read without the rest, and only where its line is whole", async () => {
    const path = file();
    expect(readLastRecord(path)).toBeUndefined();
    await writeGroups(path, [[Buffer.alloc(9_000, "x")], [null]]);
    expect(readLastRecord(path)).toEqual({ t: "x", n: 1 });
    appendFileSync(path, '{"t":"x"');
    expect(readLastRecord(path)).toBeUndefined();
  });
});
