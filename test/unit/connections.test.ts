import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  checkName,
  configFile,
  findConnection,
  readConfig,
  updateConfig,
} from "../../src/engine/connections/config.ts";
import {
  keyFile,
  readKeyFile,
  removeFromKeyFile,
  writeKeyFile,
} from "../../src/engine/connections/key-file.ts";
import { findFolder, stateDir } from "../../src/engine/connections/paths.ts";
import {
  type ConnectionChoice,
  checkKey,
  connectionMeant,
  keyModeOf,
  keyPrefix,
  resolveTarget,
} from "../../src/engine/connections/resolve.ts";
import { CliError } from "../../src/shared/errors.ts";
import { tempDir } from "../support/client.ts";

const KEY = "svc_live_0123456789";
const caught = async (run: () => unknown): Promise<CliError> => {
  try {
    await run();
  } catch (error) {
    expect(error).toBeInstanceOf(CliError);
    return error as CliError;
  }
  throw new Error("nothing was thrown");
};

describe("folders", () => {
  test.each<[Record<string, string>, NodeJS.Platform, string | undefined]>([
    [{ HOME: "/home/a" }, "linux", "/home/a/.config/headcount"],
    [{ HOME: "/home/a", XDG_CONFIG_HOME: "/x" }, "linux", "/x/headcount"],
    [{ HOME: "/home/a", XDG_CONFIG_HOME: "relative" }, "linux", "/home/a/.config/headcount"],
    [{ HOME: "/home/a", HEADCOUNT_CONFIG_DIR: "/c" }, "linux", "/c"],
    [{ HOME: "/Users/a" }, "darwin", "/Users/a/Library/Preferences/headcount"],
    [{ APPDATA: "C:\\A", USERPROFILE: "C:\\U" }, "win32", "C:\\A\\headcount\\config"],
    [{ USERPROFILE: "C:\\U" }, "win32", "C:\\U\\.headcount\\config"],
    [{}, "linux", undefined],
  ])("config by %j on %s", (env, platform, expected) => {
    expect(findFolder("config", { env, platform })).toBe(expected);
  });

  test("state and data, and what is said where there is no home", async () => {
    expect(findFolder("state", { env: { HOME: "/h" }, platform: "linux" })).toBe(
      "/h/.local/state/headcount",
    );
    expect(findFolder("data", { env: { HOME: "/h" }, platform: "linux" })).toBe(
      "/h/.local/share/headcount",
    );
    expect(findFolder("state", { env: { LOCALAPPDATA: "C:\\L" }, platform: "win32" })).toBe(
      "C:\\L\\headcount\\state",
    );
    const error = await caught(() => stateDir({ env: {}, platform: "linux" }));
    expect(error).toMatchObject({ exitCode: 2, code: "no_home" });
    expect(error.hint).toContain("HEADCOUNT_STATE_DIR");
  });
});

describe("the config file", () => {
  test("is written whole, private, and read back; what a newer version put there stays", async () => {
    const dir = join(tempDir(), "deep", "config");
    const config = {
      default: "work",
      connections: {
        work: {
          baseUrl: "https://api.example.com",
          keyStore: "keychain" as const,
          dialect: { paging: "offset" as const, firstPage: 0 as const, perPageMax: 100 },
        },
        constructor: { baseUrl: "https://b.example.com" },
      },
    };
    await updateConfig(dir, () => config);
    expect(readConfig(dir)).toEqual(config);
    expect(statSync(configFile(dir)).mode & 0o777).toBe(0o600);
    writeFileSync(configFile(dir), JSON.stringify({ ...config, theme: "dark" }));
    const { default: _, ...rest } = config;
    await updateConfig(dir, () => rest);
    expect(JSON.parse(readFileSync(configFile(dir), "utf8"))).toEqual({ ...rest, theme: "dark" });
    expect(readdirSync(dir)).toEqual(["config.json"]);
  });

  test("that is missing, or whose folder is, is empty", () => {
    expect(readConfig(undefined)).toEqual({ connections: {} });
    expect(readConfig(join(tempDir(), "none"))).toEqual({ connections: {} });
    const file = join(tempDir(), "file");
    writeFileSync(file, "");
    expect(readConfig(file)).toEqual({ connections: {} });
  });

  test.each(["{", "[]", '"x"', ""])("that is broken is named, with the fix: %j", async (text) => {
    const dir = tempDir();
    writeFileSync(configFile(dir), text);
    const error = await caught(() => readConfig(dir));
    expect(error).toMatchObject({ exitCode: 2, code: "bad_config" });
    expect(error.message).toContain(configFile(dir));
  });

  test.each([
    ['{"connections": {},\n}\n', "is not valid JSON: line 2, column 1: "],
    ["{\n  'connections': {}}", "is not valid JSON: line 2, column 3: "],
    ['{"connections": {"a": {}', "is not valid JSON: line 1, column 25: "],
    ['{"connections": {"a": {"baseUrl": "x"},\n"a": {}}}', "duplicate key in it: a"],
  ])("a slip is told by its place, and what is there twice by its name: %j", async (text, why) => {
    const dir = tempDir();
    writeFileSync(configFile(dir), `\ufeff${text}`);
    expect((await caught(() => readConfig(dir))).message).toContain(why);
    await caught(() => updateConfig(dir, (config) => config));
    expect(readFileSync(configFile(dir), "utf8")).toBe(`\ufeff${text}`);
  });

  test("behind a link the file itself is changed", async () => {
    const [dir, other] = [tempDir(), tempDir()];
    writeFileSync(join(other, "mine.json"), "{}");
    symlinkSync(join(other, "mine.json"), configFile(dir));
    await updateConfig(dir, (config) => ({ ...config, default: "a" }));
    expect(lstatSync(configFile(dir)).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(other, "mine.json"), "utf8")).toContain('"default": "a"');
  });

  test.each(['"b": 5', '"b": {"base_url": "https://b"}', '"__proto__": {"baseUrl": "https://b"}'])(
    "a connection that is none is named, and not lost by the next change: %s",
    async (entry) => {
      const dir = tempDir();
      const text = `{"connections": {"a": {"baseUrl": "https://a"}, ${entry}}}`;
      writeFileSync(configFile(dir), text);
      const change = () => updateConfig(dir, (config) => ({ ...config, default: "a" }));
      for (const act of [() => readConfig(dir), change])
        expect((await caught(act)).message).toContain(
          `has a connection "${/\w+/.exec(entry)}" without a name or a "baseUrl"`,
        );
      expect(readFileSync(configFile(dir), "utf8")).toBe(text);
    },
  );

  test("facts that make no sense are left out, and inherited names are no connections", () => {
    const dir = tempDir();
    writeFileSync(
      configFile(dir),
      '{"default":7,"connections":{"a":{"baseUrl":"https://a","dialect":{"paging":"x"},"keyStore":"paper"}}}',
    );
    const config = readConfig(dir);
    expect(config).toEqual({ connections: { a: { baseUrl: "https://a" } } });
    expect(findConnection(config, "toString")).toBeUndefined();
    expect(findConnection(config, "__proto__")).toBeUndefined();
  });

  test.each(["work", "a", "0", "team-1_x"])("%s is a name", (name) => {
    expect(checkName(name)).toBe(name);
  });

  test.each(["", "Work", "a b", "a.b", "-a", "__proto__", "ä", "a/b", "x".repeat(65)])(
    "%j is none",
    async (name) => {
      expect(await caught(() => checkName(name))).toMatchObject({
        exitCode: 2,
        code: "bad_connection_name",
      });
    },
  );
});

describe("the credentials file", () => {
  test("keeps keys private, whole or not at all", () => {
    const dir = join(tempDir(), "c");
    writeKeyFile(dir, "work", KEY, "linux");
    writeKeyFile(dir, "other", `${KEY}2`, "linux");
    writeKeyFile(dir, "work", `${KEY}3`, "linux");
    expect(readKeyFile(dir, "work", "linux")).toBe(`${KEY}3`);
    expect(readKeyFile(dir, "toString", "linux")).toBeUndefined();
    expect(statSync(keyFile(dir)).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(readdirSync(dir)).toEqual(["credentials.json"]);
    expect(removeFromKeyFile(dir, "work", "linux")).toBe(true);
    expect(removeFromKeyFile(dir, "work", "linux")).toBe(false);
    expect(readKeyFile(dir, "other", "linux")).toBe(`${KEY}2`);
    removeFromKeyFile(dir, "other", "linux");
    expect(existsSync(keyFile(dir))).toBe(false);
  });

  test.each([0o640, 0o604, 0o660, 0o644])(
    "is refused where others may read it: mode %o",
    async (mode) => {
      const dir = tempDir();
      writeKeyFile(dir, "work", KEY, "linux");
      chmodSync(keyFile(dir), mode);
      const error = await caught(() => readKeyFile(dir, "work", "linux"));
      expect(error).toMatchObject({ exitCode: 3, code: "credentials_file" });
      expect(error.hint).toContain("chmod 600");
      expect(await caught(() => writeKeyFile(dir, "work", KEY, "linux"))).toBeInstanceOf(CliError);
      expect(readKeyFile(dir, "work", "win32")).toBe(KEY);
    },
  );

  test("a broken one never shows what is in it", async () => {
    const dir = tempDir();
    writeFileSync(keyFile(dir), `{"work": ${KEY}}`, { mode: 0o600 });
    const error = await caught(() => readKeyFile(dir, "work", "linux"));
    expect(JSON.stringify([error.message, error.hint, String(error.cause)])).not.toContain(KEY);
  });

  test("a link in its place is replaced, not written through", () => {
    const dir = tempDir();
    const elsewhere = join(tempDir(), "elsewhere");
    writeFileSync(elsewhere, "{}", { mode: 0o600 });
    symlinkSync(elsewhere, keyFile(dir));
    writeKeyFile(dir, "work", KEY, "linux");
    expect(readFileSync(elsewhere, "utf8")).toBe("{}");
    expect(readKeyFile(dir, "work", "linux")).toBe(KEY);
  });
});

describe("keys", () => {
  test.each([
    ["hc_live_abcdefgh", "live"],
    ["other_test_abcdefgh", "test"],
    ["sk-abcdefgh", undefined],
  ])("%s is %s", (key, mode) => {
    expect(keyModeOf(key)).toBe(mode);
  });

  test("are one word of visible characters, and are never shown when they are not", async () => {
    expect(checkKey(` ${KEY}\r\n`, "stdin")).toBe(KEY);
    for (const bad of [
      "",
      "short",
      `${KEY} ${KEY}`,
      `${KEY}\nX-Evil: 1`,
      `${KEY}ä`,
      `${KEY}\u0000`,
    ]) {
      const error = await caught(() => checkKey(bad, "stdin"));
      expect(error.exitCode).toBe(3);
      expect(error.message).not.toContain("0123456789");
    }
  });
});

describe("which service and key", () => {
  const URL_A = "https://a.example.com";
  const configured = (): string => {
    const dir = tempDir();
    const connections = {
      a: { baseUrl: URL_A, keyStore: "file", dialect: { paging: "offset", firstPage: 1 } },
      bare: { baseUrl: "https://bare.example.com" },
    };
    writeFileSync(configFile(dir), JSON.stringify({ default: "a", connections }));
    writeKeyFile(dir, "a", KEY, "linux");
    return dir;
  };
  const resolve = (selection: ConnectionChoice, env: Record<string, string>) =>
    resolveTarget(selection, { env, platform: "linux" });

  test("the default connection, with the key where login put it", async () => {
    const target = await resolve({}, { HEADCOUNT_CONFIG_DIR: configured() });
    expect(target).toEqual({
      name: "a",
      baseUrl: URL_A,
      apiKey: KEY,
      keySource: "file",
      dialect: { paging: "offset", firstPage: 1 },
    });
  });

  test.each([
    ["the default one", {}],
    ["one that is named", { connection: "b" }],
    ["the default one at another address", { baseUrl: "https://proxy.example.com" }],
    ["one that is named there", { connection: "b", baseUrl: "https://proxy.example.com" }],
  ])("whose people are meant is who is bought from: %s", async (_, choice) => {
    const dir = configured();
    const connections = {
      a: { baseUrl: URL_A, vendor: "pdl-0123456789ab" },
      b: { baseUrl: URL_A, vendor: "apollo-0123456789ab" },
    };
    writeFileSync(join(dir, "config.json"), JSON.stringify({ default: "a", connections }));
    for (const key of [{}, { HEADCOUNT_API_KEY: KEY }] as const) {
      const env = { HEADCOUNT_CONFIG_DIR: dir, ...key };
      const { baseUrl, entry } = connectionMeant(choice, { env, platform: "linux" });
      const target = await resolve(choice, { ...env, HEADCOUNT_API_KEY: KEY });
      const isSame = !("baseUrl" in choice) || "connection" in choice || "HEADCOUNT_API_KEY" in key;
      expect(baseUrl).toBe(target.baseUrl);
      // An address alone is one of the contract's where the environment has its key.
      expect(entry?.vendor).toBe(isSame ? target.vendor : "pdl-0123456789ab");
    }
  });

  test("the environment's key comes before a stored one", async () => {
    const env = { HEADCOUNT_CONFIG_DIR: configured(), HEADCOUNT_API_KEY: ` ${KEY}-env\n` };
    expect(await resolve({}, env)).toMatchObject({
      name: "a",
      apiKey: `${KEY}-env`,
      keySource: "environment",
    });
    expect(await resolve({ connection: "bare" }, env)).toMatchObject({
      baseUrl: "https://bare.example.com",
    });
  });

  test("address and key from the environment need no config, and a broken one is not in the way", async () => {
    const dir = tempDir();
    writeFileSync(configFile(dir), "{");
    const env = { HEADCOUNT_API_KEY: KEY };
    for (const more of [{}, { HEADCOUNT_CONFIG_DIR: dir }]) {
      expect(await resolve({ baseUrl: `${URL_A}/v1/` }, { ...env, ...more })).toMatchObject({
        name: "environment",
        baseUrl: URL_A,
      });
    }
    expect(
      await resolve({ baseUrl: URL_A }, { ...env, HEADCOUNT_CONFIG_DIR: configured() }),
    ).toMatchObject({
      dialect: { paging: "offset" },
    });
  });

  test("a stored key goes to another origin only where the command line says so, and is said to", async () => {
    const env = { HEADCOUNT_CONFIG_DIR: configured() };
    expect((await resolve({ baseUrl: "https://b.example.com" }, env)).movedFrom).toBe(URL_A);
    expect((await resolve({ baseUrl: `${URL_A}/other` }, env)).movedFrom).toBeUndefined();
    const elsewhere = { ...env, HEADCOUNT_BASE_URL: "https://b.example.com" };
    const refused = await caught(() => resolve({}, elsewhere));
    expect(refused).toMatchObject({ exitCode: 3, code: "key_for_another_address" });
    expect(refused.message).toContain(
      `stored for ${URL_A} and is not sent to https://b.example.com`,
    );
    expect(await resolve({}, { ...elsewhere, HEADCOUNT_API_KEY: KEY })).toMatchObject({
      keySource: "environment",
    });
    expect((await resolve({}, { ...env, HEADCOUNT_BASE_URL: `${URL_A}/other` })).baseUrl).toBe(
      `${URL_A}/other`,
    );
  });

  test("how a service pages: the command line, else the environment, else the connection", async () => {
    const env = { HEADCOUNT_CONFIG_DIR: configured() };
    expect((await resolve({}, env)).dialect).toMatchObject({ paging: "offset", firstPage: 1 });
    const said = { ...env, HEADCOUNT_PAGING: "page0" };
    expect((await resolve({}, said)).dialect).toMatchObject({ paging: "page", firstPage: 0 });
    expect((await resolve({ paging: "cursor" }, said)).dialect).toMatchObject({ paging: "cursor" });
    expect(await caught(() => resolve({}, { ...env, HEADCOUNT_PAGING: "pages" }))).toMatchObject({
      exitCode: 2,
    });
  });

  test('"environment" is what the variables make up, whatever the config says', async () => {
    const env = {
      HEADCOUNT_CONFIG_DIR: configured(),
      HEADCOUNT_API_KEY: KEY,
      HEADCOUNT_BASE_URL: "https://e.example.com",
    };
    const expected = { name: "environment", baseUrl: "https://e.example.com", apiKey: KEY };
    expect(await resolve({ connection: "environment" }, env)).toMatchObject(expected);
    const { HEADCOUNT_API_KEY: _, ...keyless } = env;
    expect(await caught(() => resolve({ connection: "environment" }, keyless))).toMatchObject({
      code: "no_key",
    });
  });

  test("what may be shown of a key never is the key", () => {
    expect(keyPrefix("hc_live_xq8Xabcdefghijklmnop1234FHl8")).toBe("hc_live_xq8X…FHl8");
    expect(keyPrefix("svc_test_short1234")).toBe("svc_test_…");
    expect(keyPrefix("12345678")).toBe("…");
  });

  test.each<[string, ConnectionChoice, Record<string, string>, object]>([
    ["nothing at all", {}, {}, { exitCode: 3, code: "no_key" }],
    [
      "a connection without a key",
      { connection: "bare" },
      { CONFIG: "yes" },
      { exitCode: 3, code: "no_key" },
    ],
    [
      "an unknown connection",
      { connection: "nope" },
      { CONFIG: "yes" },
      { exitCode: 2, code: "unknown_connection" },
    ],
    [
      "a key without an address",
      {},
      { HEADCOUNT_API_KEY: KEY },
      { exitCode: 2, code: "no_base_url" },
    ],
    [
      "a key over plain http",
      { baseUrl: "http://a.example.com" },
      { HEADCOUNT_API_KEY: KEY },
      { exitCode: 2, code: "bad_base_url" },
    ],
    [
      "a key that is none",
      { baseUrl: URL_A },
      { HEADCOUNT_API_KEY: "a b c d e f g" },
      { exitCode: 3, code: "bad_key" },
    ],
  ])("%s", async (_, selection, { CONFIG, ...env }, expected) => {
    const error = await caught(() =>
      resolve(selection, CONFIG ? { HEADCOUNT_CONFIG_DIR: configured() } : env),
    );
    expect(error).toMatchObject(expected);
    if (error.code === "no_key") {
      expect(error.hint).toMatch(/headcount login.*HEADCOUNT_API_KEY.*-c sample/);
    }
  });

  test("a config that may not be written is an error of writing, not of reading", async () => {
    const dir = join(tempDir(), "file");
    writeFileSync(dir, "");
    expect(await caught(() => updateConfig(dir, () => ({ connections: {} })))).toMatchObject({
      exitCode: 2,
      code: "config_not_writable",
    });
  });
});
