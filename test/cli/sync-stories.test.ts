import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cases, LONG } from "../support/campaign.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { playSyncStory } from "../support/sync-story.ts";

// HEADCOUNT_SEED plays the stories from that one on, and `-t short` that one alone.
const SEED = Number(process.env.HEADCOUNT_SEED ?? 1000);
const CREDITS = 1_000_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ people: 200, credits: CREDITS });
});
afterAll(() => service.close());

describe("three machines and one folder: each owns the union, nobody forgotten is anywhere", () => {
  // Bought, synced, forgotten, torn and suppressed, in few steps.
  test("a short story", async () => {
    const told = await playSyncStory(Number(process.env.HEADCOUNT_SEED ?? 7), service, CREDITS, {
      steps: 7,
    });
    expect(told.length).toBeGreaterThan(6);
  });

  // The same story.
  test("the control: somebody who is not forgotten after all is found", async () => {
    const told = playSyncStory(7, service, CREDITS, { steps: 7, isBroken: true });
    await expect(told).rejects.toThrow(/to deeply equal \[\]\n(.+\n)*.*: forget/);
  });

  long("stories of any steps", { timeout: 3_000_000 }, async () => {
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
