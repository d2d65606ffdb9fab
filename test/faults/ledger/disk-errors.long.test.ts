import { describe, expect, it } from "vitest";
import { everyNth, LONG } from "../../support/campaign.ts";
import { isLeftOut } from "../../support/tools.ts";
import { checkLedger, countCalls, eachPoint, HAS_STRACE, report, runLife } from "./rig.ts";

// F3: the Nth write or sync of the ledger's files fails, once or from then on, for N = 1 until a run passes without meeting it. The
// process goes on: what it refused must not have happened, what it acknowledged must be there.
const FAULTS: readonly (readonly [name: string, call: string, inject: string])[] = [
  ["the disk is full once", "pwrite64", "error=ENOSPC"],
  ["a write fails once", "pwrite64", "error=EIO"],
  ["a sync fails once", "fsync", "error=EIO"],
];
const SHORT_POINTS = 2;
/** A refused commit may be whole in the log: the process that dies right after the refusal must not bring it back. */
const FRAGILE = ["a sync fails once", "a write fails once"];

describe.skipIf(isLeftOut(HAS_STRACE))("a ledger on a disk that fails", () => {
  it.each(FAULTS)(
    "refuses and charges nothing when %s",
    { timeout: 3_600_000 },
    async (name, call, inject) => {
      const options = { rounds: LONG ? 2 : 1, width: 3, tolerant: true };
      const whole = await runLife(options, [`trace=${call}`]);
      const total = countCalls(whole.trace, call);
      whole.remove();
      // The long form meets every sync and every second write.
      const step = everyNth(total / SHORT_POINTS) * (LONG && call !== "fsync" ? 2 : 1);
      const problems: string[] = [];
      let points = 0;
      let refused = 0;
      // `when=N+` from then on: a disk that stays full.
      const variants = [
        { suffix: "", fragile: false },
        { suffix: "+", fragile: false },
        ...(FRAGILE.includes(name) ? [{ suffix: "", fragile: true }] : []),
      ];
      for (const { suffix, fragile } of variants) {
        await eachPoint(total, step, async (when) => {
          const life = await runLife({ ...options, fragile }, [
            `trace=${call}`,
            `inject=${call}:${inject}:when=${when}${suffix}`,
          ]);
          points += 1;
          refused += life.lines.filter((line) => line.refused !== undefined).length;
          const others = life.lines.filter(
            (line) => line.refused !== undefined && line.name !== "StoreUnavailableError",
          );
          for (const line of others) {
            // What follows from a refusal: an account or a key that was never made.
            const follows =
              line.name === "UnknownAccountError" || line.message === "there is no key to revoke";
            if (!follows) {
              problems.push(`call ${when}${suffix}: refused with ${line.name}: ${line.message}`);
            }
          }
          for (const problem of await checkLedger(life.path, life.lines, true)) {
            problems.push(`call ${when}${suffix}${fragile ? ", then killed" : ""}: ${problem}`);
          }
          life.remove();
        });
      }
      report(`disk errors: ${name}`, { points, refused, problems: problems.length });
      expect(problems).toEqual([]);
      expect(refused).toBeGreaterThan(0);
    },
  );
});
