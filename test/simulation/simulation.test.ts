import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Line } from "./network.ts";
import { Play } from "./play.ts";
import { type Story, story, USERS } from "./story.ts";
import { Datasets } from "./world.ts";

// One seed, the whole system: three users' commands, the network, the service, its ledger and two versions of a dataset, all of it the real
// code in this process. Clients, calls in the service and waits stop at every step, and a story from fast-check says who goes on and what
// befalls him (scheduler.ts); one moves at a time, so DuckDB's and Node's threads have no say in the order.
// Not simulated, for there threads decide: several pages in flight (and so `refresh`), bytes that a power failure takes from the disk, a kill
// within a write, limits of time, PostgreSQL. The other campaigns have those.
// HEADCOUNT_SEED and HEADCOUNT_PATH play one story again, HEADCOUNT_SEEDS says how many.

const LONG = process.env.HEADCOUNT_LONG !== undefined;
const SEED = Number(process.env.HEADCOUNT_SEED ?? 1);
const SEEDS = Number(process.env.HEADCOUNT_SEEDS ?? (LONG ? 10_000 : 200));
const LIMIT_MS = LONG ? 14_000_000 : 1_200_000;

let datasets: Datasets;
let lines: readonly Line[];
beforeAll(async () => {
  datasets = await Datasets.make();
  lines = await Promise.all(USERS.map((name) => Line.open(name)));
});
afterAll(async () => {
  for (const line of lines ?? []) await line.close();
  await datasets?.engine.close();
});

/** @returns what happened, in words */
async function played(told: Story): Promise<readonly string[]> {
  const play = new Play(told, datasets, lines);
  try {
    await play.play();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n  ${play.scheduler.transcript.join("\n  ")}`, { cause: error });
  }
  return play.scheduler.transcript;
}

test(
  `${SEEDS} stories`,
  async () => {
    const path = process.env.HEADCOUNT_PATH;
    const property = fc.asyncProperty(story, async (told) => {
      await played(told);
    });
    const replay = path === undefined ? {} : { path };
    // Whatever was found before the limit is told; no end in time is a failure too.
    const limit = { interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: true };
    await fc.assert(property, { seed: SEED, numRuns: SEEDS, ...replay, ...limit });
  },
  LIMIT_MS + 200_000,
);

test("the same seed is the same story", async () => {
  for (const told of fc.sample(story, { seed: SEED + 1, numRuns: 4 })) {
    expect(await played(told)).toEqual(await played(told));
  }
}, 600_000);
