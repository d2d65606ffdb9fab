// Tested by test/scene/keys.test.ts.
import { type Credits, credits, creditsText, ZERO } from "../../shared/contract/money.ts";
import { LostReplyError, ServiceError } from "../client/errors.ts";
import type { AccountView } from "../client/types.ts";
import { creditText, creditTextIf, type QuietRecord } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { spentBeside } from "../runs/spend.ts";
import type { Budget } from "./budget.ts";
import type { Flight, Flown, FreeBalance, Told } from "./flight.ts";
import type { Clock, Seller } from "./world.ts";

/**
 * How long nothing is asked before a reading that is to prove something: balances are late.
 * The shorter one is for those that were seen to show a charge at once.
 */
const REST_MS = 2_500;
const SHORT_REST_MS = 1_000;

/** The service may still be at work on a call whose reply was lost: its hold is no charge yet. */
const HELD_LOOKS = 5;
const HELD_MS = 500;

interface ReadingOptions extends Clock, Seller {
  readonly run: Run;
  /** As the account told it before anything was bought; undefined: it tells none. */
  readonly balance: Credits | undefined;
  readonly interrupted: AbortSignal;
  readonly onNotice?: ((text: string) => void) | undefined;
}

interface ReadingParts {
  readonly flight: Flight;
  readonly budget: Budget;
}

/**
 * The one mechanism where money is in doubt (docs/explanation/caps.md): what is
 * under way lands, the free balance is read, and the books have it.
 */
export class BalanceReading implements FreeBalance {
  readonly #options: ReadingOptions;
  readonly #parts: ReadingParts;
  #toldOf: Credits = ZERO;
  /** An account that tells no balance is not asked for it. */
  #isMute: boolean;

  constructor(options: ReadingOptions, parts: ReadingParts) {
    this.#options = options;
    this.#parts = parts;
    this.#toldOf = options.run.state.uncertain;
    this.#isMute = options.balance === undefined;
  }

  /**
   * What our other runs settled since the balance was last read: asked where something is gone
   * that no answer of this run explains. @param used told by the answer that it came with
   */
  async beside(
    balance: Credits,
    used: Credits = ZERO,
  ): Promise<Pick<QuietRecord, "beside" | "own">> {
    const { run } = this.#options;
    const { books } = run.state;
    if (books.restOf(balance, used) === 0n) return {};
    const { beside, own } = await spentBeside(run, books.lastRead);
    return { beside: creditTextIf(beside || undefined), own: creditTextIf(own || undefined) };
  }

  /**
   * @param flown is in doubt itself, and goes on after it
   * @param isRested whether it is to be believed that nothing fell
   * @param before is called with what the account tells, before that is a fact
   * @returns undefined where the account does not tell its balance now
   */
  async take(
    flown?: Flown,
    isRested = false,
    before?: (account: Told) => Promise<void>,
  ): Promise<Told | undefined> {
    const { flight } = this.#parts;
    if (this.#isMute) return undefined;
    if (flown !== undefined) flight.turn(flown, "doubt");
    try {
      while (flown === undefined ? flight.count("flying", "keeping") > 0 : flight.mustWait(flown))
        await flight.change();

      const account = await this.#account(isRested, before);
      if (account !== undefined && flown !== undefined) flight.mark(flown, { alone: true });
      return account;
    } finally {
      if (flown !== undefined) flight.turn(flown, "flying");
    }
  }

  async #account(
    isRested: boolean,
    before?: (account: Told) => Promise<void>,
  ): Promise<Told | undefined> {
    const { run, now } = this.#options;
    const rested = (isRested || run.state.books.wantsRest) && (await this.#rest());

    const askedAt = now();
    const account = await this.#told();
    const { balance } = account ?? {};
    this.#isMute = account !== undefined && balance === undefined;
    if (account === undefined || balance === undefined) return undefined;
    const told = { ...account, balance };
    await before?.(told);

    await run.append({
      t: "quiet",
      balance: creditText(balance),
      rested: rested || undefined,
      ...(await this.beside(balance)),
      askedAt,
      at: now(),
    });
    this.#parts.budget.balance = balance;
    this.#say();
    return told;
  }

  /** @returns false where the run is stopped: nobody waits for a proof then */
  async #rest(): Promise<boolean> {
    const { interrupted } = this.#options;
    if (interrupted.aborted) return false;
    const ms = this.#options.run.state.books.isPrompt ? SHORT_REST_MS : REST_MS;
    await this.#options.sleep(ms, interrupted).catch((error: unknown) => {
      if (!interrupted.aborted) throw error;
    });
    return !interrupted.aborted;
  }

  async #told(): Promise<AccountView | undefined> {
    const { client, sleep } = this.#options;
    try {
      let account = await client.account();
      for (let look = 0; look < HELD_LOOKS && (account.held ?? ZERO) > 0n; look++) {
        await sleep(HELD_MS);
        account = await client.account();
      }
      return account;
    } catch (error) {
      // What is in doubt stays so, and counts.
      if (error instanceof ServiceError || error instanceof LostReplyError) return undefined;
      throw error;
    }
  }

  /** What no reading proved yet, as it grows. */
  #say(): void {
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
