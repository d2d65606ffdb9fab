import { describe, expect, test } from "vitest";
import { cases, LONG } from "../support/campaign.ts";
import { long } from "../support/long.ts";
import { testService } from "../support/serving.ts";
import { playSyncStory } from "../support/sync-story.ts";

// HEADCOUNT_SEED plays the stories from that one on, and `-t short` that one alone.
const SEED = Number(process.env.HEADCOUNT_SEED ?? 1000);
const CREDITS = 1_000_000;
const service = testService({ people: 200, credits: CREDITS });

describe("some machines and one folder: each owns the union, nobody forgotten is anywhere", () => {
  const FEW = { steps: 6, machines: 2 };

  // Bought, synced, stopped and forgotten, in few steps; bought, left out, forgotten and synced.
  const stories = process.env.HEADCOUNT_SEED === undefined ? [12, 15] : [SEED];
  test.each(stories)("a short story, %i", async (seed) => {
    const told = await playSyncStory(seed, service, CREDITS, seed === SEED ? {} : FEW);
    expect(told.length).toBeGreaterThanOrEqual(FEW.steps);
  });

  // The same story.
  test("the control: somebody who is not forgotten after all is found", async () => {
    const told = playSyncStory(12, service, CREDITS, { ...FEW, isBroken: true });
    await expect(told).rejects.toThrow(/to deeply equal \[\]\n(.+\n)*.*: forget/);
  });

  long("stories of any steps", { timeout: LONG ? 86_400_000 : 3_000_000 }, async () => {
    const count = cases(2, 300);
    const failures: string[] = [];
    for (let seed = SEED; seed < SEED + count; seed++)
      await playSyncStory(seed, service, CREDITS).catch((error: Error) =>
        failures.push(`seed ${seed}: ${error.message}`),
      );
    expect(failures).toEqual([]);
    if (LONG) process.stderr.write(`${JSON.stringify({ stories: count, seed: SEED })}\n`);
  });
});
