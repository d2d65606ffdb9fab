import { appendFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cases, LONG } from "../support/campaign.ts";
import { SEEDS as NAMED } from "./seeds.ts";
import { Stage } from "./stage.ts";
import { story } from "./story.ts";

// HEADCOUNT_SEED and HEADCOUNT_PATH play one story again, HEADCOUNT_SEEDS says how many, HEADCOUNT_PROGRESS names a file that tells how far it is.

const SEED = Number(process.env.HEADCOUNT_SEED ?? 1);
const PATH = process.env.HEADCOUNT_PATH;
const SEEDS = Number(process.env.HEADCOUNT_SEEDS ?? cases(60, 10_000));
/** Stories of one seed: a story that fails is told, shrunk, and those of the next seeds are played all the same. */
const OF_A_SEED = 100;
const LIMIT_MS = LONG ? 14_000_000 : 1_200_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.make();
});
afterAll(() => stage?.close());

const tell = (line: string): void => {
  const { HEADCOUNT_PROGRESS: path } = process.env;
  if (path !== undefined) appendFileSync(path, `${new Date().toISOString()} ${line}\n`);
};

const plays = fc.asyncProperty(story, async (told) => {
  await stage.play(told);
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

test.each(NAMED)("$name: $found", async ({ story: told }) => {
  await stage.play(told);
});

test("the same seed is the same story", async () => {
  for (const told of fc.sample(story, { seed: SEED + 1, numRuns: 2 })) {
    expect(await stage.play(told)).toEqual(await stage.play(told));
  }
}, 600_000);
