import type { KeyMode, StoredReply } from "../http/basics.ts";

/** The stored reply of a paid call: the only place of the ledger where records of people lie. */
export interface KeptReply {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly call: string;
  readonly key: string;
  readonly createdAt: number;
  readonly reply: StoredReply;
}

/** What the console keeps filters for: they may name somebody. */
export interface KeptFilters {
  readonly kind: "export" | "segment";
  readonly accountId: string;
  readonly id: string;
  readonly filters: string;
}

/** What the ledger keeps of people. Money, holds and entries hold nobody and stay. */
export interface PeopleStore {
  /** By pages, in no order that means anything; also those that are about to be removed for their age. */
  replies(): AsyncGenerator<KeptReply>;
  filters(): Promise<readonly KeptFilters[]>;
  /** Puts another reply in the place of each for which `change` gives one, under the same key. @returns how many */
  rewrite(change: (kept: KeptReply) => StoredReply | undefined): Promise<number>;
  removeFilters(these: readonly KeptFilters[]): Promise<void>;
  /** One row of the audit, which says how much and not who. */
  note(detail: Readonly<Record<string, number>>, by: string): Promise<void>;
  /** Overwrites what was deleted before. @returns false where another process kept that from being done whole */
  wipe(): Promise<boolean>;
}
