import { closeSync, createWriteStream, openSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import type { OutputStream } from "../../src/shared/context.ts";
import { charged, type RunOptions, runIds } from "../support/export.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

const opened: number[] = [];
afterEach(() => opened.splice(0).forEach(closeSync));

/** As Node opens what was closed before it began, or as `1< FILE` is: it cannot be written. */
function stdout(flags: "r" | "r+"): RunOptions {
  const fd = openSync("/dev/null", flags);
  opened.push(fd);
  const stream = createWriteStream("", { fd, autoClose: false });
  return {
    before: ({ context }) =>
      void Object.assign(context, { stdout: Object.assign(stream, { fd }) as OutputStream }),
  };
}

const BUY = ["search", "--department", "Sales", "--limit", "3", "--yes"];

test("rows and receipts for a stdout that is closed are refused before anything is done", async () => {
  await u.ran([...BUY, "-o", "sales.csv"]);
  const before = await charged(service, CREDITS);
  writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { legal: LEGAL } }));

  for (const argv of [
    ["runs", "export", "last"],
    ["runs", "export", "last", "--json"],
    ["owned", "export"],
    ["sql", "select id from people"],
    ["sql", "select id from people", "--json"],
    ["search", "--department", "Legal", "--ids", "-"],
    ["search", "--department", "Legal", "--limit", "3", "--yes"],
    ["search", "--department", "Legal", "--limit", "3", "--yes", "--json", "-o", "legal.csv"],
    ["refresh", "sales.csv", "--yes", "--json"],
    ["jobs", "run", "legal", "--file", "jobs.json", "--json"],
  ]) {
    for (const flags of ["r", "r+"] as const) {
      const { code, stderr } = await u.run(argv, stdout(flags));
      expect([argv, code, stderr]).toEqual([
        argv,
        2,
        expect.stringContaining("stdout leads nowhere, and the answer goes there; nothing was"),
      ]);
    }
  }
  expect(await charged(service, CREDITS)).toBe(before);
  expect(runIds(u)).toHaveLength(1);
});

const LEGAL = { filters: { department: "Legal" }, max_credits: 30, output: "legal.csv" };

test("what writes nothing there does not mind: files are written, and a job is done", async () => {
  writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { legal: LEGAL } }));
  for (const flags of ["r", "r+"] as const) {
    for (const argv of [
      [...BUY, "-o", "sales.csv", "--overwrite"],
      ["runs", "export", "last", "-o", "again.csv", "--overwrite"],
      ["jobs", "run", "legal", "--file", "jobs.json"],
    ]) {
      const { code, stderr } = await u.run(argv, stdout(flags));
      expect([argv, code, stderr]).toEqual([argv, 0, expect.any(String)]);
    }
  }
  expect(readFileSync(u.file("legal.csv"), "utf8").split("\n").length).toBeGreaterThan(20);
});
