import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { totalsOf } from "../../src/engine/library/library.ts";
import { libraryPath } from "../../src/engine/library/path.ts";
import { openToWrite, queryRows } from "../../src/engine/library/sqlite.ts";
import { openLibrary, type Shelf } from "../../src/engine/library/take-in.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { creditsOf } from "../../src/engine/runs/journal.ts";
import { type NewPlan, RunStore } from "../../src/engine/runs/run-store.ts";
import { canonicalJson } from "../../src/shared/contract/filters.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { tempDir } from "../support/client.ts";
import { hostilePeople, matches, randomFilters, seededRandom } from "../support/exactness.ts";
import { long } from "../support/long.ts";

const SERVICE = "https://api.example.com";
const START = Date.UTC(2026, 0, 15, 12);

const plan = (more: Partial<NewPlan> = {}): NewPlan => ({
  command: "search",
  connection: "work",
  base_url: SERVICE,
  account_id: "acme",
  key_mode: "live",
  target: { kind: "search", filters: {}, canonical: "{}" },
  dataset_version: "v1",
  unit_price: "1",
  matches: null,
  paging: "page",
  output: null,
  view: { format: "csv", fields: null, excel: false, raw: false },
  per_page: null,
  misses: null,
  receipt: null,
  ...more,
});

interface Bought {
  readonly pages: readonly (readonly unknown[])[];
  readonly at?: number;
  readonly used?: readonly string[];
  readonly done?: boolean;
  readonly plan?: Partial<NewPlan>;
}

/** A state folder, and runs as paid exports leave them. */
function state() {
  const dir = tempDir("headcount-library-");
  const store = new RunStore(dir, new Disk());
  const shelf: Shelf = {
    path: libraryPath(dir, SERVICE, "live"),
    serviceId: SERVICE,
    mode: "live",
  };
  let runs = 0;
  const buy = async ({
    pages,
    at = START,
    used,
    done = true,
    plan: more,
  }: Bought): Promise<string> => {
    const created = START + 1_000 * runs++;
    const lock = { pid: process.pid, now: Date.now, sleep: async () => {}, what: "the run" };
    const run = await store.create(
      plan(more),
      created,
      lock as unknown as Parameters<RunStore["create"]>[2],
    );
    for (const [index, rows] of pages.entries()) {
      const n = index + 1;
      const body = Buffer.from(
        JSON.stringify({ status: true, detail: [], result: rows, credits_used: rows.length }),
      );
      await run.append({
        t: "intent",
        n,
        target: 0,
        offset: 0,
        perPage: rows.length,
        key: `k${n}`,
        hold: creditsOf("1"),
        at,
      });
      const cost = creditsOf(used?.[index] ?? rows.length);
      await run.settle({ t: "settled", n, rows: rows.length, used: cost, at: at + index }, body);
    }
    if (done) await store.finish(run, at + pages.length);
    await run.close();
    return run.id;
  };
  const open = async () => {
    const opened = await openLibrary(shelf, store);
    if (opened === undefined) throw new Error("there is no library");
    return opened;
  };
  return { dir, store, shelf, buy, open };
}

const inPages = (people: readonly Person[], size: number): Person[][] =>
  Array.from({ length: Math.ceil(people.length / size) }, (_, index) =>
    people.slice(index * size, (index + 1) * size),
  );

long("filters over what is owned find what a naive matcher finds", async () => {
  const { buy, open } = state();
  const people = hostilePeople(1_500, 11);
  await buy({ pages: inPages(people, 500) });
  const { library, taken } = await open();
  expect(taken).toEqual({ pages: 3, unread: [] });
  const random = seededRandom(12);
  let nonEmpty = 0;
  for (let set = 0; set < 100; set++) {
    const filters = randomFilters(people, random);
    const expected = people.filter((person) => matches(person, filters));
    expect(library.count(filters), canonicalJson(filters)).toBe(expected.length);
    const ids = [...library.records(filters)].map((record) => (JSON.parse(record) as Person).id);
    expect(ids.sort()).toEqual(expected.map(({ id }) => id).sort());
    if (expected.length > 0) nonEmpty++;
  }
  expect(nonEmpty).toBeGreaterThan(30);
  library.close();
});

test("a person who is bought again is owned once, with every purchase and every record", async () => {
  const { buy, open } = state();
  const ada = { id: "p1", name: "Ada", title: "Engineer", country: "france" };
  const moved = { ...ada, title: "Director" };
  // Taken in out of order: what is newest is told by the time of the purchase.
  await buy({ pages: [[moved]], at: START + 9_000, used: ["3"] });
  await buy({ pages: [[ada, { id: "p2", name: "Bo" }]], at: START, used: ["1"] });
  await buy({ pages: [[ada]], at: START + 5_000, used: ["1"] });
  const { library } = await open();
  expect(library.count({ exact: {}, prefix: {}, range: {} })).toBe(2);
  expect(library.count({ exact: { title: ["director"] }, prefix: {}, range: {} })).toBe(1);
  expect(library.count({ exact: { title: ["engineer"] }, prefix: {}, range: {} })).toBe(0);
  expect(totalsOf(library.database)).toMatchObject({
    people: 2,
    purchases: 4,
    credits: 5_000_000n,
    repeatCredits: 4_000_000n,
  });
  const [person = 0] = library.find("p1");
  expect(library.purchases(person).map(({ at, price }) => [at, price])).toEqual([
    [START, 500_000n],
    [START + 5_000, 1_000_000n],
    [START + 9_000, 3_000_000n],
  ]);
  library.close();
});

test("each purchase is taken in once, however often and from whichever point", async () => {
  const { buy, open } = state();
  const people = Array.from({ length: 20 }, (_, index) => ({
    id: `p${index}`,
    name: `N ${index}`,
  }));
  await buy({ pages: [people.slice(0, 10)], done: false });
  expect((await closed(open())).people).toBe(10);
  await buy({ pages: [people.slice(5, 20)] });
  for (let time = 0; time < 3; time++) {
    expect(await closed(open())).toMatchObject({ people: 20, purchases: 25, credits: 25_000_000n });
  }
});

test("what came from runs that are there can be forgotten and taken in again, what came from others stays", async () => {
  const { buy, open, store } = state();
  const ada = { id: "p1", name: "Ada", title: "Engineer" };
  const gone = await buy({ pages: [[ada, { id: "p2" }]] });
  const again = await buy({
    pages: [[{ ...ada, title: "Director" }, { id: "p3" }]],
    at: START + 5_000,
  });
  await closed(open());
  await store.remove(await store.find(gone), { now: Date.now, sleep: async () => {} });
  const { library } = await open();
  const before = totalsOf(library.database);
  library.forgetRuns(await store.ids());
  expect(totalsOf(library.database)).toMatchObject({ people: 2, purchases: 2 });
  expect(library.count({ exact: { title: ["engineer"] }, prefix: {}, range: {} })).toBe(1);
  library.close();
  expect(await closed(open())).toEqual(before);
  expect(again).not.toBe(gone);
});

test("what one page cost is divided to the last millionth", async () => {
  const { buy, open } = state();
  const people = Array.from({ length: 3 }, (_, index) => ({ id: `p${index}` }));
  await buy({ pages: [people], used: ["1"] });
  const { library } = await open();
  const prices = people.flatMap(({ id }) =>
    library.find(id).flatMap((person) => library.purchases(person)),
  );
  expect(prices.map(({ price }) => price)).toEqual([333_334n, 333_333n, 333_333n]);
  expect(totalsOf(library.database).credits).toBe(1_000_000n);
  library.close();
});

test("ids beyond what a number holds exactly stay apart", async () => {
  const { buy, open, store } = state();
  await buy({ pages: [[{ name: "a" }], [{ name: "b" }]] });
  const text =
    '{"status":true,"detail":[],"result":[{"id":9007199254740993},{"id":9007199254740992}],"credits_used":2}';
  const lock = { pid: process.pid, now: Date.now, sleep: async () => {}, what: "the run" };
  const big = await store.create(
    plan(),
    START + 99_000,
    lock as unknown as Parameters<RunStore["create"]>[2],
  );
  await big.append({
    t: "intent",
    n: 1,
    target: 0,
    offset: 0,
    perPage: 2,
    key: "k",
    hold: creditsOf("2"),
    at: START,
  });
  await big.settle(
    { t: "settled", n: 1, rows: 2, used: creditsOf("2"), at: START },
    Buffer.from(text),
  );
  await big.close();
  const { library } = await open();
  const ids = [...library.records({ exact: {}, prefix: {}, range: {} })].map(
    (record) => /"id":(\d+)/.exec(record)?.[1],
  );
  expect(ids.filter((id) => id !== undefined).sort()).toEqual([
    "9007199254740992",
    "9007199254740993",
  ]);
  expect(totalsOf(library.database).people).toBe(4);
  library.close();
});

test("other services, other key modes and companies are not in it", async () => {
  const { buy, open, shelf, store, dir } = state();
  await buy({ pages: [[{ id: "p1" }]], plan: { base_url: "https://other.example" } });
  await buy({ pages: [[{ id: "p2" }]], plan: { key_mode: "test" } });
  await buy({
    pages: [[{ id: "c1", name: "Acme" }]],
    plan: {
      command: "enrich",
      target: { kind: "enrich", companies: [{ by: "domain", value: "acme.example" }] },
    },
  });
  expect(await openLibrary(shelf, store)).toBeUndefined();
  await buy({ pages: [[{ id: "p3" }]] });
  expect((await closed(open())).people).toBe(1);
  expect(libraryPath(dir, SERVICE, "test")).toBe(shelf.path.replace(/\.db$/, "-test.db"));
});

async function closed(opened: ReturnType<ReturnType<typeof state>["open"]>) {
  const { library } = await opened;
  const totals = totalsOf(library.database);
  library.close();
  return totals;
}

long(
  "rows are read to the end although all is collected, and everybody waits, between two of them",
  async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const database = await openToWrite(join(tempDir(), "rows.db"));
    database.exec("CREATE TABLE t (n)");
    database.exec(
      "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100) INSERT INTO t SELECT n FROM c",
    );
    let sum = 0;
    for (const { n } of queryRows<{ n: number }>(
      database,
      "SELECT n FROM t WHERE n > ? ORDER BY n",
      0,
    )) {
      if (n % 20 === 0) collect();
      await new Promise((turn) => setImmediate(turn));
      sum += n;
    }
    expect(sum).toBe(5_050);
    database.close();
  },
);
