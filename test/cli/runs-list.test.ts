import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { fakeClock } from "../support/client.ts";
import { runIds, spentBy, type User, user } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { startTestService, type TestService } from "../support/service.ts";

const SALES = ["search", "--department", "Sales", "--per-page", "20", "--yes"];
let service: TestService;
let proxy: FaultProxy;
let u: User;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: 100_000 });
  proxy = await faultProxy({ target: service.url, foreign: true });
});
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

test("of a segment that nobody counts as many are expected as its pages told, within the limit", async () => {
  const mishap = (call: number) => (call === 3 ? "null-409" : undefined);
  const foreign = await foreignScene({ people: 60, counts: false, total: "header", mishap });
  u = foreign.u;
  for (const [limit, expected] of [
    [100, 60],
    [57, 57],
  ] as const) {
    const bound = asTyped`--limit ${limit} --per-page 27 --concurrency 1 --yes --again`;
    const ran = await u.run(["search", "--country", "x", ...bound, "-o", `${limit}.csv`]);
    if (limit === 100) {
      expect(ran.stderr).toContain("54 of 60 rows are paid for and kept");
      expect(await list()).toMatchObject({ status: "unfinished", rows: 54, expected });
      await u.ran(["resume"]);
    }
    expect(await list()).toMatchObject({ status: "finished", rows: expected, expected });
  }
});

test("a finished run is listed by the last line of its journal, and that says what all of it says", async () => {
  await u.run([...SALES, "--limit", "60", "-o", "a.csv"]);
  const short = await list();
  expect(short).toMatchObject({
    status: "finished",
    rows: 60,
    settled: 60,
    expected: 60,
    pending: 0,
  });
  // Without the sums the whole journal is read, as that of an unfinished run is.
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

test("how many people a company has that was not counted is not known: a cap is no number of rows to come", async () => {
  const { stdout } = await u.run([...SALES, "--limit", "1", "--format", "ndjson"]);
  const { company_domain: domain } = JSON.parse(stdout) as { company_domain: string };
  for (const [bound, expected] of [
    [["--max-credits", "50"], null],
    [["--per-company", "40"], null],
    [["--limit", "1"], 1],
  ] as const) {
    await u.ran(asTyped`employees ${domain} ${bound} --again --yes --format ndjson`);
    expect(await list()).toMatchObject({ command: "employees", status: "finished", expected });
  }
});

test("two lost replies of one page are two uncertain amounts, once each", async () => {
  u = user(proxy.url, service.key);
  proxy.decide = ({ paid }) => ({ kind: paid === 2 || paid === 3 ? "drop" : "none" });
  const argv = asTyped`${SALES} --limit 60 --max-credits 100 --concurrency 1 -o a.csv`;
  await u.run(argv, { clock: fakeClock(Date.now()) });
  expect(await spentBy(u)).toMatchObject({ uncertain: 40 });
  proxy.decide = () => ({ kind: "none" });
  await u.run([...argv.slice(0, -5), "--max-credits", "120", "-o", "a.csv"], {
    clock: fakeClock(Date.now()),
  });
  expect(await spentBy(u)).toMatchObject({ uncertain: 40 });
});

test("at 60 columns a person still reads when, what, how many and where", async () => {
  await u.run([...SALES, "--limit", "60", "-o", "a.csv"]);
  await u.run([...SALES, "--limit", "30", "--yes", "-o", "b.ndjson.gz"]);
  const { stdout } = await u.run(["runs"], { tty: true, columns: 60, env: { NO_COLOR: "1" } });
  const [header, ...lines] = stdout.trimEnd().split("\n");
  expect(header).toMatch(/^run +when +what +rows +output$/);
  expect(lines).toEqual([
    expect.stringMatching(/^[0-9a-f]{6} +just now +Sales +30 +b\.ndjson\.gz$/),
    expect.stringMatching(/^[0-9a-f]{6} +just now +Sales +60 +a\.csv$/),
  ]);
  // What is neither finished nor plainly unfinished is said.
  const text = readFileSync(journal(), "utf8");
  writeFileSync(journal(), text.slice(0, text.trimEnd().lastIndexOf("\n") + 1));
  expect(
    (await u.run(["runs"], { tty: true, columns: 60, env: { NO_COLOR: "1" } })).stdout,
  ).toMatch(/ (60|30) unfinished +/);
});

test("on a narrow terminal the segment is whole: what is cut for it is where the rows went", async () => {
  const where = "in-a-folder-with-a-long-name/of-a-list.csv";
  mkdirSync(u.file("in-a-folder-with-a-long-name"));
  await u.run([...SALES, "--country", "germany", "--limit", "20", "-o", where]);
  const { stdout } = await u.run(["runs"], { tty: true, columns: 60 });
  expect(stdout).toContain("germany · Sales");
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
});
