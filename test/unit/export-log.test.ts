import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Disk, type DiskStep } from "../../src/export/disk.ts";
import { Log, readLog } from "../../src/export/log.ts";
import { decodeLog, encodeLine, type LogRecord } from "../../src/export/log-lines.ts";
import { tempDir } from "../support/client.ts";

interface Entry extends LogRecord {
  readonly n: number;
  readonly text?: string;
}

const file = (): string => join(tempDir(), "log.ndjson");
const numbers = (path: string): number[] => readLog<Entry>(path).entries.map(({ record }) => record.n);

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
    for (const line of readFileSync(path, "utf8").trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("sum");
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
          expect(() => decodeLog(damaged, "journal.ndjson")).toThrow(/journal\.ndjson is damaged at line [12]/);
        },
      ),
    );
  });

  test("a full disk rejects the append and leaves the log sound", async () => {
    const path = file();
    let full = false;
    const step: DiskStep = (_, at) => {
      if (full && at === "half") throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
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

  test("openTail drops only a torn last line, of a log of any length", async () => {
    for (const [count, torn] of [
      [0, ""],
      [1, ""],
      [3, '{"t":"x"'],
      [3_000, '{"t":"x","n":1\n'],
    ] as const) {
      const path = file();
      writeFileSync(path, Array.from({ length: count }, (_, n) => encodeLine({ t: "x", n } as Entry)).join(""));
      appendFileSync(path, torn);
      const log = await Log.openTail<Entry>(new Disk(), path, "test");
      await log.append({ t: "x", n: -1 });
      await log.close();
      expect(numbers(path)).toEqual([...Array.from({ length: count }, (_, n) => n), -1]);
    }
  });
});
