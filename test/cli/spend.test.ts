import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { creditsOf, type JournalRecord, replay, sumsOf } from "../../src/engine/runs/journal.ts";
import { encodeLine } from "../../src/engine/runs/log.ts";
import { fakeClock, type TestContextOptions, testContext } from "../support/client.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const DAY = 86_400_000;

/** What a run did; a page of so many rows for so many credits, or another record of its journal. */
interface Kept {
  readonly connection?: string;
  readonly base_url?: string;
  readonly key_mode?: "live" | "test";
  readonly finished?: boolean;
  readonly records: readonly JournalRecord[];
}

let n = 0;
const page = (at: number, used: string, rows: number, more: object = {}): JournalRecord[] => {
  n++;
  return [
    {
      t: "intent",
      n,
      target: 0,
      offset: 0,
      perPage: rows,
      key: `key-${n}`,
      hold: creditsOf(used),
      at,
    },
    { t: "settled", n, rows, used: creditsOf(used), at, ...more },
  ];
};

/** A page whose reply was lost, and a balance that fell by seven credits more than it may have cost. */
const lost = (at: number, hold: string): JournalRecord[] => {
  const [intent] = page(at, hold, 0);
  return [
    { t: "quiet", balance: creditsOf("1000"), at },
    intent as JournalRecord,
    { t: "lost", n, at },
    { t: "quiet", balance: creditsOf(1000 - Number(hold)), rested: true, at },
    { t: "quiet", balance: creditsOf(993 - Number(hold)), at },
  ];
};

const RUNS: Readonly<Record<string, Kept>> = {
  "run-0": { finished: true, records: page(NOW - 40 * DAY, "1000", 1000) },
  "run-b": { connection: "other", finished: true, records: page(NOW - 2 * DAY, "0.25", 1) },
  "run-a": {
    records: [
      ...page(NOW - DAY, "0.1", 1),
      ...page(NOW - DAY, "0.2", 1),
      ...page(NOW, "1234.5", 1234),
      ...lost(NOW, "25"),
    ],
  },
  "run-t": { key_mode: "test", records: page(NOW, "99", 99) },
};

function keep(stateDir: string, id: string, { records, finished, ...more }: Kept): void {
  const folder = join(stateDir, "runs", id);
  mkdirSync(folder, { recursive: true });
  const plan = {
    version: 2,
    id,
    created_at: new Date(NOW).toISOString(),
    command: "search",
    connection: "work",
  };
  const others = {
    base_url: "https://api.example.com",
    account_id: "acme",
    key_mode: "live",
    view: {},
    ...more,
  };
  writeFileSync(join(folder, "plan.json"), JSON.stringify({ ...plan, ...others }));
  const state = replay(records.map((record) => ({ record, end: 0 })));
  const done: JournalRecord = { t: "done", run: id, sums: sumsOf(state, null), at: state.lastAt };
  let text = "";
  for (const record of finished === true ? [...records, done] : records)
    text += encodeLine(record, text.length);
  writeFileSync(join(folder, "journal.ndjson"), text);
}

async function run(
  argv: readonly string[],
  options: TestContextOptions & { runs?: Readonly<Record<string, Kept>> } = {},
) {
  const { runs = RUNS, ...others } = options;
  const tested = testContext({ clock: fakeClock(NOW), ...others });
  const { context } = tested;
  for (const [id, kept] of Object.entries(runs))
    keep(context.env.HEADCOUNT_STATE_DIR ?? "", id, kept);
  const code = await main(["spend", ...argv], { ...context, argv: ["spend", ...argv] });
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

describe("spend", () => {
  test("a pipe gets CSV, a line a day of the last 30, credits exact", async () => {
    expect(await run([])).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "day,profiles,settled,uncertain,pending,foreign,declared,told\n" +
        "2026-01-13,1,0.25,0,0,0,0,0\n" +
        "2026-01-14,2,0.3,0,0,0,0,0\n" +
        "2026-01-15,1234,1234.5,25,0,7,0,0\n",
    });
  });

  test("by run and by connection, as far back as asked", async () => {
    expect((await run(["--by", "run", "--since", "all"])).stdout).toBe(
      "run,profiles,settled,uncertain,pending,foreign,declared,told\n" +
        "run-0,1000,1000,0,0,0,0,0\nrun-a,1236,1234.8,25,0,7,0,0\nrun-b,1,0.25,0,0,0,0,0\n",
    );
    expect((await run(["--by", "connection", "--since", "2026-01-14"])).stdout).toBe(
      "connection,service,profiles,settled,uncertain,pending,foreign,declared,told\nwork,https://api.example.com,1236,1234.8,25,0,7,0,0\n",
    );
    expect((await run(["--by", "connection", "-c", "other"])).stdout).toBe(
      "connection,service,profiles,settled,uncertain,pending,foreign,declared,told\nother,https://api.example.com,1,0.25,0,0,0,0,0\n",
    );
    expect((await run(["--since", "1h"])).stdout).toContain("2026-01-15");
  });

  test("services that variables make up are told apart by their addresses", async () => {
    const of = (base_url: string): Kept => ({
      connection: "environment",
      base_url,
      records: page(NOW, "2", 2),
    });
    const runs = {
      a: of("https://one.example.com"),
      b: of("https://two.example.com"),
      c: of("https://one.example.com"),
    };
    expect((await run(["--by", "connection"], { runs })).stdout).toBe(
      "connection,service,profiles,settled,uncertain,pending,foreign,declared,told\n" +
        "environment,https://one.example.com,4,4,0,0,0,0,0\nenvironment,https://two.example.com,2,2,0,0,0,0,0\n",
    );
  });

  test("--json has the groups and the total; test keys are apart", async () => {
    const live = await run(["--json", "--since", "1d", "--by", "connection"], { tty: true });
    expect(live.stderr).toBe("");
    const sums = {
      profiles: 1236,
      settled: 1234.8,
      uncertain: 25,
      pending: 0,
      foreign: 7,
      declared: 0,
      told: 0,
    };
    expect(JSON.parse(live.stdout)).toEqual({
      since: "2026-01-14T12:00:00.000Z",
      by: "connection",
      key_mode: "live",
      groups: [{ connection: "work", service: "https://api.example.com", ...sums }],
      total: sums,
      sample: 0,
      damaged: [],
    });
    expect((await run(["--mode", "test"])).stdout).toBe(
      "day,profiles,settled,uncertain,pending,foreign,declared,told\n2026-01-15,99,99,0,0,0,0,0\n",
    );
  });

  test("the sample's credits are no money: in no sum, said, and shown where they are asked for", async () => {
    const sold = { connection: "sample", base_url: "sample-1", records: page(NOW, "1141", 1141) };
    const runs = { own: { records: page(NOW, "3", 3) }, sold };
    const header = "day,profiles,settled,uncertain,pending,foreign,declared,told\n";
    expect(await run([], { runs })).toEqual({
      code: 0,
      stdout: `${header}2026-01-15,3,3,0,0,0,0,0\n`,
      stderr: "1,141 credits of the sample beside them, which are no money: -c sample\n",
    });
    expect(JSON.parse((await run(["--json"], { runs })).stdout)).toMatchObject({
      total: { settled: 3 },
      sample: 1141,
    });
    for (const asked of [["-c", "sample"], []]) {
      const env = asked.length > 0 ? {} : { HEADCOUNT_CONNECTION: "sample" };
      expect(await run(asked, { runs, env })).toMatchObject({
        stdout: `${header}2026-01-15,1141,1141,0,0,0,0,0\n`,
        stderr: "",
      });
    }
  });

  test("a terminal gets a table with a total, without columns that hold nothing", async () => {
    const { code, stdout, stderr } = await run([], { tty: true, env: { NO_COLOR: "1" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      "day         profiles   settled  uncertain  foreign\n" +
        "2026-01-13         1      0.25\n" +
        "2026-01-14         2       0.3\n" +
        "2026-01-15     1,234   1,234.5         25        7\n" +
        "total          1,237  1,235.05         25        7\n",
    );
  });

  test("nothing spent is no error: an empty document, and a sentence for a person", async () => {
    const header = "day,profiles,settled,uncertain,pending,foreign,declared,told\n";
    expect(await run([], { runs: {} })).toEqual({ code: 0, stdout: header, stderr: "" });
    expect(await run([], { runs: {}, tty: true })).toEqual({
      code: 0,
      stdout: "",
      stderr: "No credits spent from this machine since 2025-12-16 12:00 UTC.\n",
    });
    expect(JSON.parse((await run(["--json"], { runs: {} })).stdout)).toMatchObject({ groups: [] });
  });

  test("a wrong --since is named with what it takes", async () => {
    for (const since of [
      "yesterday",
      "30",
      "2026-13-45",
      "2026-02-29",
      "2025-02-30T10:00Z",
      "-1d",
      "",
    ]) {
      const { code, stdout, stderr } = await run([`--since=${since}`]);
      expect({ since, code, stdout }).toEqual({ since, code: 2, stdout: "" });
      expect(stderr).toContain(`not "${since}"`);
    }
  });

  test("--since cuts within a day, also through a run that is finished", async () => {
    const records = [...page(NOW - 2 * 3_600_000, "3", 3), ...page(NOW, "4", 4)];
    for (const finished of [true, false]) {
      const since = (span: string) =>
        run(["--by", "run", "--since", span], { runs: { r: { finished, records } } });
      expect((await since("1h")).stdout).toContain("r,4,4,0,0");
      expect((await since("3h")).stdout).toContain("r,7,7,0,0");
    }
  });

  test("a finished run is added up by the last line of its journal", async () => {
    const { context, ...tested } = testContext({ clock: fakeClock(NOW) });
    const stateDir = context.env.HEADCOUNT_STATE_DIR ?? "";
    keep(stateDir, "r", { finished: true, records: page(NOW, "4", 4) });
    const path = join(stateDir, "runs", "r", "journal.ndjson");
    const done = readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "";
    writeFileSync(path, `${"x".repeat(20_000)}\n${done}\n`);
    expect(await main(["spend"], { ...context, argv: ["spend"] })).toBe(0);
    expect(tested.stdout()).toContain("2026-01-15,4,4,0,0");
  });
});
