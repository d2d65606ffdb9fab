import { appendFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cases, LONG } from "../support/campaign.ts";
import { Line } from "./network.ts";
import { Play } from "./play.ts";
import { type Story, story, USERS } from "./story.ts";
import { Datasets } from "./world.ts";

// One seed, the whole system: three users' commands, the network, the service, its ledger and two versions of a dataset, all of it the real
// code in this process. Clients, calls in the service and waits stop at every step, and a story from fast-check says who goes on and what
// befalls him (scheduler.ts); the next one moves when all that follows from the last move has come to a stop, so no thread has a say in the order.
// Not simulated: bytes that a power failure takes from the disk, a kill within a write, limits of time, PostgreSQL. The other campaigns have those.
// HEADCOUNT_SEED and HEADCOUNT_PATH play one story again, HEADCOUNT_SEEDS says how many, HEADCOUNT_PROGRESS names a file that tells how far it is.

const SEED = Number(process.env.HEADCOUNT_SEED ?? 1);
const PATH = process.env.HEADCOUNT_PATH;
const SEEDS = Number(process.env.HEADCOUNT_SEEDS ?? cases(200, 10_000));
/** Stories of one seed: a story that fails is told, shrunk, and those of the next seeds are played all the same. */
const OF_A_SEED = 100;
const LIMIT_MS = LONG ? 14_000_000 : 1_200_000;

/** Within the process only. */
const PORT = 61_001;

let datasets: Datasets;
let lines: readonly Line[];
beforeAll(async () => {
  datasets = await Datasets.make();
  lines = USERS.map((name, at) => new Line(name, PORT + at));
});
afterAll(async () => {
  await datasets?.engine.close();
});

/** @returns what happened, in words */
async function played(told: Story): Promise<readonly string[]> {
  const play = new Play(told, datasets, lines);
  try {
    await play.play();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n  ${play.scheduler.transcript.join("\n  ")}`, {
      cause: error,
    });
  }
  return play.scheduler.transcript;
}

const tell = (line: string): void => {
  const { HEADCOUNT_PROGRESS: path } = process.env;
  if (path !== undefined) appendFileSync(path, `${new Date().toISOString()} ${line}\n`);
};

const plays = fc.asyncProperty(story, async (told) => {
  await played(told);
});

test(
  `${SEEDS} stories`,
  async () => {
    const until = Date.now() + LIMIT_MS;
    const failures: string[] = [];
    const replay = PATH === undefined ? {} : { path: PATH };
    for (let [seed, left] = [SEED, SEEDS]; left > 0; seed++) {
      const numRuns = Math.min(OF_A_SEED, left);
      left -= numRuns;
      // Whatever was found before the limit is told; no end in time is a failure too.
      const limit = { interruptAfterTimeLimit: until - Date.now(), markInterruptAsFailure: true };
      const details = await fc.check(plays, { seed, numRuns, ...replay, ...limit });
      const failure = details.failed
        ? `${fc.defaultReportMessage(details)}\n${causeOf(details.errorInstance)}`
        : "";
      if (details.failed) failures.push(failure);
      tell(
        `seed ${seed}: ${SEEDS - left} of ${SEEDS}, ${failures.length} failed\n${failure}`.trim(),
      );
      if (details.interrupted || PATH !== undefined) break;
    }
    expect(failures.join("\n\n")).toBe("");
  },
  LIMIT_MS + 200_000,
);

const causeOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

test("the same seed is the same story", async () => {
  for (const told of fc.sample(story, { seed: SEED + 1, numRuns: 4 })) {
    expect(await played(told)).toEqual(await played(told));
  }
}, 600_000);
