// What a program gets of `import { connect } from "headcount"` (docs/how-to/program.md). Every
// public type is written here and imports none, so that what is below stays free to change;
// `connect.ts` is what they declare.

/** A record as the service sold it: one profile. */
interface Row {
  readonly [field: string]: Json;
}
type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A segment, by the keys of `headcount filters`. A list means any of its values. */
interface Filters {
  readonly [key: string]: string | number | boolean | readonly (string | number)[];
}

/** Credits, exact: `"12.5"`. */
type Credits = string;
/** ISO 8601, UTC. */
type Time = string;

interface ConnectOptions {
  /** A connection's name, as `-c` takes it; `"sample"` is built in. Default: as the command. */
  readonly connection?: string;
  /** Of a service, in place of a connection: with `apiKey` nothing has to be stored. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Where what is owned is kept. Default: the command's own folder. */
  readonly stateDir?: string;
  /** In place of the process's variables. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Aborted, every call ends; pages in flight are kept first. */
  readonly signal?: AbortSignal;
  /** Gets what happens, without keys, filters and records. */
  readonly log?: (line: LogLine) => void;
  /** Gets what the command would say on stderr. It may name values of filters. */
  readonly notice?: (text: string) => void;
  /** How long a rate limit, or no answer, may hold one call up. Default: 300,000. */
  readonly maxWaitMs?: number;
}

interface LogLine {
  readonly code: "request" | "waiting";
  readonly at: Time;
  readonly facts: Readonly<Record<string, string | number | null>>;
}

interface Account {
  readonly id: string | null;
  readonly name: string | null;
  readonly plan: string | null;
  readonly keyMode: "live" | "test" | null;
  readonly balance: Credits | null;
  readonly held: Credits | null;
  readonly usedToday: Credits | null;
  /** Of one profile; null: the service does not tell. */
  readonly price: Credits | null;
  readonly datasetVersion: string | null;
}

interface Count {
  readonly count: number;
  /** When it was counted, where the service tells. */
  readonly asOf: Time | null;
}

interface Order {
  readonly filters: Filters;
  /** `new`: nobody who is owned already. Default: `all`. */
  readonly people?: "all" | "new";
  /** Agrees to filters that name nobody in particular: the whole dataset. */
  readonly everybody?: boolean;
}

interface Call {
  readonly signal?: AbortSignal;
}

interface Terms extends Call {
  /** Rows at most. */
  readonly limit?: number;
  /** Pays for everybody anew, whoever is owned. */
  readonly again?: boolean;
  /** Buys nothing where nobody has one of several values. */
  readonly strict?: boolean;
  /** Fails (`incomplete`) where a limit or cap left somebody out. */
  readonly requireComplete?: boolean;
  /** Waits for another that is at work on the same, in place of failing (`locked`). */
  readonly wait?: boolean;
}

/** What a purchase would be. */
interface Offer {
  /** Who matches; null where no count tells. */
  readonly people: number | null;
  /** Rows to have at the end, at most. */
  readonly rows: number;
  /** Of these, paid for already. */
  readonly kept: number;
  /** Of who matches, owned; null where nobody looked. */
  readonly owned: number | null;
  /** What it costs, at most. */
  readonly credits: Credits;
  /** With what its run spent before: what `maxCredits` must be. */
  readonly total: Credits;
  readonly unitPrice: Credits;
  readonly balanceAfter: Credits | null;
  readonly requests: number;
}

declare const quoted: unique symbol;
/** Made by `quote` alone. Bought within a minute as it is, later where it still holds. */
interface Quote extends Offer {
  readonly [quoted]: true;
}

/**
 * What may be spent: a cap, counted from the run's beginning, or who is asked. Of both, both hold.
 * It has no default: nothing is bought without. Where the rest of a run was begun for a list that
 * is refreshed, only a cap agrees to that.
 */
type Consent<Told = Offer> =
  | { readonly maxCredits: Credits | number; readonly agree?: Agree<Told> }
  | { readonly maxCredits?: Credits | number; readonly agree: Agree<Told> };
type Agree<Told = Offer> = (offer: Told) => boolean | Promise<boolean>;

interface Receipt {
  readonly run: string;
  /** Rows that were given out. */
  readonly rows: number;
  /** Rows that came, everybody as often as he came. */
  readonly received: number;
  /** Of these, taken from earlier runs at no cost. */
  readonly reused: number;
  /** Left out: suppressed or forgotten. */
  readonly suppressed: number;
  readonly credits: Credits;
  /** What replies may have cost that were lost. */
  readonly uncertainCredits: Credits;
  readonly balance: Credits | null;
  /** Whether everybody who matched came. */
  readonly complete: boolean;
  readonly shortfall: string | null;
  readonly datasetVersion: string | null;
  readonly started: Time;
  readonly finished: Time;
}

/**
 * A purchase under way: its rows, once, and what it was. Every row is on the disk before it is
 * given out. Whoever stops reading closes the run after the pages in flight; `receipt` alone
 * needs no reader.
 */
interface Purchase extends AsyncIterable<Row> {
  /** The rows as they come together; in place of reading them one by one. */
  pages(): AsyncIterable<readonly Row[]>;
  /** Once it began. */
  readonly run: Promise<string>;
  readonly receipt: Promise<Receipt>;
  /** Stops it where it is not over, and waits for that. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a refresh would do at most; counted for nothing. */
interface RefreshOffer {
  /** Who matches now. */
  readonly people: number;
  /** Of the list, still in the segment. */
  readonly owned: number;
  /** Of the list, in it no more. */
  readonly gone: number;
  /** Bought at most. */
  readonly rows: number;
  readonly credits: Credits;
  readonly unitPrice: Credits;
}

/** What a refresh brought; files are absolute paths. */
interface Refreshed {
  readonly list: string;
  /** Who matches now. */
  readonly count: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  readonly bought: number;
  readonly credits: Credits;
  readonly runs: readonly string[];
  /** Beside the list, who came, left and changed. */
  readonly files: {
    readonly added: string;
    readonly removed: string;
    readonly changed: string;
  };
}

interface Run {
  readonly id: string;
  readonly status: "finished" | "running" | "unfinished" | "closed" | "stale" | "over" | "damaged";
  readonly resumable: boolean;
  readonly connection: string;
  readonly service: string;
  readonly rows: number;
  readonly credits: Credits;
  readonly uncertainCredits: Credits;
  /** The file it writes; null: rows went to whoever read them. */
  readonly output: string | null;
  readonly created: Time;
  readonly last: Time;
}

interface OwnedSummary {
  readonly people: number;
  readonly suppressed: number;
  readonly forgotten: number;
  readonly credits: Credits;
  readonly runs: number;
  readonly first: Time | null;
  readonly last: Time | null;
}

/** Everybody ever bought from the service, once, by the newest record. Free, and asks nobody. */
interface Owned {
  summary(): Promise<OwnedSummary>;
  count(filters: Filters): Promise<number>;
  rows(filters: Filters): AsyncIterable<Row>;
}

/** What is kept of a person, place by place, or was: paths and numbers, no record. */
interface Traces {
  /** `removed`: the whole run goes, for it names the person. */
  readonly runs: readonly {
    readonly run: string;
    readonly rows: number;
    readonly removed: boolean;
  }[];
  /** Of the people who are owned. */
  readonly owned: number;
  /** Written anew, rows cut from files or deleted in tables; `left`: look yourself. */
  readonly outputs: readonly {
    readonly path: string;
    readonly how: "again" | "cut" | "deleted" | "left";
  }[];
  /** Moved or removed since they were written. */
  readonly gone: readonly string[];
  /** Lines of histories of jobs. */
  readonly histories: readonly { readonly job: string; readonly lines: number }[];
  /** In your own files, which are left to you. */
  readonly mentions: readonly { readonly path: string; readonly lines: readonly number[] }[];
}

interface Suppressed {
  /** Entries that are new on the list. */
  readonly added: number;
  /** Of the people who are owned, left out by it; null where that cannot be read. */
  readonly hidden: number | null;
}

/** Every method rejects with a `HeadcountError`. */
interface Headcount {
  /** Free. */
  account(call?: Call): Promise<Account>;
  /** Free: fails at a service where a count costs credits. */
  count(filters: Filters, call?: Call): Promise<Count>;
  /** Free. */
  quote(order: Order, terms?: Terms): Promise<Quote>;
  /**
   * Buys an order, going on with the run that the same order left unfinished, or exactly what a
   * quote says (`quote_changed`: it no longer holds); of the terms the quote has its own then.
   */
  buy(what: Order, consent: Consent, terms?: Terms): Purchase;
  buy(what: Quote, consent: Consent, call?: Call): Purchase;
  /** Goes on with a run, within what was agreed to for it where no consent is given. */
  resume(run: string, consent?: Consent, call?: Call & Pick<Terms, "wait">): Purchase;
  /**
   * Keeps the file of a list up to date: who is new is bought within what is agreed to.
   * Without filters the file knows its segment from the run that wrote it.
   */
  refresh(
    list: string,
    filters: Filters | undefined,
    consent: Consent<RefreshOffer>,
    call?: Call & Pick<Terms, "wait">,
  ): Promise<Refreshed>;
  /** Free, and changes nothing. */
  quoteRefresh(list: string, filters?: Filters, call?: Call): Promise<RefreshOffer>;
  /** All of the state folder, the newest first. */
  runs(): Promise<readonly Run[]>;
  readonly owned: Owned;
  /**
   * Deletes a person from runs, the library and what was written from them, and leaves the person
   * out from now on. Fails (`files_left`) where `details` names places that are left to you.
   * @param who a profile address, its last part, an id, mail or a whole name
   */
  forget(
    who: string,
    how: { readonly dryRun: true } | { readonly confirmed: true },
  ): Promise<Traces>;
  /**
   * Leaves somebody out of all that is written, counted and shown from now on.
   * @param who a profile address, an id, or a domain: everybody who works there
   * @param note why, kept as it is: name nobody in it
   */
  suppress(who: string, note?: string): Promise<Suppressed>;
  /** Interrupts what is under way, and waits for it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type ErrorCategory =
  | "internal"
  | "usage"
  | "auth"
  | "credits"
  | "incomplete"
  | "not_found"
  | "rate_limit"
  | "service"
  | "network"
  | "locked"
  | "declined"
  | "interrupted"
  | "pipe_closed"
  | "filesystem";

/** What went wrong, as facts. What was paid is kept in `run`. */
declare class HeadcountError extends Error {
  /** As `headcount help exit-codes` has them. */
  readonly category: ErrorCategory;
  /** Stable, for programs: `invalid_filter`, `insufficient_credits`, `quote_changed`. */
  readonly code: string;
  readonly run: string | null;
  /** Whether `resume(run)` goes on within what was agreed to. */
  readonly resumable: boolean;
  /** The option that lets it through, where there is one: `"maxCredits"`. */
  readonly option: string | null;
  /** What must be allowed, all told, so that it goes on. */
  readonly raise: { readonly maxCredits?: Credits; readonly limit?: number } | null;
  /** Of the service's answer. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly details: readonly string[];
}

/**
 * Opens a connection: the same people, caps and locks as the command has. Nothing is asked of
 * anybody, written to a stream or kept in the process, and no signal is heard but those given.
 */
declare function connect(options?: ConnectOptions): Promise<Headcount>;

export type {
  Account,
  Agree,
  Call,
  ConnectOptions,
  Consent,
  Count,
  Credits,
  ErrorCategory,
  Filters,
  Headcount,
  Json,
  LogLine,
  Offer,
  Order,
  Owned,
  OwnedSummary,
  Purchase,
  Quote,
  Receipt,
  Refreshed,
  RefreshOffer,
  Row,
  Run,
  Suppressed,
  Terms,
  Time,
  Traces,
};
export { connect, HeadcountError };
