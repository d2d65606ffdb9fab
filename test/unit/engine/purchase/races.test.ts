import type { FileHandle } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_DIALECT } from "../../../../src/engine/client/dialect.ts";
import { createClient } from "../../../../src/engine/client/http-client.ts";
import { Pacer } from "../../../../src/engine/client/pacing.ts";
import { Buyer, type BuyerOptions } from "../../../../src/engine/purchase/buyer.ts";
import { ending } from "../../../../src/engine/purchase/failures.ts";
import { sourceOf } from "../../../../src/engine/purchase/source.ts";
import { Disk } from "../../../../src/engine/runs/disk.ts";
import { creditsOf, type JournalRecord } from "../../../../src/engine/runs/journal.ts";
import { type NewPlan, RunStore } from "../../../../src/engine/runs/run-store.ts";
import { creditsToNumber } from "../../../../src/shared/contract/money.ts";
import { fakeClock, rawServer, tempDir } from "../../../support/client.ts";

// What may happen while something else is waited for: a reply, the disk, a reading of the balance. A page has ten rows. The first
// two go out alone, until it is seen that the second is another.

const SEARCH: NewPlan["target"] = {
  kind: "search",
  filters: { department: "Sales" },
  canonical: '{"department":["Sales"]}',
};

const ENRICH: NewPlan["target"] = {
  kind: "enrich",
  companies: ["a", "b", "c", "d", "e"].map((name) => ({ by: "domain", value: `${name}.example` })),
};

interface Said {
  readonly status?: number;
  readonly used?: number;
  /** Its answer is lost. */
  readonly lost?: boolean;
}

interface Habits {
  readonly cap: number;
  readonly concurrency?: number;
  /** People who are wanted. */
  readonly rows?: number;
  /** Whether the account told no balance before anything was bought. */
  readonly isMute?: boolean;
  readonly target?: NewPlan["target"];
  /** What the n-th paid call is answered, and when; it took what `charge` says. */
  readonly page?: (call: number) => Said | Promise<Said>;
  readonly charge?: (call: number) => number;
  /** Before the account is answered. */
  readonly account?: () => Promise<unknown>;
  /** What it tells of the balance at the n-th look; it may be late. */
  readonly shows?: (look: number, left: number) => number;
  readonly honoursKeys?: boolean;
  /** While a record is written, before it counts. */
  readonly writes?: (record: string) => Promise<unknown> | undefined;
  /** Instead of a wait. */
  readonly sleep?: (ms: number) => Promise<unknown> | undefined;
}

/** Lets everything that can go on do so. */
const others = async (): Promise<void> => {
  for (let turn = 0; turn < 60; turn++) await new Promise((wake) => setImmediate(wake));
};

/** Resolves once it is called. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

class SlowDisk extends Disk {
  readonly #writes: Habits["writes"];

  constructor(writes: Habits["writes"]) {
    super();
    this.#writes = writes;
  }

  override async append(file: FileHandle, parts: readonly Buffer[], what: string): Promise<void> {
    for (const record of Buffer.concat([...parts])
      .toString()
      .split("\n"))
      if (record.startsWith('{"t":')) await this.#writes?.(record);
    await super.append(file, parts, what);
  }
}

async function opened(habits: Habits) {
  const { cap, concurrency = 2, rows = 100, target = SEARCH } = habits;
  const size = target === SEARCH ? 10 : 1;
  const service = { left: 1_000, others: 0, looks: 0, calls: [] as { readonly key: string }[] };
  const start = service.left;

  const answer = async (url: string, key: string, response: ServerResponse): Promise<void> => {
    let said: Said = {};
    let balance = service.left;
    if (url === "/v1/account") {
      service.looks++;
      balance = habits.shows?.(service.looks, balance) ?? balance;
      await habits.account?.();
    } else {
      const call = service.calls.push({ key });
      service.left -= habits.charge?.(call) ?? size;
      said = (await habits.page?.(call)) ?? {};
    }
    if (said.lost) return void response.destroy();

    const row = (index: number) => ({ id: `${key} ${index}` });
    const rows = Array.from({ length: size }, (_, index) => row(index));
    const { status = 200, used } = said;
    const page = target === SEARCH ? rows : rows[0];
    const result = url === "/v1/account" ? { balance } : page;
    response.statusCode = status;
    response.end(
      JSON.stringify({
        status: status === 200,
        detail: ["so it is"],
        result: status === 200 ? result : null,
        ...(url === "/v1/account" ? {} : { credits_used: used ?? (status === 200 ? size : 0) }),
      }),
    );
  };
  const server = await rawServer(
    ({ url, headers }, response) => void answer(url, `${headers["idempotency-key"]}`, response),
  );
  onTestFinished(() => server.close());

  const clock = fakeClock();
  const { now } = clock;
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await habits.sleep?.(ms);
    await clock.sleep(ms, signal);
  };
  const stateDir = tempDir();
  const apiKey = "k_0123456789abcdef";
  const { url: baseUrl } = server;
  const client = createClient({ baseUrl, apiKey, dialect: DEFAULT_DIALECT, now, env: {} });
  onTestFinished(() => client.close());

  const store = new RunStore(stateDir, new SlowDisk(habits.writes));
  const plan: NewPlan = {
    command: target === SEARCH ? "search" : "enrich",
    connection: "work",
    base_url: baseUrl,
    account_id: "acme",
    key_mode: "live",
    target,
    dataset_version: null,
    unit_price: "1",
    matches: rows,
    paging: "offset",
    output: null,
    view: { format: "csv", fields: null, excel: false, raw: false },
    per_page: 10,
    misses: null,
    receipt: null,
  };
  const create = () => store.create(plan, now(), { now, sleep, what: "the run" });
  const run = await create();
  onTestFinished(() => run.close());

  const interrupt = new AbortController();
  const balance = creditsOf(String(service.left));
  const buyer = (): Buyer => {
    const options: BuyerOptions = {
      now,
      sleep,
      random: () => 0,
      client,
      pacer: new Pacer({ now, stateDir, baseUrl, apiKey }),
      connectionName: "work",
      serviceId: baseUrl,
      maxWaitMs: 60_000,
      run,
      source: sourceOf(run, client, { rows, matches: rows }),
      cap: creditsOf(String(cap)),
      maxCredits: creditsOf(String(cap)),
      maxRows: rows,
      price: creditsOf("1"),
      priceKnown: true,
      datasetVersion: null,
      perPage: size,
      perPageTold: true,
      concurrency,
      honoursKeys: habits.honoursKeys ?? false,
      balance: habits.isMute ? undefined : balance,
      interrupted: interrupt.signal,
      commit: async () => undefined,
      divide: async () => false,
    };
    return new Buyer(options);
  };
  await run.append(
    { t: "session", maxCredits: null, limit: null, rows, at: now() },
    { t: "quiet", balance, begins: true, at: now() },
  );
  return {
    /** Buys to the end, whatever that is. */
    buy: () =>
      buyer()
        .buy()
        .catch((error: unknown) => error),
    calls: service.calls,
    close: () => server.close(),
    looks: () => service.looks,
    charged: () => start - service.left - service.others,
    spend: (amount: number, others = amount) => {
      service.left -= amount;
      service.others += others;
    },
    create,
    interrupt,
    now,
    pass: (ms: number) => clock.sleep(ms),
    run,
  };
}

test("a call that reached nobody is no loss, and takes no room", async () => {
  const { buy, close, run } = await opened({ cap: 100 });
  await close();
  await buy();
  expect(run.state.books.facts.filter(({ t }) => t === "lost")).toEqual([]);
  expect(creditsToNumber(run.state.books.atMost)).toBe(0);
});

test("of a list all was agreed to: a cap with room for a row more leaves too little", async () => {
  const { buy, interrupt, now, run } = await opened({
    cap: 25,
    rows: 40,
    concurrency: 1,
    writes: async (record) => {
      if (record.includes('"t":"settled"')) interrupt.abort(new Error("that is all"));
    },
  });
  const cap = creditsOf("25");
  await run.append({ t: "session", maxCredits: cap, cap, limit: null, rows: 40, at: now() });
  await buy();
  expect(run.state.rows).toBe(10);

  const { id, path, plan, state, wanted } = run;
  const target = { ...plan.target, list: "people.csv" };
  const list = { id, path, plan: { ...plan, target }, state, wanted } as typeof run;
  expect(ending(new Error("that is all"), run, true)).not.toHaveProperty("raise.maxCredits");
  expect(ending(new Error("that is all"), list, true)).toMatchObject({
    raise: { maxCredits: creditsOf("40") },
  });
});

test("of pages that are asked for again no two take the same room", async () => {
  const [all, awake] = [gate(), gate()];
  let waiting = 0;
  const { buy, charged, run } = await opened({
    cap: 70,
    rows: 50,
    concurrency: 3,
    // Of three that go out together each is a limit that was charged, unsaid.
    page: async (call) => {
      if (call === 5) all.open();
      if (call < 3 || call > 5) return {};
      await all.opened;
      return { status: 429 };
    },
    sleep: (ms) => {
      if (ms !== 100) return;
      if (++waiting === 3) awake.open();
      return awake.opened;
    },
  });
  await buy();
  expect(charged()).toBeLessThanOrEqual(70);
  expect(run.state.books.facts.filter(({ t }) => t === "unsent")).toEqual([]);
  expect(creditsToNumber(run.state.books.atMost)).toBeGreaterThanOrEqual(charged());
});

test("a run that is stopped while a page is written down again does not ask for it", async () => {
  const { buy, calls, interrupt } = await opened({
    cap: 100,
    concurrency: 1,
    page: (call) => (call < 3 ? {} : { status: 429 }),
    writes: async (record) => {
      if (record.includes('"t":"sent"')) interrupt.abort(new Error("that is all"));
    },
  });
  await buy();
  expect(calls).toHaveLength(3);
});

test("until the books have a dear answer that brought nobody, none goes out at the price before it", async () => {
  const [both, kept, answered] = [gate(), gate(), gate()];
  const { buy, calls, charged } = await opened({
    target: ENRICH,
    cap: 5,
    charge: (call) => (call === 1 || call === 3 ? 1 : 3),
    page: async (call) => {
      // Where the dear answer came before the other was asked for there would be nothing to see.
      if (call === 2) await both.opened;
      // Its reply makes place for another while the dear answer beside it is written.
      if (call === 3) {
        both.open();
        await kept.opened;
        setImmediate(answered.open);
      }
      return call === 2 ? { status: 404, used: 3 } : {};
    },
    writes: async (record) => {
      if (!record.includes('"t":"refused"')) return;
      kept.open();
      await answered.opened;
      await others();
    },
  });
  await buy();
  expect([calls.length, charged()]).toEqual([3, 5]);
});

test("until the books have a dear reply, none goes out at the price before it", async () => {
  const [next, kept, over] = [gate(), gate(), gate()];
  const { buy, calls } = await opened({
    cap: 90,
    concurrency: 3,
    charge: (call) => (call === 4 || call > 5 ? 30 : 10),
    page: async (call) => {
      // With the third reply those are written down that are to go out next.
      if (call === 6) next.open();
      if (call === 4) await next.opened;
      // Its reply makes place for one of them while the dear one beside it is written.
      if (call === 5) await kept.opened;
      if (call === 6) await over.opened;
      return call === 4 || call > 5 ? { used: 30 } : {};
    },
    writes: async (record) => {
      if (!record.includes('"used":"30"')) return;
      kept.open();
      await others();
      over.open();
    },
  });
  await buy();
  expect(calls).toHaveLength(6);
});

test.each([
  ["of another run that a page is known of tells nothing of this service", "other", 1],
  ["a page of an earlier session was looked at", undefined, 3],
])("%s", async (_, owned, together) => {
  let asked = 0;
  const { buy, calls, now, run } = await opened({
    cap: 100,
    rows: 60,
    concurrency: 3,
    page: async () => {
      do await others();
      while (calls.length < together);
      asked ||= calls.length;
      return {};
    },
  });
  for (const n of [1, 2]) {
    const page = { target: 0, offset: 10 * (n - 1), perPage: 10, key: `earlier-${n}` };
    const at = now();
    const paid = owned === undefined ? { used: creditsOf("10") } : { used: creditsOf("0"), owned };
    const kind = owned === undefined ? {} : { owned: true as const };
    await run.append({ t: "intent", n, ...page, ...kind, hold: creditsOf("10"), at });
    const result = Array.from({ length: 10 }, (_, row) => ({ id: `${n} ${row}` }));
    const body = Buffer.from(JSON.stringify({ status: true, detail: [], result }));
    await run.settle({ t: "settled", n, rows: 10, ...paid, at }, body);
  }
  await buy();
  expect(asked).toBe(together);
});

test("while the balance is read no page goes out that waited for its next try", async () => {
  const [refused, read] = [gate(), gate()];
  let during: number | undefined;
  const scene = await opened({
    cap: 100,
    // The hold of one is refused while the other waits for its next try.
    page: async (call) => {
      if (call === 3) await refused.opened;
      if (call === 4) setImmediate(refused.open);
      return call === 3 ? { status: 402 } : call === 4 ? { status: 429 } : {};
    },
    charge: (call) => (call === 3 || call === 4 ? 0 : 10),
    sleep: (ms) => (ms === 100 ? read.opened : undefined),
    account: async () => {
      const before = scene.calls.length;
      read.open();
      await others();
      during ??= scene.calls.length - before;
    },
  });
  await scene.buy();
  expect(during).toBe(0);
});

test("pages of an earlier session are asked for before others take their room", async () => {
  const { buy, calls, now, run, spend } = await opened({ cap: 60, concurrency: 4 });
  const intent = (n: number): JournalRecord => ({
    t: "intent",
    n,
    target: 0,
    offset: 10 * (n - 1),
    perPage: 10,
    key: `earlier-${n}`,
    hold: creditsOf("10"),
    at: now(),
  });
  await run.append(intent(1), intent(2), intent(3), intent(4));
  for (const n of [1, 2])
    await run.settle(
      { t: "settled", n, rows: 10, used: creditsOf("10"), at: now() },
      Buffer.from(JSON.stringify({ status: true, detail: [], result: [{ id: `${n}` }] })),
    );
  for (const n of [3, 4]) await run.append({ t: "lost", n, at: now() });
  spend(40, 0);

  await buy();
  expect(calls.map(({ key }) => key)).toEqual(["earlier-3", "earlier-4"]);
});

test("what another run settled after the balance was asked for explains nothing of it", async () => {
  let sibling: Awaited<ReturnType<typeof scene.create>> | undefined;
  const scene = await opened({
    cap: 40,
    concurrency: 1,
    page: (call) => ({ lost: call === 3 }),
    account: async () => {
      if (sibling === undefined || sibling.state.rows > 0) return;
      const at = scene.now() + 1;
      const page = { target: 0, offset: 0, perPage: 10, key: "k", hold: creditsOf("10") };
      await sibling.append({ t: "intent", n: 1, ...page, at });
      await sibling.append({ t: "settled", n: 1, rows: 10, used: creditsOf("10"), at });
      scene.spend(10);
    },
  });
  sibling = await scene.create();
  await scene.buy();
  await sibling.close();
  expect(scene.charged()).toBeLessThanOrEqual(40);
  expect(creditsToNumber(scene.run.state.books.atMost)).toBeGreaterThanOrEqual(scene.charged());
});

test("the balance is read once, at the end; of what is stopped with nothing in doubt it is not", async () => {
  let reads = 0;
  const account = async () => reads++;
  const whole = await opened({ cap: 30, account });
  await whole.buy();
  expect([whole.charged(), reads]).toEqual([30, 1]);
  const mute = await opened({ cap: 30, account, isMute: true });
  await mute.buy();
  expect([mute.charged(), reads]).toEqual([30, 1]);

  const stopped = await opened({
    cap: 100,
    account,
    page: async (call) => {
      if (call === 3) stopped.interrupt.abort(new Error("stop"));
      return {};
    },
  });
  await stopped.buy();
  expect(stopped.charged()).toBeGreaterThanOrEqual(30);
  expect(reads).toBe(1);
});

test("a look that was late is taken once more, after a rest, where a failure may have cost something", async () => {
  const { buy, charged, looks, run } = await opened({
    cap: 50,
    concurrency: 1,
    // It says that it took nothing.
    page: (call) => (call === 3 ? { status: 503, used: 0 } : {}),
    charge: (call) => (call === 3 ? 0 : 10),
    shows: (look, left) => left + (look === 1 ? 10 : 0),
  });
  await buy();
  expect([run.state.rows, charged(), looks()]).toEqual([20, 20, 2]);
  expect(creditsToNumber(run.state.uncertain)).toBe(0);
});

test("a look that was late is taken once more before room is given up: the cap is landed on", async () => {
  const isMiss = (call: number): boolean => call === 2 || call === 4;
  const { buy, charged, looks, run } = await opened({
    cap: 3,
    concurrency: 1,
    target: ENRICH,
    rows: 5,
    page: (call) => (isMiss(call) ? { status: 404, used: 0 } : {}),
    charge: (call) => (isMiss(call) ? 0 : 1),
    // The first one showed that a miss is free; the second one is for the room of the last company.
    shows: (look, left) => left + (look === 2 ? 1 : 0),
  });
  await buy();
  expect([charged(), looks()]).toEqual([3, 4]);
  expect(creditsToNumber(run.state.uncertain)).toBe(0);
});

test("an account that tells no balance proves nothing free: what a 402 may have taken counts", async () => {
  const { buy, looks, run } = await opened({
    cap: 100,
    concurrency: 1,
    isMute: true,
    page: (call) => (call === 3 ? { status: 402 } : {}),
    charge: () => 10,
  });
  await buy();
  expect([looks(), creditsToNumber(run.state.uncertain)]).toEqual([0, 10]);
});

test("a 402 is held against a balance that had time to show what it took", async () => {
  let isLate = true;
  const { buy, charged, run } = await opened({
    cap: 100,
    concurrency: 1,
    page: (call) => (call === 3 ? { status: 402 } : {}),
    charge: () => 10,
    sleep: async (ms) => {
      isLate &&= ms < 1_000;
    },
    shows: (_, left) => left + (isLate ? 10 : 0),
  });
  await buy();
  expect(charged()).toBeLessThanOrEqual(100);
  expect(creditsToNumber(run.state.books.atMost)).toBe(charged());
});
