import { join } from "node:path";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { tempDir } from "../../support/client.ts";
import { ACCOUNT, answer, c, fund, held } from "../../support/store.ts";
import type { Action, Line } from "./rig.ts";

const DAY_MS = 86_400_000;
/** Whole credits. */
export const GRANTED = 1_000;

/** A closed ledger whose stored replies are two days old, one credit charged for each, and what was acknowledged of it. */
export async function oldLedger(replies: number): Promise<{ from: string; lines: Line[] }> {
  const from = tempDir();
  const store = await openSqliteStore({
    path: join(from, "ledger.db"),
    now: () => Date.now() - 2 * DAY_MS,
  });
  await fund(store, GRANTED);
  await store.createKey({
    ...{ id: "k3", name: "k3", mode: "live", prefix: "hc_live_x", hash: "3".repeat(64) },
    ...{ accountId: ACCOUNT, createdAt: 1, maxCredits: c(GRANTED) },
  });
  const done: Action[] = [
    { kind: "account" },
    { kind: "grant", note: "first", amount: String(c(GRANTED)) },
    { kind: "key", hash: "3".repeat(64) },
  ];
  for (let n = 0; n < replies; n += 1) {
    const name = `old-${n}`;
    const idempotency = { key: `key-${name}`, requestHash: `hash-${name}` };
    const holdId = await held(store, c(5), { requestId: name, keyId: "k3", idempotency });
    await store.settle({ holdId, amount: c(1), reply: answer(`${name} `.repeat(1_500)) });
    // Its key is free again once the reply is pruned.
    done.push({ kind: "settle", name, posted: String(c(1)), idempotent: false });
  }
  await store.close();
  return { from, lines: done.flatMap((action): Line[] => [{ try: action }, { ack: action }]) };
}
