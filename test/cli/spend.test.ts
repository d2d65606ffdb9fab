import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/main.ts";
import { Disk } from "../../src/runs/disk.ts";
import { Ledger, type LedgerEntry } from "../../src/runs/spend-book.ts";
import { fakeClock, type TestContextOptions, testContext } from "../support/client.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const DAY = 86_400_000;

const entry = (more: Partial<LedgerEntry>): LedgerEntry => ({
  t: "settled",
  at: NOW,
  run: "run-a",
  connection: "work",
  account: "acme",
  key_mode: "live",
  command: "search",
  n: 1,
  credits: "10",
  rows: 10,
  balance: null,
  request_id: null,
  ...more,
});

const ENTRIES: readonly LedgerEntry[] = [
  entry({ at: NOW - 40 * DAY, run: "run-0", credits: "1000", rows: 1000 }),
  entry({ at: NOW - 2 * DAY, run: "run-b", connection: "other", credits: "0.25", rows: 1 }),
  entry({ at: NOW - DAY, n: 2, credits: "0.1", rows: 1 }),
  entry({ at: NOW - DAY, n: 3, credits: "0.2", rows: 1 }),
  entry({ at: NOW, n: 4, credits: "1234.5", rows: 1234 }),
  entry({ at: NOW, n: 5, t: "uncertain", credits: "25", rows: 0 }),
  entry({ at: NOW, n: 5, t: "refunded", credits: "25", rows: 0 }),
  entry({ at: NOW, n: 0, t: "foreign", credits: "7", rows: 0 }),
  entry({ at: NOW, key_mode: "test", run: "run-t", credits: "99", rows: 99 }),
];

async function run(argv: readonly string[], options: TestContextOptions & { entries?: readonly LedgerEntry[] } = {}) {
  const { entries = ENTRIES, ...others } = options;
  const tested = testContext({ clock: fakeClock(NOW), ...others });
  const { context } = tested;
  const ledger = new Ledger(context.env.HEADCOUNT_STATE_DIR ?? "", new Disk(), {
    pid: context.pid,
    now: context.now,
    sleep: context.sleep,
  } as ConstructorParameters<typeof Ledger>[2]);
  if (entries.length > 0) ledger.add(...entries);
  await ledger.flush();
  const code = await main(["spend", ...argv], { ...context, argv: ["spend", ...argv] });
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

describe("spend", () => {
  test("a pipe gets CSV, a line a day of the last 30, credits exact", async () => {
    expect(await run([])).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "day,profiles,settled,uncertain,refunded,foreign\n" +
        "2026-01-13,1,0.25,0,0,0\n" +
        "2026-01-14,2,0.3,0,0,0\n" +
        "2026-01-15,1234,1234.5,25,25,7\n",
    });
  });

  test("by run and by connection, as far back as asked", async () => {
    expect((await run(["--by", "run", "--since", "all"])).stdout).toBe(
      "run,profiles,settled,uncertain,refunded,foreign\n" +
        "run-0,1000,1000,0,0,0\nrun-a,1236,1234.8,25,25,7\nrun-b,1,0.25,0,0,0\n",
    );
    expect((await run(["--by", "connection", "--since", "2026-01-14"])).stdout).toBe(
      "connection,profiles,settled,uncertain,refunded,foreign\nwork,1236,1234.8,25,25,7\n",
    );
    expect((await run(["--by", "connection", "-c", "other"])).stdout).toBe(
      "connection,profiles,settled,uncertain,refunded,foreign\nother,1,0.25,0,0,0\n",
    );
    expect((await run(["--since", "1h"])).stdout).toContain("2026-01-15");
  });

  test("--json has the groups and the total; test keys are apart", async () => {
    const live = await run(["--json", "--since", "1d", "--by", "connection"], { tty: true });
    expect(live.stderr).toBe("");
    const sums = { profiles: 1236, settled: 1234.8, uncertain: 25, refunded: 25, foreign: 7 };
    expect(JSON.parse(live.stdout)).toEqual({
      since: "2026-01-14T12:00:00.000Z",
      by: "connection",
      key_mode: "live",
      groups: [{ connection: "work", ...sums }],
      total: sums,
    });
    expect((await run(["--test"])).stdout).toBe(
      "day,profiles,settled,uncertain,refunded,foreign\n2026-01-15,99,99,0,0,0\n",
    );
  });

  test("a terminal gets a table with a total, without columns that hold nothing", async () => {
    const { code, stdout, stderr } = await run([], { tty: true, env: { NO_COLOR: "1" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      "day         profiles   settled  uncertain  refunded  foreign\n" +
        "2026-01-13         1      0.25\n" +
        "2026-01-14         2       0.3\n" +
        "2026-01-15     1,234   1,234.5         25        25        7\n" +
        "total          1,237  1,235.05         25        25        7\n",
    );
  });

  test("nothing spent is no error: an empty document, and a sentence for a person", async () => {
    const header = "day,profiles,settled,uncertain,refunded,foreign\n";
    expect(await run([], { entries: [] })).toEqual({ code: 0, stdout: header, stderr: "" });
    expect(await run([], { entries: [], tty: true })).toEqual({
      code: 0,
      stdout: "",
      stderr: "No credits spent from this machine in the last 30d.\n",
    });
    expect(JSON.parse((await run(["--json"], { entries: [] })).stdout)).toMatchObject({ groups: [] });
  });

  test("a wrong --since is named with what it takes", async () => {
    for (const since of ["yesterday", "30", "2026-13-45", "-1d", ""]) {
      const { code, stdout, stderr } = await run([`--since=${since}`]);
      expect({ since, code, stdout }).toEqual({ since, code: 2, stdout: "" });
      expect(stderr).toContain(`not "${since}"`);
    }
  });

  test("a torn last line is no error", async () => {
    const tested = testContext({ clock: fakeClock(NOW) });
    const path = `${tested.context.env.HEADCOUNT_STATE_DIR}/ledger.ndjson`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '{"t":"settl');
    expect(await main(["spend"], tested.context)).toBe(0);
    expect(tested.stderr()).toBe("");
  });
});
