import { type Credits, credits, formatCredits, parseCredits, ZERO } from "../contract/money.ts";
import type { LogEntry, LogRecord } from "./log-lines.ts";

/** An amount of credits as it stands in plan, journal and ledger: a decimal as text, exact. */
export type CreditText = string;

export const creditText = (amount: Credits): CreditText => formatCredits(amount);
export const creditsOf = (text: CreditText | undefined): Credits =>
  text === undefined ? ZERO : (parseCredits(text) ?? ZERO);

/** What is to be asked for: synced before the request goes out, with the key that makes it safe to repeat. */
export interface IntentRecord extends LogRecord {
  readonly t: "intent";
  /** Number of the unit in its run, from 1. */
  readonly n: number;
  /** Which of the run's targets: always 0 for a search, else the index of the company. */
  readonly target: number;
  /** Rows of the target before this page. */
  readonly offset: number;
  readonly perPage: number;
  readonly cursor?: string;
  /** The `Idempotency-Key`. */
  readonly key: string;
  /** Credits at risk: perPage x price. */
  readonly hold: CreditText;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Runs of version 1: where the page after this one begins; written before its page, so that a crash in between does not lose it. */
export interface CursorRecord extends LogRecord {
  readonly t: "cursor";
  readonly n: number;
  readonly next: string | null;
}

/** A reply that is on the disk: its bytes follow the line. */
export interface SettledRecord extends LogRecord {
  readonly t: "settled";
  readonly n: number;
  readonly rows: number;
  readonly used: CreditText;
  /** Balance after it, as the service told. */
  readonly remaining?: CreditText;
  /** Runs of version 1 kept each reply in a file of its own: its length; its checksum is `crc`. */
  readonly bytes?: number;
  readonly next?: string;
  readonly version?: string;
  readonly requestId?: string;
  readonly replayed?: boolean;
  /** Rows of the target in all, where the service told. */
  readonly total?: number;
  /** A company that the service does not know (404, free). */
  readonly miss?: boolean;
  readonly at: number;
}

/** An intent that cost nothing and will not be repeated: its rows are to be asked for in another way. */
export interface VoidRecord extends LogRecord {
  readonly t: "void";
  readonly n: number;
  readonly why: string;
  readonly at: number;
}

/** Credits that may have been charged for a lost reply of this unit; counts against the cap. */
export interface UncertainRecord extends LogRecord {
  readonly t: "uncertain";
  readonly n: number;
  readonly amount: CreditText;
  readonly why: string;
  readonly at: number;
}

/** Credits that others spent from the same balance while this run was at work. */
export interface ForeignRecord extends LogRecord {
  readonly t: "foreign";
  readonly amount: CreditText;
  readonly at: number;
}

/** A session of the run began: under which caps. */
export interface SessionRecord extends LogRecord {
  readonly t: "session";
  readonly maxCredits: CreditText | null;
  readonly limit: number | null;
  /** The most that the run may cost in all its sessions, as agreed to. */
  readonly cap?: CreditText;
  /** Rows that this session means to have at its end, all sessions counted; null: as many as there are. */
  readonly rows: number | null;
  readonly at: number;
}

/** What the service taught: the largest page it gives. */
export interface LearnedRecord extends LogRecord {
  readonly t: "learned";
  readonly perPageMax: number;
}

/** What a run adds up to. */
export interface Sums {
  readonly rows: number;
  readonly misses: number;
  readonly settled: CreditText;
  readonly uncertain: CreditText;
  readonly foreign: CreditText;
  /** Rows that the last session meant to have; null: unknown. */
  readonly expected: number | null;
}

/** The run is over: its output was written whole. */
export interface DoneRecord extends LogRecord {
  readonly t: "done";
  /** With the run's id, which no service knows: so that a list of many runs can believe this line without those before it. */
  readonly run?: string;
  readonly sums?: Sums;
  readonly at: number;
}

export type JournalRecord =
  | IntentRecord
  | CursorRecord
  | SettledRecord
  | VoidRecord
  | UncertainRecord
  | ForeignRecord
  | SessionRecord
  | LearnedRecord
  | DoneRecord;

/** One unit of a run: a page of people, or a company. */
export interface Unit {
  readonly intent: IntentRecord;
  settled: SettledRecord | undefined;
  /** Where in the journal its reply begins. */
  replyAt: number;
  voided: boolean;
  /** Credits that lost replies of this unit may have cost. */
  uncertain: Credits;
  next: string | null | undefined;
}

/** An amount that stands in the ledger beside what was settled, in the order in which it was booked. */
export interface Booking {
  readonly t: "uncertain" | "refunded" | "foreign";
  /** The unit; 0 for none. */
  readonly n: number;
  readonly amount: Credits;
  readonly at: number;
}

/** What a journal adds up to. */
export interface RunState {
  readonly units: Map<number, Unit>;
  readonly bookings: Booking[];
  nextN: number;
  settled: Credits;
  uncertain: Credits;
  foreign: Credits;
  /** Rows paid for, duplicates included. */
  rows: number;
  misses: number;
  perPageMax: number | undefined;
  session: SessionRecord | undefined;
  done: DoneRecord | undefined;
  /** Epoch milliseconds of the last thing that happened. */
  lastAt: number;
}

export function emptyState(): RunState {
  return {
    units: new Map(),
    bookings: [],
    nextN: 1,
    settled: ZERO,
    uncertain: ZERO,
    foreign: ZERO,
    rows: 0,
    misses: 0,
    perPageMax: undefined,
    session: undefined,
    done: undefined,
    lastAt: 0,
  };
}

export const newUnit = (intent: IntentRecord): Unit => ({
  intent,
  settled: undefined,
  replyAt: 0,
  voided: false,
  uncertain: ZERO,
  next: undefined,
});

/** Bytes of a kept reply; 0: there is none (a free miss). */
export const replyLength = ({ follows, bytes }: SettledRecord): number => follows ?? bytes ?? 0;

/**
 * Takes one record into account. The journal and the running program build their state with this same function.
 * @param end where in the journal the record's line ends
 */
export function apply(state: RunState, record: JournalRecord, end = 0): void {
  if ("at" in record) state.lastAt = record.at;
  switch (record.t) {
    case "intent":
      state.units.set(record.n, newUnit(record));
      state.nextN = Math.max(state.nextN, record.n + 1);
      return;
    case "cursor": {
      const unit = state.units.get(record.n);
      if (unit !== undefined) unit.next = record.next;
      return;
    }
    case "settled": {
      const unit = state.units.get(record.n);
      if (unit === undefined || unit.settled !== undefined) return;
      unit.settled = record;
      unit.replyAt = end;
      state.rows += record.rows;
      if (record.miss === true) state.misses++;
      state.settled = credits(state.settled + creditsOf(record.used));
      // The stored reply of the first attempt: what that attempt cost is known now, and is this charge.
      if (record.replayed === true && unit.uncertain > 0n) {
        state.bookings.push({ t: "refunded", n: record.n, amount: unit.uncertain, at: record.at });
        state.uncertain = credits(state.uncertain - unit.uncertain);
        unit.uncertain = ZERO;
      }
      return;
    }
    case "void": {
      const unit = state.units.get(record.n);
      if (unit !== undefined) unit.voided = true;
      return;
    }
    case "uncertain": {
      const unit = state.units.get(record.n);
      const amount = creditsOf(record.amount);
      if (unit !== undefined) unit.uncertain = credits(unit.uncertain + amount);
      state.uncertain = credits(state.uncertain + amount);
      state.bookings.push({ t: "uncertain", n: record.n, amount, at: record.at });
      return;
    }
    case "foreign": {
      const amount = creditsOf(record.amount);
      state.foreign = credits(state.foreign + amount);
      state.bookings.push({ t: "foreign", n: 0, amount, at: record.at });
      return;
    }
    case "session":
      state.session = record;
      state.done = undefined;
      return;
    case "learned":
      state.perPageMax = record.perPageMax;
      return;
    case "done":
      state.done = record;
  }
}

export function replay(entries: readonly LogEntry<JournalRecord>[]): RunState {
  const state = emptyState();
  for (const { record, end } of entries) apply(state, record, end);
  return state;
}

/** Units that were asked for and whose reply is not on the disk: they may have been charged. */
export const pendingUnits = (state: RunState): Unit[] =>
  [...state.units.values()].filter((unit) => unit.settled === undefined && !unit.voided);

/** The order of the output: by target, then by offset. */
export const byPosition = (a: Unit, b: Unit): number =>
  a.intent.target - b.intent.target || a.intent.offset - b.intent.offset;

/** Units whose page is on the disk, in the order of the output. */
export const settledUnits = (state: RunState): Unit[] =>
  [...state.units.values()].filter((unit) => unit.settled !== undefined).sort(byPosition);

export const sumsOf = (state: RunState, matches: number | null): Sums => ({
  rows: state.rows,
  misses: state.misses,
  settled: creditText(state.settled),
  uncertain: creditText(state.uncertain),
  foreign: creditText(state.foreign),
  expected: state.session?.rows ?? matches,
});
