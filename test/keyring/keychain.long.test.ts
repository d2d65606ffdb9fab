import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openKeychain } from "../../src/engine/connections/keychain.ts";
import { answerEnvelope, answerError, rawServer } from "../support/client.ts";
import { isLeftOut } from "../support/tools.ts";
import { available, hasKeePassXc, openRing, type Ring } from "./ring.ts";

if (isLeftOut(available)) {
  console.warn(
    "test/keyring: skipped, for want of dbus-daemon and gnome-keyring-daemon (CI must have them)",
  );
}

const KEY = "svc_live_keyring_0001";
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function ring(kind: Parameters<typeof openRing>[0] = "gnome-keyring"): Promise<Ring> {
  const opened = await openRing(kind);
  closers.push(() => opened.close());
  return opened;
}

const ALL = [
  ["get", "work"],
  ["set", "work", "x"],
  ["remove", "work"],
] as const;
/** Where the keychain cannot be used every operation says so: never a value, never "no such entry". */
const failingAll = (code: string) =>
  ALL.map(() => ({
    error: code,
    exit: 3,
    hint: expect.stringMatching(/HEADCOUNT_API_KEY.*--insecure-storage/),
  }));

describe.skipIf(isLeftOut(available))("a real keyring", () => {
  test("sets, gets, replaces, deletes, and tells when there is none", async () => {
    const { operate } = await ring();
    const answers = await operate(
      ["get", "work"],
      ["remove", "work"],
      ["set", "work", "schlüssel"],
      ["set", "other", "2"],
      ["get", "work"],
      ["set", "work", "replaced"],
      ["get", "work"],
      ["remove", "work"],
      ["get", "work"],
      ["get", "other"],
    );
    expect(answers).toEqual([
      null,
      false,
      null,
      null,
      "schlüssel",
      null,
      "replaced",
      true,
      null,
      "2",
    ]);
  });

  test("locked", async () => {
    const { lock, operate } = await ring();
    expect(await operate(["set", "work", "secret"])).toEqual([null]);
    await lock();
    expect(await operate(...ALL)).toEqual(failingAll("keychain_locked"));
  });

  test("hung: given up in time, and the process ends", async () => {
    const { pid, run, operate } = await ring();
    const server = await service();
    await run(["login", "work", "--key-stdin", "--base-url", server.url], { stdin: KEY });
    process.kill(pid ?? 0, "SIGSTOP");
    const outcome = await run(["account"]);
    expect(outcome).toMatchObject({ code: 3, stdout: "" });
    expect(outcome.stderr).toMatch(/did not answer in time[\s\S]*HEADCOUNT_API_KEY/);
    expect(outcome.elapsedMs).toBeLessThan(15_000);
    expect(await operate(["get", "work"])).toMatchObject([{ error: "keychain_hung" }]);
  });

  test("a new keyring without a collection", async () => {
    const { operate, run } = await ring("no collection");
    expect(await operate(["get", "work"], ["set", "work", "x"])).toMatchObject([
      null,
      { error: "keychain_no_collection", exit: 3, hint: expect.stringMatching(/KeePassXC/) },
    ]);
    const doctor = await run(["doctor"], { env: await reached() });
    expect(doctor.stdout).toMatch(/Keychain.*no collection/);
  });

  test("doctor leaves no entry behind", async () => {
    const { env, run } = await ring();
    expect((await run(["doctor"], { env: await reached() })).stdout).toMatch(
      /Keychain.*deletes an entry/,
    );
    const words = ["search", "--all", "service", "headcount"];
    const found = spawnSync("secret-tool", words, { env, encoding: "utf8" });
    expect(found.stdout ?? "").toBe("");
  });

  test("no provider on the bus", async () => {
    const { operate } = await ring("no provider");
    expect(await operate(...ALL)).toEqual(failingAll("keychain_no_provider"));
  });

  test("no bus", async () => {
    const { operate } = await ring("no bus");
    expect(await operate(...ALL)).toEqual(failingAll("keychain_no_bus"));
  });
});

describe.skipIf(isLeftOut(hasKeePassXc))("KeePassXC", () => {
  test("open: sets, gets, replaces and deletes", async () => {
    const { operate } = await ring("keepassxc");
    const answers = await operate(
      ["get", "work"],
      ["set", "work", "schlüssel"],
      ["get", "work"],
      ["set", "work", "replaced"],
      ["get", "work"],
      ["remove", "work"],
      ["get", "work"],
    );
    expect(answers).toEqual([null, null, "schlüssel", null, "replaced", true, null]);
  });

  // It says of every key then that there is none.
  test("locked: nothing is stored, and no key is said to be missing", async () => {
    const { lock, operate } = await ring("keepassxc");
    expect(await operate(["set", "work", "secret"])).toEqual([null]);
    await lock();
    expect(await operate(...ALL)).toEqual(failingAll("keychain_locked"));
  });
});

test("the package is missing, or does not load", async () => {
  const env = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere" };
  const chain = openKeychain({ platform: "linux", env, module: "/nowhere/at/all" });
  await expect(chain.get("work")).rejects.toMatchObject({
    code: "keychain_missing_package",
    exitCode: 3,
  });
  await expect(chain.get("work")).rejects.toThrow(/@napi-rs\/keyring/);
});

test("a bus that says nothing is named, and a signal ends the wait at once", async () => {
  const { configDir, operate, signalled } = await ring("silent bus");
  expect(await operate(["get", "work"])).toMatchObject([{ error: "keychain_silent_bus", exit: 3 }]);

  mkdirSync(configDir, { recursive: true });
  const work = { baseUrl: "http://127.0.0.1:9/v1", keyStore: "keychain" };
  const config = { version: 1, default: "work", connections: { work } };
  writeFileSync(join(configDir, "config.json"), JSON.stringify(config));

  // Both kinds of command: one that ends at once, one that settles first.
  const search = ["search", "--country", "Germany", "--limit", "1", "-o", "people.csv", "--yes"];
  for (const argv of [["account"], ["count", "--country", "Germany"], search]) {
    const outcome = await signalled(argv, "SIGTERM");
    expect(outcome, argv[0]).toMatchObject({ code: 130, stdout: "" });
    // By itself it gives the bus 3 s.
    expect(outcome.elapsedMs, argv[0]).toBeLessThan(2_500);
  }
});

async function service() {
  const costs = { person_search: 1, company_enrich: 1, company_employees: 1 };
  const server = await rawServer((request, response) => {
    if (request.headers.authorization?.startsWith(`Bearer ${KEY}`)) {
      answerEnvelope(response, { account: { id: "acc", name: "Acme" }, costs });
    } else answerError(response, 401, ["invalid key"]);
  });
  closers.push(() => server.close());
  return server;
}

/** A service that needs no keychain. */
const reached = async () => ({
  HEADCOUNT_BASE_URL: (await service()).url,
  HEADCOUNT_API_KEY: KEY,
});

describe.skipIf(isLeftOut(available))("commands on a real keyring", () => {
  test("login, use, replace, logout: the key is in the keychain and nowhere else", async () => {
    const { run, operate, configDir } = await ring();
    const server = await service();
    const login = await run(["login", "work", "--key-stdin", "--base-url", server.url], {
      stdin: `${KEY}\n`,
    });
    expect(login).toMatchObject({ code: 0, stdout: "" });
    expect(login.stderr).toContain("keychain");
    expect(readFileSync(join(configDir, "config.json"), "utf8")).not.toContain("svc_live");
    expect(existsSync(join(configDir, "credentials.json"))).toBe(false);

    const account = await run(["account", "--json"]);
    expect(account.code).toBe(0);
    expect(JSON.parse(account.stdout)).toMatchObject({
      connection: "work",
      key: { source: "keychain" },
    });
    expect((await run(["connections"])).stdout).toContain(`work,${server.url},keychain,default`);

    expect((await run(["login", "work", "--key-stdin"], { stdin: `${KEY}-new` })).code).toBe(0);
    await run(["account"]);
    expect(server.seen.at(-1)?.headers.authorization).toBe(`Bearer ${KEY}-new`);

    const override = await run(["account", "--json"], { env: { HEADCOUNT_API_KEY: `${KEY}-env` } });
    expect(JSON.parse(override.stdout)).toMatchObject({ key: { source: "environment" } });

    expect(await run(["logout"])).toMatchObject({ code: 0 });
    const after = await run(["account"]);
    expect(after).toMatchObject({ code: 3, stdout: "" });
    expect(after.stderr).toContain("has no key");
    expect(await operate(["get", "work"])).toEqual([null]);
  });

  test("a locked keyring: login stores nothing; a look-up and a logout say locked, not that there is no key", async () => {
    const { run, lock, configDir } = await ring();
    const server = await service();
    await run(["login", "work", "--key-stdin", "--base-url", server.url], { stdin: KEY });
    await lock();
    const count = ["count", "--country", "Germany"];
    for (const argv of [["account"], count, ["logout"], ["connections", "remove", "work"]]) {
      const { code, elapsedMs, stderr, stdout } = await run(argv);
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr).toMatch(/keychain is locked/);
      expect(elapsedMs, argv[0]).toBeLessThan(15_000);
      expect(stderr).not.toMatch(/has no key|Removed/);
    }
    const login = await run(["login", "other", "--key-stdin", "--base-url", server.url], {
      stdin: KEY,
    });
    expect(login.code).toBe(3);
    expect(existsSync(join(configDir, "credentials.json"))).toBe(false);
    expect(readFileSync(join(configDir, "config.json"), "utf8")).not.toContain("other");
  });

  test("no keychain at all: login says how to go on, and falls back only when told to", async () => {
    const { run, configDir } = await ring("no bus");
    const server = await service();
    const argv = ["login", "work", "--key-stdin", "--base-url", server.url];
    const refused = await run(argv, { stdin: KEY });
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/no D-Bus session[\s\S]*--insecure-storage/);
    expect(refused.stderr).toContain(
      `headcount login work --key-stdin --base-url ${server.url} --insecure-storage\n`,
    );
    expect(existsSync(configDir)).toBe(false);
    const chosen = await run([...argv, "--insecure-storage"], { stdin: KEY });
    expect(chosen.code).toBe(0);
    expect(chosen.stderr).toMatch(/^warning: the key is about to be written unencrypted/);
    expect((await run(["account", "--json"])).code).toBe(0);
    expect((await run(["connections"])).stdout).toContain(",file,default");
  });
});
