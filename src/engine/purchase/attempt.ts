import {
  affordableRows,
  type Credits,
  credits,
  maxCredits,
  minCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { grouped, whole } from "../../shared/contract/text.ts";
import type { CliError } from "../../shared/errors.ts";
import { LostReplyError, ServiceError } from "../client/errors.ts";
import { asLost, depthIn, isTooDeep, sizeRefusal } from "../client/refusal.ts";
import { type CallAttempts, callAttempts } from "../client/retry.ts";
import type { AccountView, PageReply } from "../client/types.ts";
import { hasOutlivedKey, OUTLIVED, type Unit } from "../runs/journal.ts";
import { chargedForError, drawnSize, drawnTooDeep, otherPaging } from "./failures.ts";
import type { Flown } from "./flight.ts";
import type { Wall } from "./remaining.ts";
import { FORGOTTEN, type Settlement, type SettlementParts, UNTOLD } from "./settle.ts";
import type { Source } from "./source.ts";
import type { Clock, Seller, Wait } from "./world.ts";

const ATTEMPTS = 10;
/**
 * Sizes of pages that are tried, free of charge, before a refusal counts as one of something else.
 */
const MOST_SIZES = 10;

export interface AttemptOptions extends Clock, Pick<Seller, "client" | "pacer" | "maxWaitMs"> {
  readonly source: Source;
  readonly onWait: (wait: Wait | undefined) => void;
  readonly onNotice?: ((text: string) => void) | undefined;
}

export interface AttemptParts extends Pick<SettlementParts, "flight" | "budget" | "remaining"> {
  readonly settlement: Settlement;
}

/**
 * One paid call to its end: waits its turn, tries
 * again where that is safe, and deals with refusals.
 */
export class Attempts {
  readonly #options: AttemptOptions;
  readonly #parts: AttemptParts;
  wall: Wall | undefined;
  #refusedSizes = 0;
  #lowered = false;
  #lowering = 0;

  constructor(options: AttemptOptions, parts: AttemptParts) {
    this.#options = options;
    this.#parts = parts;
  }

  get isLowering(): boolean {
    return this.#lowering > 0;
  }

  /**
   * One unit to its end: settled, given back, or left pending with the failure that stops the run.
   */
  async ask(flown: Flown): Promise<void> {
    const { source, now } = this.#options;
    const { target, offset, perPage, cursor, key } = flown.unit.intent;
    const position = { offset, perPage, ...(cursor === undefined ? {} : { cursor }) };
    const attempts = callAttempts({ ...this.#options, attempts: ATTEMPTS });

    for (;;) {
      let reply: PageReply;
      let turnAt = now();
      try {
        await this.#takeTurn();
        turnAt = now();
        // A machine that slept for a day wakes in the middle of a wait.
        if (this.#hasOutlived(flown) && !(await this.#settleDoubt(flown, OUTLIVED))) return;
        // A promise is believed of one lost reply.
        if (flown.lost > 1 && !(await this.#settleDoubt(flown, FORGOTTEN))) return;
        await this.#parts.settlement.sendAgain(flown.unit);
        reply = await source.call(target, position, { idempotencyKey: key });
      } catch (error) {
        if (this.#parts.flight.stopped && error === this.#parts.flight.halt.reason)
          return this.abandon(flown);
        const again = await this.#mayTryAgain(flown, error, attempts, now() - turnAt).catch(
          async (failure: unknown) =>
            Promise.reject(await this.#unlessCharged(flown, error, failure)),
        );
        if (!again) return;
        continue;
      }

      this.#lowered = false;
      this.#refusedSizes = 0;
      return this.#parts.settlement.receive(flown, await this.#asOfNow(flown, reply));
    }
  }

  /**
   * A stored reply's balance is of then, and a price
   * that nobody told needs one: the account tells it.
   */
  async #asOfNow(flown: Flown, reply: PageReply): Promise<PageReply> {
    const { flight, budget } = this.#parts;
    const isUntold = !budget.priceKnown && reply.meta.creditsRemaining === undefined;
    if (!flown.alone || reply.replayed || !(flown.sent || isUntold)) return reply;
    flight.turn(flown, "doubt");
    return { ...reply, meta: { ...reply.meta, creditsRemaining: await this.#balanceAfter(false) } };
  }

  /**
   * Waits where another attempt may help.
   * @returns whether to; false: the unit is over.
   * @throws the error otherwise
   */
  async #mayTryAgain(
    flown: Flown,
    error: unknown,
    attempts: CallAttempts,
    tookMs: number,
  ): Promise<boolean> {
    const loss = asLost(error);
    if (loss?.wasSent === true)
      this.#parts.flight.mark(flown, { sent: true, lost: flown.lost + 1 });
    if (error instanceof ServiceError) await this.#bookRefusal(flown, error);
    if (loss === undefined && (await this.#refused(flown, error))) return false;

    const isDoubted = loss?.wasSent === true && !this.#isKnown(flown);
    if (isDoubted && !(await this.#settleDoubt(flown, `a reply was lost (${loss.message})`)))
      return false;

    const wait = attempts.after(loss ?? error, tookMs);
    if (wait === undefined) throw error;

    const why = wait.reason === "rate_limit" ? "the rate limit" : wait.error.message;
    const isAgain = await this.#pause(wait.ms, wait.reason, why);
    const { budget } = this.#parts;
    // Answers that claim to be free may have used up the cap.
    const isCapDoubted =
      loss === undefined && budget.balance !== undefined && !budget.fitsUnproven(ZERO);

    if (!isAgain) await this.abandon(flown);
    else if (isCapDoubted) return this.#settleDoubt(flown, UNTOLD, ZERO);

    return isAgain;
  }

  /**
   * Books what an answer that is no success cost.
   * @throws where it was charged: it is not asked again
   */
  async #bookRefusal(flown: Flown, error: ServiceError): Promise<void> {
    const { unit } = flown;
    const { status, creditsUsed = ZERO } = error;
    const before = unit.uncertain;

    await this.#parts.settlement.refusal(flown, error);
    if (this.#isMiss(error)) return this.#learnMiss(flown, error, before);

    const isFault =
      error.envelope &&
      (status >= 500 || status < 300) &&
      !this.#parts.settlement.trusts(flown, status);
    const isDoubted = isFault && this.#parts.budget.unproven > 0n;
    // Whether it or the lost reply was charged under
    // the key, the look before the next attempt tells.
    if (isDoubted && this.#isPromised(flown))
      this.#parts.flight.mark(flown, { lost: flown.lost + 1 });

    const isSeen =
      isDoubted &&
      !this.#isPromised(flown) &&
      (await this.#look(flown, `the answer ${status}`, false));
    const charged = credits(unit.uncertain - before);
    if (creditsUsed <= 0n && !(isFault && charged > 0n)) return;

    this.#parts.flight.mark(flown, { sent: true });
    throw chargedForError(error, charged, isSeen !== false);
  }

  /** What the first miss cost is known before the next call. */
  async #learnMiss(
    flown: Flown,
    { status, creditsUsed = ZERO }: ServiceError,
    before: Credits,
  ): Promise<void> {
    const { budget } = this.#parts;
    const isDoubted = budget.unproven > 0n && budget.balance !== undefined;
    const isFirst = budget.missCost === undefined && isDoubted;
    const seen = isFirst && (await this.#look(flown, `the answer ${status}`, false));
    const cost = credits(flown.unit.uncertain - before);
    // Another call may begin while the balance is looked at.
    const isTold = creditsUsed > 0n || (isFirst ? seen === "whole" : budget.isExact(flown));

    // What one look finds may be of several that came at once.
    if (isTold || (seen && cost === 0n && !budget.doubtsMisses))
      budget.missCost = budget.mostOf(cost);
    budget.doubtsMisses = budget.missCost === undefined && (budget.doubtsMisses || cost > 0n);
  }

  /** What ends a run is free only where its own balance or the account's shows that. */
  async #unlessCharged(flown: Flown, answer: unknown, failure: unknown): Promise<unknown> {
    const { budget, flight, settlement } = this.#parts;
    const isAnswer =
      answer instanceof ServiceError && answer.status !== 402 && asLost(answer) === undefined;
    if (!isAnswer || this.#isPromised(flown) || settlement.trusts(flown, answer.status))
      return failure;

    const before = flown.unit.uncertain;
    const isFree = budget.showsFree(flown, answer);
    const isSeen = isFree || (await this.#look(flown, `the answer ${answer.status}`, false, ZERO));
    const charged = credits(flown.unit.uncertain - before);
    if (isSeen && charged <= 0n) answer.creditsUsed ??= ZERO;
    if (charged <= 0n) return failure;

    flight.mark(flown, { sent: true });
    return chargedForError(answer, charged, isSeen !== false);
  }

  /** Whether a reply that was lost may come again under its key, at no further charge. */
  #isPromised(flown: Flown): boolean {
    return flown.lost > 0 && this.#isKnown(flown);
  }

  #isKnown({ unit }: Flown): boolean {
    return this.#parts.settlement.honoursKeys && !hasOutlivedKey(unit, this.#options.now());
  }

  #hasOutlived(flown: Flown): boolean {
    const { unit, sent } = flown;
    return (
      sent && this.#parts.settlement.honoursKeys && unit.uncertain === 0n && !this.#isKnown(flown)
    );
  }

  #isMiss({ status, envelope }: ServiceError): boolean {
    return status === 404 && this.#options.source.missing && envelope;
  }

  /** One that may have been sent stays pending, under its key. */
  async abandon({ unit, sent }: Flown): Promise<void> {
    const { flight, settlement } = this.#parts;
    if (sent) flight.remove(unit);
    else await settlement.giveUp(unit, flight.stopped ? "not sent" : "no longer fits");
  }

  async #takeTurn(): Promise<void> {
    const { pacer, maxWaitMs } = this.#options;
    const waitMs = pacer.take();
    // What is too long is left to the service: it may know better, and its refusal says until when.
    if (waitMs <= 0 || waitMs > maxWaitMs) return;
    if (!(await this.#pause(waitMs, "rate_limit", "the rate limit")))
      throw this.#parts.flight.halt.reason;
  }

  /** @returns false where the run was stopped meanwhile */
  async #pause(ms: number, reason: Wait["reason"], why: string): Promise<boolean> {
    const { now, sleep, onWait } = this.#options;
    onWait({ reason, until: now() + ms, why });

    try {
      await sleep(ms, this.#parts.flight.halt);
      return !this.#parts.flight.stopped;
    } catch (error) {
      if (this.#parts.flight.stopped) return false;
      throw error;
    } finally {
      onWait(undefined);
    }
  }

  /**
   * An answer that says no; never charged (docs/contract.md, "Errors").
   * @returns whether it was dealt with
   */
  async #refused(flown: Flown, error: unknown): Promise<boolean> {
    if (!(error instanceof ServiceError)) return false;

    const { unit } = flown;
    const { target, offset, perPage } = unit.intent;
    const { status, detail } = error;

    if (this.#isMiss(error)) {
      await this.#parts.settlement.miss(flown);
      return true;
    }
    if (status === 402) {
      await this.#lowerToBalance(flown, error);
      return true;
    }
    if (status !== 400 && status !== 422 && status !== 413) return false;

    // A web server's 413 names itself, and no size.
    const text = status === 413 ? detail.join("; ").replace(/\b413\b/g, "") : detail.join("; ");

    if (this.#options.source.forgiving === true && error.envelope) {
      await this.#parts.settlement.miss(flown, text);
      return true;
    }
    if (this.#options.source.page !== undefined)
      throw this.#drawnRefused(unit, status === 413, text) ?? error;

    const depth = status === 413 ? undefined : this.#depthIn(unit, text);
    if (depth !== undefined) {
      this.wall = { depth: Math.min(depth, this.wall?.depth ?? depth), detail: text };
      this.#parts.remaining.cut(target, offset);
      await this.#parts.settlement.giveUp(unit, "deeper than the service goes", false);
      return true;
    }

    const other = otherPaging(text, this.#options.client.dialect);
    if (other !== undefined) throw other;

    // A first page that is too deep is too large.
    return this.#resized(
      unit,
      status === 413 || isTooDeep(text) ? `page size: ${text}` : text,
      perPage,
    );
  }

  #depthIn({ intent: { offset, perPage } }: Unit, text: string): number | undefined {
    const wasGiven = this.#parts.remaining.sizes.accepted.has(perPage);
    return depthIn(text, { offset, wasGiven });
  }

  /** A page of a sample that the service does not give: no other takes its place. */
  #drawnRefused({ intent }: Unit, tooLarge: boolean, text: string): CliError | undefined {
    const { perPage } = intent;
    if (!tooLarge && isTooDeep(text)) return drawnTooDeep(text);
    const refusal = sizeRefusal(
      tooLarge ? `page size: ${text}` : text,
      perPage,
      this.#parts.remaining.sizes.accepted,
    );
    const other = otherPaging(text, this.#options.client.dialect);
    return other ?? (refusal && drawnSize(perPage, refusal, text));
  }

  /**
   * A refusal that may be about the size of a page: goes on with another.
   * @returns whether it was
   */
  async #resized(unit: Unit, text: string, perPage: number): Promise<boolean> {
    const refusal = sizeRefusal(text, perPage, this.#parts.remaining.sizes.accepted);
    if (refusal === undefined || ++this.#refusedSizes > MOST_SIZES) return false;

    if ("atMost" in refusal) {
      this.#parts.remaining.refuse(perPage);
      await this.#parts.settlement.lowerPerPage(refusal.atMost);
    } else {
      this.#parts.remaining.refuse(perPage, refusal.atLeast);
      this.#options.onNotice?.(
        `the service gives no page as small as ${perPage}; going on with larger ones`,
      );
    }

    await this.#parts.settlement.giveUp(unit, `no page of ${perPage} rows`);
    return true;
  }

  /**
   * 402: the hold was too large for the balance. Once, and
   * again only after progress, with what the balance covers.
   */
  async #lowerToBalance(flown: Flown, error: ServiceError): Promise<void> {
    this.#lowering++;

    const isSecond = this.#lowered;
    try {
      await this.#parts.settlement.giveUp(flown.unit, "not enough credits for the hold");
      await this.#lower(flown, error, isSecond);
    } catch (failure) {
      // Before another page goes out.
      this.#parts.flight.stop(failure);
      throw failure;
    } finally {
      this.#lowering--;
      this.#parts.flight.signal();
    }
  }

  async #lower(flown: Flown, error: ServiceError, isSecond: boolean): Promise<void> {
    const { flight, budget, remaining, settlement } = this.#parts;
    const { unit, hold } = flown;
    const size = unit.intent.perPage;

    while (flight.count("flying", "keeping") > 0) await flight.change();
    if (flight.stopped || this.#lowered !== isSecond) return;
    this.#lowered = true;

    // Without an account the error's own balance is all there is.
    const { client } = this.#options;
    const { balance, held = ZERO } = await client
      .account(flight.halt)
      .catch((): Partial<AccountView> => ({}));
    const free = balance === undefined ? error.creditsRemaining : credits(balance - held);
    const rows = free === undefined ? 0 : affordableRows(free, budget.price);
    // A balance that does not cover the hold bears it out: others spent what is gone.
    const own = rows < size || settlement.trusts(flown, 402) ? ZERO : hold;
    const fall = balance === undefined ? undefined : budget.look(balance);
    if (fall !== undefined)
      await settlement.explain(unit, { ...fall, most: credits(fall.most + own) }, "the answer 402");
    if (isSecond || rows < remaining.sizes.least) throw budget.usedUp(error);

    budget.setBalance(free, false);
    if (rows < size) {
      this.#options.onNotice?.(
        `the balance covers ${grouped(rows)} more; going on with smaller pages`,
      );
      return;
    }

    // Not the balance, then: the cap of the key, most likely.
    // A service that says what still fits is believed.
    const fits = whole(/\bper_page to (\d+)/.exec(error.detail.join(" "))?.[1], 1, size - 1);
    this.#parts.remaining.lowerPerPage(fits ?? Math.floor(size / 2));
    this.#options.onNotice?.(
      `refused (402): ${error.detail[0] ?? "no reason"}; going on with smaller pages`,
    );
  }

  /**
   * Whether a call that may have been charged is asked
   * again: the cap needs room for another charge.
   */
  async #settleDoubt(flown: Flown, why: string, unknown = flown.hold): Promise<boolean> {
    await this.#look(flown, why, unknown > 0n, unknown);
    // This unit's own hold is in the sum already.
    if (this.#parts.budget.room() >= 0n) return true;
    this.#parts.flight.shelve(flown.unit);
    this.#parts.flight.remove(flown.unit);
    return false;
  }

  /**
   * What a call cost is not known: the free balance tells what is uncertain.
   * @returns whether it was told; `whole`: the call alone moved it
   */
  async #look(
    flown: Flown,
    why: string,
    isLost: boolean,
    unknown = flown.hold,
  ): Promise<false | "told" | "whole"> {
    const { flight, budget, settlement } = this.#parts;
    const { unit, hold, lost } = flown;
    const isPromised = this.#isPromised(flown);

    flight.turn(flown, "doubt");
    try {
      while (flight.mustWait(flown)) await flight.change();

      const after = await this.#balanceAfter(isPromised);
      const drop = budget.gone(after);
      if (isPromised && drop !== undefined && (await this.#keepsPromise(flown, drop)))
        return "told";

      const charges = BigInt(isPromised ? lost : 1);
      const isWhole = !isLost && budget.isExact(flown);
      const fall = budget.look(after);
      // Each by itself: a stored reply that comes after all gives one of them back.
      const each = drop === undefined ? hold : minCredits(hold, credits(fall.gone / charges));
      for (let more = charges; more > 1n; more--) await settlement.bookUncertain(unit, each, why);

      const gone = credits(fall.gone - each * (charges - 1n));
      // Where nobody told the price the hold is a guess.
      const most = budget.priceKnown && !isWhole ? maxCredits(hold, fall.most) : gone;
      // What is gone beyond it may be what others in doubt
      // were charged: it is left for their own looks to find.
      const theirs = maxCredits(
        ZERO,
        minCredits(credits(gone - most), credits(flight.held("doubt") - hold)),
      );

      if (after !== undefined) budget.setBalance(credits(after + theirs), budget.sure);
      if (drop !== undefined)
        await settlement.explain(unit, { gone: credits(gone - theirs), most }, why);
      else if (unknown > 0n) await settlement.bookUncertain(unit, unknown, why);

      flight.mark(flown, { lost: 0, seen: ZERO, alone: after !== undefined });
      return drop !== undefined && (isWhole ? "whole" : "told");
    } finally {
      flight.turn(flown, "flying");
    }
  }

  /** Whether the balance fell no more than once for replies that were lost under one key. */
  async #keepsPromise(flown: Flown, gone: Credits): Promise<boolean> {
    const { flight, settlement } = this.#parts;
    const { hold, lost, seen } = flown;
    const ours = credits(gone - (await settlement.beside(gone)) - flight.held("doubt") + hold);
    flight.mark(flown, { seen: ours });
    return ours <= 0n || (ours < hold * BigInt(lost) && (seen <= 0n || ours <= seen));
  }

  /**
   * Once the service is no longer at work on a call
   * whose reply was lost: its hold is not yet a charge.
   */
  async #balanceAfter(isNeeded: boolean): Promise<Credits | undefined> {
    const { client, sleep } = this.#options;
    try {
      let account = await client.account();
      for (let look = 0; look < 5 && (account.held ?? ZERO) > 0n; look++) {
        await sleep(500);
        account = await client.account();
      }
      return account.balance;
    } catch (error) {
      if (isNeeded) throw new LostReplyError((error as Error).message, "ACCOUNT", false, error);
      return undefined;
    }
  }
}
