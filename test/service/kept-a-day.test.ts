import { statSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { IDEMPOTENCY_TTL_MS } from "../../src/service/ledger/records.ts";
import { holding } from "../support/kept.ts";
import { ACCOUNT, answer, c, held, temporaryLedger } from "../support/store.ts";

test("after 24 hours no byte of a stored reply is in ledger or log, and the file is as small as before", async () => {
  let now = Date.UTC(2026, 0, 15);
  const opened = await temporaryLedger({ now: () => now, heartbeatMs: 20, live: 1_000 });
  const { path, store } = opened;
  const folder = dirname(path);
  const size = (): number => statSync(path).size;
  try {
    await store.recover(0);
    // What is written by now is in the file, and not in its log.
    await store.people.wipe();
    const [before, canary] = [size(), "Zebulon Quuxington"];
    for (let n = 0; n < 40; n++) {
      const holdId = await held(store, c(1), {
        idempotency: { key: `order-${n}`, requestHash: "h" },
      });
      await store.settle({
        holdId,
        amount: c(1),
        reply: answer(`${canary} ${"of the many ".repeat(4_000)}${n}`),
      });
    }
    expect(holding(folder, [canary])).not.toEqual([]);
    now += IDEMPOTENCY_TTL_MS - 1;
    await expect.poll(size).toBeGreaterThan(before + 500_000);
    expect(holding(folder, [canary])).not.toEqual([]);
    now += 1;
    await expect.poll(() => holding(folder, [canary]), { timeout: 20_000 }).toEqual([]);
    await expect.poll(size, { timeout: 20_000 }).toBeLessThan(before + 60_000);
    expect(statSync(`${path}-wal`).size).toBeLessThan(60_000);
    expect((await store.money(ACCOUNT, "live")).balance).toBe(c(960));
    expect(await store.verify()).toEqual([]);
  } finally {
    await opened.close();
  }
});
