import { type Credits, credits } from "../../shared/contract/money.ts";
import type { Durability, Row, Steps } from "./database.ts";
import { type HoldState, LedgerInvariantError } from "./errors.ts";
import type { Instances } from "./instances.ts";
import type {
  HoldRequest,
  HoldSettlement,
  KeyBudget,
  KeyMode,
  LedgerEntry,
  StoredReply,
} from "./ledger.ts";
import type { Place } from "./records.ts";

export type { Place };

export type MoneyRequest =
  | { readonly kind: "hold"; readonly holdId?: string; readonly request: HoldRequest }
  | { readonly kind: "settle"; readonly settlement: HoldSettlement }
  | {
      readonly kind: "release";
      readonly holdId: string;
      readonly state: "voided" | "expired";
      /**
       * The settlement was reported as failed although
       * its commit may stand: then the charge goes back.
       */
      readonly refund: boolean;
    }
  | Adjust
  | (Cause & {
      readonly kind: "refund";
      readonly holdId: string;
      readonly amount: Credits | undefined;
    });

interface Cause {
  readonly operation: string;
  readonly note: string;
  readonly actor: string;
}

export interface Adjust extends Cause {
  readonly kind: "adjust";
  readonly entry: "grant" | "correction";
  readonly place: Place;
  readonly amount: Credits;
}

export interface Attempt {
  readonly request: MoneyRequest;
  /** What an earlier attempt, whose commit got no answer, would have returned. */
  readonly earlier?: unknown;
}

export interface GroupOptions {
  readonly instances: Instances;
  readonly now: number;
  readonly lock?: Place;
}

export interface Money extends Place {
  readonly balance: Credits;
  readonly held: Credits;
}

/**
 * What may become of who spends, a key or a session of
 * the console: it is looked at again when it is to spend.
 */
export interface Principal {
  readonly revokedAt: number | null;
  readonly expiresAt: number | null;
  readonly suspendedAt: number | null;
}

export interface KeyFacts extends Principal {
  readonly origin: string;
}

export interface Capped extends KeyBudget {
  readonly origin: string;
}

export type MoneyOperation = Pick<Entry, "kind" | "amount" | "refundOf">;

export interface Hold extends Place {
  readonly id: string;
  readonly keyId: string;
  readonly call: string;
  readonly amount: Credits;
  readonly state: HoldState;
  readonly posted: Credits | null;
  readonly idempotencyKey: string | null;
}

export interface ReplyRecord {
  readonly requestHash: string;
  readonly holdId: string;
  readonly keptUntil: number;
  readonly ownerAlive: boolean;
  readonly origin: string;
  readonly charged: Credits;
  readonly reply: StoredReply | undefined;
  readonly damaged: boolean;
}

/** All that a group needs to know, read under the lock under which its changes are written. */
export interface Facts {
  readonly now: number;
  readonly money: ReadonlyMap<string, Money>;
  readonly holds: ReadonlyMap<string, Hold>;
  readonly records: ReadonlyMap<string, ReplyRecord>;
  readonly operations: ReadonlyMap<string, MoneyOperation>;
  /** By id: of a key that is no row there is nothing to know. */
  readonly keys: ReadonlyMap<string, KeyFacts>;
  readonly sessions: ReadonlyMap<string, Principal>;
  readonly budgets: ReadonlyMap<string, Capped>;
  readonly refunded: ReadonlyMap<string, Credits>;
  /** Marks of people who are owned, of those that the group sells as new. */
  readonly owned: ReadonlySet<string>;
  readonly nextHoldId: bigint;
}

export interface Links {
  readonly heads: ReadonlyMap<string, string>;
  readonly holds: ReadonlyMap<string, string>;
  readonly requests: ReadonlyMap<string, string>;
}

export interface Entry
  extends Pick<LedgerEntry, keyof Place | "kind" | "amount" | "balanceAfter" | "note" | "price"> {
  readonly actor: string;
  readonly holdId: string | null;
  readonly refundOf: string | null;
  readonly operation: string | null;
  readonly sold: number | null;
  readonly used: { readonly keyId: string; readonly call: string } | null;
}

export interface Writes {
  readonly holds: readonly { readonly id: string; readonly request: HoldRequest }[];
  readonly resolved: readonly {
    readonly id: string;
    readonly state: HoldState;
    readonly posted: Credits | null;
  }[];
  readonly entries: readonly Entry[];
  readonly forgotten: readonly string[];
  readonly owned: readonly { readonly mark: string; readonly holdId: string }[];
  /** Holds whose people are owned no longer. */
  readonly disowned: readonly string[];
  readonly records: readonly { readonly id: string; readonly request: HoldRequest }[];
  readonly replies: readonly {
    readonly holdId: string;
    readonly reply: StoredReply;
    readonly keptUntil: number;
  }[];
  readonly money: readonly Money[];
  readonly budgets: readonly Capped[];
}

/** Whoever asked for one change of a group. */
export interface Caller {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export function answer(asking: readonly Caller[], outcomes: readonly Outcome[]): void {
  for (const [index, { reject, resolve }] of asking.entries()) {
    const outcome = outcomes[index];
    if (outcome?.ok) resolve(outcome.value);
    else reject(outcome?.error);
  }
}

export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

export interface Settled {
  readonly reply: StoredReply;
  readonly balance: Credits;
}

export const placeIn = (row: Row): Place => ({
  accountId: row.account_id as string,
  mode: row.mode as KeyMode,
});
export const placeKey = ({ accountId, mode }: Place): string => `${mode} ${accountId}`;
export const recordKey = (place: Place, call: string, key: string): string =>
  `${placeKey(place)} ${call} ${key}`;
export const refundOf = (holdId: string): string => `refund ${holdId}`;

export function moneyOf(row: Row): Money {
  const [balance, held] = [credits(row.balance as bigint), credits(row.held as bigint)];
  return assertCovered({ ...placeIn(row), balance, held });
}

/**
 * I2, asserted on every figure that enters or leaves
 * the ledger, besides the constraint in the schema.
 */
export function assertCovered<Figures extends Money>(money: Figures): Figures {
  const { accountId, balance, held, mode } = money;
  if (held >= 0n && held <= balance) return money;
  throw new LedgerInvariantError(
    `${accountId} (${mode}) would hold ${held} of ${balance} millionths`,
  );
}

/**
 * I16, asserted on every budget that enters or leaves
 * the ledger, besides the constraint in the schema.
 */
export function assertBudget(budget: Capped): Capped {
  const { cap, held, origin, spent } = budget;
  if (held >= 0n && spent >= 0n && spent + held <= cap) return budget;
  throw new LedgerInvariantError(
    `the key ${origin} would have spent ${spent} and hold ${held} of ${cap} millionths`,
  );
}

/**
 * What a database does for the ledger. Everything rejects
 * with StoreUnavailableError where it cannot, or is closed.
 */
export interface LedgerDatabase {
  readonly instances: Instances;
  /** Makes the id of a hold before it is asked for; undefined where the database numbers them. */
  readonly makeHoldId: (() => string) | undefined;
  readonly closed: boolean;
  /** Put behind a SELECT: keeps what was read from others, where a transaction alone does not. */
  readonly rowLock: string;
  /**
   * Another number after each commit that `read` could
   * see; each time where asking costs as much as reading.
   */
  readonly generation: () => number | Promise<number>;
  read(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /**
   * One transaction. `work` is told whether an earlier
   * attempt, whose outcome is unknown, came before.
   */
  change<Value>(durability: Durability, work: (repeated: boolean) => Steps<Value>): Promise<Value>;
  /**
   * Decided with those that come at the same time; resolves once committed.
   * @param place whose money, where known
   */
  money(durability: Durability, request: MoneyRequest, place: Place | undefined): Promise<unknown>;
  verify(): Promise<readonly string[]>;
  tidy(): Promise<void>;
  /**
   * Overwrites what was deleted from these tables.
   * @returns false where another process kept that from being whole
   */
  wipe(tables: readonly string[]): Promise<boolean>;
  drain(): Promise<void>;
  close(): Promise<void>;
}
