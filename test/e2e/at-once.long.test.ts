import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { gated } from "../support/console.ts";
import { charged, readCsv, user } from "../support/export.ts";
import { startTestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

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
