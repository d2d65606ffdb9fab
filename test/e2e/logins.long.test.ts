import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerEnvelope, type RawServer, rawServer, tempDir } from "../support/client.ts";
import { BIN } from "../support/spawned.ts";

let service: RawServer;
beforeAll(async () => {
  service = await rawServer((_, response) =>
    answerEnvelope(response, { account: { id: "a" }, credits: 5 }),
  );
});
afterAll(() => service.close());

test("six logins and logouts at once lose no connection and no key", async () => {
  const dir = join(tempDir(), "config");
  const headcount = (argv: readonly string[], stdin = ""): Promise<number | null> => {
    const env = { PATH: process.env.PATH ?? "", HOME: dir, HEADCOUNT_CONFIG_DIR: dir };
    const child = spawn(process.execPath, [BIN, ...argv], {
      env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.stdin.end(stdin);
    return new Promise((ended) => child.on("close", ended));
  };
  const login = (name: string) => {
    const options = ["--key-stdin", "--insecure-storage", "--base-url", service.url];
    return headcount(["login", name, ...options], `hc_live_${name}_0123456789abcdef`);
  };
  const names = ["c1", "c2", "c3", "c4", "c5", "c6"];
  expect(await Promise.all(names.map(login))).toEqual(names.map(() => 0));
  const read = (file: string) =>
    JSON.parse(readFileSync(join(dir, file), "utf8")) as Record<string, object>;
  expect(Object.keys(read("config.json").connections ?? {}).sort()).toEqual(names);
  expect(Object.keys(read("credentials.json")).sort()).toEqual(names);

  const changes = [
    headcount(["logout", "c1"]),
    headcount(["connections", "remove", "c2"]),
    login("c7"),
  ];
  expect(await Promise.all(changes)).toEqual([0, 0, 0]);
  expect(Object.keys(read("config.json").connections ?? {}).sort()).toEqual([
    "c1",
    "c3",
    "c4",
    "c5",
    "c6",
    "c7",
  ]);
  expect(Object.keys(read("credentials.json")).sort()).toEqual(["c3", "c4", "c5", "c6", "c7"]);
  expect(
    readdirSync(dir)
      .filter((name) => name !== ".cache")
      .sort(),
  ).toEqual(["config.json", "credentials.json"]);
});
