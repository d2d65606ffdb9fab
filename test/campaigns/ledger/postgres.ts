import { expect } from "vitest";
import { HoldResolvedError, StoreUnavailableError } from "../../../src/service/ledger/errors.ts";
import type { HoldRequest, Store } from "../../../src/service/ledger/ledger.ts";
import { openPostgresStore } from "../../../src/service/ledger/postgres.ts";
import { makeApiKey } from "../../../src/service/money/keys.ts";
import { postgresBinaries } from "../../support/database.ts";
import { LossyProxy } from "../../support/lossy-proxy.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../../support/store.ts";
import type { Campaign, Course } from "../campaign.ts";
import { doubling } from "./broken.ts";
import { nextSchema, sharedCluster } from "./cluster.ts";
import { seeded } from "./rig.ts";

// The database is killed, stopped, restarted under load, or answers a commit with silence.
const CLIENTS = 16;
const GRANTED = 1_000_000;

const pause = (ms: number): Promise<unknown> => new Promise((done) => setTimeout(done, ms));

interface Load {
  calls: number;
  refused: number;
  conflicts: number;
}

/** One call of one credit with a key, once. @returns whether it was answered */
async function callOnce(store: Store, key: string, figures: Load): Promise<boolean> {
  let holdId: string | undefined;
  try {
    const outcome = await store.hold(holdRequest(c(1), { idempotency: { key, requestHash: "h" } }));
    if (outcome.kind === "held") {
      holdId = outcome.holdId;
      await store.settle({ holdId, amount: c(1), reply: answer(key) });
      return true;
    }
    if (outcome.kind === "replay") return true;
    figures.conflicts += 1;
  } catch (error) {
    // A hold that was not synced may be gone after a kill: refused, and nothing charged.
    if (!(error instanceof StoreUnavailableError || error instanceof HoldResolvedError))
      throw error;
    figures.refused += 1;
    if (holdId !== undefined) await store.release(holdId).catch(() => undefined);
  }
  return false;
}

/** Clients that charge one credit a call, each call repeated under its key until it is answered. */
async function load(
  stores: readonly [Store, Store],
  isOver: () => boolean,
  figures: Load,
): Promise<void> {
  const client = async (n: number): Promise<void> => {
    while (!isOver()) {
      figures.calls += 1;
      const key = `call-${figures.calls}`;
      while (!(await callOnce(stores[n % 2 === 0 ? 0 : 1], key, figures))) await pause(20);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
}

async function expectCharged(store: Store, credits: number): Promise<void> {
  expect(await store.verify()).toEqual([]);
  const { balance, held: left } = await store.balance(ACCOUNT, "live");
  expect({ balance, held: left }).toEqual({ balance: c(GRANTED - credits), held: 0n });
}

async function playKills(course: Course): Promise<Load & { kills: number; stops: number }> {
  const cluster = await sharedCluster();
  const schema = nextSchema();
  const open = () =>
    openPostgresStore({
      url: cluster.url,
      now: Date.now,
      connections: 5,
      schema,
      heartbeatMs: 500,
    });
  const sound = [await open(), await open()] as const;
  const requests = new Map<string, HoldRequest>();
  const stores = course.isBroken
    ? ([doubling(sound[0], requests), doubling(sound[1], requests)] as const)
    : sound;
  await fund(sound[0], GRANTED);
  const [kills, stops] = course.isWhole ? [50, 20] : [course.isBroken ? 0 : 1, 1];

  let isOver = false;
  const figures: Load = { calls: 0, refused: 0, conflicts: 0 };
  const running = load(stores, () => isOver, figures);
  for (let n = 0; n < kills; n += 1) {
    const before = figures.calls;
    await pause(150 + (n % 7) * 40);
    // A server that is killed before it answers anybody shows nothing; on a slow machine it may take seconds.
    await expect.poll(() => figures.calls, { timeout: 60_000 }).toBeGreaterThan(before);
    await cluster.kill();
    await cluster.start();
  }
  for (let n = 0; n < stops; n += 1) {
    await pause(100);
    const pid = cluster.pid();
    process.kill(pid, "SIGSTOP");
    await pause(200);
    process.kill(pid, "SIGCONT");
  }
  await pause(300);
  isOver = true;
  await running;

  expect(figures.calls).toBeGreaterThan(CLIENTS);
  await expectCharged(sound[0], figures.calls);
  for (const store of sound) await store.close();
  return { ...figures, kills, stops };
}

/** Whether a commit stands whose answer was lost is known, and it is done once: nobody repeats it but the store itself. */
async function playSilence(course: Course): Promise<{ rounds: number; cuts: number }> {
  const cluster = await sharedCluster();
  const proxy = new LossyProxy(cluster.port);
  await proxy.listen();
  const url = cluster.url.replace(`:${cluster.port}/`, `:${proxy.port}/`);
  const schema = nextSchema();
  const store = await openPostgresStore({ url, now: Date.now, connections: 5, schema });
  await fund(store, GRANTED);
  const chance = seeded(course.seed);

  proxy.cutAtCommit = () => chance() < 0.2;
  let charged = 0;
  for (let round = 0; round < course.cases; round += 1) {
    const ids = await Promise.all([1, 2, 3].map((n) => held(store, c(n))));
    await Promise.all(
      ids.map((holdId, n) => store.settle({ holdId, amount: c(n + 1), reply: answer() })),
    );
    charged += 6;
    await store.grant(ACCOUNT, "live", c(1), "again");
    charged -= 1;
  }
  proxy.cutAtCommit = () => false;
  const { cuts } = proxy;
  expect(cuts).toBeGreaterThan(course.cases / 5);
  await expectCharged(store, charged);

  // What is made, and revoked, is made and revoked once too.
  proxy.cutAtCommit = () => chance() < 0.5;
  const { hash, prefix } = makeApiKey("live");
  const key = { id: "k", name: "k", mode: "live", prefix, hash } as const;
  await store.createKey({ ...key, accountId: ACCOUNT, createdAt: 1 });
  await store.createAccount("second", "Second");
  expect(await store.revokeKey("k")).toBe(true);
  proxy.cutAtCommit = () => false;
  await store.close();
  await proxy.close();
  return { rounds: course.cases, cuts };
}

export const postgres: Campaign = {
  name: "postgres",
  seed: 99,
  cases: { quick: 6, whole: 2_000 },
  canRun: postgresBinaries() !== undefined,
  control: { without: "that a call is charged once", seen: /^expected .* to deeply equal/ },

  async run(course) {
    const kills = await playKills(course);
    return { ...kills, ...(await playSilence(course)) };
  },
};
