import { type LostReplyError, ServiceError, WaitTooLongError } from "../client/errors.ts";
import { nextWait } from "../client/retry.ts";
import type { PagePosition, PageReply } from "../client/types.ts";
import { affordableRows, type Credits, credits, minCredits, ZERO } from "../contract/money.ts";
import type { Budget } from "./budget.ts";
import type { Active, Buying } from "./flight.ts";
import { asLost, smallerPage } from "./replies.ts";
import type { Keeper } from "./settle.ts";

/** Attempts at one page before the service counts as failed. */
const ATTEMPTS = 10;

/** Asks for units: waits for their turn, tries again where that is safe, and deals with what the service says to them. */
export class Attempts {
  readonly #b: Buying;
  readonly #budget: Budget;
  readonly #keeper: Keeper;
  #lowered = false;
  #lowering = 0;

  constructor(buying: Buying, budget: Budget, keeper: Keeper) {
    this.#b = buying;
    this.#budget = budget;
    this.#keeper = keeper;
  }

  /** Whether the size of the pages is just being lowered: nothing else is to be asked for. */
  get isLowering(): boolean {
    return this.#lowering > 0;
  }

  /** One unit, with its attempts, to its end: settled, given back, or left pending with the failure that stops the run. */
  async ask(active: Active): Promise<void> {
    const { options } = this.#b;
    const { intent } = active.unit;
    const position: PagePosition = {
      offset: intent.offset,
      perPage: intent.perPage,
      ...(intent.cursor === undefined ? {} : { cursor: intent.cursor }),
    };
    let faults = 0;
    let refusals = 0;
    for (;;) {
      let reply: PageReply;
      try {
        await this.#takeTurn();
        reply = await options.source.call(intent.target, position, { idempotencyKey: intent.key });
      } catch (error) {
        if (this.#b.halt.aborted && error === this.#b.halt.reason) return this.#abandon(active);
        const lost = asLost(error);
        if (lost === undefined && (await this.#refused(active, error))) return;
        if (lost?.sent === true) {
          active.sent = true;
          if (!this.#b.honoursKeys && !(await this.#settleDoubt(active, lost))) return;
        }
        const limited = error instanceof ServiceError && error.status === 429;
        if (limited) refusals++;
        else faults++;
        const { now, sleep, random, maxWaitMs } = options;
        const policy = { now, sleep, random, maxWaitMs, attempts: ATTEMPTS };
        const wait = nextWait(lost ?? error, limited ? refusals : faults, policy);
        if (wait === undefined) throw error;
        const why = limited ? "the rate limit" : (lost ?? (error as Error)).message;
        if (!(await this.#pause(wait.ms, wait.reason, why))) return this.#abandon(active);
        continue;
      }
      this.#lowered = false;
      return this.#keeper.receive(active, reply);
    }
  }

  /** Stopped between two attempts: what may have been charged stays pending, what was never sent is given back. */
  async #abandon(active: Active): Promise<void> {
    if (active.sent) this.#b.active.delete(active.unit.intent.n);
    else await this.#keeper.giveUp(active.unit, "not sent");
    this.#b.signal();
  }

  /** Waits for a turn in the shared bucket of this key. */
  async #takeTurn(): Promise<void> {
    const { pacer, maxWaitMs, now } = this.#b.options;
    const turnOf = pacer.take();
    if (turnOf.waitMs <= 0 && turnOf.kind === "go") return;
    if (turnOf.waitMs > maxWaitMs) {
      const resetAt = turnOf.kind === "exhausted" ? turnOf.resetAt : now() + turnOf.waitMs;
      throw new WaitTooLongError(turnOf.waitMs, maxWaitMs, resetAt, undefined);
    }
    const why = turnOf.kind === "exhausted" ? "the calls of the day are used up" : "the rate limit";
    if (!(await this.#pause(turnOf.waitMs, "rate_limit", why))) throw this.#b.halt.reason;
  }

  /** @returns false where the run was stopped meanwhile */
  async #pause(ms: number, reason: "rate_limit" | "retry", why: string): Promise<boolean> {
    const { now, sleep } = this.#b.options;
    this.#b.progress({ reason, until: now() + ms, why });
    try {
      await sleep(ms, this.#b.halt);
      return !this.#b.stopped;
    } catch (error) {
      if (this.#b.halt.aborted) return false;
      throw error;
    } finally {
      this.#b.progress(undefined);
    }
  }

  /**
   * An answer that says no. Never charged (contract section 7).
   * @returns whether it was dealt with; false: another attempt may help
   */
  async #refused(active: Active, error: unknown): Promise<boolean> {
    if (!(error instanceof ServiceError)) return false;
    const b = this.#b;
    const { intent } = active.unit;
    const { status, detail } = error;
    if (status === 404 && b.options.source.missing && error.envelope) {
      await this.#keeper.miss(active);
      return true;
    }
    if (status === 402) {
      await this.#lowerToBalance(active, error);
      return true;
    }
    if (status !== 422 && status !== 413) return false;
    const text = detail.join("; ");
    if (status === 422 && /depth|deep|reaches row|goes to row|beyond/i.test(text)) {
      b.wall ??= { offset: intent.offset, detail: text };
      b.agenda.cut(intent.target, intent.offset);
      await this.#keeper.giveUp(active.unit, "deeper than the service goes", false);
      return true;
    }
    if (status === 413 || /per[_ -]?page|page[_ -]?size|limit/i.test(text)) {
      const max = smallerPage(text, intent.perPage);
      if (max === undefined) return false;
      b.agenda.lowerPerPage(max);
      await b.run.append({ t: "learned", perPageMax: b.agenda.perPage });
      b.options.onNotice?.(`the service gives at most ${b.agenda.perPage} profiles a page; going on with that`);
      await this.#keeper.giveUp(active.unit, `more than ${max} rows a page`);
      return true;
    }
    return false;
  }

  /** 402: the hold was too large for the balance. Once, and again only after progress, with what the balance covers. */
  async #lowerToBalance(active: Active, error: ServiceError): Promise<void> {
    this.#lowering++;
    try {
      await this.#keeper.giveUp(active.unit, "not enough credits for the hold");
      if (this.#lowered) throw this.#budget.usedUp(error);
      await this.#lower(active, error);
    } finally {
      this.#lowering--;
      this.#b.signal();
    }
  }

  async #lower(active: Active, error: ServiceError): Promise<void> {
    const b = this.#b;
    const { client, price } = b.options;
    while (b.count("flying", "keeping") > 0) {
      await b.change();
      if (b.stopped || this.#lowered) return;
    }
    this.#lowered = true;
    let free = error.creditsRemaining;
    try {
      const account = await client.account(b.halt);
      if (account.balance !== undefined) free = credits(account.balance - (account.held ?? ZERO));
    } catch {
      // The error's own balance is all there is.
    }
    const rows = free === undefined ? 0 : affordableRows(free, price);
    if (rows < 1) throw this.#budget.usedUp(error);
    this.#budget.setBalance(free, false);
    const asked = active.unit.intent.perPage;
    if (rows >= asked) b.agenda.lowerPerPage(Math.floor(asked / 2));
    b.options.onNotice?.(`the balance covers ${rows} more; going on with smaller pages`);
  }

  /**
   * A reply was lost and nobody knows whether this service honours the key: as soon as nothing else is in flight, the free
   * balance tells. What it cannot explain is booked as uncertain, inside the cap.
   * @returns whether another attempt may be made under the cap
   */
  async #settleDoubt(active: Active, lost: LostReplyError): Promise<boolean> {
    const b = this.#b;
    const budget = this.#budget;
    active.phase = "doubt";
    b.signal();
    // Each in doubt looks at the balance in turn, the lowest number first, while nothing else moves it.
    const mustWait = ({ phase, unit }: Active): boolean =>
      phase === "flying" || phase === "keeping" || (phase === "doubt" && unit.intent.n < active.unit.intent.n);
    while ([...b.active.values()].some(mustWait)) await b.change();
    const after = await this.#balanceAfter();
    const before = budget.balance;
    const gone = before === undefined || after === undefined ? active.hold : credits(before - after);
    const uncertain = minCredits(gone, active.hold);
    if (after !== undefined) budget.setBalance(after, budget.sure);
    if (uncertain > 0n) await this.#keeper.bookUncertain(active.unit, uncertain, lost.message);
    if (before !== undefined && after !== undefined && gone > active.hold)
      await this.#keeper.bookForeign(credits(gone - active.hold));
    active.phase = "flying";
    b.signal();
    const room = budget.room();
    // This unit's own hold is in the sum already.
    if (room === undefined || room >= 0n) return true;
    await this.#keeper.giveUp(active.unit, "the cap leaves no room for another attempt");
    return false;
  }

  /** The balance once the service is no longer at work on a call whose reply was lost: its hold is not yet a charge. */
  async #balanceAfter(): Promise<Credits | undefined> {
    const { client, sleep } = this.#b.options;
    try {
      let account = await client.account();
      for (let look = 0; look < 5 && (account.held ?? ZERO) > 0n; look++) {
        await sleep(500);
        account = await client.account();
      }
      return account.balance;
    } catch {
      return undefined;
    }
  }
}
