import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { type TestContextOptions, tempDir, testContext } from "../support/client.ts";

const CONFIG = {
  default: "work",
  connections: {
    work: { baseUrl: "https://api.example.com", keyStore: "keychain", accountId: "acc_1" },
    team: { baseUrl: "https://team.example.com/x", keyStore: "file" },
    bare: { baseUrl: "http://127.0.0.1:8787" },
  },
};

function shell(config: unknown = CONFIG) {
  const dir = tempDir();
  if (config !== null) writeFileSync(join(dir, "config.json"), JSON.stringify(config));
  return async (argv: readonly string[], options: TestContextOptions = {}) => {
    const tested = testContext({ ...options, env: { HEADCOUNT_CONFIG_DIR: dir, ...options.env } });
    const code = await main(argv, { ...tested.context, argv });
    return { code, stdout: tested.stdout(), stderr: tested.stderr() };
  };
}

test("a pipe gets one connection a line, and no key is read for it", async () => {
  expect(await shell()(["connections"])).toEqual({
    code: 0,
    stdout:
      "name,base_url,key_store,default\n" +
      "work,https://api.example.com,keychain,default\n" +
      "team,https://team.example.com/x,file,\n" +
      "bare,http://127.0.0.1:8787,none,\n" +
      "sample,,built_in,\n",
    stderr: "",
  });
});

test("a terminal gets a table, and what the environment overrides", async () => {
  const env = {
    NO_COLOR: "1",
    HEADCOUNT_API_KEY: "x_live_secret123",
    HEADCOUNT_BASE_URL: "https://o",
    HEADCOUNT_CONNECTION: "team",
  };
  const { code, stdout, stderr } = await shell()(["connections", "list"], { tty: true, env });
  expect(code).toBe(0);
  expect(stdout).toBe(
    "name    address                              key\n" +
      "work    https://api.example.com              keychain          default\n" +
      "team    https://team.example.com/x           credentials file\n" +
      "bare    http://127.0.0.1:8787                none\n" +
      "sample  inside headcount, on synthetic data  built in\n",
  );
  expect(stderr).toBe(
    "HEADCOUNT_API_KEY is set: it is used in place of every stored key\n" +
      "HEADCOUNT_BASE_URL is set: it is used in place of every connection's address\n" +
      'HEADCOUNT_CONNECTION is set: "team" is used where none is named\n',
  );
});

const unknown = { paging: null, per_page_max: null };

test("--json: the documented keys, and never a key", async () => {
  const { stdout } = await shell()(["connections", "--json"], {
    env: { HEADCOUNT_API_KEY: "x_live_secret123" },
  });
  expect(JSON.parse(stdout)).toEqual({
    connections: [
      {
        name: "work",
        base_url: "https://api.example.com",
        key_store: "keychain",
        default: true,
        account_id: "acc_1",
        ...unknown,
      },
      {
        name: "team",
        base_url: "https://team.example.com/x",
        key_store: "file",
        default: false,
        account_id: null,
        ...unknown,
      },
      {
        name: "bare",
        base_url: "http://127.0.0.1:8787",
        key_store: "none",
        default: false,
        account_id: null,
        ...unknown,
      },
      {
        name: "sample",
        base_url: null,
        key_store: "built_in",
        default: false,
        account_id: null,
        ...unknown,
      },
    ],
    environment: { HEADCOUNT_API_KEY: true, HEADCOUNT_BASE_URL: null, HEADCOUNT_CONNECTION: null },
  });
  expect(stdout).not.toContain("secret");
});

test("set: how a service pages, and forgetting it", async () => {
  const run = shell();
  const told = async () =>
    (JSON.parse((await run(["connections", "--json"])).stdout) as { connections: object[] })
      .connections[1];
  expect(await run(["connections", "set", "team", "paging=page0", "per-page-max=50"])).toEqual({
    code: 0,
    stdout: "",
    stderr:
      '"team" pages by page0, at most 50 profiles a page; headcount doctor -c team checks it\n',
  });
  expect(await told()).toMatchObject({
    name: "team",
    paging: "page0",
    per_page_max: 50,
    key_store: "file",
  });
  await run(["connections", "set", "team", "paging=cursor"]);
  expect(await told()).toMatchObject({ paging: "cursor", per_page_max: 50 });
  await run(["connections", "set", "team", "paging=auto", "per-page-max=auto"]);
  expect(await told()).toMatchObject(unknown);
  for (const bad of ["paging=pages", "paging", "per-page-max=0", "color=red"]) {
    const refused = await run(["connections", "set", "team", bad]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/offset|per-page-max/);
  }
  expect(await run(["connections", "set", "nope", "paging=page"])).toMatchObject({ code: 2 });
});

test("use and remove", async () => {
  const run = shell();
  expect(await run(["connections", "use", "team"])).toMatchObject({
    code: 0,
    stderr: '"team" is used where no connection is named\n',
  });
  expect((await run(["connections"])).stdout).toContain(
    "team,https://team.example.com/x,file,default",
  );
  const removed = await run(["connections", "remove", "team"]);
  expect(removed).toMatchObject({ code: 0, stdout: "" });
  expect(removed.stderr).toMatch(
    /^Removed the connection "team"\nNo connection is used by default now/,
  );
  expect((await run(["connections", "remove", "bare", "--json"])).stdout).toBe(
    '{"removed":"bare","key_removed":false}\n',
  );
  expect((await run(["connections"])).stdout).toBe(
    "name,base_url,key_store,default\nwork,https://api.example.com,keychain,\nsample,,built_in,\n",
  );
});

test.each([
  ["use", "nope"],
  ["use", "sample"],
  ["remove", "sample"],
  ["remove", "toString"],
  ["use", "../x"],
])("%s %s is refused", async (verb, name) => {
  const outcome = await shell()(["connections", verb, name]);
  expect(outcome).toMatchObject({ code: 2, stdout: "" });
  expect(outcome.stderr).toContain("hint: ");
});

test("no config is an empty list; a broken one is an error with the fix", async () => {
  expect(await shell(null)(["connections"])).toEqual({
    code: 0,
    stdout: "name,base_url,key_store,default\nsample,,built_in,\n",
    stderr: "",
  });
  const run = shell("not an object");
  const outcome = await run(["connections", "--json"]);
  expect(outcome).toMatchObject({ code: 2, stdout: "" });
  expect(JSON.parse(outcome.stderr)).toMatchObject({ error: { code: "bad_config", exit_code: 2 } });
});
