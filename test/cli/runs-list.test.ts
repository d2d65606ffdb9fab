import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readLedger } from "../../src/runs/spend-book.ts";
import { fakeClock } from "../support/client.ts";
import { runIds, type User, user } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { startTestService, type TestService } from "../support/service.ts";

const SALES = ["search", "--department", "Sales", "--per-page", "20", "--yes"];
let service: TestService;
let proxy: FaultProxy;
let u: User;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: 100_000 });
  proxy = await faultProxy({ target: service.url, foreign: true });
}, 60_000);
afterAll(async () => {
  await proxy.close();
  await service.close();
});
beforeEach(() => {
  u = user(service.url, service.key);
});

const journal = (): string => join(u.dir, "state", "runs", runIds(u)[0] ?? "", "journal.ndjson");
const list = async (): Promise<Record<string, unknown>> => {
  const { stdout } = await u.run(["runs", "list", "--json"]);
  return (JSON.parse(stdout) as Record<string, unknown>[])[0] ?? {};
};

test("a finished run is listed by the last line of its journal, and that says what all of it says", async () => {
  await u.run([...SALES, "--limit", "60", "-o", "a.csv"]);
  const short = await list();
  expect(short).toMatchObject({ status: "finished", rows: 60, settled: 60, expected: 60, pending: 0 });
  // Without the sums the whole journal is read, as those of earlier versions are.
  const text = readFileSync(journal(), "utf8");
  const done = text.trimEnd().lastIndexOf("\n") + 1;
  writeFileSync(journal(), text.slice(0, done));
  expect(await list()).toEqual({ ...short, status: "unfinished", last_at: expect.any(String) });
  // A last line that is torn is no last line.
  writeFileSync(journal(), text.slice(0, -5));
  expect(await list()).toMatchObject({ status: "unfinished", rows: 60 });
  writeFileSync(journal(), text);
  appendFileSync(journal(), "{");
  expect(await list()).toEqual(short);
});

test("what a run bought stands in the ledger at once, also where its lines were not written yet, and never twice", async () => {
  const state = join(u.dir, "state");
  await u.run([...SALES, "--max-credits", "60", "--require-complete", "-o", "a.csv"]);
  const whole = await readLedger(state);
  expect(whole.map(({ t, credits }) => `${t} ${credits}`)).toEqual(["settled 20", "settled 20", "settled 20"]);
  // As where the process was killed before they were.
  rmSync(join(state, "ledger.ndjson"));
  expect(await readLedger(state)).toEqual(whole);
  expect((await u.run(["spend", "--json"])).stdout).toContain('"settled":60');
  expect(await u.run(["resume"])).toMatchObject({ code: 0 });
  expect(await readLedger(state)).toEqual(whole);
});

test("two lost replies of one page stand in the ledger as two amounts, once each", async () => {
  u = user(proxy.url, service.key);
  const state = join(u.dir, "state");
  proxy.decide = ({ paid }) => ({ kind: paid === 2 || paid === 3 ? "drop" : "none" });
  const argv = [...SALES, "--limit", "60", "--max-credits", "100", "--concurrency", "1", "-o", "a.csv"];
  await u.run(argv, { clock: fakeClock(Date.now()) });
  const lines = async (): Promise<string[]> =>
    (await readLedger(state)).filter(({ t }) => t !== "settled").map(({ t, credits }) => `${t} ${credits}`);
  expect(await lines()).toEqual(["uncertain 20", "uncertain 20"]);
  proxy.decide = () => ({ kind: "none" });
  await u.run([...argv.slice(0, -5), "--max-credits", "120", "-o", "a.csv"], { clock: fakeClock(Date.now()) });
  expect(await lines()).toEqual(["uncertain 20", "uncertain 20"]);
});
