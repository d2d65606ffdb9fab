import type { ServiceError } from "../client/errors.ts";
import type { PageReply } from "../client/types.ts";
import { affordableRows, type Credits, credits, formatCredits, minCredits, priceOf, ZERO } from "../contract/money.ts";
import { CliError, EXIT } from "../errors.ts";
import { creditsOf } from "../runs/journal.ts";
import type { Active, Buying } from "./flight.ts";

/** What may still be spent: by the cap, by the rows allowed, by the balance as far as it is known. */
export class Budget {
  readonly #b: Buying;
  /** Charged by replies that are being written; settled in the state once they are on the disk. */
  #keeping: Credits = ZERO;
  #balance: Credits | undefined;
  #sure = false;

  constructor(buying: Buying) {
    this.#b = buying;
    this.#balance = buying.options.balance;
  }

  /** Balance as far as known: what the service told last, less what was charged since. */
  get balance(): Credits | undefined {
    return this.#balance;
  }

  /** Whether the balance is what the service told after the last call, with no other in flight. */
  get sure(): boolean {
    return this.#sure;
  }

  setBalance(balance: Credits | undefined, sure: boolean): void {
    this.#balance = balance;
    this.#sure = sure;
  }

  atRisk(): Credits {
    let sum: bigint = ZERO;
    for (const { hold, phase } of this.#b.active.values()) if (phase !== "keeping") sum += hold;
    return credits(sum);
  }

  /** Credits that may still be put at risk. */
  room(): Credits | undefined {
    const { options, run, pending, shelved } = this.#b;
    if (options.cap === undefined) return undefined;
    let waiting: bigint = 0n;
    for (const unit of pending) waiting += creditsOf(unit.intent.hold);
    for (const unit of shelved) waiting += creditsOf(unit.intent.hold);
    return credits(options.cap - run.state.settled - run.state.uncertain - this.#keeping - this.atRisk() - waiting);
  }

  fits(hold: Credits): boolean {
    const room = this.room();
    return room === undefined || hold <= room;
  }

  /** Rows that may still be asked for. */
  rowRoom(): number {
    const { options, run, active, pending, shelved } = this.#b;
    const room = this.room();
    let rows = room === undefined ? Number.POSITIVE_INFINITY : affordableRows(room, options.price);
    if (options.maxRows !== undefined) {
      // A page that is being written counts whole: how many rows it has is known only once it was read.
      let flying = 0;
      for (const { unit } of active.values()) flying += unit.intent.perPage;
      for (const unit of pending) flying += unit.intent.perPage;
      for (const unit of shelved) flying += unit.intent.perPage;
      rows = Math.min(rows, options.maxRows - run.state.rows - flying);
    }
    return rows;
  }

  /** Rows that the balance covers beside what is in flight; undefined where nobody knows it. */
  covered(): number | undefined {
    if (this.#balance === undefined) return undefined;
    return affordableRows(credits(this.#balance - this.atRisk()), this.#b.options.price);
  }

  /** Whether the balance still covers a page that was prepared while others were in flight. */
  covers({ hold }: Active): boolean {
    if (this.#balance === undefined || hold === 0n) return true;
    let sum: bigint = hold;
    for (const other of this.#b.active.values()) {
      if (other.phase === "flying" || other.phase === "doubt") sum += other.hold;
    }
    return sum <= this.#balance;
  }

  /** A reply is being written: its charge counts, its hold no longer does. Ends with {@link kept}. */
  keeping(used: Credits): void {
    this.#keeping = credits(this.#keeping + used);
  }

  kept(used: Credits): void {
    this.#keeping = credits(this.#keeping - used);
  }

  /**
   * Takes a charge off the balance, and believes the balance that came with it where no other call was in flight.
   * @returns what others spent meanwhile
   */
  charge(reply: PageReply, alone: boolean): Credits {
    const { creditsUsed, creditsRemaining: told } = reply.meta;
    if (this.#balance !== undefined) this.#balance = credits(this.#balance - creditsUsed);
    this.#sure = alone && told !== undefined && !reply.replayed;
    // With others in flight, or for a stored reply, the balance told is not the one of now.
    if (!this.#sure || told === undefined) return ZERO;
    const gone = this.#balance === undefined ? ZERO : credits(this.#balance - told);
    this.#balance = told;
    return gone > 0n ? gone : ZERO;
  }

  /** How much of a hold of an earlier session the balance cannot explain: at most the hold, all of it where nobody knows. */
  explain(hold: Credits): Credits {
    const { run, options } = this.#b;
    let before: Credits | undefined;
    for (const { settled } of run.state.units.values()) {
      if (settled?.remaining === undefined) continue;
      const remaining = creditsOf(settled.remaining);
      if (before === undefined || remaining < before) before = remaining;
    }
    if (before === undefined || options.balance === undefined) return hold;
    const gone = before - options.balance - run.state.uncertain;
    return gone <= 0n ? ZERO : minCredits(credits(gone), hold);
  }

  /**
   * What the balance was thought to be leaves nothing; others may have topped it up since.
   * @throws CliError exit 4 where it is used up
   */
  async ask(): Promise<void> {
    const { client, price } = this.#b.options;
    const account = await client.account(this.#b.halt);
    this.#balance = account.balance === undefined ? undefined : credits(account.balance - (account.held ?? ZERO));
    if (this.#balance !== undefined && affordableRows(this.#balance, price) < 1) throw this.usedUp(undefined);
  }

  usedUp(cause: ServiceError | undefined): CliError {
    const { run, options } = this.#b;
    const balance = cause?.creditsRemaining ?? this.#balance;
    return new CliError({
      code: "insufficient_credits",
      category: "credits",
      exitCode: EXIT.credits,
      message: `not enough credits for another profile at ${formatCredits(options.price)}: the balance is ${balance === undefined ? "used up" : formatCredits(balance)}; ${run.state.rows} rows are bought and kept`,
      ...(cause === undefined ? {} : { status: cause.status, cause }),
      ...(cause?.requestId === undefined ? {} : { requestId: cause.requestId }),
    });
  }

  /** What a page of so many rows may cost. */
  priceOf(rows: number): Credits {
    return priceOf(rows, this.#b.options.price);
  }
}
