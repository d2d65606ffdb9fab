import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { QUICK_BEFORE_RETURN, RowReader } from "../../src/dataset/embedded/row-reader.ts";
import { tempFolder } from "../support/dataset.ts";

async function numbers(): Promise<string> {
  const path = join(await tempFolder(), "numbers.db");
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE numbers (n INTEGER PRIMARY KEY, word TEXT)");
  const insert = db.prepare("INSERT INTO numbers VALUES (?, ?)");
  for (let n = 0; n < 50; n++) insert.run(n, `wörd ${n} \u{1f680}`);
  db.close();
  return path;
}

/** A clock that is read before and after each read on this thread, and tells how many there were. */
function clock(): { now: () => number; readsHere: () => number; stepMs: number } {
  let reads = 0;
  let time = 0;
  const made = {
    stepMs: 0,
    readsHere: () => reads / 2,
    now: () => {
      reads++;
      time += made.stepMs;
      return time;
    },
  };
  return made;
}

test("after a slow read another thread reads the same rows, until it has been quick for a while", async () => {
  const time = clock();
  // What the other thread measures by its own clock is quick by this bound; what this thread measures is what the test says.
  let disk = 0;
  let perLook = 0;
  const diskReads = (): number => {
    disk += perLook;
    return disk;
  };
  const reader = new RowReader(await numbers(), { slowMs: 60_000, monotonic: time.now, diskReads });
  const ask = async (n: number) => (await reader.all("SELECT word FROM numbers WHERE n = ?", n))[0];
  // Slow because the machine is busy: whatever came from a disk came before.
  disk = 7;
  time.stepMs = 60_001;
  expect(await ask(1)).toEqual({ word: "wörd 1 \u{1f680}" });
  expect(time.readsHere()).toBe(1);
  perLook = 8;
  await ask(2);
  time.stepMs = 0;
  expect(time.readsHere()).toBe(2);
  for (let n = 0; n < QUICK_BEFORE_RETURN; n++) {
    expect(await ask(n % 50)).toEqual({ word: `wörd ${n % 50} \u{1f680}` });
  }
  expect(time.readsHere()).toBe(2);
  expect(await ask(99)).toBeUndefined();
  expect(time.readsHere()).toBe(3);
  // That was too soon: slow again, and this time for longer.
  time.stepMs = 60_001;
  await ask(3);
  time.stepMs = 0;
  for (let n = 0; n < 2 * QUICK_BEFORE_RETURN; n++) await ask(n % 50);
  expect(time.readsHere()).toBe(4);
  await ask(4);
  expect(time.readsHere()).toBe(5);
  await reader.close();
});

test("what SQLite refuses is an error from either thread, and the next read goes on", async () => {
  const time = clock();
  const reader = new RowReader(await numbers(), { slowMs: 0, monotonic: time.now });
  await expect(reader.all("SELECT missing FROM numbers")).rejects.toThrow(/no such column/);
  time.stepMs = 1;
  await reader.all("SELECT 1");
  const here = time.readsHere();
  const [failed, all] = await Promise.allSettled([
    reader.all("SELECT missing FROM numbers"),
    reader.all("SELECT n FROM numbers ORDER BY n"),
  ]);
  expect(failed).toMatchObject({
    status: "rejected",
    reason: { message: expect.stringMatching(/no such column/) },
  });
  expect(all.status === "fulfilled" && all.value.map(({ n }) => n)).toEqual(
    Array.from({ length: 50 }, (_, n) => n),
  );
  expect(time.readsHere()).toBe(here);
  await reader.close();
});
