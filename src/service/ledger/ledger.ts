import { type Credits, credits, formatCredits } from "../../contract/money.ts";
import type { CostedCall } from "../../contract/records.ts";

export type KeyMode = "live" | "test";

/** A plan: what its keys may call how often, and what a call costs. */
export interface Plan {
  readonly name: string;
  readonly perMinute: number;
  readonly perDay: number;
  /** Credits per profile or match. */
  readonly costs: Readonly<Record<CostedCall, Credits>>;
}

export type PlanChanges = Partial<Omit<Plan, "costs">> & { readonly costs?: Partial<Plan["costs"]> };

const ONE_CREDIT = credits(1_000_000n);

/** The plan of an account that was given no other. */
export const STANDARD_PLAN: Plan = {
  name: "standard",
  perMinute: 600,
  perDay: 100_000,
  costs: {
    account: credits(0n),
    person_count: credits(0n),
    person_search: ONE_CREDIT,
    company_enrich: ONE_CREDIT,
    company_employees: ONE_CREDIT,
  },
};

export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000;

/** The store cannot answer now. Nothing was charged as far as it can know; the service answers 500. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  /** The change may stand all the same: its commit was sent, and no answer came. */
  readonly inDoubt: boolean;

  constructor(message: string, options: ErrorOptions & { readonly inDoubt?: boolean } = {}) {
    super(message, options);
    this.inDoubt = options.inDoubt ?? false;
  }
}

export type HoldState = "pending" | "posted" | "voided" | "expired";

/** The hold was posted, voided or expired before: each hold resolves exactly once (I3). */
export class HoldResolvedError extends Error {
  override readonly name = "HoldResolvedError";
  readonly holdId: string;
  readonly state: HoldState | "unknown";

  constructor(holdId: string, state: HoldState | "unknown") {
    super(`hold ${holdId} cannot be settled: it is ${state}`);
    this.holdId = holdId;
    this.state = state;
  }
}

/** A fault of the caller, refused without a change. */
export class OverchargeError extends Error {
  override readonly name = "OverchargeError";

  constructor(holdId: string, amount: Credits, held: Credits) {
    super(`hold ${holdId} reserves ${formatCredits(held)} credits; ${formatCredits(amount)} cannot be charged to it`);
  }
}

export class UnknownAccountError extends Error {
  override readonly name = "UnknownAccountError";
  readonly accountId: string;

  constructor(accountId: string) {
    super(`no account named ${JSON.stringify(accountId)}`);
    this.accountId = accountId;
  }
}

export class NoLedgerError extends Error {
  override readonly name = "NoLedgerError";

  constructor(place: string) {
    super(`there are no accounts in ${place}`);
  }
}

/** What is there is no ledger that this version can keep. */
export class LedgerFormatError extends Error {
  override readonly name = "LedgerFormatError";
}

export class StoreConflictError extends Error {
  override readonly name = "StoreConflictError";
}

/** The ledger contradicts itself: the change is rolled back and the service answers 500. */
export class LedgerInvariantError extends Error {
  override readonly name = "LedgerInvariantError";
}

/** Never with its secret. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly mode: KeyMode;
  /** What may be shown of the key: prefix, first and last characters. */
  readonly prefix: string;
  readonly hash: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** Money of one account in one mode. `0 <= held <= balance` at all times (I2). */
export interface Balance {
  readonly balance: Credits;
  readonly held: Credits;
  /** Charged since midnight UTC. */
  readonly usedToday: Credits;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
}

export interface HoldRequest {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly keyId: string;
  readonly call: CostedCall;
  readonly amount: Credits;
  readonly requestId: string;
  /** Where the client sent one: the key and a SHA-256 over method, path, query and body. Scoped to account, mode and call. */
  readonly idempotency?: { readonly key: string; readonly requestHash: string };
}

export interface StoredReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type HoldOutcome =
  | { readonly kind: "held"; readonly holdId: string; readonly balance: Credits; readonly held: Credits }
  | { readonly kind: "insufficient"; readonly balance: Credits; readonly held: Credits }
  | { readonly kind: "replay"; readonly reply: StoredReply }
  /** The same idempotency key is still being answered (409). */
  | { readonly kind: "in_flight" }
  /** The idempotency key was used for another request (422). */
  | { readonly kind: "mismatch" };

export interface Settlement {
  readonly holdId: string;
  /** At most the amount held; the rest is refunded in the same transaction. */
  readonly amount: Credits;
  /** Called inside the transaction, before the charge: reply and charge are committed together. */
  readonly reply: (balanceAfter: Credits) => StoredReply;
}

/** Calls of one key on one UTC day (`YYYY-MM-DD`). */
export interface DayCount {
  readonly keyId: string;
  readonly day: string;
  readonly count: number;
}

/** Accounts, keys, money and idempotency. Amounts are in credits; answers come after the commit, or StoreUnavailableError. */
export interface Store {
  /** @param hash from `hashApiKey`. @returns undefined where no such key exists or it was revoked */
  findKey(hash: string): Promise<StoredKey | undefined>;
  account(accountId: string): Promise<Account | undefined>;
  balance(accountId: string, mode: KeyMode): Promise<Balance>;

  /** Reserves credits until the hold resolves. An idempotency key is looked up first, so a replay needs no balance. */
  hold(request: HoldRequest): Promise<HoldOutcome>;
  /** Charges, refunds the difference, stores the reply. Rejects with HoldResolvedError where the hold was resolved before. */
  settle(settlement: Settlement): Promise<{ readonly reply: StoredReply; readonly balance: Credits }>;
  /** Gives all back, also the charge of a `settle` that was rejected in doubt, unless a retry can have its reply. @returns the balance */
  release(holdId: string): Promise<Credits>;

  /** Adds each `count` to its key's counter of that day (a difference, not a total); written with the next commit. */
  recordCalls(counts: readonly DayCount[]): Promise<void>;
  callsOfDay(day: string): Promise<readonly DayCount[]>;

  createAccount(id: string, name: string): Promise<Account>;
  createKey(key: Omit<StoredKey, "revokedAt" | "accountName">): Promise<void>;
  listKeys(accountId: string): Promise<readonly StoredKey[]>;
  /** @returns false where there is no such live key */
  revokeKey(keyId: string): Promise<boolean>;
  grant(accountId: string, mode: KeyMode, amount: Credits, note: string): Promise<Balance>;
  /** What is not named stays as it is, also where somebody else changes it at the same time. @returns the whole plan */
  setPlan(accountId: string, changes: PlanChanges): Promise<Plan>;

  /** Expires what dead processes left pending, as far as it is older; from then on by itself. Called with 0 at the start. @returns how many */
  recover(olderThanMs: number): Promise<number>;
  /** @returns one sentence for each breach of an invariant (docs/reliability.md) */
  verify(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Wall clock, ms. */
  readonly now: () => number;
  /** Milliseconds that never go back (I12); without it `now` is believed as it is. */
  readonly monotonic?: () => number;
  /** The most changes in one transaction: 64. */
  readonly groupSize?: number;
  /** How often it says that it lives and tidies up: 10,000 ms. */
  readonly heartbeatMs?: number;
  /** Whether a ledger is made where there is none: true. Without it that is a NoLedgerError. */
  readonly create?: boolean;
  /** How long a ledger that is locked, busy or away is tried before StoreUnavailableError: 5,000 ms. */
  readonly patienceMs?: number;
}

export const GROUP_SIZE = 64;
export const PATIENCE_MS = 5_000;
