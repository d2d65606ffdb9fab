import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { charged, readCsv, user } from "../support/export.ts";
import { startTestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

const CREDITS = 10_000;
const PERU = ["search", "--country", "peru", "--yes", "--overwrite"];

/** Closed: whoever wants to buy waits. */
function gate() {
  let open = (): void => undefined;
  let came = (): void => undefined;
  const opened = new Promise<void>((done) => {
    open = done;
  });
  const arrival = new Promise<void>((done) => {
    came = done;
  });
  const pass = async (): Promise<void> => {
    came();
    await opened;
  };
  return { open, arrival, pass };
}

async function slowService() {
  const door = gate();
  const service = await startTestService({
    people: 2_000,
    credits: CREDITS,
    onApp: (app) => {
      app.addHook("preHandler", async ({ method, raw: { url = "" } }) => {
        if (method === "POST" && url.endsWith("/person/search")) await door.pass();
      });
    },
  });
  return { door, service, u: user(service.url, service.key) };
}

test("four processes of one segment: it is paid for once, and nothing of their claims stays", async () => {
  const { door, service, u } = await slowService();
  const files = ["a.csv", "b.csv", "c.csv", "d.csv"];
  const wait = (index: number): string[] => (index === 3 ? ["--wait"] : []);
  const all = files.map((file, index) => spawnUser(u, [...PERU, "-o", file, ...wait(index)]));
  await door.arrival;
  // Two say who is at work before anything is paid; of those who go on one pays.
  const ended = all.map(async (one) => (await one).code === 9);
  while (!(await Promise.race([...ended, sleep(50, false)]))) await sleep(20);
  await sleep(1_000);
  door.open();

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
  const { door, service, u } = await slowService();
  const argv = [BIN, ...PERU, "-o", "a.csv"];
  const child = spawn(process.execPath, argv, { cwd: u.dir, env: u.env, stdio: "ignore" });
  await door.arrival;
  child.kill("SIGKILL");
  await once(child, "exit");
  door.open();

  const next = await spawnUser(u, [...PERU, "-o", "a.csv"]);
  expect(next.code, next.stderr).toBe(0);
  expect(await charged(service, CREDITS)).toBe(readCsv(u.read("a.csv")).length);
  expect(readdirSync(u.file("state/locks"))).toEqual([]);
  await service.close();
});
