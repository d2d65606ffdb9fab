import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { asTyped } from "../support/as-typed.ts";
import { rawServer, type TestContextOptions, tempDir, testContext } from "../support/client.ts";
import { long } from "../support/long.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 200, credits: 99.5 });

/** One configuration, used by several commands one after the other. */
function shell(home = tempDir()) {
  const config = join(home, "config");
  const run = async (argv: readonly string[], options: TestContextOptions = {}) => {
    const env = {
      HEADCOUNT_CONFIG_DIR: config,
      HEADCOUNT_STATE_DIR: join(home, "state"),
      ...options.env,
    };
    const tested = testContext({ ...options, env });
    const code = await main(argv, { ...tested.context, argv });
    return { code, stdout: tested.stdout(), stderr: tested.stderr(), questions: tested.questions };
  };
  return { run, config };
}

const fromFile = (name: string): readonly string[] =>
  asTyped`login ${name} --key-stdin --insecure-storage`;

describe("login", () => {
  test("checks the key, keeps it in a private file where told to, and makes the first connection the default", async () => {
    const { run, config } = shell();
    const login = await run([...fromFile("work"), "--base-url", `${service.url}/`], {
      stdin: `${service.key}\n`,
    });
    expect(login).toMatchObject({ code: 0, stdout: "" });
    expect(login.stderr).toBe(
      `warning: the key is about to be written unencrypted to ${join(config, "credentials.json")} (mode 0600)\n` +
        `Connected to ${service.url} as default, balance 99.5 credits\n` +
        'Connection "work" (used by default); its key is in a credentials file (mode 0600)\n',
    );
    expect(statSync(join(config, "credentials.json")).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(config, "config.json"), "utf8"))).toEqual({
      default: "work",
      connections: { work: { baseUrl: service.url, keyStore: "file", accountId: "default" } },
    });
    expect((await run(["account"])).code).toBe(0);
    await run([...fromFile("second"), "--base-url", service.url], { stdin: service.testKey });
    expect((await run(["account", "--json"])).stdout).toContain('"connection":"work"');
  });

  test("--json says what was done", async () => {
    const { run } = shell();
    const { stdout } = await run([...fromFile("work"), "--base-url", service.url, "--json", "-q"], {
      stdin: service.key,
    });
    expect(JSON.parse(stdout)).toEqual({
      connection: "work",
      base_url: service.url,
      account_id: "default",
      key_store: "file",
      default: true,
    });
  });

  test("on a terminal it asks for address and key", async () => {
    const { run, config } = shell();
    const answers = [service.url, service.key];
    const login = await run(["login", "--insecure-storage"], { tty: true, answers });
    expect(login.code).toBe(0);
    expect(login.questions).toEqual(["Base URL: ", "API key (not shown): "]);
    expect(JSON.parse(readFileSync(join(config, "config.json"), "utf8"))).toMatchObject({
      default: "default",
    });
    const again = await run(["login", "--insecure-storage"], {
      tty: true,
      answers: ["", service.testKey],
    });
    expect(again.code).toBe(0);
    expect(again.questions[0]).toBe(`Base URL [${service.url}]: `);
    expect((await run(["account", "-q", "--json"])).stdout).toContain('"mode":"test"');
  });

  test("who tries the sample and names an address makes a connection of their own", async () => {
    const { run, config } = shell();
    const env = { HEADCOUNT_CONNECTION: "sample" };
    const argv = ["login", "--key-stdin", "--insecure-storage", "--base-url", service.url];
    const login = await run(argv, { stdin: service.key, env });
    expect(login.code, login.stderr).toBe(0);
    expect(JSON.parse(readFileSync(join(config, "config.json"), "utf8"))).toMatchObject({
      connections: { default: { baseUrl: service.url } },
    });
    expect((await run(["login"], { env, tty: true, answers: [] })).stderr).toContain("built in");
  });

  long(
    "the hint after an address where nothing listens names no connection that is not there",
    async () => {
      const { run } = shell();
      const login = await run([...fromFile("work"), "--base-url", "http://127.0.0.1:1"], {
        stdin: service.key,
      });
      expect(login).toMatchObject({
        code: 8,
        stderr: expect.stringContaining("check that http://127.0.0.1:1 is right"),
      });
      expect(login.stderr).not.toContain("doctor");
    },
  );

  test("what the service says of the charge itself is said once", async () => {
    const detail = ["internal error; nothing was charged"];
    const body = JSON.stringify({
      status: false,
      detail,
      result: null,
      credits_used: 0,
      credits_remaining: 0,
    });
    const server = await rawServer((_request, response) =>
      response.writeHead(501, { "content-type": "application/json" }).end(body),
    );
    const { run } = shell();
    const login = await run([...fromFile("work"), "--base-url", server.url], {
      stdin: service.key,
    });
    await server.close();
    expect(login.stderr).toMatch(
      /501: internal error; nothing was charged; the key was not stored\n/,
    );
  });

  test("a key that the service refuses is not stored", async () => {
    const { run, config } = shell();
    const login = await run([...fromFile("work"), "--base-url", service.url], {
      stdin: "hc_live_wrong-key",
    });
    expect(login).toMatchObject({ code: 3, stdout: "" });
    expect(login.stderr).toMatch(
      /refused the key \(401\).*nothing was charged; the key was not stored/,
    );
    expect(login.stderr).not.toContain("wrong-key");
    expect(existsSync(config)).toBe(false);
  });

  test.each<[string, readonly string[]]>([
    ["as a name", ["login", "hc_live_0123456789abcdef"]],
    ["after the name", ["login", "work", "hc_live_0123456789abcdef"]],
    ["as --key", ["login", "work", "--key", "hc_live_0123456789abcdef"]],
    ["as --api-key", ["login", "--api-key=hc_live_0123456789abcdef"]],
  ])("a key given %s is refused with advice, and not repeated", async (_, argv) => {
    const { run } = shell();
    const login = await run([...argv, "--base-url", service.url]);
    expect(login).toMatchObject({ code: 2, stdout: "" });
    expect(login.stderr).toMatch(/never taken from an argument[\s\S]*--key-stdin/);
    expect(login.stderr).not.toContain("0123456789abcdef");
  });

  test("a key that is pasted after another command is not repeated either", async () => {
    const { run } = shell();
    const account = await run(["account", "hc_live_0123456789abcdef"]);
    expect(account.code).toBe(2);
    expect(account.stderr).toContain('"hc_live_***" is one word too many');
    expect(account.stderr).not.toContain("0123456789abcdef");
  });

  test.each<[string, readonly string[], TestContextOptions, number, RegExp]>([
    [
      "while HEADCOUNT_API_KEY is set",
      ["login"],
      { env: { HEADCOUNT_API_KEY: "x_live_12345678" } },
      2,
      /unset HEADCOUNT_API_KEY/,
    ],
    [
      "off a terminal",
      ["login", "--base-url", "https://api.example.com"],
      {},
      2,
      /login --base-url https:\/\/api.example.com --key-stdin < FILE/,
    ],
    ["without an address", ["login", "--key-stdin"], { stdin: "x_live_12345678" }, 2, /--base-url/],
    ["to the sample", ["login", "sample"], {}, 2, /built in/],
    ["under a bad name", ["login", "My Work"], {}, 2, /for example: my-work/],
    [
      "over plain http",
      ["login", "--key-stdin", "--base-url", "http://api.example.com"],
      { stdin: "x_live_12345678" },
      2,
      /unencrypted/,
    ],
    [
      "with an empty key",
      ["login", "--key-stdin", "--base-url", "https://api.example.com"],
      { stdin: "\n" },
      3,
      /is empty/,
    ],
    [
      "with two words",
      ["login", "--key-stdin", "--base-url", "https://api.example.com"],
      { stdin: "KEY=x y" },
      3,
      /spaces or line breaks/,
    ],
    [
      "with a flood",
      ["login", "--key-stdin", "--base-url", "https://api.example.com"],
      { stdin: "x".repeat(5_000) },
      2,
      /too long/,
    ],
    ["with too many words", ["login", "a", "b"], {}, 2, /one name/],
  ])("refuses to log in %s", async (_, argv, options, code, message) => {
    const { run, config } = shell();
    const login = await run(argv, options);
    expect(login).toMatchObject({ code, stdout: "" });
    expect(login.stderr).toMatch(message);
    expect(existsSync(config)).toBe(false);
  });

  test.each<[string, (url: string) => string, RegExp, number]>([
    [
      "a server that is down",
      () => "http://127.0.0.1:1",
      /not sent.*connection refused.*nothing was charged/,
      8,
    ],
    ["a page that is no API", (url) => url, /not the API's JSON.*Welcome/, 8],
  ])("says so of %s", async (_, address, message, code) => {
    const server = await rawServer((_request, response) =>
      response.end("<html><title>Welcome</title></html>"),
    );
    try {
      const { run } = shell();
      const login = await run([...fromFile("work"), "--base-url", address(server.url)], {
        stdin: service.key,
      });
      expect(login.code).toBe(code);
      expect(login.stderr).toMatch(message);
    } finally {
      await server.close();
    }
  });
});

describe("logout", () => {
  test("takes the key and leaves the address", async () => {
    const { run, config } = shell();
    await run([...fromFile("work"), "--base-url", service.url], { stdin: service.key });
    expect(await run(["logout"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: 'Removed the key of "work"; it goes on working until it is revoked at the service\n',
    });
    expect(existsSync(join(config, "credentials.json"))).toBe(false);
    const after = await run(["account"]);
    expect(after.code).toBe(3);
    expect(after.stderr).toMatch(
      /"work" has no key[\s\S]*headcount login work.*HEADCOUNT_API_KEY.*-c sample/,
    );
    expect((await run(["logout", "--json"])).stdout).toBe(
      '{"connection":"work","removed":false}\n',
    );
    const login = await run(["login", "work", "--key-stdin", "--insecure-storage"], {
      stdin: service.key,
    });
    expect(login.code).toBe(0);
  });

  test("says where the environment goes on giving one, and where there is nothing to log out of", async () => {
    const { run } = shell();
    expect((await run(["logout"])).stderr).toContain("no connection to log out of");
    expect((await run(["logout", "nope"])).code).toBe(2);
    await run([...fromFile("work"), "--base-url", service.url], { stdin: service.key });
    const logout = await run(["logout"], { env: { HEADCOUNT_API_KEY: service.key } });
    expect(logout.stderr).toContain("HEADCOUNT_API_KEY is set and goes on being used");
  });

  test("a credentials file that others may read is not touched", async () => {
    const { run, config } = shell();
    await run([...fromFile("work"), "--base-url", service.url], { stdin: service.key });
    chmodSync(join(config, "credentials.json"), 0o644);
    for (const argv of [["account"], ["logout"]]) {
      const outcome = await run(argv);
      expect(outcome.code).toBe(3);
      expect(outcome.stderr).toMatch(/may be read by others[\s\S]*chmod 600/);
    }
  });
});

describe("a bad place for files", () => {
  test.skipIf(process.getuid?.() === 0)(
    "a folder that may not be written stops a login, with the fix",
    async () => {
      const home = tempDir();
      mkdirSync(join(home, "config"), { mode: 0o500 });
      const { run } = shell(home);
      const login = await run([...fromFile("work"), "--base-url", service.url], {
        stdin: service.key,
      });
      expect(login.stderr).toContain("HEADCOUNT_CONFIG_DIR");
    },
  );

  test("a file where the folder should be stops a login, and nothing that does not need it", async () => {
    const home = tempDir();
    writeFileSync(join(home, "config"), "");
    writeFileSync(join(home, "state"), "");
    const { run } = shell(home);
    const login = await run([...fromFile("work"), "--base-url", service.url], {
      stdin: service.key,
    });
    expect(login.code).toBeGreaterThan(0);
    expect(login.stderr).toContain("HEADCOUNT_CONFIG_DIR");
    const env = { HEADCOUNT_API_KEY: service.key, HEADCOUNT_BASE_URL: service.url };
    expect(await run(["account", "-q"], { env })).toMatchObject({ code: 0, stderr: "" });
  });

  test("no home at all: the environment is enough", async () => {
    const env = {
      HEADCOUNT_API_KEY: service.key,
      HEADCOUNT_BASE_URL: service.url,
      HOME: undefined,
      HEADCOUNT_CONFIG_DIR: undefined,
      HEADCOUNT_STATE_DIR: undefined,
      XDG_DATA_HOME: undefined,
    };
    expect(await shell().run(["account", "-q"], { env })).toMatchObject({ code: 0, stderr: "" });
    const login = await shell().run(["login"], { env: { ...env, HEADCOUNT_API_KEY: undefined } });
    expect(login.code).toBe(2);
    expect(login.stderr).toContain("HEADCOUNT_CONFIG_DIR");
  });
});
