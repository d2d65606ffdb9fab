import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SuppressionList } from "../../src/engine/library/suppression.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { leaveOutSuppressed } from "../../src/service/people/suppressed.ts";
import { credits, parseCredits } from "../../src/shared/contract/money.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import { asTyped } from "../support/as-typed.ts";
import { cases, everyNth, LONG } from "../support/campaign.ts";
import { tempDir } from "../support/client.ts";
import { ConsoleClient } from "../support/console.ts";
import { connected, type Database, hasPostgres, openDatabase } from "../support/database.ts";
import { spentBy, user } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import {
  CANARY,
  CANARY_TEXTS,
  folderWithCanary,
  holding,
  type ServedFolder,
  serveFolder,
} from "../support/kept.ts";
import { headcount } from "../support/serve-command.ts";
import type { TestService } from "../support/service.ts";
import { isLeftOut } from "../support/tools.ts";

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");
const open: ServedFolder[] = [];
afterEach(async () => {
  for (const service of open.splice(0)) await service.close();
});

async function made(): Promise<string> {
  const dir = join(tempDir(), "data");
  await folderWithCanary(dir);
  return dir;
}

async function serve(dir: string): Promise<ServedFolder> {
  const service = await serveFolder(dir);
  open.push(service);
  return service;
}

interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  readonly leftOut: string | null;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any call
  readonly json: any;
}

async function post(
  service: ServedFolder,
  path: string,
  body: unknown,
  order?: string,
): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.key}`,
      "content-type": "application/json",
      ...(order === undefined ? {} : { "idempotency-key": order }),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const { headers, status } = response;
  const [replayed, leftOut] = [
    headers.get("idempotent-replayed") === "true",
    headers.get("x-suppressed-count"),
  ];
  return { status, replayed, leftOut, text, json: JSON.parse(text) };
}

const search = (service: ServedFolder, filters: unknown, order?: string, perPage = 100) =>
  post(service, "/v1/person/search", { filters, per_page: perPage }, order);
const count = async (service: ServedFolder, filters: unknown): Promise<number> =>
  (await post(service, "/v1/person/count", { filters })).json.result.count;

const forget = (dir: string, word: string, ...more: string[]) =>
  headcount("service", "forget", word, "--data", dir, ...more);

const verify = (dir: string) => headcount("service", "verify", "--data", dir);
const money = async ({ store }: ServedFolder) => ({
  ...(await store.balance("default", "live")),
  entries: (await store.entries({ accountId: "default", limit: 1_000 })).length,
});

/** An export of the console of which no page was bought. */
const waiting = (id: string, filters: string) => ({
  ...{
    id,
    accountId: "default",
    mode: "live" as const,
    keyId: "console:test",
    filters,
    segment: "s",
    onlyNew: false,
    keptUntil: 1,
    version: "v",
    profiles: 1,
  },
  ...{
    perPage: 1,
    price: credits(1n),
    createdAt: 1,
    state: "stopped" as const,
    why: "",
    pages: 0,
    rows: 0,
  },
  ...{ credits: credits(0n), seenAt: 1, turn: 0 },
});

const exportsOf = async ({ store }: ServedFolder): Promise<readonly string[]> =>
  (await store.console.exports({ accountId: "default", mode: "live" })).map(({ id }) => id);

/** Exports of everybody and of the canary by address and by name, and replies with it. */
async function history(dir: string): Promise<ServedFolder> {
  const service = await serve(dir);
  const plenty = parseCredits("1000000");
  if (plenty !== undefined)
    await service.store.grant("default", "live", plenty, "for all that a test asks");
  await service.store.setPlan("default", { perMinute: 1_000_000, perDay: 1_000_000 });
  for (const [order, filters] of [
    ["one", { network_url: CANARY.network_url }],
    ["two", { department: "Sales" }],
    ["three", { country: "France" }],
  ] as const)
    expect((await search(service, filters, order)).status).toBe(200);
  const page = new ConsoleClient(service as unknown as TestService, Date.now);
  const session = await page.enter("owner");
  const quote = (await page.call(session, "POST", "/quote", { filters: {}, profiles: 241 })).json;
  const { id } = (await page.call(session, "POST", "/exports", { quote_id: quote.quote_id })).json;
  await expect
    .poll(async () => (await page.call(session, "GET", `/exports/${id}`)).json.state)
    .toBe("ready");
  for (const [name, filters] of [
    ["mine", { network_url: CANARY.network_url }],
    ["by name", { name: CANARY.name.toUpperCase() }],
    ["others", {}],
  ] as const)
    expect(
      await service.store.console.enterExport(
        waiting(name, JSON.stringify(filters)),
        () => undefined,
      ),
    ).toBe(true);
  return service;
}

describe("headcount service forget", () => {
  test("no file of the folder has a byte of the person, a running service goes on, and what was charged stays", async () => {
    const dir = await made();
    const service = await history(dir);
    const page = new ConsoleClient(service as unknown as TestService, Date.now);
    const session = await page.enter("owner");
    const [{ id } = { id: "" }] = await service.store.console.exports({
      accountId: "default",
      mode: "live",
    });
    const download = async (): Promise<string> =>
      (await page.call(session, "GET", `/exports/${id}/ndjson`)).text;
    expect(holding(dir, CANARY_TEXTS).length).toBeGreaterThan(12);
    expect(await download()).toContain(CANARY.id);
    const { people, console: kept } = service.store;
    expect((await people.ownedByAny([CANARY.id])).length).toBe(1);
    const named = { ...waiting("saved", "{}"), name: `like ${CANARY.name}` };
    const place = { accountId: "default", mode: "live" as const };
    const { filters: all, id: savedId, keyId, name, segment } = named;
    const counted = { people: 1, countedAt: 1, createdAt: 1 };
    await kept.saveSegment({
      ...place,
      id: savedId,
      keyId,
      name,
      filters: all,
      segment,
      ...counted,
    });
    const before = await money(service);
    const planned = await forget(dir, CANARY.id, "--dry-run", "--json");
    expect(JSON.parse(planned.out)).toEqual({
      would_forget: {
        ...{ records: 1, test_records: 0, replies: 3, exports: 1 },
        filters: ["by name", "mine", "saved"].map((id) => ({ account: "default", id })),
      },
    });
    expect((await forget(dir, CANARY.id)).code).toBe(2);
    expect((await forget(dir, CANARY.id)).err).toContain("--yes");
    // Calls go on all the while, and none of them fails.
    let going = true;
    const failed: unknown[] = [];
    const traffic = (async () => {
      for (let n = 0; going; n++) {
        const answers = [
          await search(service, { department: "Sales" }),
          await search(service, {}, `t${n}`, 50),
        ];
        failed.push(...answers.filter(({ status }) => status !== 200).map(({ text }) => text));
      }
    })();
    const done = await forget(dir, CANARY.id, "--yes", "--json");
    going = false;
    await traffic;
    expect([done.code, done.err]).toEqual([0, ""]);
    expect(failed).toEqual([]);
    expect(JSON.parse(done.out).forgot).toMatchObject({ records: 1, exports: 1 });
    expect(holding(dir, CANARY_TEXTS)).toEqual([]);
    // The replies that were bought are there, without the person and for nothing.
    const after = await money(service);
    const replay = await search(service, { department: "Sales" }, "two");
    expect([replay.status, replay.replayed, replay.leftOut, replay.json.credits_used]).toEqual([
      200,
      true,
      "1",
      81,
    ]);
    expect(replay.json.result).toHaveLength(80);
    const alone = await search(service, { network_url: CANARY.network_url }, "one");
    expect([alone.replayed, alone.json.result, alone.json.credits_used]).toEqual([true, [], 1]);
    const other = await search(service, { country: "France" }, "three");
    expect([other.replayed, other.leftOut]).toEqual([true, null]);
    expect(await money(service)).toEqual(after);
    expect(after.entries).toBeGreaterThan(before.entries);
    const file = (await download()).trim().split("\n");
    expect(file).toHaveLength(240);
    expect([
      await count(service, {}),
      await count(service, { network_url: CANARY.network_url }),
    ]).toEqual([240, 0]);
    expect(await exportsOf(service)).toEqual([id, "others"]);
    // Nobody knows any more that an account bought the person, or called a segment so.
    expect(await people.ownedByAny([CANARY.id])).toEqual([]);
    expect(await kept.segments(place)).toEqual([]);
    expect((await verify(dir)).out).toContain("ledger\tsound\ndataset\tsound\n");
    const [noted] = await service.store.audit({ limit: 1 });
    expect(noted).toMatchObject({
      action: "people.forget",
      detail: { records: 1, replies: 3, filters: 3 },
    });
    // Again: known to be gone. Somebody else: not known.
    expect((await forget(dir, CANARY.network_url, "--yes")).code).toBe(0);
    expect((await forget(dir, "nobody-at-all", "--yes")).code).toBe(6);
    // And no import brings the person back.
    await folderWithCanary(dir);
    expect(holding(dir, CANARY_TEXTS)).toEqual([]);
  });

  test("killed at every step, the same command again does the rest", async () => {
    const dir = await made();
    const service = await history(dir);
    const before = await money(service);
    await service.close();
    open.splice(0);
    const kept = `${dir}-kept`;
    cpSync(dir, kept, { recursive: true });
    let step = 1;
    for (let code: number | null = null; code !== 0; step += everyNth(5)) {
      rmSync(dir, { recursive: true, force: true });
      cpSync(kept, dir, { recursive: true });
      const env = {
        ...process.env,
        HEADCOUNT_FAILPOINT: String(step),
        XDG_CONFIG_HOME: dir,
        HOME: dir,
      };
      const argv = [BIN, "service", "forget", CANARY.id, "--yes", "--data", dir];
      const killed = spawnSync(process.execPath, argv, { env });
      code = killed.status;
      expect([0, null], String(killed.stderr)).toContain(code);
      const again = await forget(dir, CANARY.id, "--yes");
      expect([step, again.code, again.err]).toEqual([step, 0, ""]);
      expect([step, holding(dir, CANARY_TEXTS)]).toEqual([step, []]);
      expect((await verify(dir)).out).toContain("ledger\tsound\ndataset\tsound\n");
      const over = await serveFolder(dir);
      expect(await money(over)).toEqual(before);
      expect((await search(over, { department: "Sales" }, "two")).json.result).toHaveLength(80);
      expect(await exportsOf(over)).toEqual([expect.any(String), "others"]);
      await over.close();
    }
    expect(step).toBeGreaterThan(13);
  }, 600_000);

  test("names what somebody else put into the folder, and refuses a word that several people share", async () => {
    const dir = await made();
    writeFileSync(join(dir, "notes.txt"), `call ${CANARY.network_url} back\n`);
    writeFileSync(join(dir, "import-rejects.ndjson"), `{"row": ${JSON.stringify(CANARY)}}\n`);
    const other = asTyped`service suppress add network.example/in/some-body --data ${dir} --note`;
    expect((await headcount(...other, `asked by ${CANARY.name}`)).code).toBe(0);
    const list = join(dir, "dataset/suppression/list.ndjson");
    expect(readFileSync(list, "utf8")).toContain(CANARY.name);
    const { code, err } = await forget(dir, CANARY.network_url, "--yes");
    expect([code, err]).toEqual([5, expect.stringContaining("notes.txt")]);
    expect(err).toContain("2 files of the folder may still have the person: refused rows");
    expect(readFileSync(list, "utf8")).not.toContain(CANARY.name);
    expect(readFileSync(join(dir, "notes.txt"), "utf8")).toContain("back");
    expect((await forget(dir, "company-3.example", "--yes")).err).toContain("service suppress add");
    const twice = [
      { ...CANARY, id: "a_1", network_url: "https://network.example/in/same" },
      { ...CANARY, id: "a_2", network_url: "https://other.example/in/same" },
    ];
    const file = join(dir, "..", "twice.ndjson");
    writeFileSync(file, twice.map((one) => JSON.stringify(one)).join("\n"));
    await headcount("service", "import", "--people", file, "--data", dir);
    const shared = await forget(dir, "same", "--yes");
    expect([shared.code, shared.err]).toEqual([2, expect.stringContaining("names 2 people")]);
  });
});

describe("headcount service suppress", () => {
  test("from the next call on no stored reply, console file or page has the person", async () => {
    const dir = await made();
    const service = await history(dir);
    const before = await money(service);
    const argv = ["service", "suppress", "add", CANARY.network_url, "--data", dir];
    expect((await headcount(...argv)).code).toBe(0);
    const alone = await search(service, { network_url: CANARY.network_url }, "one");
    expect([alone.replayed, alone.leftOut, alone.json.result]).toEqual([true, "1", []]);
    expect((await search(service, { department: "Sales" }, "two")).text).not.toContain(CANARY.id);
    expect(await money(service)).toEqual(before);
    await expect.poll(() => count(service, {})).toBe(240);
  });

  test("a backup of before hides whoever was suppressed since, by the list of now", async () => {
    const dir = await made();
    const [backup, restored] = [`${dir}-backup`, `${dir}-restored`];
    await (await history(dir)).close();
    open.splice(0);
    expect((await headcount("service", "backup", backup, "--data", dir)).code).toBe(0);
    const argv = ["service", "suppress", "add", CANARY.network_url, "--data", dir];
    expect((await headcount(...argv)).code).toBe(0);
    expect((await headcount("service", "restore", backup, "--data", restored)).code).toBe(0);

    // As docs/operate/backup.md has it.
    const list = "dataset/suppression";
    cpSync(join(dir, list), join(restored, list), { recursive: true });
    const service = await serve(restored);
    for (const order of ["one", "four"]) {
      const alone = await search(service, { network_url: CANARY.network_url }, order);
      expect([order, alone.leftOut, alone.json.result]).toEqual([order, "1", []]);
    }
  });
});

describe.skipIf(isLeftOut(hasPostgres))("with the accounts on PostgreSQL", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase();
  });
  afterAll(() => database.drop());

  test("its tables have no byte of the person, and the replies are given again without", async () => {
    const dir = await made();
    const service = await serveFolder(dir, { store: database.url });
    open.push(service);
    const bought = await search(service, { department: "Sales" }, "two");
    expect(bought.text).toContain(CANARY.id);
    await search(service, { network_url: CANARY.network_url }, "one");
    const before = await money(service);
    const checkpoint = async () => {
      const client = await connected(database.url);
      await client.query("CHECKPOINT");
      await client.end();
    };
    await checkpoint();
    const tables = database.files;
    expect(holding(tables, [CANARY.id])).not.toEqual([]);
    const { code, err } = await forget(dir, CANARY.network_url, "--yes", "--store", database.url);
    expect([code, err]).toEqual([0, ""]);
    await checkpoint();
    expect(holding(tables, CANARY_TEXTS)).toEqual([]);
    expect(holding(dir, CANARY_TEXTS)).toEqual([]);
    const replay = await search(service, { department: "Sales" }, "two");
    expect([replay.replayed, replay.leftOut, replay.json.result.length]).toEqual([true, "1", 80]);
    expect(await money(service)).toEqual(before);
    const verified = await headcount("service", "verify", "--data", dir, "--store", database.url);
    expect(verified.out).toContain("ledger\tsound\ndataset\tsound\n");
  });
});

test("what was rewritten is in the log of the ledger until it is wiped, and in nothing afterwards", async () => {
  const dir = await made();
  const service = await serve(dir);
  await search(service, { department: "Sales" }, "two");
  const ledger = () => holding(dir, CANARY_TEXTS).filter((found) => found.includes("ledger.db"));
  await service.store.people.rewrite(({ reply }) =>
    leaveOutSuppressed(reply, ({ id }) => id === CANARY.id),
  );
  expect(ledger()).not.toEqual([]);
  expect(await service.store.people.wipe()).toBe(true);
  expect(ledger()).toEqual([]);
});

test("a lost reply that is fetched again without somebody neither ends the run nor is anybody paid for twice", async () => {
  const dir = await made();
  const service = await serve(dir);
  const suppression = new SuppressionList(service.folder.leftOut.suppression, new Disk(), {
    now: Date.now,
    sleep: wait,
  });
  const name = suppressedName(CANARY.id, "id");
  const proxy = await faultProxy({ target: service.url });
  try {
    const charged: number[] = [];
    for (const lost of [1, 2, 3]) {
      const me = user(proxy.url, service.key);
      let listed = false;
      let tries = 0;
      proxy.decide = async ({ body, url }) => {
        if (url !== "/v1/person/search" || (JSON.parse(body).page ?? 1) !== lost)
          return { kind: "none" };
        if (tries++ === 0) return { kind: "drop" };
        // Between the charge and the retry: the dataset is not built again yet.
        if (!listed && name !== undefined) await suppression.add([name], null);
        listed = true;
        return { kind: "none" };
      };
      const { balance } = await service.store.balance("default", "live");
      const ran = await me.run(
        asTyped`search --department Sales --yes --per-page 27 --format ndjson`,
      );
      expect(ran.stderr).not.toMatch(/price|moved|more than/);
      const ids = ran.stdout
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id);
      expect([lost, new Set(ids).size]).toEqual([lost, ids.length]);
      expect([ids.length, ran.code]).toEqual([80 + Number(ids.includes(CANARY.id)), 0]);
      charged.push(
        Number(balance - (await service.store.balance("default", "live")).balance) / 1e6,
      );
      expect(await spentBy(me)).toMatchObject({
        settled: charged.at(-1),
        uncertain: 0,
        foreign: 0,
      });
      if (name !== undefined) await suppression.remove([name], []);
    }
    expect(Math.max(...charged)).toBe(81);
  } finally {
    await proxy.close();
  }
});

test("whatever is bought, asked again, forgotten, suppressed, imported and restarted: nobody who is gone comes out, and the ledger is sound", async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("buy" as const), what: fc.nat(2), order: fc.nat(3) }),
    fc.record({
      kind: fc.constantFrom("forget" as const, "suppress" as const),
      what: fc.nat(9),
      order: fc.constant(0),
    }),
    fc.record({
      kind: fc.constantFrom("import" as const, "restart" as const),
      what: fc.constant(0),
      order: fc.constant(0),
    }),
  );
  const segments = [{ department: "Sales" }, { country: "France" }, {}];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 8 }), async (steps) => {
      const dir = await made();
      let service = await serveFolder(dir);
      const { key } = service;
      const gone = new Set<string>();
      const charged = new Map<string, unknown>();
      try {
        const ids = ["p_000000", "p_000003", "p_000006", "p_000001", CANARY.id];
        for (const { kind, order, what } of steps) {
          const id = ids[what % ids.length] ?? CANARY.id;
          if (kind === "buy") {
            const before = (await service.store.balance("default", "live")).balance;
            const name = `${what}-${order}`;
            const answer = await search({ ...service, key }, segments[what], name, 250);
            expect(answer.status).toBe(200);
            expect([...gone].filter((one) => answer.text.includes(`"${one}"`))).toEqual([]);
            // Asked again it costs nothing, and says what it cost.
            if (charged.has(name)) expect(answer.json.credits_used).toBe(charged.get(name));
            const paid =
              Number(before - (await service.store.balance("default", "live")).balance) / 1e6;
            expect(paid).toBe(charged.has(name) ? 0 : answer.json.credits_used);
            charged.set(name, answer.json.credits_used);
          } else if (kind === "forget") {
            expect((await forget(dir, id, "--yes")).code).toBe(0);
            gone.add(id);
            expect(holding(dir, [`"${id}"`])).toEqual([]);
          } else if (kind === "suppress") {
            expect((await headcount("service", "suppress", "add", id, "--data", dir)).code).toBe(0);
            gone.add(id);
          } else if (kind === "import") await folderWithCanary(dir);
          else {
            await service.close();
            service = await serveFolder(dir);
          }
        }
        expect((await verify(dir)).out).toContain("ledger\tsound\ndataset\tsound\n");
      } finally {
        await service.close();
      }
    }),
    { numRuns: cases(1, 40), seed: LONG ? Date.now() & 0x7fffffff : 12 },
  );
}, 3_600_000);
