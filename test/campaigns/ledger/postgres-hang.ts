import { expect } from "vitest";
import { openDataset } from "../../../src/dataset/embedded/open.ts";
import { createKey, DEFAULT_ACCOUNT } from "../../../src/service/admin/keys.ts";
import { startService } from "../../../src/service/http/server.ts";
import type { Store } from "../../../src/service/ledger/ledger.ts";
import { openPostgresStore } from "../../../src/service/ledger/postgres.ts";
import { credits } from "../../../src/shared/contract/money.ts";
import { postgresBinaries } from "../../support/database.ts";
import { generatedDataset } from "../../support/service.ts";
import type { Campaign, Course } from "../campaign.ts";
import { doubling } from "./broken.ts";
import { nextSchema, sharedCluster } from "./cluster.ts";
import { seeded } from "./rig.ts";

/**
 * The server of the accounts, or one of its processes, is stopped (SIGSTOP) in the middle of paid calls for longer than the service
 * waits, and goes on afterwards with what it was at. What was answered 200 is charged once, what was answered 500 is not, unless its
 * idempotency key fetches the reply later.
 */
const CLIENTS = 12;
const GRANTED = 100_000n;
const MICROS = 1_000_000n;

const pause = (ms: number): Promise<unknown> => new Promise((done) => setTimeout(done, ms));

interface Figures {
  answered: number;
  refused: number;
  repeated: number;
  slowest: number;
  /** What they are to pay by what they were answered. */
  charged: bigint;
  /** Answers that are neither 200 nor 500. */
  readonly other: number[];
}

async function search(
  { key, url }: { readonly key: string; readonly url: string },
  rows: number,
  order: string | undefined,
): Promise<number> {
  const answer = await fetch(`${url}/v1/person/search`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(order === undefined ? {} : { "idempotency-key": order }),
    },
    body: JSON.stringify({ filters: {}, per_page: rows }),
  });
  const { result } = (await answer.json()) as { result: unknown[] };
  if (answer.status === 200) expect(result).toHaveLength(rows);
  return answer.status;
}

/** Every other client repeats what was refused under its key; the rest take the 500 for what it is. */
async function playClient(
  service: { readonly key: string; readonly url: string },
  n: number,
  isOver: () => boolean,
  figures: Figures,
): Promise<void> {
  const rows = 1 + (n % 3);
  for (let orders = 0; !isOver(); orders += 1) {
    const order = n % 2 === 0 ? `order-${n}-${orders}` : undefined;
    for (let isAnswered = false; !isAnswered; figures.repeated += isAnswered ? 0 : 1) {
      const start = performance.now();
      const status = await search(service, rows, order);
      figures.slowest = Math.max(figures.slowest, Math.round(performance.now() - start));
      if (status === 200) {
        figures.answered += 1;
        figures.charged += BigInt(rows);
      } else {
        figures.refused += 1;
        // 409: its first attempt is still looked at.
        if (status !== 500 && !(order !== undefined && status === 409)) figures.other.push(status);
        await pause(20);
      }
      isAnswered = status === 200 || order === undefined;
    }
  }
}

/** What stands although it was refused goes back at a heartbeat: that is waited for, not for ever. */
async function expectSettled(store: Store, balance: bigint, heartbeatMs: number): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    const now = await store.balance(DEFAULT_ACCOUNT, "live");
    // Less than there should be only gets more by what is given back; where nothing is held nothing will be.
    if (now.held === 0n && now.balance >= balance) break;
    if (now.held === 0n && waited >= 3 * heartbeatMs) break;
    await pause(100);
  }
  expect(await store.balance(DEFAULT_ACCOUNT, "live")).toMatchObject({ balance, held: 0n });
  expect(await store.verify()).toEqual([]);
}

async function play(course: Course): Promise<Record<string, number>> {
  const cluster = await sharedCluster();
  // The whole form waits as long as a service does.
  const patienceMs = course.isWhole ? 5_000 : 500;
  const hangs = course.isWhole
    ? { long: 7_000, short: 4_900 }
    : { long: 2 * patienceMs, short: patienceMs };
  const heartbeatMs = course.isWhole ? 10_000 : 500;
  const store = await openPostgresStore({
    url: cluster.url,
    now: Date.now,
    schema: nextSchema(),
    patienceMs,
    heartbeatMs,
  });
  await store.createAccount(DEFAULT_ACCOUNT, DEFAULT_ACCOUNT);
  await store.grant(DEFAULT_ACCOUNT, "live", credits(GRANTED * MICROS), "for this");
  await store.setPlan(DEFAULT_ACCOUNT, { perMinute: 1_000_000, perDay: 1_000_000 });
  const { key } = await createKey(store, {
    accountId: DEFAULT_ACCOUNT,
    name: "x",
    mode: "live",
    now: Date.now,
  });
  const engine = await openDataset(await generatedDataset(300));
  const service = await startService({
    engine,
    store: course.isBroken ? doubling(store) : store,
    testEngine: () => Promise.resolve(engine),
  });

  const chance = seeded(course.seed);
  const figures: Figures = {
    answered: 0,
    refused: 0,
    repeated: 0,
    slowest: 0,
    charged: 0n,
    other: [],
  };
  try {
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, (_, n) =>
      playClient({ key, url: service.url }, n, () => isOver, figures),
    );
    for (let hang = 0; hang < course.cases; hang += 1) {
      await pause(150 + chance() * 300);
      if (hang % 2 === 0) cluster.hangOne(chance);
      else cluster.hang();
      // Longer than the patience of the service, or just as long as it.
      await pause(hang % 4 < 2 ? hangs.long : hangs.short);
      cluster.resume();
    }
    await pause(300);
    isOver = true;
    await Promise.all(clients);
    expect(figures.other).toEqual([]);
    await expectSettled(store, (GRANTED - figures.charged) * MICROS, heartbeatMs);
    if (!course.isBroken) expect(figures.refused).toBeGreaterThan(0);
  } finally {
    await service.close();
    await engine.close();
    await store.close();
  }
  const { answered, refused, repeated, slowest } = figures;
  return { hangs: course.cases, answered, refused, repeated, slowest_ms: slowest };
}

export const postgresHang: Campaign = {
  name: "postgres-hang",
  seed: 20_261_122,
  cases: { quick: 2, whole: 24 },
  canRun: postgresBinaries() !== undefined,
  control: { without: "that a call is charged once", seen: /^expected .* to match object/ },
  run: play,
};
