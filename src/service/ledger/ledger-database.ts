import type { Durability, Row, Steps } from "./database.ts";
import type { MoneyRequest, Place } from "./facts.ts";
import type { Instances } from "./instances.ts";

/** What a database does for the ledger. Everything rejects with StoreUnavailableError where it cannot, or is closed. */
export interface LedgerDatabase {
  readonly instances: Instances;
  /** Makes the id of a hold before it is asked for; undefined where the database numbers them. */
  readonly makeHoldId: (() => string) | undefined;
  readonly closed: boolean;
  /** Put behind a SELECT: keeps what was read from others, where a transaction alone does not. */
  readonly rowLock: string;
  /** Another number after each commit that `read` could see; undefined where asking costs as much as reading. */
  readonly generation: (() => number | Promise<number>) | undefined;
  read(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /** One transaction. `work` is told whether an earlier attempt, whose outcome is unknown, came before. */
  change<Value>(durability: Durability, work: (repeated: boolean) => Steps<Value>): Promise<Value>;
  /** Decided with those that come at the same time; resolves once committed. @param place whose money, where known */
  money(durability: Durability, request: MoneyRequest, place: Place | undefined): Promise<unknown>;
  verify(): Promise<readonly string[]>;
  tidy(): Promise<void>;
  /** Overwrites what was deleted from these tables. @returns false where another process kept that from being whole */
  wipe(tables: readonly string[]): Promise<boolean>;
  drain(): Promise<void>;
  close(): Promise<void>;
}
