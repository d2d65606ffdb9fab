import { expect, test } from "vitest";
import { everyNth } from "../../support/campaign.ts";
import { spentBy, user } from "../../support/export.ts";
import { startForeignService } from "../../support/foreign-service.ts";
import { spawnUser } from "../../support/spawned.ts";

// A service that knows no keys charges a request that is made again once more. However often the process is killed between a charge and
// its line in the journal, all of it is in the books, and with it no more is spent than the cap.

const PEOPLE = 60;
const argv = "search --country x -o p.ndjson --per-page 5".split(" ");

async function killedAgainAndAgain(step: number, concurrency: number): Promise<void> {
  const service = await startForeignService({
    people: PEOPLE,
    maxPerPage: 5,
    tellsMaxPerPage: true,
    total: "result",
  });
  try {
    const u = user(service.url, service.key);
    const command = [
      ...argv,
      "--max-credits",
      String(PEOPLE),
      "--concurrency",
      String(concurrency),
    ];
    let kills = 0;
    for (; kills < 6; kills++) {
      if ((await spawnUser(u, command, { HEADCOUNT_FAILPOINT: String(step) })).code !== 137) break;
    }
    const last = await spawnUser(u, command);
    const { settled, uncertain } = await spentBy(u);
    const told = JSON.stringify({
      step,
      concurrency,
      kills,
      ...last,
      settled,
      uncertain,
      charged: service.charged(),
    });
    expect(settled + uncertain, told).toBeGreaterThanOrEqual(service.charged());
    expect(service.charged(), told).toBeLessThanOrEqual(PEOPLE);
    // Killed after the run was over: the file is there.
    expect([0, 2, 5], told).toContain(last.code);
  } finally {
    await service.close();
  }
}

test.each([1, 4])(
  "killed six times at the same step, %i in flight: nothing that was charged is forgotten",
  async (concurrency) => {
    for (let step = 10; step < 40; step += everyNth(5))
      await killedAgainAndAgain(step, concurrency);
  },
  300_000,
);
