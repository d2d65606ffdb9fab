import { type Credits, credits, ZERO } from "../../shared/contract/money.ts";
import type { Store } from "../ledger/ledger.ts";

/** Every folder and store has it. */
export const DEFAULT_ACCOUNT = "default";
/** What an account is called: it never changes, and stands in addresses and command lines. */
export const ACCOUNT_ID = /^[a-z0-9][a-z0-9._-]{0,62}$/;
export const ACCOUNT_ID_RULE = "an account's id is 1 to 63 lower-case letters, digits, dots and dashes";

/** Test keys work from the start: their credits are simulated. */
const TEST_CREDITS: Credits = credits(10_000n * 1_000_000n);

interface NewAccount {
  readonly id: string;
  readonly name: string;
  readonly live?: Credits;
}

export async function newAccount(store: Store, { id, name, live = ZERO }: NewAccount, by?: string): Promise<void> {
  const act = by === undefined ? {} : { by };
  await store.createAccount(id, name, act);
  await store.grant(id, "test", TEST_CREDITS, { note: "simulated credits for test keys", ...act });
  if (live > 0n) await store.grant(id, "live", live, { note: "first credits of a new account", ...act });
}
