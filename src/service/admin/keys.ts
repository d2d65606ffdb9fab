import { randomBytes } from "node:crypto";
import { type Credits, credits } from "../../shared/contract/money.ts";
import { StoreConflictError } from "../ledger/errors.ts";
import type { Act, KeyDetail, NewKey, Store } from "../ledger/ledger.ts";
import { makeApiKey } from "../money/keys.ts";

export const DEFAULT_ACCOUNT = "default";
/** What an account is called: it never changes, and stands in addresses and command lines. */
export const ACCOUNT_ID = /^[a-z0-9][a-z0-9._-]{0,62}$/;
export const ACCOUNT_ID_RULE =
  "an account's id is 1 to 63 lower-case letters, digits, dots and dashes";

export const FIRST_CREDITS: Credits = credits(10_000n * 1_000_000n);

export async function newAccount(store: Store, id: string, name: string): Promise<void> {
  await store.createAccount(id, name);
  await store.grant(id, "test", FIRST_CREDITS, "simulated credits for test keys");
}

export interface KeyInit
  extends Pick<NewKey, "name" | "mode" | "expiresAt" | "scopes" | "maxCredits" | "rotatedFrom"> {
  readonly accountId?: string;
  readonly now: () => number;
}

/** The key itself is in the answer and nowhere else. */
export interface MadeKey {
  readonly id: string;
  readonly key: string;
}

export async function createKey(
  store: Store,
  { accountId = DEFAULT_ACCOUNT, now, ...init }: KeyInit,
  act?: Act,
): Promise<MadeKey> {
  const { hash, key, prefix } = makeApiKey(init.mode);
  const id = `k_${randomBytes(6).toString("hex")}`;
  await store.createKey({ ...init, accountId, id, prefix, hash, createdAt: now() }, act);
  return { id, key };
}

export async function shownKey(
  store: Store,
  init: KeyInit,
  show: (key: MadeKey) => Promise<void>,
): Promise<MadeKey> {
  const key = await createKey(store, init);
  try {
    await show(key);
  } catch (error) {
    await store.revokeKey(key.id);
    throw error;
  }
  return key;
}

/**
 * Makes the key that follows another, which goes on for a while.
 * @throws StoreConflictError where it has ended
 */
export async function rotateKey(
  store: Store,
  old: KeyDetail,
  { now, overlapMs }: { readonly now: () => number; readonly overlapMs: number },
  show: (key: MadeKey, oldEnds: number) => Promise<void>,
): Promise<void> {
  const { accountId, expiresAt, id, mode, name, revokedAt, scopes } = old;
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= now())) {
    const is = revokedAt === null ? "has expired" : "is revoked";
    throw new StoreConflictError(`key ${id} ${is}: there is nothing to rotate`);
  }
  const ends = Math.min(expiresAt ?? Number.POSITIVE_INFINITY, now() + overlapMs);
  const init = { accountId, name, mode, now, expiresAt, scopes, rotatedFrom: id };
  await shownKey(store, init, (key) => show(key, ends));
  // The old one ends last: whatever breaks off on the way, somebody has a key that works.
  await store.updateKey(id, { expiresAt: ends });
}
