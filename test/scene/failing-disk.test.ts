import { join } from "node:path";
import { expect } from "vitest";
import { netOf, readSpend } from "../../src/engine/runs/spend.ts";
import { credits, creditsToNumber, sumOfCredits } from "../../src/shared/contract/money.ts";
import { swiftClock } from "../support/client.ts";
import { user } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { long } from "../support/long.ts";

// A disk that fails at one write, which is another one each time: what was charged is in the books, or may have been.

long("whatever write fails, no charge is forgotten", async () => {
  const { service } = await foreignScene({ people: 4 });
  const command = ["search", "--all", "--per-page", "2", "--concurrency", "1", "--yes"];
  let charged = 0;
  let failures = 0;
  for (let step = 12; step <= 32; step++) {
    const u = user(service.url, service.key);
    const env = { HEADCOUNT_FAILPOINT: `${step}:EIO:once` };
    const ran = await u.run([...command, "-o", "o.csv"], { env, clock: swiftClock() });
    const { runs } = await readSpend(join(u.dir, "state", "runs"));
    const pending = sumOfCredits(runs.map((run) => run.pending));
    const told = creditsToNumber(credits(netOf(runs) + pending));

    const cost = service.charged() - charged;
    charged += cost;
    if (ran.code !== 0 && cost > 0) failures++;
    expect(told, `step ${step}: ${ran.stderr}`).toBeGreaterThanOrEqual(cost);
  }
  expect(failures).toBeGreaterThan(5);
});
