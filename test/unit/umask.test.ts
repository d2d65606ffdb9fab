import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { libraryPath } from "../../src/engine/library/path.ts";
import { openLibrary } from "../../src/engine/library/take-in.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { RunStore } from "../../src/engine/runs/run-store.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { tempDir } from "../support/client.ts";
import { modeOf } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { fund } from "../support/store.ts";

// Files are for their owner alone, whatever the umask.

let before: number;
beforeEach(() => {
  before = process.umask(0);
});
afterEach(() => {
  process.umask(before);
});

test("a library of what was bought, with its log", async () => {
  const { service, u, run } = await foreignScene({ people: 20 });
  expect(await run("search", "--country", "x", "-o", "o.csv", "--yes")).toMatchObject({ code: 0 });
  const state = u.file("state");
  const path = libraryPath(state, service.url, "live");
  const shelf = { path, serviceId: service.url, mode: "live" } as const;

  const opened = await openLibrary(shelf, new RunStore(state, new Disk()));
  onTestFinished(() => opened?.library.close());
  expect([modeOf(path), modeOf(`${path}-wal`)]).toEqual(["600", "600"]);
  expect(modeOf(join(path, ".."))).toBe("700");
});

test("a ledger, with its logs", async () => {
  const path = join(tempDir(), "ledger.db");
  const store = await openSqliteStore({ path, now: Date.now });
  onTestFinished(() => store.close());
  await fund(store, 10);
  for (const file of [path, `${path}-wal`, `${path}-shm`])
    expect(statSync(file).mode & 0o777, file).toBe(0o600);
});
