import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import { isAlive, SILENCE_MS, thisInstance } from "../../src/service/ledger/instances.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { snapshotLedger, verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { tempDir } from "../support/client.ts";
import { temporaryFolder } from "../support/service.ts";
import { BIN } from "../support/spawned.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../support/store.ts";

const SQLITE = createRequire(import.meta.url).resolve("@photostructure/sqlite");
/** Another program with a SQLite of its own: within one process files that were removed are shared. */
const elsewhere = (path: string, code: string): string =>
  execFileSync(
    process.execPath,
    [
      "-e",
      `const { DatabaseSync } = require(process.argv[1]); const db = new DatabaseSync(process.argv[2]); ${code}`,
    ].concat(SQLITE, path),
    { encoding: "utf8" },
  );

const READ = `const one = (sql) => Object.values(db.prepare(sql).get())[0];
  console.log(one("PRAGMA integrity_check"), one("SELECT balance FROM balances WHERE mode = 'live'"))`;

const open = (path: string, patienceMs?: number): Promise<Store> =>
  openSqliteStore({ path, now: Date.now, ...(patienceMs === undefined ? {} : { patienceMs }) });

async function charged(): Promise<{ readonly path: string; readonly store: Store }> {
  const path = join(tempDir(), "ledger.db");
  const store = await open(path);
  await fund(store, 100);
  await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
  return { path, store };
}

describe("files of a ledger that are removed under a running process", () => {
  test("what another program writes into the log meanwhile is neither overwritten by a refused call nor at the end", async () => {
    const { path, store } = await charged();
    rmSync(`${path}-shm`);
    const WRITE = `db.exec("CREATE TABLE IF NOT EXISTS other (x)"); const put = db.prepare("INSERT INTO other VALUES (?)");
      const some = () => { for (let n = 0; n < 150; n += 1) put.run("x".repeat(3000)); }; db.exec("BEGIN"); some(); db.exec("COMMIT");
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); db.exec("BEGIN"); some(); db.exec("COMMIT");`;
    for (let round = 0; round < 2; round += 1) {
      elsewhere(path, WRITE);
      await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(/-shm was removed or replaced/);
      await expect(store.grant(ACCOUNT, "live", c(1), "more")).rejects.toThrow(
        StoreUnavailableError,
      );
    }
    await store.close();
    expect(elsewhere(path, READ)).toBe("ok 97000000\n");
    expect(
      elsewhere(path, `console.log(db.prepare("SELECT COUNT(*) AS n FROM other").get().n)`),
    ).toBe("600\n");
  });

  test.each([["-shm"], ["-wal"], ["-wal", "-shm"]])(
    "no other process begins new ones beside it (%s %s), and its end saves what it acknowledged",
    async (...ends) => {
      const { path, store } = await charged();
      for (const end of ends) rmSync(path + end);
      const refused = new RegExp(
        `${path} is open in another process, and ${path}${ends[0]} was removed under it`,
      );
      await expect(open(path, 60)).rejects.toThrow(refused);
      await expect(snapshotLedger(path, join(tempDir(), "copy.db"))).rejects.toThrow(refused);
      for (const end of ends) expect(existsSync(path + end)).toBe(false);
      await store.close();
      expect(elsewhere(path, READ)).toBe("ok 97000000\n");
    },
    30_000,
  );

  test("a log whose ledger is gone is no new ledger, and none is backed up", async () => {
    const { path, store } = await charged();
    renameSync(path, `${path}.gone`);
    await expect(open(path)).rejects.toThrow(`${path} is gone and its log ${path}-wal is there`);
    await expect(snapshotLedger(path, join(tempDir(), "copy.db"))).rejects.toThrow(
      `${path} is gone`,
    );
    expect(existsSync(path)).toBe(false);
    renameSync(`${path}.gone`, path);
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(97));
    await store.close();
  });

  test("an empty file, or none, beside the log of a killed process or the seal of a closed one is no new ledger", async () => {
    const { path, store } = await charged();
    const killed = join(tempDir(), "ledger.db");
    copyFileSync(`${path}-wal`, `${killed}-wal`);
    await store.close();
    const closed = join(tempDir(), "ledger.db");
    copyFileSync(`${path}-seal`, `${closed}-seal`);
    for (const [place, what, end] of [
      [killed, "log", "-wal"],
      [closed, "seal", "-seal"],
    ] as const) {
      const before = readFileSync(place + end);
      for (const state of ["gone", "empty"]) {
        if (state === "empty") writeFileSync(place, "");
        const told = `${place} is ${state} and its ${what} ${place}${end} is there: put the ledger back`;
        await expect(open(place)).rejects.toThrow(told);
        await expect(
          openSqliteStore({ path: place, now: Date.now, create: false }),
        ).rejects.toThrow(told);
        await expect(snapshotLedger(place, join(tempDir(), "copy.db"))).rejects.toThrow(told);
        expect((await verifySqliteFile(place)).breaches).toEqual([expect.stringContaining(told)]);
      }
      expect(readFileSync(place + end)).toEqual(before);
    }
  });

  test("what a kill has left is opened without its index too", async () => {
    const { path, store } = await charged();
    const copy = join(tempDir(), "ledger.db");
    for (const end of ["", "-wal"]) copyFileSync(path + end, copy + end);
    const left = await open(copy);
    expect((await left.balance(ACCOUNT, "live")).balance).toBe(c(97));
    expect(await left.verify()).toEqual([]);
    await left.close();
    await store.close();
  });
});

test("a ledger on a read-only file system is verified with all that is in its log", async () => {
  const { path, store } = await charged();
  const data = join(tempDir(), "data");
  mkdirSync(data);
  for (const end of ["", "-wal"]) copyFileSync(path + end, join(data, `ledger.db${end}`));
  const mounted = spawnSync(
    "unshare",
    [
      "-rm",
      "sh",
      "-c",
      'mount --bind "$2" "$2" && mount -o remount,ro,bind "$2" && exec "$0" "$1" service verify --data "$2"',
      ...[process.execPath, BIN, data],
    ],
    { encoding: "utf8" },
  );
  // Where this may not mount there is nothing to see.
  if (!/unshare|mount/.test(mounted.stderr))
    expect(mounted).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^ledger\tsound\ndataset\tnone\nhead\t/),
    });
  await store.close();
});

test("who lives is a stopped process, and not one that was killed", async () => {
  const self = thisInstance();
  const child = spawn("sleep", ["60"]);
  const pid = child.pid ?? 0;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const identity = {
    ...self,
    pid,
    started: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "",
  };
  process.kill(pid, "SIGSTOP");
  expect(isAlive(identity, self, 10 * SILENCE_MS, true)).toBe(true);
  process.kill(pid, "SIGKILL");
  await new Promise((resolve) => child.on("exit", resolve));
  expect(isAlive(identity, self, 0, true)).toBe(false);
});

describe("serve", () => {
  test("serve --json answers before it prints, keeps the key out of its arguments, and SIGTERM ends it with 0", async () => {
    const data = temporaryFolder();
    const datasetDir = join(data, "dataset");
    await generateDataset(
      { people: 100, seed: 3 },
      { datasetDir, now: Date.now, sleep: (ms) => new Promise((wake) => setTimeout(wake, ms)) },
    );
    const child = spawn(process.execPath, [BIN, "serve", "--port", "0", "--json", "--data", data], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    const first = await new Promise<string>((resolve, reject) => {
      child.stdout.on("data", (chunk) => {
        out += chunk;
        if (out.includes("\n")) resolve(out);
      });
      child.on("exit", () => reject(new Error(err)));
    });
    const { key, url } = JSON.parse(first) as { key: string; url: string };
    const answer = await fetch(`${url}/v1/account`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    expect(readFileSync(`/proc/${child.pid}/cmdline`, "latin1")).not.toContain(key.slice(8));
    const exit = new Promise<number | null>((resolve) => child.on("exit", resolve));
    child.kill("SIGTERM");
    expect(await exit).toBe(0);
    expect(out.trim().split("\n")).toHaveLength(1);
    expect(err).not.toContain(key.slice(8));
  });

  test("that is told to end does not wait for somebody to read its log", async () => {
    const data = temporaryFolder();
    const sleep = (ms: number) => new Promise<void>((wake) => setTimeout(wake, ms));
    await generateDataset(
      { people: 100, seed: 3 },
      { datasetDir: join(data, "dataset"), now: Date.now, sleep },
    );
    const child = spawn(
      process.execPath,
      [BIN, "serve", "--port", "0", "--json", "--log", "--data", data],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const exit = new Promise<number | null>((resolve) => child.on("exit", resolve));
    const [first] = (await once(child.stdout, "data")) as [Buffer];
    const { url } = JSON.parse(first.toString()) as { url: string };
    // Nobody listens to stderr: lines for more than any buffer of the system are written to it.
    const headers = { "x-request-id": "x".repeat(128) };
    for (let sent = 0; sent < 4_000; sent += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async () => (await fetch(`${url}/livez`, { headers })).text()),
      );
    }
    child.kill("SIGTERM");
    expect(await Promise.race([exit, sleep(20_000)])).toBe(0);
  });
});
