import { type Credits, credits, ONE_CREDIT } from "../../shared/contract/money.ts";
import type { CostedCall } from "../../shared/contract/records.ts";
import type { Acted } from "./chain/links.ts";
import type { Steps } from "./database.ts";
import type {
  ConsoleStore,
  KeyBudget,
  KeyMode,
  PeopleStore,
  Place,
  StoredReply,
} from "./records.ts";

export { IDEMPOTENCY_TTL_MS, type KeyBudget, type KeyMode, type StoredReply } from "./records.ts";

export interface AccountPlan {
  readonly name: string;
  readonly perMinute: number;
  readonly perDay: number;
  /**
   * Counts of fewer people than that are small: an account
   * gets so many a day. Null: they are not bounded.
   */
  readonly smallCounts: number | null;
  /** For so many days the rows that are bought on the page are kept there. */
  readonly keepDays: number;
  readonly costs: Readonly<Record<CostedCall, Credits>>;
}

export type PlanChanges = Partial<Omit<AccountPlan, "costs">> & {
  readonly costs?: Partial<AccountPlan["costs"]>;
};

export const STANDARD_PLAN: AccountPlan = {
  name: "standard",
  perMinute: 600,
  perDay: 100_000,
  smallCounts: null,
  keepDays: 30,
  costs: {
    account: credits(0n),
    person_count: credits(0n),
    person_search: ONE_CREDIT,
    company_enrich: ONE_CREDIT,
    company_employees: ONE_CREDIT,
  },
};

/** What a key may call. `account` is in every set: a key may always ask about itself. */
export const SCOPES = ["account", "count", "search", "employees", "enrich"] as const;
export type Scope = (typeof SCOPES)[number];

/** Never with its secret. Times are epoch milliseconds. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly mode: KeyMode;
  readonly prefix: string;
  readonly hash: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** From then on the key is refused; null: never. */
  readonly expiresAt: number | null;
  /** Null: everything, also what is added later. */
  readonly scopes: readonly Scope[] | null;
  /**
   * The first key of a chain of rotations, itself where it is none: all of a chain share one cap.
   */
  readonly origin: string;
}

/** Who spends: a key, and where a person does so in the console, their session. */
export interface Spender extends StoredKey {
  readonly session?: string;
}

export const leftOfCap = ({ cap, held, spent }: KeyBudget): Credits => credits(cap - spent - held);

export interface KeyDetail extends StoredKey {
  readonly lastUsedAt: number | null;
  readonly budget: KeyBudget | null;
  readonly spent: Credits;
}

export interface NewKey
  extends Pick<StoredKey, "id" | "name" | "mode" | "prefix" | "hash" | "accountId" | "createdAt">,
    Omit<KeyChanges, "name"> {
  readonly rotatedFrom?: string;
}

export interface KeyChanges extends Partial<Pick<StoredKey, "name" | "expiresAt" | "scopes">> {
  readonly maxCredits?: Credits | null;
}

/**
 * Who administers, where it is not the actor of the
 * store's options. At most 100 characters; never a secret.
 */
export interface Act {
  readonly by?: string;
}

export interface Adjustment extends Act {
  /**
   * Names this adjustment for good within account and
   * mode: asked for again it does nothing and says so.
   */
  readonly reference?: string;
  readonly note: string;
}

export interface Adjusted extends Balance {
  /** The reference was used before for the very same: nothing was done. */
  readonly repeated: boolean;
}

/** Money of one account in one mode. `0 <= held <= balance` at all times (I2). */
export interface Balance {
  readonly balance: Credits;
  readonly held: Credits;
  readonly usedToday: Credits;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: AccountPlan;
  readonly suspendedAt: number | null;
}

export interface AccountSummary extends Account {
  readonly createdAt: number;
  readonly live: Pick<Balance, "balance" | "held">;
  readonly test: Pick<Balance, "balance" | "held">;
  readonly keys: number;
}

export type EntryKind = "grant" | "charge" | "refund" | "correction";

export interface LedgerEntry extends Place {
  readonly id: bigint;
  readonly kind: EntryKind;
  readonly amount: Credits;
  readonly balanceAfter: Credits;
  readonly at: number;
  readonly actor: string | null;
  readonly call: string | null;
  readonly keyId: string | null;
  readonly requestId: string | null;
  readonly price: Credits | null;
  readonly rows: number | null;
  readonly refundOf: bigint | null;
  readonly reference: string | null;
  readonly note: string;
}

export interface EntryQuery {
  readonly accountId: string;
  readonly mode?: KeyMode;
  readonly kind?: EntryKind;
  readonly keyId?: string;
  readonly call?: string;
  readonly since?: number;
  readonly until?: number;
  /** Only entries with a smaller id: the last one of the page before. */
  readonly before?: bigint;
  readonly limit: number;
}

const USAGE_GROUPS = ["day", "key", "call"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageQuery extends Place {
  readonly by: readonly UsageGroup[];
  readonly keyId?: string;
  /** UTC days, `YYYY-MM-DD`: from `since` on, up to and with `until`. */
  readonly since?: string;
  readonly until?: string;
}

export interface UsageRow extends Pick<LedgerEntry, "keyId" | "call" | "rows"> {
  readonly day: string | null;
  readonly calls: number;
  readonly charged: Credits;
  readonly refunded: Credits;
}

export interface AuditRow extends Omit<Acted, "changed"> {
  readonly id: bigint;
  readonly at: number;
}

export interface AuditQuery extends Pick<EntryQuery, "since" | "until" | "before" | "limit"> {
  readonly accountId?: string;
}

export interface HoldRequest extends Place {
  readonly keyId: string;
  /** The session of the console that it is asked in: once that is over nothing more is held. */
  readonly session?: string;
  readonly call: CostedCall;
  readonly amount: Credits;
  readonly requestId: string;
  /**
   * The key that the client sent, and a SHA-256 over the request. Scoped to account, mode and call.
   */
  readonly idempotency?: { readonly key: string; readonly requestHash: string };
}

export type HoldOutcome =
  | {
      readonly kind: "held";
      readonly holdId: string;
      readonly balance: Credits;
      readonly held: Credits;
    }
  | { readonly kind: "insufficient"; readonly balance: Credits; readonly held: Credits }
  | ({ readonly kind: "over_cap" } & KeyBudget)
  /**
   * Key or session came to its end after it was let in: 401, or 403 where its account is suspended.
   */
  | { readonly kind: "key_ended"; readonly why: "revoked" | "expired" | "suspended" | "signed_out" }
  | { readonly kind: "replay"; readonly reply: StoredReply; readonly charged: Credits }
  | { readonly kind: "in_flight" }
  | { readonly kind: "mismatch" };

export interface SoldPeople {
  /** From {@link PeopleStore.marks}. */
  readonly marks: readonly string[];
  /** The account must own none of them yet: else SoldMeanwhileError, and nothing is charged. */
  readonly areNew: boolean;
}

export interface HoldSettlement {
  readonly holdId: string;
  readonly amount: Credits;
  readonly sold?: { readonly price: Credits; readonly rows: number };
  /** Who is in the reply: the account owns them with the charge. */
  readonly people?: SoldPeople | undefined;
  /** How long its reply is kept, epoch milliseconds; without it for {@link IDEMPOTENCY_TTL_MS}. */
  readonly keptUntil?: number | undefined;
  /** Called inside the transaction, before the charge: reply and charge are committed together. */
  readonly reply: (balanceAfter: Credits) => StoredReply;
}

/**
 * Calls of one key on one UTC day (`YYYY-MM-DD`), or what
 * else is bounded by the day, under a name that no key has.
 */
export interface DayCount {
  readonly keyId: string;
  readonly day: string;
  readonly count: number;
}

/**
 * What operators do: every act writes one row of the audit,
 * in the same commit. Queries give the newest first.
 */
export interface Administration {
  createAccount(id: string, name: string, act?: Act): Promise<Account>;
  listAccounts(): Promise<readonly AccountSummary[]>;
  /**
   * Its keys are refused from then on; what is held is still settled.
   * @returns false where it was so before
   */
  suspendAccount(id: string, suspended: boolean, act?: Act): Promise<boolean>;
  createKey(key: NewKey, act?: Act): Promise<void>;
  listKeys(accountId: string): Promise<readonly KeyDetail[]>;
  key(id: string): Promise<KeyDetail | undefined>;
  /**
   * @throws RangeError for a cap below what is spent
   * and held; StoreConflictError for a key that is none
   */
  updateKey(id: string, changes: KeyChanges, act?: Act): Promise<KeyDetail>;
  revokeKey(keyId: string, act?: Act): Promise<boolean>;
  /**
   * What is not named stays as it is, also where somebody else changes it at the same time.
   * @returns the whole plan
   */
  setPlan(accountId: string, changes: PlanChanges, act?: Act): Promise<AccountPlan>;

  grant(
    accountId: string,
    mode: KeyMode,
    amount: Credits,
    adjustment: string | Adjustment,
  ): Promise<Adjusted>;
  deduct(
    accountId: string,
    mode: KeyMode,
    amount: Credits,
    adjustment: Adjustment,
  ): Promise<Adjusted>;
  /**
   * Gives a charge back, or a part of it.
   * @param entryId of the charge
   * @param amount undefined: what is left of it
   */
  refund(entryId: bigint, amount: Credits | undefined, adjustment: Adjustment): Promise<Adjusted>;

  entries(query: EntryQuery): Promise<readonly LedgerEntry[]>;
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  audit(query: AuditQuery): Promise<readonly AuditRow[]>;
}

/**
 * Accounts, keys, money and idempotency. Answers come after the commit, or StoreUnavailableError.
 */
export interface Store extends Administration {
  readonly console: ConsoleStore;
  readonly people: PeopleStore;

  /**
   * @param hash from `hashOf`.
   * @returns undefined where there is none, or it was revoked; not where it expired
   */
  findKey(hash: string): Promise<StoredKey | undefined>;
  account(accountId: string): Promise<Account | undefined>;
  balance(accountId: string, mode: KeyMode): Promise<Balance>;
  /**
   * The same without the sum of the day, which grows with
   * the keys in use: for the envelope of every call.
   */
  money(accountId: string, mode: KeyMode): Promise<Pick<Balance, "balance" | "held">>;

  /**
   * Reserves credits until the hold resolves. An idempotency
   * key is looked up first, so a replay needs no balance.
   */
  hold(request: HoldRequest): Promise<HoldOutcome>;
  /**
   * Charges, refunds the difference, stores the reply. Rejects
   * with HoldResolvedError where it was resolved before.
   */
  settle(
    settlement: HoldSettlement,
  ): Promise<{ readonly reply: StoredReply; readonly balance: Credits }>;
  /**
   * Gives all back, also the charge of a `settle` that was rejected in doubt.
   * @returns the balance
   */
  release(holdId: string): Promise<Credits>;

  /**
   * Commits nothing of note: rejects where no commit
   * goes through, on a full disk or a read-only server.
   */
  probe(): Promise<void>;
  recordCalls(counts: readonly DayCount[]): Promise<void>;
  callsOfDay(day: string): Promise<readonly DayCount[]>;

  /**
   * Expires what dead processes left pending; from then on by itself. Called with 0 at the start.
   * @returns how many
   */
  recover(olderThanMs: number): Promise<number>;
  /** @returns one sentence for each breach of an invariant (docs/explanation/reliability.md) */
  verify(): Promise<readonly string[]>;
  /** @param steps that only read, each for itself */
  look<Value>(steps: Steps<Value>): Promise<Value>;
  /**
   * From then on no key is found, nothing is held and `probe` rejects, with this error, until it is
   * taken back with undefined. What was held before is still settled or given back.
   */
  halt(why: Error | undefined): void;
  close(): Promise<void>;
}

export interface LedgerOptions {
  readonly now: () => number;
  /** Milliseconds that never go back (I12); without it `now` is believed as it is. */
  readonly monotonic?: () => number;
  readonly actor?: string;
  readonly groupSize?: number;
  readonly heartbeatMs?: number;
  /** Whether a ledger is made where there is none: true. Without it that is a NoLedgerError. */
  readonly create?: boolean;
  /**
   * Whether one that is sealed is left so until something is written: a process that only
   * reads it syncs nothing. Default false.
   */
  readonly staysSealed?: boolean;
  /**
   * How long a ledger that is locked, busy or away is tried before StoreUnavailableError: 5,000 ms.
   */
  readonly patienceMs?: number;
}

export const GROUP_SIZE = 64;
export const PATIENCE_MS = 5_000;
