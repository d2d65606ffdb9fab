import { type Credits, credits, parseCredits, ZERO } from "../../shared/contract/money.ts";
import type { CliErrorInit } from "../../shared/errors.ts";
import { Books, type Ending, type PageCall, type Quiet, type Spending } from "./books.ts";
import type { Division, LogEntry, LogRecord } from "./record.ts";

// Times (`at`) are epoch milliseconds. docs/reference/runs.md has an example of what stands on the
// disk.

const DAY_MS = 86_400_000;
/** Each kind of amount that is told of what a run spent, in the order in which it is told. */
export const NO_SPENDING = {
  settled: ZERO,
  uncertain: ZERO,
  pending: ZERO,
  foreign: ZERO,
  declared: ZERO,
  told: ZERO,
};

/** What the books have, and what vendors' files and vendors say that pages cost. */
type Spent = Omit<Spending, "kind"> & { readonly kind: keyof typeof NO_SPENDING };

/** An amount of a plan or a receipt. */
export const creditsOf = (amount: string | number): Credits => parseCredits(amount) ?? ZERO;

/**
 * The target of pages that hold whom the run did not buy:
 * they were owned before, and stand behind all others.
 */
export const BESIDE = Number.MAX_SAFE_INTEGER;

type Entry<Kind extends string, Facts> = LogRecord & { readonly t: Kind } & Readonly<Facts>;

/** Synced before the request goes out, with the key that makes it safe to repeat. */
export interface IntentRecord extends LogRecord {
  readonly t: "intent";
  readonly n: number;
  /**
   * Which of the run's targets: a part of a search,
   * else the index of the company; or {@link BESIDE}.
   */
  readonly target: number;
  readonly offset: number;
  readonly perPage: number;
  readonly cursor?: string | undefined;
  /** Rows that it may be charged for, where those are fewer than a page. */
  readonly most?: number | undefined;
  /** Rows that are paid for together, where that is more than one. */
  readonly parcel?: number | undefined;
  readonly key: string;
  readonly hold: Credits;
  /** The service promises to know the key. */
  readonly promised?: boolean | undefined;
  /** Nobody told what a row costs. */
  readonly guess?: boolean | undefined;
  readonly owned?: true;
  readonly at: number;
}

/** What rows of a page say where something else was asked for. */
export interface Unasked {
  readonly key: string;
  /** The first of them, counted from 1. */
  readonly row: number;
  readonly came: string;
  /** How many say something else, of those that say anything. */
  readonly others: number;
  readonly of: number;
}

export interface SettledRecord extends LogRecord {
  readonly t: "settled";
  readonly n: number;
  readonly rows: number;
  /** Rows that were paid for and that the service suppresses. */
  readonly withheld?: number | undefined;
  /** Rows that were paid for and are no JSON: the reply has their bytes. */
  readonly unread?: number | undefined;
  /** What the answer says that it cost; less than 0 cannot be, and is booked as 0. */
  readonly used?: Credits | undefined;
  /** It cost that and no more, as its service declares. */
  readonly exact?: boolean | undefined;
  /** What its rows cost by the file of their vendor, and what the vendor itself said of them. */
  readonly declared?: Credits | undefined;
  readonly told?: Credits | undefined;
  /** Why nothing is bought after it, now or later. */
  readonly stop?: Pick<CliErrorInit, "code" | "category" | "message" | "hint"> | undefined;
  /** What its rows say where something else was asked for: looked at in the first page. */
  readonly unasked?: Unasked | undefined;
  readonly remaining?: Credits | undefined;
  /** Nothing else was under way when it was answered: `remaining` is a reading of the balance. */
  readonly quiet?: boolean;
  /** What other runs of the same account settled since the reading before. */
  readonly beside?: Credits | undefined;
  /** What other runs may have spent beyond that. */
  readonly own?: Credits | undefined;
  /** Null: the service said that there is no next page. */
  readonly next?: string | null | undefined;
  /** It breaks off behind its rows: what leads on, if anything did, is not known. */
  readonly cut?: boolean | undefined;
  /** Of a cursor that was too long to be kept: the run cannot go on from here. */
  readonly cursorLength?: number;
  readonly version?: string | undefined;
  readonly requestId?: string | undefined;
  readonly replayed?: boolean | undefined;
  readonly total?: number | undefined;
  readonly miss?: boolean | undefined;
  readonly refused?: string | undefined;
  /** The run that paid for this reply: here it costs nothing. */
  readonly owned?: string;
  readonly at: number;
}

/** An intent that never went out, or was refused: its rows are asked for in another way. */
type VoidRecord = Entry<"void", { n: number; why: string; at: number }>;

/** Before a request goes out once more, under the same key. */
type SentRecord = Entry<"sent", { n: number; promised?: boolean | undefined; at: number }>;

/** No answer came, and the request may have arrived. */
type LostRecord = Entry<"lost", { n: number; at: number }>;

/** An answer that is no success, and what it says that it cost. */
type RefusedRecord = Entry<
  "refused",
  {
    n: number;
    status: number;
    used?: Credits | undefined;
    exact?: boolean | undefined;
    at: number;
  }
>;

/** The balance, read while nothing was under way. */
type QuietRecord = LogRecord & Quiet & { readonly at: number };

interface SessionRecord extends LogRecord {
  readonly t: "session";
  readonly maxCredits: Credits | null;
  readonly limit: number | null;
  readonly cap?: Credits;
  /** Rows that this session means to have at its end, all sessions counted; null: all. */
  readonly rows: number | null;
  /** Whoever is owned is paid for again. */
  readonly again?: boolean | undefined;
  readonly job?: string | undefined;
  readonly budget?: string | undefined;
  readonly at: number;
}

type LearnedRecord = Entry<"learned", { perPageMax: number }>;

/**
 * The plan's own parts end at a row that nobody told
 * of: what lies behind it is bought in further parts.
 */
type DividedRecord = Entry<"divided", Division & { at: number }>;

/** Nobody is to go on with the run by itself. */
export interface EndedRecord extends LogRecord {
  readonly t: "ended";
  /** `stale`: its dataset is gone. `closed`: its reader had enough. `over`: it buys no more. */
  readonly how: "stale" | "closed" | "over";
  readonly why: string;
  readonly at: number;
}

/** By day, in UTC. */
export type DaySpend = Readonly<Record<Spent["kind"], Credits>> & {
  readonly from: number;
  readonly to: number;
  readonly rows: number;
};

export interface Sums {
  readonly rows: number;
  readonly misses: number;
  readonly settled: Credits;
  readonly uncertain: Credits;
  readonly foreign: Credits;
  readonly expected: number | null;
  readonly job?: string | undefined;
  readonly budgets: readonly string[];
  readonly days: readonly DaySpend[];
}

interface DoneRecord extends LogRecord {
  readonly t: "done";
  /** Which no service knows: so that this line can be believed without those before it. */
  readonly run?: string;
  readonly sums?: Sums;
  readonly problem?: string | undefined;
  readonly at: number;
}

export type JournalRecord =
  | IntentRecord
  | SettledRecord
  | VoidRecord
  | SentRecord
  | LostRecord
  | RefusedRecord
  | QuietRecord
  | SessionRecord
  | LearnedRecord
  | DividedRecord
  | EndedRecord
  | DoneRecord;

export interface Unit {
  readonly intent: IntentRecord;
  settled: SettledRecord | undefined;
  replyAt: number;
  voided: boolean;
  /** Its last attempt, in the books; undefined: another run paid for it. */
  attempt: number | undefined;
}

export type RunState = ReturnType<typeof emptyState>;

export const emptyState = () => ({
  units: new Map<number, Unit>(),
  books: new Books(),
  attempts: 0,
  nextN: 1,
  rows: 0,
  owned: 0,
  /** Rows of {@link BESIDE}, which are none of `rows`. */
  beside: 0,
  misses: 0,
  /** Rows that were paid for and that the service suppresses, or that are no JSON. */
  withheld: 0,
  unread: 0,
  perPageMax: undefined as number | undefined,
  division: undefined as Division | undefined,
  session: undefined as SessionRecord | undefined,
  job: undefined as string | undefined,
  /** It counts whole in each, so that none forgets what it paid for. */
  budgets: [] as string[],
  done: undefined as DoneRecord | undefined,
  ended: undefined as EndedRecord | undefined,
  lastAt: 0,

  /** What was charged: told by answers, or by the balance for rows whose answer says nothing. */
  get settled(): Credits {
    return credits(this.books.told + this.books.measured);
  },
  /** What may have been charged beside that, and no answer is to tell any more. */
  get uncertain(): Credits {
    return credits(this.books.doubt - this.books.measured - this.books.underWay);
  },
  /** What it may have cost beside what an answer is still to tell. */
  get spent(): Credits {
    return credits(this.books.atMost - this.books.underWay);
  },
  /** What others spent of the same balance. */
  get foreign(): Credits {
    return this.books.others;
  },
  /** By when it was spent; what was declared and told beside it. */
  get spendings(): Spent[] {
    return [...this.books.spendings, ...[...this.units.values()].flatMap(pricesOf)];
  },
});

/** Of a page that this run paid for. */
function pricesOf({ settled }: Unit): Spent[] {
  if (settled?.declared === undefined || settled.owned !== undefined) return [];
  const { at, declared, told = ZERO } = settled;
  return [
    { kind: "declared", amount: declared, rows: 0, at },
    { kind: "told", amount: told, rows: 0, at },
  ];
}

export const newUnit = (intent: IntentRecord): Unit => ({
  intent,
  settled: undefined,
  replyAt: 0,
  voided: false,
  attempt: undefined,
});

/** A unit that is to be asked for, before it is on the disk: its hold counts at once. */
export function intend(state: RunState, unit: Unit): void {
  const { intent } = unit;
  state.units.set(intent.n, unit);
  state.nextN = Math.max(state.nextN, intent.n + 1);
  if (!intent.owned) send(state, unit, intent);
}

/** What asks for a page, as the books have it. */
export function pageCallOf({ intent }: Unit, promised: boolean | undefined): PageCall {
  const { key: page, perPage, most: rows = perPage, hold, guess: isGuess, parcel } = intent;
  return { page, rows, hold, parcel, promised, isGuess };
}

function send(
  state: RunState,
  unit: Unit,
  { promised, at }: { readonly promised?: boolean | undefined; readonly at: number },
) {
  unit.attempt = ++state.attempts;
  state.books.note({ t: "sent", n: unit.attempt, ...pageCallOf(unit, promised), at });
}

function end(
  { books }: RunState,
  unit: Unit | undefined,
  at: number,
  ending: Omit<Ending, "n" | "at">,
) {
  if (unit?.attempt !== undefined) books.note({ n: unit.attempt, at, ...ending });
}

/**
 * The journal and the running program build their state with this same function.
 * @param end of the record's line
 */
export function apply(state: RunState, record: JournalRecord, at = 0): void {
  if ("at" in record) state.lastAt = record.at;
  const unit = "n" in record ? state.units.get(record.n) : undefined;

  switch (record.t) {
    case "intent":
      intend(state, newUnit(record));
      return;
    case "settled":
      settle(state, unit, record, at);
      return;
    case "void":
      if (unit !== undefined) unit.voided = true;
      end(state, unit, record.at, { t: "unsent" });
      return;
    case "sent":
      if (unit !== undefined) send(state, unit, record);
      return;
    case "lost":
      end(state, unit, record.at, { t: "lost" });
      return;
    case "refused": {
      const { at, exact, status, t, used } = record;
      end(state, unit, at, { t, used, exact, isFault: isFault(status) });
      return;
    }
    case "quiet":
      state.books.note(record);
      return;
    case "session":
      state.session = record;
      state.job = record.job ?? state.job;
      // Of what a process before this one asked for no answer comes any more, balance or not.
      for (const unit of pendingUnits(state)) end(state, unit, record.at, { t: "lost" });
      if (record.budget !== undefined && !state.budgets.includes(record.budget))
        state.budgets.push(record.budget);
      state.done = undefined;
      state.ended = undefined;
      return;
    case "learned":
      state.perPageMax = record.perPageMax;
      return;
    case "divided": {
      const { t: _, at: __, ...division } = record;
      state.division = division;
      return;
    }
    case "ended":
      state.ended = record;
      if (record.how === "stale") state.books.note({ t: "over" });
      return;
    case "done":
      state.done = record;
      state.books.note({ t: "over" });
  }
}

function settle(state: RunState, unit: Unit | undefined, record: SettledRecord, place: number) {
  if (unit === undefined || unit.settled !== undefined) return;

  unit.settled = record;
  unit.replyAt = place;
  state[unit.intent.target === BESIDE ? "beside" : "rows"] += record.rows;
  if (record.miss) state.misses++;
  state.withheld += record.withheld ?? 0;
  state.unread += record.unread ?? 0;
  if (record.owned !== undefined) state.owned += record.rows;

  const { used, replayed: stored, remaining, quiet, beside, own, at, exact } = record;
  if (record.owned !== undefined) end(state, unit, at, { t: "unsent" });
  else {
    // Whoever was asked for by an id and is not there cost nothing, where that is declared.
    const rows = exact ? record.rows : placesOf(record);
    end(state, unit, at, { t: "told", rows, used, stored: stored === true, exact });
  }
  if (quiet && remaining !== undefined)
    state.books.note({ t: "quiet", balance: remaining, beside, own, askedAt: unit.intent.at, at });
}

/**
 * Rows of the segment that a page is, with those it does not show or that are no JSON: the next
 * page begins behind them.
 */
export const placesOf = ({
  rows,
  withheld = 0,
  unread = 0,
}: Pick<SettledRecord, "rows" | "withheld" | "unread">): number => rows + withheld + unread;

const LONGEST_WORD = 16_384;

/** A cursor that is absurdly long is dropped and said, other words are cut. */
export function bounded(record: SettledRecord): SettledRecord {
  const { next, version, requestId } = record;
  const length = next?.length ?? 0;
  return {
    ...record,
    ...(length > LONGEST_WORD ? { next: undefined, cursorLength: length } : {}),
    version: version?.slice(0, LONGEST_WORD),
    requestId: requestId?.slice(0, LONGEST_WORD),
  };
}

export function daysOf(spent: readonly Spent[], since = 0): DaySpend[] {
  const days = new Map<number, DaySpend>();
  for (const { kind, amount, rows, at } of spent) {
    if (at < since) continue;
    const number = Math.floor(at / DAY_MS);
    const day = days.get(number) ?? { from: at, to: at, rows: 0, ...NO_SPENDING };
    days.set(number, {
      ...day,
      from: Math.min(day.from, at),
      to: Math.max(day.to, at),
      rows: day.rows + rows,
      [kind]: credits(day[kind] + amount),
    });
  }

  return [...days.values()];
}

export function replay(entries: readonly LogEntry<JournalRecord>[]): RunState {
  const state = emptyState();
  for (const { record, end } of entries) apply(state, record, end);
  return state;
}

/** An answer that broke at the service's end, where no contract says that it is free. */
export const isFault = (status: number): boolean => status >= 500 || status < 300;

/** A key is good for 24 hours (docs/reference/contract.md, "Idempotency"). */
export const KEY_LIFE_MS = 23 * 3_600_000;

/** Sent again under its key the request could be charged again. @param now epoch milliseconds */
export const hasOutlivedKey = ({ intent }: Unit, now: number): boolean =>
  now - intent.at > KEY_LIFE_MS;

export const pendingUnits = (state: RunState): Unit[] =>
  [...state.units.values()].filter((unit) => unit.settled === undefined && !unit.voided);

export const byPosition = (a: Unit, b: Unit): number =>
  a.intent.target - b.intent.target || a.intent.offset - b.intent.offset;

export type SettledUnit = Unit & { readonly settled: SettledRecord };

export const settledUnits = (state: RunState): SettledUnit[] =>
  [...state.units.values()]
    .filter((unit): unit is SettledUnit => unit.settled !== undefined)
    .sort(byPosition);

export function sumsOf(state: RunState, expected: number | null): Sums {
  return {
    rows: state.rows + state.beside,
    misses: state.misses,
    settled: state.settled,
    uncertain: state.uncertain,
    foreign: state.foreign,
    expected: expected === null ? null : expected + state.beside,
    job: state.job,
    budgets: state.budgets,
    days: daysOf(state.spendings),
  };
}
