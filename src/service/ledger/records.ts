import type { Credits } from "../../shared/contract/money.ts";
import type { CostedCall } from "../../shared/contract/records.ts";

export type KeyMode = "live" | "test";

/** Where money lies: each account has a balance for each mode. */
export interface Place {
  readonly accountId: string;
  readonly mode: KeyMode;
}

/**
 * How long the reply of a paid call is kept, and given
 * again for nothing to who asks with its Idempotency-Key.
 */
export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000;

export interface StoredReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; in UTF-8 where it has never been a text. */
  readonly body: string | Buffer;
}

/** `owner`: all of its account; `viewer` looks; `key`: what the key may. */
export type ConsoleRole = "owner" | "viewer" | "key";

export interface ConsoleLink {
  readonly hash: string;
  readonly accountId: string;
  readonly role: Exclude<ConsoleRole, "key">;
  /**
   * Whom it is for: the session's id begins with it, and
   * so does what it charges. Empty: nobody in particular.
   */
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/**
 * A session, with the SHA-256 of its cookie and of the
 * second half that the page sends with every call.
 */
export interface ConsoleSession extends Omit<ConsoleLink, "name" | "role"> {
  readonly id: string;
  readonly proofHash: string;
  readonly role: ConsoleRole;
  /** The SHA-256 of the API key that signed in, where one did: the session ends with it. */
  readonly keyHash: string | null;
  readonly seenAt: number;
}

type ExportState = "buying" | "ready" | "stopped";

/**
 * A purchase of the console. Its rows are the stored replies
 * of its pages, each with an Idempotency-Key of its own.
 */
export interface ConsoleExport extends Place {
  readonly id: string;
  readonly keyId: string;
  readonly filters: string;
  /** The hash of the filters in their canonical form: equal for one segment. */
  readonly segment: string;
  readonly version: string;
  /** Sells nobody whom the account owns: it looks through the segment until it has so many. */
  readonly onlyNew: boolean;
  readonly profiles: number;
  readonly perPage: number;
  readonly price: Credits;
  readonly createdAt: number;
  readonly state: ExportState;
  readonly why: string;
  readonly pages: number;
  readonly rows: number;
  readonly credits: Credits;
  readonly seenAt: number;
  /**
   * Counts who went on with it: whoever buys in an earlier
   * turn ends with the page in flight, and changes no state.
   */
  readonly turn: number;
  /** Until then its rows are kept, as the plan said when it began. */
  readonly keptUntil: number;
}

/** A segment that somebody gave a name. */
export interface ConsoleSegment extends Place {
  readonly id: string;
  /** Who saved it: the key, or the session of the console. */
  readonly keyId: string;
  readonly name: string;
  readonly filters: string;
  readonly segment: string;
  /** How many it had when it was last counted. */
  readonly people: number;
  readonly countedAt: number;
  readonly createdAt: number;
}

/** With what was bought of it on the page. */
export interface StoredSegment extends ConsoleSegment {
  readonly origin: string;
  readonly bought: number;
  /** When it was last bought; null: never. */
  readonly boughtAt: number | null;
}

/**
 * With the first key of the chain of rotations that its
 * key is of: they share one cap, and what they bought.
 */
export interface StoredExport extends ConsoleExport {
  readonly origin: string;
}

/** The Idempotency-Key of a page: asked again under it, it costs nothing. */
export const pageKey = ({ id }: Pick<ConsoleExport, "id">, page: number): string =>
  `console-${id}-${page}`;

/**
 * What a key, with those it was rotated from and to,
 * may be charged in all. `0 <= spent + held <= cap`.
 */
export interface KeyBudget {
  readonly cap: Credits;
  readonly spent: Credits;
  readonly held: Credits;
}

/** What may be spent; a key without a cap has no budget. Without the export that is asked about. */
export interface Standing {
  readonly balance: Credits;
  readonly held: Credits;
  readonly budget: KeyBudget | null | undefined;
  readonly exports: readonly StoredExport[];
}

/** What the console keeps beside the ledger: nobody's money, and no record of a person. */
export interface ConsoleStore {
  addLink(link: ConsoleLink, by: string): Promise<void>;
  /**
   * Takes the link and makes the session in one step.
   * @returns undefined where it is unknown, used or expired
   */
  redeemLink(
    hash: string,
    session: Omit<ConsoleSession, "accountId" | "role">,
  ): Promise<Pick<ConsoleSession, "accountId" | "role"> | undefined>;
  addSession(session: ConsoleSession): Promise<void>;
  session(hash: string): Promise<ConsoleSession | undefined>;
  sessions(): Promise<readonly ConsoleSession[]>;
  seeSession(id: string, seenAt: number): Promise<void>;
  endSession(id: string, by: string): Promise<boolean>;
  /**
   * Begins its turn: the first adds it, a later one goes on at its price.
   * @param assertFree is asked in the same transaction,
   * and throws. @returns false where another began it
   */
  enterExport(item: ConsoleExport, assertFree: (now: Standing) => void): Promise<boolean>;
  export(accountId: string, id: string): Promise<StoredExport | undefined>;
  exports(place: Place, state?: ExportState): Promise<readonly StoredExport[]>;
  /**
   * One page more, noted in any case: with the last it is ready.
   * @returns whether its turn goes on
   */
  advanceExport(item: ConsoleExport): Promise<boolean>;
  /**
   * Whoever is buying it, in any process, ends with the page in flight.
   * @param turn and no later one
   */
  stopExport(
    item: Pick<ConsoleExport, "accountId" | "id">,
    why: string,
    turn?: number,
  ): Promise<boolean>;
  saveSegment(segment: ConsoleSegment): Promise<void>;
  segments(place: Place): Promise<readonly StoredSegment[]>;
  removeSegment(accountId: string, id: string): Promise<boolean>;
  /** Notes a count where the segment is a saved one. */
  noteCount(place: Place & Pick<ConsoleSegment, "segment" | "people" | "countedAt">): Promise<void>;
  storedReply(
    accountId: string,
    mode: KeyMode,
    call: CostedCall,
    key: string,
  ): Promise<StoredReply | undefined>;
  served(origin: string): Promise<void>;
  lastServed(): Promise<string | undefined>;
}

/** The stored reply of a paid call: the only place of the ledger where records of people lie. */
export interface KeptReply extends Place {
  readonly key: string;
  readonly reply: StoredReply;
}

export interface KeptFilters {
  readonly accountId: string;
  readonly id: string;
  readonly filters: string;
  /** What somebody called a saved segment; "" for an export. */
  readonly name: string;
}

/** What the ledger keeps of people. Money, holds and entries hold nobody and stay. */
export interface PeopleStore {
  /**
   * By pages, in no order that means anything; also
   * those that are about to be removed for their age.
   */
  replies(): AsyncGenerator<KeptReply>;
  filters(): Promise<readonly KeptFilters[]>;
  /**
   * Puts another reply in the place of each for which `change` gives one, under the same key.
   * @returns how many
   */
  rewrite(change: (reply: KeptReply) => StoredReply | undefined): Promise<number>;
  removeFilters(these: readonly KeptFilters[]): Promise<void>;
  /** What stands for people of an account: of nobody's use without the key of this ledger. */
  marks(place: Place, ids: readonly string[]): Promise<readonly string[]>;
  /** @returns those of the marks whose people were sold to the account */
  owned(marks: readonly string[]): Promise<ReadonlySet<string>>;
  /** False where nobody was ever sold there, so that nothing need be looked for. */
  ownsAnybody(place: Place): Promise<boolean>;
  /** The marks of these people with whichever accounts bought them. */
  ownedByAny(ids: readonly string[]): Promise<readonly string[]>;
  /** Forgets that any account bought these people. */
  disown(ids: readonly string[]): Promise<void>;
  note(detail: Readonly<Record<string, number>>, by: string): Promise<void>;
  /**
   * Overwrites what was deleted before.
   * @returns false where another process kept that from being done whole
   */
  wipe(): Promise<boolean>;
}
