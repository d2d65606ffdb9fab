import { describe, expect, it } from "vitest";
import { everyNth, LONG } from "../../support/campaign.ts";
import { isLeftOut } from "../../support/tools.ts";
import { checkLedger, countCalls, eachPoint, HAS_STRACE, report, runLife } from "./rig.ts";

// F1: the process is killed at the entry of its Nth system call that changes or syncs the ledger's files, for N = 1 until the run
// gets through. Between two such calls nothing changes on the disk, so this is before and after each of them.
const CALLS = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink"] as const;
const SHORT_POINTS = 10;

describe.skipIf(isLeftOut(HAS_STRACE))("a ledger that is killed at a system call", () => {
  it("keeps every acknowledged change and no half of another", { timeout: 3_600_000 }, async () => {
    const options = LONG ? { rounds: 3, width: 6 } : { rounds: 1, width: 3 };
    const trace = `trace=${CALLS.join(",")}`;
    const whole = await runLife(options, [trace]);
    expect(whole.lines.at(-1)).toEqual({ ack: { kind: "close" } });
    const total = CALLS.reduce((sum, call) => sum + countCalls(whole.trace, call), 0);
    whole.remove();
    expect(total).toBeGreaterThan(100);
    const step = everyNth(total / SHORT_POINTS);
    let points = 0;
    let killed = 0;
    let acknowledged = 0;
    const problems: string[] = [];
    await eachPoint(total + 1, step, async (when) => {
      const life = await runLife(options, [
        trace,
        `inject=${CALLS.join(",")}:signal=SIGKILL:when=${when}`,
      ]);
      points += 1;
      if (life.signal === "SIGKILL" || life.code === 137) killed += 1;
      acknowledged += life.lines.filter(({ ack }) => ack !== undefined).length;
      for (const problem of await checkLedger(life.path, life.lines, true))
        problems.push(`call ${when}: ${problem}`);
      life.remove();
    });
    report("crash points", { points, killed, acknowledged, problems: problems.length });
    expect(problems).toEqual([]);
    expect(killed).toBeGreaterThanOrEqual(Math.floor(points * 0.75));
  });
});
