import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JournalRecord } from "../../src/runs/journal.ts";
import { decodeLog, encodeLine } from "../../src/runs/log-lines.ts";
import { charged, readCsv, runIds, type User, user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";

const CREDITS = 100_000;
const SEARCH = ["search", "--department", "Sales", "--per-page", "20", "-o", "a.csv"];
let service: TestService;
let u: User;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: CREDITS });
}, 60_000);
afterAll(() => service.close());

/** The folder of a run that stopped after three pages. */
let folder: string;
beforeEach(async () => {
  u = user(service.url, service.key);
  await u.run([...SEARCH, "--max-credits", "60", "--require-complete"]);
  folder = join(u.dir, "state", "runs", runIds(u)[0] ?? "");
});

/** Writes the run down as the first version did: a file for each reply, a journal without groups. */
function asVersion1(): void {
  const journal = readFileSync(join(folder, "journal.ndjson"));
  mkdirSync(join(folder, "pages"));
  let lines = "";
  for (const { record, end } of decodeLog<JournalRecord>(journal, "journal.ndjson").entries) {
    if (record.t !== "settled") {
      lines += encodeLine(record);
      continue;
    }
    const { follows = 0, ...rest } = record;
    writeFileSync(pagePath(record.n), journal.subarray(end, end + follows));
    lines += encodeLine({ ...rest, bytes: follows } as JournalRecord);
  }
  writeFileSync(join(folder, "journal.ndjson"), lines);
  setPlan({ version: 1 });
}

const pagePath = (n: number): string => join(folder, "pages", `00000${n}.json`);

function setPlan(change: Readonly<Record<string, unknown>>): void {
  const path = join(folder, "plan.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
}

/** Removes the last line of the journal that says this. */
function forget(text: string): void {
  const path = join(folder, "journal.ndjson");
  const lines = readFileSync(path, "utf8").split("\n");
  const at = lines.findLastIndex((line) => line.includes(text));
  writeFileSync(path, lines.filter((_, index) => index !== at).join("\n"));
}

describe("a run of the first version", () => {
  test("is listed, exported and continued; no page of it is paid for again", async () => {
    const before = await charged(service, CREDITS);
    const [rows] = [await u.run(["runs", "export", "last", "--format", "ndjson"])];
    asVersion1();
    expect((await u.run(["runs", "list", "--json"])).stdout).toContain('"status":"unfinished"');
    expect((await u.run(["runs", "export", "last", "--format", "ndjson"])).stdout).toBe(rows.stdout);
    const ran = await u.run([...SEARCH, "--max-credits", "100"]);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain("continuing run");
    expect(new Set(readCsv(u.read("a.csv")).map(({ id }) => id)).size).toBe(100);
    expect((await charged(service, CREDITS)) - before).toBe(40);
    // The pages of both sessions, from where each of them is.
    expect(
      (await u.run(["runs", "export", "last", "--format", "csv", "--fields", "id"])).stdout.split("\n").length,
    ).toBe(102);
  });

  test("whose process died between a page and its line keeps the page", async () => {
    const before = await charged(service, CREDITS);
    asVersion1();
    forget('"t":"settled","n":3');
    // Nothing may be asked for the third page: its key is changed, so that it would be charged again.
    const path = join(folder, "journal.ndjson");
    const lines = readFileSync(path, "utf8").trim().split("\n");
    const records = decodeLog<JournalRecord>(Buffer.from(`${lines.join("\n")}\n`), "j").entries;
    writeFileSync(
      path,
      records
        .map(({ record }) => encodeLine(record.t === "intent" && record.n === 3 ? { ...record, key: "other" } : record))
        .join(""),
    );
    expect(await u.run([...SEARCH, "--max-credits", "60"])).toMatchObject({ code: 0 });
    expect(readCsv(u.read("a.csv")).length).toBe(60);
    expect(await charged(service, CREDITS)).toBe(before);
  });

  test("a page file that was changed or lost is named", async () => {
    asVersion1();
    writeFileSync(pagePath(2), "{}");
    const changed = await u.run(["runs", "export", "last"]);
    expect({ code: changed.code, stdout: changed.stdout.split("\n").length }).toMatchObject({ code: 5 });
    expect(changed.stderr).toContain("000002.json is damaged: its paid rows cannot be read");
  });
});

test("a run of a later version is refused, and nothing is changed", async () => {
  setPlan({ version: 3 });
  for (const argv of [["runs", "export", "last"], ["resume", "last"], SEARCH]) {
    const ran = await u.run([...argv, ...(argv === SEARCH ? ["--yes"] : [])]);
    expect({ argv, code: ran.code }).toEqual({ argv, code: 5 });
    expect(ran.stderr).toContain("was written by a later version of headcount");
  }
});

test("a reply that ends like our own last line does not make a run finished", async () => {
  const path = join(folder, "journal.ndjson");
  const journal = readFileSync(path);
  const done = { t: "done", run: "another", sums: { rows: 9, misses: 0, settled: "9", uncertain: "0", foreign: "0" } };
  writeFileSync(path, Buffer.concat([journal, Buffer.from(encodeLine({ ...done, at: 1 } as never, journal.length))]));
  const [listed] = JSON.parse((await u.run(["runs", "list", "--json"])).stdout) as { rows: number }[];
  expect(listed?.rows).toBe(60);
});
