// Tested by test/unit/budget.test.ts.
import {
  affordableRows,
  type Credits,
  credits,
  formatCreditsGrouped,
  maxCredits,
  priceOf,
  sumOfCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { CliError, type Sentence, say, theirs } from "../../shared/errors.ts";
import type { ServiceError } from "../client/errors.ts";
import { hasOutlivedKey, pageCallOf, type RunState, type Unit } from "../runs/journal.ts";
import type { Flight, Flown } from "./flight.ts";

export interface BudgetOptions {
  readonly now: () => number;
  readonly price: Credits;
  /** Rows that one price pays for; undefined: a row. */
  readonly parcel?: number | undefined;
  /** Whether the service told that price: else it is a guess, and the first row tells. */
  readonly priceKnown: boolean;
  readonly maxCredits: Credits | undefined;
  /** The most that a run may cost in all its sessions. */
  readonly cap: Credits;
  readonly maxRows: number | undefined;
  readonly balance: Credits | undefined;
  /** Whether the service promises to know a key. */
  readonly honoursKeys: boolean;
}

/**
 * What may still be spent: by the cap, as the books have it (docs/explanation/caps.md),
 * by the rows allowed, and by the balance as far as it is known.
 */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #run: RunState;
  readonly #flight: Flight;
  /** As far as known: what the service told last, less what was charged since. */
  balance: Credits | undefined;

  constructor(options: BudgetOptions, run: RunState, flight: Flight) {
    this.#options = options;
    this.#run = run;
    this.#flight = flight;
    this.balance = options.balance;
  }

  /** What a row is counted on to cost: as it was told, or dearer where that was seen. */
  get price(): Credits {
    const { price, priceKnown } = this.#options;
    const seen = this.#run.books.price;
    return priceKnown ? maxCredits(price, seen ?? ZERO) : (seen ?? price);
  }

  /** Of a price of 0 a row that was bought is the proof: until then one is asked for. */
  get priceKnown(): boolean {
    const { price, priceKnown } = this.#options;
    const { books, rows, owned } = this.#run;
    return books.price !== undefined || (priceKnown && (price > 0n || rows > owned));
  }

  /** Whether the service is believed to know the key of a page. */
  isPromised(unit: Unit): boolean {
    const { honoursKeys, now } = this.#options;
    return honoursKeys && this.#run.books.keepsKeys && !hasOutlivedKey(unit, now());
  }

  /** By how much asking again for a page raises what the run may cost. */
  riskOf(unit: Unit): Credits {
    return this.#run.books.riskOf(pageCallOf(unit, this.isPromised(unit)));
  }

  /** What the cap leaves, once pages of an earlier session were asked for again. */
  room(): Credits {
    const again = sumOfCredits(this.#flight.pending.map((unit) => this.riskOf(unit)));
    return credits(this.#run.books.room(this.#options.cap) - again);
  }

  fits(hold: Credits): boolean {
    return hold <= this.room();
  }

  rowRoom(): number {
    const { maxRows } = this.#options;
    const room = this.room();
    const affordable = this.affordable(room);
    if (room < this.#run.books.floor) return 0;
    if (maxRows === undefined) return affordable;
    // A page that is being written counts whole: how
    // many rows it has is known only once it was read.
    return Math.min(affordable, maxRows - this.#run.rows - this.#flight.rowsOpen);
  }

  wholeRoom(): number {
    const { cap, maxCredits } = this.#options;
    if (maxCredits === undefined) return Infinity;
    return this.affordable(credits(this.room() + maxCredits - cap));
  }

  /** Rows that the balance covers beside what is in flight; undefined where nobody knows it. */
  covered(): number | undefined {
    if (this.balance === undefined) return undefined;
    return this.affordable(credits(this.balance - this.#flight.held(true)));
  }

  covers({ hold }: Flown): boolean {
    if (this.balance === undefined || hold === 0n) return true;
    return hold + this.#flight.held(false) <= this.balance;
  }

  /** A charge that the balance as it was told does not show yet. */
  takeOff(used: Credits): void {
    if (this.balance !== undefined) this.balance = credits(this.balance - used);
  }

  usedUp(cause: ServiceError | undefined): CliError {
    const rows = counted(this.#run.rows, "row is", "rows are");
    const why = soldOut(cause?.creditsRemaining ?? this.balance, this.price, cause);
    const { status, requestId } = cause ?? {};

    return new CliError({
      code: "insufficient_credits",
      category: "credits",
      message: `${why}; ${rows} bought and kept`,
      status,
      requestId,
      cause,
    });
  }

  /** What rows cost together. @param price another one than is counted on now */
  priceOf(rows: number, price = this.price): Credits {
    return priceOf(rows, price, this.#options.parcel);
  }

  affordable(amount: Credits): number {
    return affordableRows(amount, this.price, this.#options.parcel);
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
): Sentence => {
  const [detail] = cause?.detail ?? [];
  if (detail !== undefined && balance !== undefined && balance >= price)
    return say`not enough credits (402): ${theirs(detail)}`;
  const rest = balance === undefined ? "used up" : formatCreditsGrouped(balance);
  return (
    `not enough credits for another profile at ${formatCreditsGrouped(price)}: ` +
    `the balance is ${rest}`
  );
};
