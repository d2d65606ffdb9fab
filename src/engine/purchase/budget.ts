import {
  affordableRows,
  type Credits,
  credits,
  formatCreditsGrouped,
  maxCredits,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { CliError } from "../../shared/errors.ts";
import type { ServiceError } from "../client/errors.ts";
import type { RunState } from "../runs/journal.ts";
import type { Flight, Flown } from "./flight.ts";

/**
 * How long a fall of the balance since it was told is laid to a single call, whatever it comes to.
 */
const FRESH_MS = 30_000;

export interface BudgetOptions {
  readonly now: () => number;
  readonly price: Credits;
  /**
   * Whether the service told that price: else it is a
   * guess, and the first row that is paid for tells.
   */
  readonly priceKnown: boolean;
  readonly maxCredits: Credits | undefined;
  /** The most that a run may cost in all its sessions, uncertain credits included. */
  readonly cap: Credits;
  readonly maxRows: number | undefined;
  readonly balance: Credits | undefined;
  /** When it was told: epoch milliseconds. */
  readonly since: number;
}

export interface Charge {
  readonly used: Credits;
  readonly balance: Credits | undefined;
  /** What the call may have cost beyond what its answer says. */
  readonly most: Credits;
}

/**
 * What is gone beyond the charges told, and the most
 * of it that answers may have cost that told less.
 */
export interface Fall {
  readonly gone: Credits;
  readonly most: Credits;
}

/**
 * What may still be spent: by the cap, by the rows allowed, by the balance as far as it is known.
 */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #spent: RunState;
  readonly #flight: Flight;
  /** Charged by replies that are being written; settled in the state once they are on the disk. */
  #keeping: Credits = ZERO;
  /** As far as known: what the service told last, less what was charged since. */
  balance: Credits | undefined;
  #sure = false;
  /** What answers that claim to be free or cheap may have cost: no balance has shown it yet. */
  unproven: Credits = ZERO;
  price: Credits;
  priceKnown: boolean;
  /** The most that one miss was seen to cost; undefined: of none it is known. */
  missCost: Credits | undefined;
  /**
   * Beside others a miss was not free: the next ones
   * are asked for alone, until one tells what it costs.
   */
  doubtsMisses = false;
  /** When the balance was told; undefined: several calls have moved it since. */
  #since: number | undefined;

  constructor(options: BudgetOptions, spent: RunState, flight: Flight) {
    this.#options = options;
    this.#spent = spent;
    this.#flight = flight;
    this.balance = options.balance;
    this.price = options.price;
    this.priceKnown = options.priceKnown;
    this.#since = options.since;
  }

  learnPrice(used: Credits, rows: number): void {
    if (this.priceKnown || rows === 0) return;
    this.priceKnown = true;
    this.price = credits((used + BigInt(rows) - 1n) / BigInt(rows));
  }

  get sure(): boolean {
    return this.#sure && this.unproven === 0n;
  }

  setBalance(balance: Credits | undefined, sure: boolean): void {
    this.balance = balance;
    this.#sure = sure;
  }

  room(): Credits {
    const { cap } = this.#options;
    const { settled, uncertain } = this.#spent;
    return credits(
      cap - settled - uncertain - this.#keeping - this.#atRisk() - this.#flight.waiting.hold,
    );
  }

  fits(hold: Credits): boolean {
    return hold <= this.room();
  }

  rowRoom(): number {
    const { maxRows } = this.#options;
    const room = this.room();
    const affordable = affordableRows(room, this.price);
    if (room < this.mostOf(ZERO)) return 0;
    if (maxRows === undefined) return affordable;
    // A page that is being written counts whole: how
    // many rows it has is known only once it was read.
    return Math.min(
      affordable,
      maxRows - this.#spent.rows - this.#flight.rowsAsked - this.#flight.waiting.rows,
    );
  }

  wholeRoom(): number {
    const { cap, maxCredits } = this.#options;
    if (maxCredits === undefined) return Number.POSITIVE_INFINITY;
    return affordableRows(credits(this.room() + maxCredits - cap), this.price);
  }

  /** Rows that the balance covers beside what is in flight; undefined where nobody knows it. */
  covered(): number | undefined {
    if (this.balance === undefined) return undefined;
    return affordableRows(credits(this.balance - this.#atRisk()), this.price);
  }

  covers({ hold }: Flown): boolean {
    if (this.balance === undefined || hold === 0n) return true;
    return hold + this.#flight.held("flying", "doubt") <= this.balance;
  }

  /**
   * A reply is being written: its charge counts, its
   * hold no longer does. Taken back once it is written.
   */
  keeping(used: Credits): void {
    this.#keeping = credits(this.#keeping + used);
  }

  /** Whether the cap holds with this hold, too, should all of that turn out to be charged. */
  fitsUnproven(hold: Credits): boolean {
    return this.unproven === 0n || this.fits(credits(this.mostOf(hold) + this.unproven));
  }

  /** Takes a charge off, and believes the balance told where no other call was in flight. */
  charge({ alone }: Flown, { used, balance, most }: Charge): Fall | undefined {
    this.takeOff(used, most);
    this.#sure = alone && balance !== undefined;
    if (!alone) this.#since = undefined;
    return alone && balance !== undefined ? this.look(balance) : undefined;
  }

  /** @param most what may be gone beside it */
  takeOff(used: Credits, most: Credits): void {
    if (this.balance !== undefined) this.balance = credits(this.balance - used);
    this.unproven = credits(this.unproven + most);
  }

  /** A balance in an error may be anything, such as 0: only one that did not fall is believed. */
  showsFree({ alone }: Flown, { creditsRemaining: balance }: ServiceError): boolean {
    return alone && balance !== undefined && balance >= (this.balance ?? balance);
  }

  /** Whether this call alone moved the balance since it was told, and others had hardly time to. */
  isExact({ alone }: Flown): boolean {
    const { now } = this.#options;
    return (
      alone &&
      this.balance !== undefined &&
      this.#since !== undefined &&
      now() - this.#since < FRESH_MS
    );
  }

  mostOf(hold: Credits): Credits {
    return maxCredits(hold, this.missCost ?? ZERO);
  }

  /** What left the balance that no charge explains. */
  gone(balance: Credits | undefined): Credits | undefined {
    return this.balance === undefined || balance === undefined
      ? undefined
      : credits(this.balance - balance);
  }

  /** The balance while nothing moves it: no answer that came before is in doubt any more. */
  look(balance: Credits | undefined): Fall {
    const fall = { gone: this.gone(balance) ?? ZERO, most: this.unproven };
    this.balance = balance ?? this.balance;
    if (balance !== undefined) this.#since = this.#options.now();
    this.unproven = ZERO;
    return fall;
  }

  usedUp(cause: ServiceError | undefined): CliError {
    const rows = counted(this.#spent.rows, "row is", "rows are");
    const why = soldOut(cause?.creditsRemaining ?? this.balance, this.price, cause);
    const { status, requestId } = cause ?? {};
    const message = `${why}; ${rows} bought and kept`;

    return new CliError({
      code: "insufficient_credits",
      category: "credits",
      message,
      status,
      requestId,
      cause,
    });
  }

  priceOf(rows: number): Credits {
    return priceOf(rows, this.price);
  }

  #atRisk(): Credits {
    return this.#flight.atRisk(this.mostOf(ZERO), "ready", "flying", "doubt");
  }
}

/**
 * Where the balance would do, it is something else, such
 * as the cap of the key: the service's words say it.
 */
const soldOut = (
  balance: Credits | undefined,
  price: Credits,
  cause: ServiceError | undefined,
): string => {
  const [detail] = cause?.detail ?? [];
  if (detail !== undefined && balance !== undefined && balance >= price)
    return `not enough credits (402): ${detail}`;
  const rest = balance === undefined ? "used up" : formatCreditsGrouped(balance);
  return (
    `not enough credits for another profile at ${formatCreditsGrouped(price)}: ` +
    `the balance is ${rest}`
  );
};
