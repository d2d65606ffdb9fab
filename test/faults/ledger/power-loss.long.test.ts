import { describe, expect, it } from "vitest";
import { cases, everyNth, LONG } from "../../support/campaign.ts";
import { isLeftOut } from "../../support/tools.ts";
import { oldLedger } from "./old-ledger.ts";
import { recordLife, replay } from "./power-loss.ts";
import { HAS_STRACE, report } from "./rig.ts";

// F2: the power fails after any system call, and what was not synced is gone, whole or torn at 512 bytes.
const LIFE = LONG ? { rounds: 8, width: 8 } : { rounds: 2, width: 3 };
const RANDOM = LONG ? 40 : 1;
const EVERY = everyNth(6);

describe.skipIf(isLeftOut(HAS_STRACE))("a ledger after a power failure", () => {
  it("has every acknowledged charge, grant, key and revocation", {
    timeout: 3_600_000,
  }, async () => {
    const { events, life } = await recordLife(LIFE);
    life.remove();
    expect(life.lines.at(-1)).toEqual({ ack: { kind: "close" } });
    const figures = await replay(events, { random: RANDOM, seed: 20_260_505, every: EVERY });
    const { states, statesWithLoss, losses, broken } = figures;
    report("power loss, synchronous=FULL", {
      calls: events.length,
      states,
      statesWithLoss,
      losses,
      broken: broken.length,
    });
    expect(broken).toEqual([]);
    expect({ statesWithLoss, losses }).toEqual({ statesWithLoss: 0, losses: 0 });
    expect(states).toBeGreaterThan(cases(60, 20_000));
  });

  it("has them where the power fails while its file is made smaller", {
    timeout: 3_600_000,
  }, async () => {
    const { from, lines } = await oldLedger(LONG ? 12 : 4);
    const { events, life } = await recordLife(
      { rounds: 0, width: 0, store: { heartbeatMs: 100 } },
      { work: "vacuum", from },
    );
    life.remove();
    expect(life.lines.at(-1), life.stderr).toEqual({ ack: { kind: "close" } });
    const every = LONG ? EVERY : 25;
    const figures = await replay(events, {
      random: Math.ceil(RANDOM / 2),
      seed: 20_261_122,
      every,
      from,
      before: lines,
    });
    const { broken, losses, states, statesWithLoss } = figures;
    const told = { calls: events.length, states, statesWithLoss, losses, broken: broken.length };
    report("power loss while the file is made smaller", told);
    expect(broken).toEqual([]);
    expect({ statesWithLoss, losses }).toEqual({ statesWithLoss: 0, losses: 0 });
  });

  // Few calls, of which only some of the torn disks show what is missing: all of them are played, many times.
  it("has them where the power fails while it is closed, and opens", {
    timeout: 3_600_000,
  }, async () => {
    const { events, life } = await recordLife({ rounds: 0, width: 0 });
    life.remove();
    const figures = await replay(events, {
      random: LONG ? 1_000 : 100,
      seed: 7,
      every: 1,
      last: 10,
    });
    const { broken, losses, states, statesWithLoss } = figures;
    report("power loss at the close", { states, statesWithLoss, losses, broken: broken.length });
    expect(broken).toEqual([]);
    expect(statesWithLoss).toBe(0);
  });

  it("would not have them with synchronous=NORMAL: the rig sees the difference", {
    timeout: 3_600_000,
  }, async () => {
    const { events, life } = await recordLife({ ...LIFE, store: { synchronous: "NORMAL" } });
    life.remove();
    const figures = await replay(events, { random: LONG ? 3 : 0, seed: 1, every: EVERY });
    const { states, statesWithLoss, losses, broken } = figures;
    report("power loss, synchronous=NORMAL (control)", {
      calls: events.length,
      states,
      statesWithLoss,
      losses,
      broken: broken.length,
    });
    expect(broken).toEqual([]);
    expect(statesWithLoss).toBeGreaterThan(states / 10);
  });
});
