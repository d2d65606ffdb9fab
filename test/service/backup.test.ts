import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  backUp,
  checkBackup,
  type Manifest,
  manifestText,
  restoreBackup,
} from "../../src/service/admin/backup.ts";
import { openStore } from "../../src/service/admin/data-folder.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { tempDir } from "../support/client.ts";
import { smallDatasetFolder } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import { folder, headcount } from "../support/serve-command.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../support/store.ts";

const NOW = Date.UTC(2026, 10, 22, 8);
const now = () => NOW;
const LIVE = { accountId: ACCOUNT, mode: "live", limit: 1_000 } as const;
const keyed = (key: string) => ({ idempotency: { key, requestHash: "h" } });

async function openLedger(): Promise<{
  readonly dir: string;
  readonly store: Store;
  readonly path: string;
}> {
  const dir = tempDir();
  const path = join(dir, "ledger.db");
  return { dir, path, store: await openSqliteStore({ path, now }) };
}

/** Backs up and restores. @returns the restored ledger, which is sound */
async function restored({
  dir,
  path,
}: {
  readonly dir: string;
  readonly path: string;
}): Promise<Store> {
  const place = tempDir();
  const made = await backUp({ dir, ledger: path, to: join(place, "backup"), now });
  await restoreBackup({ from: join(place, "backup"), dir: join(place, "data"), now, actor: "me" });
  expect(readdirSync(place).sort()).toEqual(["backup", "data"]);
  expect(made.files.map((file) => file.path)).toEqual(["ledger.db"]);
  const store = await openSqliteStore({ path: join(place, "data", "ledger.db"), now });
  expect(await store.verify()).toEqual([]);
  return store;
}

describe("a backup of a running service", () => {
  test("holds after every write what was acknowledged before it, and gives back what is in flight", async () => {
    const ledger = await openLedger();
    const { store } = ledger;
    const charges: string[] = [];
    const settle = async (holdId: string) => {
      await store.settle({ holdId, amount: c(3), reply: answer() });
      charges.push(holdId);
    };
    let [first, second] = ["", ""];
    const key = {
      id: "k",
      name: "k",
      mode: "live" as const,
      prefix: "p",
      hash: "1".repeat(64),
      accountId: ACCOUNT,
    };
    const steps: readonly (() => Promise<unknown>)[] = [
      () => fund(store, 100),
      () => store.createKey({ ...key, createdAt: NOW, maxCredits: c(50) }),
      () => store.setPlan(ACCOUNT, { perDay: 7 }),
      async () => {
        first = await held(store, c(4), { keyId: "k", ...keyed("a") });
      },
      () => settle(first),
      async () => {
        second = await held(store, c(9), { keyId: "k", ...keyed("b") });
      },
      () => store.release(second),
      async () => settle(await held(store, c(3))),
      () => store.recordCalls([{ keyId: "k", day: "2026-11-22", count: 3 }]),
      () => store.deduct(ACCOUNT, "live", c(1), { note: "", reference: "r" }),
      () => store.revokeKey("k"),
      () => held(store, c(5), keyed("c")),
    ];
    for (const step of steps) {
      await step();
      const copy = await restored(ledger);
      await copy.recover(0);
      const { balance } = await store.balance(ACCOUNT, "live");
      expect(await copy.balance(ACCOUNT, "live")).toMatchObject({ balance, held: c(0) });
      expect((await copy.entries(LIVE)).filter(({ kind }) => kind === "charge")).toHaveLength(
        charges.length,
      );
      expect(await copy.listKeys(ACCOUNT)).toEqual(
        (await store.listKeys(ACCOUNT)).map((each) => withoutHeld(each)),
      );
      expect(await copy.account(ACCOUNT)).toEqual(await store.account(ACCOUNT));
      expect(await copy.audit({ limit: 1 })).toMatchObject([
        { action: "ledger.restore", actor: "me" },
      ]);
      await copy.close();
    }
    await store.close();
  });

  long("is one state of it, however much is charged meanwhile", async () => {
    const ledger = await openLedger();
    const { store } = ledger;
    await fund(store, 1_000_000);
    let charged = 0;
    let on = true;
    const client = async (): Promise<void> => {
      while (on) {
        await store.settle({ holdId: await held(store, c(2)), amount: c(1), reply: answer() });
        charged += 1;
      }
    };
    const clients = Array.from({ length: 8 }, client);
    for (let round = 0; round < 4; round += 1) {
      const before = charged;
      const copy = await restored(ledger);
      const spent = 1_000_000n - (await copy.balance(ACCOUNT, "live")).balance / 1_000_000n;
      expect(Number(spent)).toBeGreaterThanOrEqual(before);
      expect(Number(spent)).toBeLessThanOrEqual(charged + 8);
      await copy.close();
    }
    on = false;
    await Promise.all(clients);
    await store.close();
  });

  test("replays what was stored in it; a key of later is a new call, charged once in the restored books", async () => {
    const ledger = await openLedger();
    const { store } = ledger;
    await fund(store, 100);
    const settled = await store.settle({
      holdId: await held(store, c(4), keyed("before")),
      amount: c(4),
      reply: answer(),
    });
    await held(store, c(7), keyed("in flight"));
    const copy = await restored(ledger);
    await store.settle({
      holdId: await held(store, c(2), keyed("after")),
      amount: c(2),
      reply: answer(),
    });
    await store.close();
    expect(await copy.hold(holdRequest(c(4), keyed("before")))).toEqual({
      kind: "replay",
      reply: settled.reply,
      charged: c(4),
    });
    for (const key of ["in flight", "after"]) {
      const outcome = await copy.hold(holdRequest(c(2), keyed(key)));
      expect(outcome.kind, key).toBe("held");
      if (outcome.kind === "held")
        await copy.settle({ holdId: outcome.holdId, amount: c(2), reply: answer() });
      expect((await copy.hold(holdRequest(c(2), keyed(key)))).kind, key).toBe("replay");
    }
    await copy.recover(0);
    expect(await copy.balance(ACCOUNT, "live")).toMatchObject({ balance: c(92), held: c(0) });
    expect(await copy.verify()).toEqual([]);
    await copy.close();
  });
});

const withoutHeld = <Key extends { readonly budget: { readonly held: bigint } | null }>(
  key: Key,
): Key => ({
  ...key,
  budget: key.budget === null ? null : { ...key.budget, held: 0n },
});

long(
  "a file of a backup that is changed, cut or missing is named, and nothing is restored",
  async () => {
    const data = tempDir();
    await cp(await smallDatasetFolder(60), join(data, "dataset"), { recursive: true });
    await (await openStore(data)).close();
    const backup = join(tempDir(), "backup");
    const { files } = await backUp({ dir: data, ledger: join(data, "ledger.db"), to: backup, now });
    expect(files.length).toBeGreaterThan(5);
    const target = join(tempDir(), "data");
    const restoring = () => restoreBackup({ from: backup, dir: target, now, actor: "me" });
    for (const { path } of files) {
      const file = join(backup, path);
      const bytes = readFileSync(file);
      const changed = Buffer.from(bytes);
      changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
      // Links of the data folder's own files: written anew, so that only the backup is hurt.
      for (const hurt of [changed, bytes.subarray(0, -1)]) {
        rewriteFile(file, hurt);
        await expect(restoring(), path).rejects.toThrow(`${file} is not what was backed up`);
        expect(await checkBackup(backup)).toEqual([
          `${file} is not what was backed up: its SHA-256 is another`,
        ]);
      }
      rewriteFile(file, bytes);
    }
    const manifest = join(backup, "backup.json");
    const text = readFileSync(manifest, "utf8");
    const known = JSON.parse(text) as Manifest;
    for (const [hurt, said] of [
      [text.slice(0, 50), /is not what a backup has written/],
      [manifestText({ ...known, format: 2 }), /has format 2; this version of headcount reads 1/],
      [
        manifestText({ ...known, files: [{ path: "../x", bytes: 1, sha256: "" }] }),
        /is not what a backup has written/,
      ],
      [
        manifestText({ ...known, files: [...files, { path: "gone", bytes: 1, sha256: "" }] }),
        /gone is missing/,
      ],
      // What only tells of the backup is under its own SHA-256.
      [text.replace('"made_at": "20', '"made_at": "21'), /is not what a backup has written/],
      [text.replace(/"head": "/, '"head": "_'), /is not what a backup has written/],
    ] as const) {
      writeFileSync(manifest, hurt);
      await expect(restoring()).rejects.toThrow(said);
      expect((await checkBackup(backup)).join()).toMatch(said);
    }
    expect([existsSync(target), existsSync(`${target}.part`)]).toEqual([false, false]);
    writeFileSync(manifest, text);
    expect(await checkBackup(backup)).toEqual([]);
    await restoring();
    expect((await verifySqliteFile(join(target, "ledger.db"))).breaches).toEqual([]);
  },
);

function rewriteFile(path: string, bytes: Uint8Array): void {
  const { mode } = statSync(path);
  writeFileSync(`${path}.new`, bytes, { mode });
  renameSync(`${path}.new`, path);
}

long("service backup and service restore, from outside", async () => {
  const data = folder();
  expect(
    (await headcount("service", "generate", "--people", "50", "--data", data, "--quiet")).code,
  ).toBe(0);
  expect((await headcount("service", "keys", "create", "--data", data)).code).toBe(0);
  const place = tempDir();
  const [backup, back] = [join(place, "backup"), join(place, "back")];
  const made = await headcount("service", "backup", backup, "--data", data, "--json");
  expect(made.code, made.err).toBe(0);
  expect(JSON.parse(made.out)).toMatchObject({
    backup,
    files: expect.any(Number),
    head: expect.any(String),
  });
  expect(statSync(backup).mode & 0o777).toBe(0o700);
  expect((await headcount("service", "verify", "--data", backup)).code).toBe(0);
  for (const taken of [data, backup]) {
    const refused = await headcount("service", "backup", taken, "--data", data);
    expect([refused.code, refused.out], refused.err).toEqual([2, ""]);
    expect(refused.err).toContain(`${taken} is not empty`);
    expect((await headcount("service", "restore", backup, "--data", taken)).code).toBe(2);
  }
  const none = await headcount("service", "restore", data, "--data", back);
  expect([none.code, existsSync(back)]).toEqual([2, false]);
  expect(none.err).toContain("is no backup: it has no backup.json");
  mkdirSync(back);
  const restoredOne = await headcount("service", "restore", backup, "--data", back);
  expect(restoredOne.code, restoredOne.err).toBe(0);
  expect(restoredOne.err).toContain("keys revoked, people taken out and credits added since then");
  expect((await headcount("service", "verify", "--data", back)).out).toMatch(
    /^ledger\tsound\ndataset\tsound\n/,
  );
  const nothing = await headcount(
    "service",
    "backup",
    join(place, "none"),
    "--data",
    join(place, "missing"),
  );
  expect(
    [nothing.code, existsSync(join(place, "none")), existsSync(join(place, "none.part"))],
    nothing.err,
  ).toEqual([...[2, false, false]]);
});
