import {
  type Credits,
  credits,
  formatCredits,
  minCredits,
  parseCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import type { CreditText, Division, LogEntry, LogRecord } from "./record.ts";

// Times (`at`) are epoch milliseconds. docs/runs.md has an example of what stands on the disk.

const DAY_MS = 86_400_000;
const NOTHING = { settled: ZERO, uncertain: ZERO, refunded: ZERO, foreign: ZERO };

export const creditText = (amount: Credits): CreditText => formatCredits(amount);
/** An amount of a journal or a receipt; nothing where none was written. */
export const creditsOf = (amount: CreditText | number | undefined): Credits =>
  parseCredits(amount) ?? ZERO;

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
  readonly cursor?: string;
  readonly key: string;
  readonly hold: CreditText;
  readonly owned?: true;
  readonly at: number;
}

export interface SettledRecord extends LogRecord {
  readonly t: "settled";
  readonly n: number;
  readonly rows: number;
  /** Rows that were paid for and that the service suppresses. */
  readonly withheld?: number;
  readonly used: CreditText;
  /** What the service said that it charged, where that cannot be; booked as 0. */
  readonly impossible?: CreditText;
  readonly remaining?: CreditText;
  /** Null: the service said that there is no next page. */
  readonly next?: string | null;
  /** Of a cursor that was too long to be kept: the run cannot go on from here. */
  readonly cursorLength?: number;
  readonly version?: string;
  readonly requestId?: string;
  readonly replayed?: boolean;
  readonly total?: number;
  readonly miss?: boolean;
  readonly refused?: string;
  /** The run that paid for this reply: here it costs nothing. */
  readonly owned?: string;
  readonly at: number;
}

/** An intent that cost nothing and will not be repeated: its rows are asked for in another way. */
type VoidRecord = Entry<"void", { n: number; why: string; at: number }>;

/**
 * Credits that may have been charged for a lost reply of
 * this unit; counts against the cap. `forgot`: by its key.
 */
type UncertainRecord = Entry<
  "uncertain",
  { n: number; amount: CreditText; why: string; forgot?: true; at: number }
>;

/** Before a request goes out once more whose lost reply is booked: this one may be charged too. */
type AgainRecord = Entry<"again", { n: number; at: number }>;

type ForeignRecord = Entry<"foreign", { amount: CreditText; at: number }>;

interface SessionRecord extends LogRecord {
  readonly t: "session";
  readonly maxCredits: CreditText | null;
  readonly limit: number | null;
  readonly cap?: CreditText;
  readonly balance?: CreditText;
  /** Rows that this session means to have at its end, all sessions counted; null: all. */
  readonly rows: number | null;
  /** Whoever is owned is paid for again. */
  readonly again?: boolean;
  readonly job?: string;
  readonly budget?: string;
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

export type DaySpend = { readonly [Sum in Spending["kind"]]: CreditText } & {
  readonly from: number;
  readonly to: number;
  readonly rows: number;
};

export interface Sums {
  readonly rows: number;
  readonly misses: number;
  readonly settled: CreditText;
  readonly uncertain: CreditText;
  readonly foreign: CreditText;
  readonly expected: number | null;
  readonly job?: string;
  readonly budgets?: readonly string[];
  readonly days: readonly DaySpend[];
}

interface DoneRecord extends LogRecord {
  readonly t: "done";
  /** Which no service knows: so that this line can be believed without those before it. */
  readonly run?: string;
  readonly sums?: Sums;
  readonly problem?: string;
  readonly at: number;
}

export type JournalRecord =
  | IntentRecord
  | SettledRecord
  | VoidRecord
  | UncertainRecord
  | AgainRecord
  | ForeignRecord
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
  uncertain: Credits;
  readonly lost: Credits[];
  /** How many of `lost` were booked before the request last went out. */
  booked: number;
}

export interface Spending {
  readonly kind: "settled" | "uncertain" | "refunded" | "foreign";
  readonly amount: Credits;
  readonly rows: number;
  readonly at: number;
}

export type RunState = ReturnType<typeof emptyState>;

export const emptyState = () => ({
  units: new Map<number, Unit>(),
  spent: [] as Spending[],
  /** Balances, each with the first intent that went out after it was told. */
  told: [] as { readonly balance: Credits; readonly before: number }[],
  nextN: 1,
  settled: ZERO,
  uncertain: ZERO,
  foreign: ZERO,
  rows: 0,
  owned: 0,
  /** Rows of {@link BESIDE}, which are none of `rows`. */
  beside: 0,
  misses: 0,
  forgetsKeys: false,
  perPageMax: undefined as number | undefined,
  division: undefined as Division | undefined,
  session: undefined as SessionRecord | undefined,
  job: undefined as string | undefined,
  /** It counts whole in each, so that none forgets what it paid for. */
  budgets: [] as string[],
  done: undefined as DoneRecord | undefined,
  ended: undefined as EndedRecord | undefined,
  lastAt: 0,
});

export const newUnit = (intent: IntentRecord): Unit => ({
  intent,
  settled: undefined,
  replyAt: 0,
  voided: false,
  uncertain: ZERO,
  lost: [],
  booked: 0,
});

/**
 * The journal and the running program build their state with this same function.
 * @param end of the record's line
 */
export function apply(state: RunState, record: JournalRecord, end = 0): void {
  if ("at" in record) state.lastAt = record.at;
  switch (record.t) {
    case "intent":
      state.units.set(record.n, newUnit(record));
      state.nextN = Math.max(state.nextN, record.n + 1);
      return;
    case "settled":
      settle(state, record, end);
      return;
    case "void": {
      const unit = state.units.get(record.n);
      if (unit !== undefined) unit.voided = true;
      return;
    }
    case "uncertain": {
      const unit = state.units.get(record.n);
      const amount = creditsOf(record.amount);
      if (record.forgot === true) state.forgetsKeys = true;
      if (unit !== undefined) {
        unit.uncertain = credits(unit.uncertain + amount);
        unit.lost.push(amount);
      }
      spend(state, { kind: "uncertain", amount, rows: 0, at: record.at });
      return;
    }
    case "again": {
      const unit = state.units.get(record.n);
      if (unit !== undefined) unit.booked = unit.lost.length;
      return;
    }
    case "foreign":
      spend(state, { kind: "foreign", amount: creditsOf(record.amount), rows: 0, at: record.at });
      return;
    case "session":
      state.session = record;
      state.job = record.job ?? state.job;
      tell(state, record.balance);
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
      return;
    case "done":
      state.done = record;
  }
}

function tell({ told, nextN: before }: RunState, balance: CreditText | undefined): void {
  if (balance !== undefined) told.push({ balance: creditsOf(balance), before });
}

function settle(state: RunState, record: SettledRecord, end: number): void {
  const unit = state.units.get(record.n);
  if (unit === undefined || unit.settled !== undefined) return;

  unit.settled = record;
  tell(state, record.remaining);
  unit.replyAt = end;
  state[unit.intent.target === BESIDE ? "beside" : "rows"] += record.rows;
  if (record.miss === true) state.misses++;

  const amount = creditsOf(record.used);
  if (record.owned !== undefined) state.owned += record.rows;
  else if (!record.miss || amount > 0n)
    spend(state, { kind: "settled", amount, rows: record.rows, at: record.at });

  // What the earlier attempt cost is known now, and is this charge.
  if (record.replayed === true && unit.uncertain > 0n) {
    // The cheapest lost attempt that covers it. The others may have been charged too.
    const sorted = [...unit.lost].sort((a, b) => (a < b ? -1 : 1));
    const back = sorted.find((lost) => lost >= amount) ?? sorted.at(-1) ?? ZERO;
    spend(state, { kind: "refunded", amount: back, rows: 0, at: record.at });
    unit.uncertain = credits(unit.uncertain - back);
  }
}

const LONGEST_WORD = 16_384;

/** A cursor that is absurdly long is dropped and said, other words are cut. */
export function bounded(record: SettledRecord): SettledRecord {
  const { next, version, requestId, ...rest } = record;
  return {
    ...rest,
    ...(next === undefined
      ? {}
      : next !== null && next.length > LONGEST_WORD
        ? { cursorLength: next.length }
        : { next }),
    ...(version === undefined ? {} : { version: version.slice(0, LONGEST_WORD) }),
    ...(requestId === undefined ? {} : { requestId: requestId.slice(0, LONGEST_WORD) }),
  };
}

function spend(state: RunState, spending: Spending): void {
  const { kind, amount } = spending;
  state.spent.push(spending);
  if (kind === "refunded") state.uncertain = credits(state.uncertain - amount);
  else state[kind] = credits(state[kind] + amount);
}

export function daysOf(spent: readonly Spending[], since = 0): DaySpend[] {
  const days = new Map<
    number,
    { from: number; to: number; rows: number } & Record<Spending["kind"], Credits>
  >();
  for (const { kind, amount, rows, at } of spent) {
    if (at < since) continue;
    const number = Math.floor(at / DAY_MS);
    const day = days.get(number) ?? { from: at, to: at, rows: 0, ...NOTHING };
    days.set(number, day);
    day.from = Math.min(day.from, at);
    day.to = Math.max(day.to, at);
    day.rows += rows;
    day[kind] = credits(day[kind] + amount);
  }

  return [...days.values()].map(({ settled, uncertain, refunded, foreign, ...day }) => ({
    ...day,
    settled: creditText(settled),
    uncertain: creditText(uncertain),
    refunded: creditText(refunded),
    foreign: creditText(foreign),
  }));
}

export function replay(entries: readonly LogEntry<JournalRecord>[]): RunState {
  const state = emptyState();
  for (const { record, end } of entries) apply(state, record, end);
  return state;
}

/** A key is good for 24 hours (docs/contract.md, "Idempotency"). */
export const KEY_LIFE_MS = 23 * 3_600_000;

/** Sent again under its key the request could be charged again. @param now epoch milliseconds */
export const hasOutlivedKey = ({ intent }: Unit, now: number): boolean =>
  now - intent.at > KEY_LIFE_MS;

export const OUTLIVED = "its idempotency key is older than 24 hours";

export const pendingUnits = (state: RunState): Unit[] =>
  [...state.units.values()].filter((unit) => unit.settled === undefined && !unit.voided);

/**
 * What each request without a reply may have cost beside what is booked: at most
 * its hold. Balances told before it went out bound it, less what is booked
 * since. One below today's tells nothing: credits were added. @param now today's
 */
export function lostCharges(state: RunState, now: Credits | undefined) {
  const since = bookedSince(state);
  const falls = state.told.map(({ balance, before }) => {
    return { before, left: credits(balance - (now ?? balance) - (since[before] ?? ZERO)) };
  });

  return pendingUnits(state).map((unit) => {
    const { n, hold, owned } = unit.intent;
    const told = falls.filter(({ before, left }) => now !== undefined && before <= n && left >= 0n);
    const most = owned === true || isBooked(unit) ? ZERO : creditsOf(hold);
    const charge = told.map(({ left }) => left).reduce(minCredits, most);
    for (const fall of falls) if (fall.before <= n) fall.left = credits(fall.left - charge);
    return { unit, charge, isSeen: told.length > 0 };
  });
}

/** By the number of an intent: what is booked of it and of all later ones. */
function bookedSince({ units, nextN }: RunState): Credits[] {
  const since: Credits[] = [];
  let sum: Credits = ZERO;
  for (let n = nextN - 1; n > 0; n--) {
    const { settled, uncertain = ZERO } = units.get(n) ?? {};
    const used = settled?.owned === undefined ? creditsOf(settled?.used) : ZERO;
    sum = credits(sum + used + uncertain);
    since[n] = sum;
  }
  return since;
}

/** What its last request may have cost is booked: it is not under way. */
export const isBooked = ({ booked, lost }: Unit): boolean => lost.length > booked;

export const byPosition = (a: Unit, b: Unit): number =>
  a.intent.target - b.intent.target || a.intent.offset - b.intent.offset;

/** What pages may have cost, beyond what is booked of them. */
export function unbooked(units: readonly Unit[]): Credits {
  const amounts = units.map(
    ({ intent, uncertain }) => [creditsOf(intent.hold), uncertain] as const,
  );
  return credits(
    amounts.reduce((sum, [hold, booked]) => sum + hold - minCredits(booked, hold), 0n),
  );
}

export const settledUnits = (state: RunState): Unit[] =>
  [...state.units.values()].filter((unit) => unit.settled !== undefined).sort(byPosition);

export function sumsOf(state: RunState, expected: number | null): Sums {
  return {
    rows: state.rows + state.beside,
    misses: state.misses,
    settled: creditText(state.settled),
    uncertain: creditText(state.uncertain),
    foreign: creditText(state.foreign),
    expected: expected === null ? null : expected + state.beside,
    ...(state.job === undefined ? {} : { job: state.job }),
    ...(state.budgets.length === 0 ? {} : { budgets: state.budgets }),
    days: daysOf(state.spent),
  };
}
