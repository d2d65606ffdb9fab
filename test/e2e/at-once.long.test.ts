import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { answerEnvelope, type RawServer, rawServer, tempDir } from "../support/client.ts";
import { gated } from "../support/console.ts";
import { charged, readCsv, seeded, user } from "../support/export.ts";
import { startForeignService } from "../support/foreign-service.ts";
import { Crowd, personKey, startPeopleService } from "../support/people-service.ts";
import { ran } from "../support/ran.ts";
import { startTestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

describe("purchases", () => {
  const CREDITS = 10_000;
  const YES = ["--yes", "--overwrite"];
  const PERU = ["search", "--country", "peru", ...YES];

  /** Whoever buys waits at its gate. */
  async function slowService() {
    const gate = gated();
    gate.close();
    const service = await startTestService({
      people: 2_000,
      credits: CREDITS,
      wrapEngine: gate.wrapEngine,
    });
    return { gate, service, u: user(service.url, service.key) };
  }

  test("four processes of one segment: it is paid for once, and nothing of their claims stays", async () => {
    const { gate, service, u } = await slowService();
    const files = ["a.csv", "b.csv", "c.csv", "d.csv"];
    const wait = (index: number): string[] => (index === 3 ? ["--wait"] : []);
    const all = files.map((file, index) => spawnUser(u, [...PERU, "-o", file, ...wait(index)]));
    await gate.arrival();
    // One is at the gate, and perhaps one waits: the others have said who is at work.
    let ended = 0;
    for (const one of all) void one.then(() => ended++);
    while (ended < 2) await sleep(20);
    gate.open();

    const codes = (await Promise.all(all)).map(({ code }) => code);
    expect(codes.filter((code) => code === 9).length).toBeGreaterThanOrEqual(2);
    expect(codes[3]).toBe(0);
    const people = readCsv(u.read("d.csv")).length;
    expect(people).toBeGreaterThan(0);
    expect(await charged(service, CREDITS)).toBe(people);
    expect(readdirSync(u.file("state/locks"))).toEqual([]);
    await service.close();
  });

  test("what a killed one claimed is free again, and its page is bought once", async () => {
    const { gate, service, u } = await slowService();
    const argv = [BIN, ...PERU, "-o", "a.csv"];
    const child = spawn(process.execPath, argv, { cwd: u.dir, env: u.env, stdio: "ignore" });
    await gate.arrival();
    child.kill("SIGKILL");
    await once(child, "exit");
    gate.open();

    // Whoever claims something else clears it away.
    const other = await spawnUser(u, ["search", "--country", "chile", ...YES, "-o", "b.csv"]);
    expect(other.code, other.stderr).toBe(0);
    expect(readdirSync(u.file("state/locks"))).toEqual([]);

    const next = await spawnUser(u, [...PERU, "-o", "a.csv"]);
    expect(next.code, next.stderr).toBe(0);
    const people = readCsv(u.read("a.csv")).length + readCsv(u.read("b.csv")).length;
    expect(await charged(service, CREDITS)).toBe(people);
    expect(readdirSync(u.file("state/locks"))).toEqual([]);
    await service.close();
  });
});

describe("logins", () => {
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
});

test("two at once do not buy the same new people: one waits, or says so", async () => {
  const crowd = new Crowd(seeded(4));
  const people = Array.from({ length: 300 }, () => crowd.born({ department: "Sales" }));
  const service = await startPeopleService({ people });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  const SALES = ["search", "--department", "Sales", "--yes"];
  await ran(me, [...SALES, "--connections-max", "400", "-o", "own.csv"]);
  const ids = (name: string): string[] => readCsv(me.read(name)).map(({ id = "" }) => id);
  const owned = new Set(ids("own.csv"));
  const both = ["a.csv", "b.csv"].map((name) =>
    spawnUser(
      me,
      asTyped`${SALES} --new-only -o ${name} --wait --min-rows 0 --base-url ${service.url}`,
    ),
  );
  for (const { code, stderr } of await Promise.all(both)) expect(code, stderr).toBe(0);
  const fresh = people
    .map(personKey)
    .filter((id) => !owned.has(id))
    .sort();
  expect([...ids("a.csv"), ...ids("b.csv")].sort()).toEqual(fresh);
  expect(fresh.filter((id) => service.sold.get(id) !== 1)).toEqual([]);
});

test("while another process has a DuckDB file open, it is exit 9, and nothing is bought", async () => {
  const service = await startForeignService({ people: 4, tellsCosts: true });
  onTestFinished(() => service.close());
  const u = user(service.url, service.key);
  const search = () =>
    u.run(asTyped`search --country x --yes --quiet --again --json -o duckdb:busy.duckdb#people`);
  expect((await search()).code).toBe(0);
  const spent = service.charged();
  const script = `import { DuckDBInstance } from "@duckdb/node-api";
      globalThis.held = await DuckDBInstance.create(${JSON.stringify(u.file("busy.duckdb"))});
      console.log("open"); setInterval(() => held, 1000);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(other.stdout, "data");
    const ran = await search();
    expect(ran, ran.stderr).toMatchObject({ code: 9, stdout: "" });
    expect(ran.stderr).toContain("another process has the file open");
    expect(service.charged()).toBe(spent);
  } finally {
    other.kill("SIGKILL");
  }
});
