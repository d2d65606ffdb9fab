import { rmSync } from "node:fs";
import { expect } from "vitest";
import { spentBy, user } from "../../support/export.ts";
import { startForeignService } from "../../support/foreign-service.ts";
import { spawnUser } from "../../support/spawned.ts";
import type { Campaign } from "../campaign.ts";

// A service that knows no keys charges a request that is made again once more. However often the process is killed between a charge and
// its line in the journal, all of it is in the books, and with it no more is spent than the cap.

const PEOPLE = 60;
const ARGV = "search --country x -o p.ndjson --per-page 5".split(" ");

interface Plan {
  readonly step: number;
  readonly concurrency: number;
  /** At most so many kills. */
  readonly most: number;
  readonly isBroken: boolean;
}

/** @returns how often it was killed */
async function killAgainAndAgain(plan: Plan): Promise<number> {
  const { concurrency, isBroken, most, step } = plan;
  const service = await startForeignService({
    people: PEOPLE,
    maxPerPage: 5,
    tellsMaxPerPage: true,
    total: "result",
  });
  try {
    const u = user(service.url, service.key);
    const bounds = ["--max-credits", String(PEOPLE), "--concurrency", String(concurrency)];
    const command = [...ARGV, ...bounds];
    let kills = 0;
    for (; kills < most; kills++) {
      const { code } = await spawnUser(u, command, { HEADCOUNT_FAILPOINT: String(step) });
      if (code !== 137) break;
      if (isBroken) rmSync(u.file("state"), { recursive: true, force: true });
    }
    const last = await spawnUser(u, command);

    const { settled, uncertain } = await spentBy(u);
    const charged = service.charged();
    const told = JSON.stringify({ ...plan, kills, ...last, settled, uncertain, charged });
    if (settled + uncertain < charged) throw new Error(`forgotten: ${told}`);
    if (charged > PEOPLE) throw new Error(`above the cap: ${told}`);
    // Killed after the run was over: the file is there.
    expect([0, 2, 5], told).toContain(last.code);
    return kills;
  } finally {
    await service.close();
  }
}

export const lostAgain: Campaign = {
  name: "lost-again",
  seed: 1,
  cases: { quick: 1, whole: 60 },
  control: { without: "the journal", seen: /^(?:forgotten|above the cap): / },

  async run({ cases, isBroken, isWhole }) {
    const most = isWhole ? 6 : 2;
    // Steps 10 to 39, one page in flight and four.
    const [first, stride] = isWhole ? [10, Math.ceil(60 / cases)] : [25, 60];
    let kills = 0;
    for (const concurrency of isWhole ? [1, 4] : [1]) {
      for (let step = first; step < 40; step += stride)
        kills += await killAgainAndAgain({ step, concurrency, most, isBroken });
    }
    expect(kills).toBeGreaterThan(0);
    return { kills };
  },
};
