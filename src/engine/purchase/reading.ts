// Tested by test/scene/keys.test.ts.
import { type Credits, credits, creditsText, ZERO } from "../../shared/contract/money.ts";
import { LostReplyError, ServiceError } from "../client/errors.ts";
import type { AccountView } from "../client/types.ts";
import type { Books } from "../runs/books.ts";
import { spentBeside } from "../runs/spend.ts";
import type { Budget } from "./budget.ts";
import type { Flight, Flown } from "./flight.ts";
import type { Buying } from "./settle.ts";
import { lasted, type Seller } from "./world.ts";

/**
 * How long nothing is asked before a reading that is to prove something: balances are late.
 * The shorter one is for those that were seen to show a charge at once.
 */
const REST_MS = 2_500;
const SHORT_REST_MS = 1_000;

/** The service may still be at work on a call whose reply was lost: its hold is no charge yet. */
const HELD_LOOKS = 5;
const HELD_MS = 500;

interface ReadingOptions extends Buying, Seller {
  /** As the account told it before anything was bought; undefined: it tells none. */
  readonly balance: Credits | undefined;
}

interface ReadingParts {
  readonly flight: Flight;
  readonly budget: Budget;
}

const ALWAYS = (): boolean => true;

/** What the balance is read for, and when it is worth it: nothing else asks for it in a run. */
const NEEDS = {
  /** Room is lacking, or an answer ends the run: what is in doubt may have been free. */
  room: ({ isRead, unread, wantsRest }: Books): boolean => unread > 0n && (!isRead || wantsRest),
  /** A promise, a guess, or what was free is held against it before anything else goes out. */
  belief: ({ isUnseen }: Books): boolean => isUnseen,
  /** Neither account nor answer told what a row costs. */
  price: ALWAYS,
  /** The balance may be used up, or topped up; or a promise of keys was believed long enough. */
  funds: ALWAYS,
  /** Everything is bought, or nothing more is. */
  end: ({ isRead }: Books): boolean => !isRead,
};

/**
 * The one mechanism where money is in doubt (docs/explanation/caps.md): what is
 * under way lands, the free balance is read, and the books have it.
 */
export class BalanceReading {
  readonly #options: ReadingOptions;
  readonly #parts: ReadingParts;
  #turn: Promise<unknown> = Promise.resolve();
  #toldOf: Credits;
  /** An account that tells no balance is not asked for it. */
  #isMute: boolean;

  constructor(options: ReadingOptions, parts: ReadingParts) {
    this.#options = options;
    this.#parts = parts;
    this.#toldOf = options.run.state.uncertain;
    this.#isMute = options.balance === undefined;
  }

  /**
   * Reads it where that is needed for something, and told.
   * @param flown is in doubt itself, and goes on after it
   * @param before is called with what is left beside what the service holds, before it is a fact
   * @returns whether it is known; false: the account does not tell it now
   */
  async take(
    need: keyof typeof NEEDS,
    flown?: Flown,
    before?: (free: Credits) => Promise<void>,
  ): Promise<boolean> {
    const { budget, flight } = this.#parts;
    const isNeeded = (): boolean => NEEDS[need](this.#options.run.state.books);
    if (!isNeeded() || this.#isMute) return !isNeeded();
    const phase = flown?.phase ?? "flying";
    if (flown !== undefined) flight.turn(flown, "doubt");

    const read = async (): Promise<boolean> => {
      // What is not there yet would be taken for what is free.
      const isPromised = flown === undefined || budget.isPromised(flown.unit);
      const isProof = need === "price" || (need === "funds" && !isPromised);
      return !isNeeded() || (await this.#account(isProof, before));
    };
    const turn = this.#turn.then(() => flight.quiet(read));
    this.#turn = turn.catch(() => undefined);
    try {
      const isKnown = await turn;
      if (isKnown && flown !== undefined) flight.mark(flown, { alone: true });
      return isKnown;
    } finally {
      if (flown !== undefined) flight.turn(flown, phase);
    }
  }

  async #account(isProof: boolean, before?: (free: Credits) => Promise<void>): Promise<boolean> {
    const { interrupted, now, run, sleep } = this.#options;
    const { isPrompt, wantsRest } = run.state.books;
    const ms = isPrompt ? SHORT_REST_MS : REST_MS;
    // Nobody waits for a proof where the run is stopped.
    const rested = (isProof || wantsRest) && (await lasted(sleep, ms, interrupted));

    const askedAt = now();
    const account = await this.#told();
    const { balance, held = ZERO } = account ?? {};
    this.#isMute ||= account !== undefined && balance === undefined;
    if (balance === undefined) return false;
    await before?.(credits(balance - held));

    await run.append({
      t: "quiet",
      balance,
      rested: rested || undefined,
      ...(await spentBeside(run, balance, { until: askedAt })),
      askedAt,
      at: now(),
    });
    this.#parts.budget.balance = balance;
    this.#say();
    return true;
  }

  async #told(): Promise<AccountView | undefined> {
    const { client, sleep } = this.#options;
    try {
      for (let looks = 0; ; looks++) {
        const account = await client.account();
        if (looks === HELD_LOOKS || (account.held ?? ZERO) <= 0n) return account;
        await sleep(HELD_MS);
      }
    } catch (error) {
      // What is in doubt stays so, and counts.
      if (error instanceof ServiceError || error instanceof LostReplyError) return undefined;
      throw error;
    }
  }

  /** What no reading proved yet, as it grows. */
  #say() {
    const { uncertain } = this.#options.run.state;
    const more = credits(uncertain - this.#toldOf);
    this.#toldOf = uncertain;
    if (more > 0n)
      this.#options.onNotice?.(
        `${creditsText(more)} may have been charged for what was lost, failed ` +
          "or said otherwise, and count against the cap",
      );
  }
}
