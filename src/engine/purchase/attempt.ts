// Tested by test/scene/errors.test.ts.
import { type Credits, credits, maxCredits, ZERO } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { PageTurns } from "../client/declared-limit.ts";
import { LostReplyError, ServiceError } from "../client/errors.ts";
import { asLost, smallerSize, USUAL_BOUNDS } from "../client/refusal.ts";
import { CallAttempts } from "../client/retry.ts";
import type { PageReply } from "../client/types.ts";
import { isFault, type Unit } from "../runs/journal.ts";
import { chargedForError, drawnRefused } from "./failures.ts";
import type { Flown } from "./flight.ts";
import { cursorGone } from "./page-failures.ts";
import type { Wall } from "./remaining.ts";
import type { Buying, Settlement, SettlementParts } from "./settle.ts";
import type { Source } from "./source.ts";
import { lasted, type Seller, type Wait } from "./world.ts";

const ATTEMPTS = 10;
const ONCE_MORE_MS = 1_000;
/**
 * Sizes of pages that are tried, free of charge, before a refusal counts as one of something else.
 */
const MOST_SIZES = USUAL_BOUNDS.length;

export interface AttemptOptions extends Buying, Seller {
  readonly source: Source;
  readonly onWait: (wait: Wait | undefined) => void;
}

export interface AttemptParts extends Pick<SettlementParts, "flight" | "budget" | "remaining"> {
  /** The free balance, read where money is in doubt (reading.ts). */
  readonly reading: {
    take(
      need: "room" | "funds",
      flown: Flown,
      before?: (free: Credits) => Promise<void>,
    ): Promise<boolean>;
  };
  readonly settlement: Settlement;
}

/**
 * One paid call to its end: waits its turn, tries
 * again where that is safe, and deals with refusals.
 */
export class Attempts {
  readonly #options: AttemptOptions;
  readonly #parts: AttemptParts;
  /** Where a limit is declared a page has its turn before it is asked for. */
  readonly turns: PageTurns;
  wall: Wall | undefined;
  /** Pages that were refused behind others, and are asked for once more. */
  readonly #refusedBehind = new Set<number>();
  #refusedSizes = 0;
  /** Pages that were planned before this one were so before a size was refused. */
  resizedBefore = 0;
  #lowered = false;

  constructor(options: AttemptOptions, parts: AttemptParts) {
    this.#options = options;
    this.#parts = parts;
    this.turns = new PageTurns(options, parts.flight);
  }

  /**
   * One unit to its end: settled, given back, or left pending with the failure that stops the run.
   */
  async ask(flown: Flown): Promise<void> {
    const { source, now } = this.#options;
    const { target, offset, perPage, cursor, key } = flown.unit.intent;
    const position = { offset, perPage, cursor };
    const attempts = new CallAttempts({ ...this.#options, attempts: ATTEMPTS });

    let wasCut = false;
    for (;;) {
      let reply: PageReply;
      let turnAt = now();
      try {
        await this.#takeTurn(flown);
        turnAt = now();
        if (!(await this.#mayGoOut(flown))) return;
        reply = await source.call(target, position, { idempotencyKey: key });
        // Under its key the same page costs nothing, and may come whole: what comes then is kept.
        if (reply.isCut && !wasCut && this.#parts.budget.isPromised(flown.unit)) {
          wasCut = true;
          throw new LostReplyError("the reply breaks off", "BROKEN_JSON", true);
        }
      } catch (error) {
        if (error === this.#parts.flight.failure) return this.abandon(flown);
        if (!(await this.#mayTryAgain(flown, error, attempts, now() - turnAt))) return;
        continue;
      }

      this.#lowered = false;
      this.#refusedSizes = 0;
      return this.#parts.settlement.receive(flown, reply);
    }
  }

  /**
   * Whether the cap has room for what asking again may cost: where
   * it does not, or a promise is to be looked at, the balance tells.
   */
  async #mayGoOut(flown: Flown): Promise<boolean> {
    const { budget, flight, reading, settlement } = this.#parts;
    const { unit } = flown;
    const { books } = this.#options.run.state;
    if (!books.isUnderWay(unit.attempt)) {
      const isRoomy = (): boolean => budget.fits(budget.riskOf(unit));
      // A promise is believed of one lost reply, and of one refusal.
      const isLostAgain = budget.isPromised(unit) && books.lossesOf(unit.intent.key) > 1;
      const isTried = isLostAgain || books.isTrusting;
      if (!isRoomy() || isTried) await reading.take(isTried ? "funds" : "room", flown);
      if (!isRoomy()) {
        flight.shelve(unit);
        flight.remove(unit);
        return false;
      }
      await settlement.sendAgain(unit, budget.isPromised(unit));
    }

    await flight.unbarred();
    // What barred the way may have shown that all is dearer.
    if (budget.fits(ZERO)) return true;
    await this.abandon(flown);
    return false;
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
    const { settlement } = this.#parts;
    const loss = asLost(error);
    if (loss?.wasSent) await settlement.loss(flown);
    else if (error instanceof ServiceError) {
      // Whether a 402 was one of the balance, the balance tells; what it says it took it took.
      const { creditsUsed = ZERO, status } = error;
      if (creditsUsed > flown.hold) this.#parts.flight.mark(flown, { bars: true });
      if (status !== 402 || creditsUsed > 0n) await settlement.refusal(flown, error);
      await this.#stopIfCharged(flown, error);
      const isAgain = await this.#refused(flown, error);
      if (isAgain !== undefined) return isAgain;
    }

    const wait = attempts.after(loss ?? error, tookMs);
    if (wait === undefined) throw error;

    const why = wait.reason === "rate_limit" ? "the rate limit" : wait.error.message;
    const isAgain = await this.#pause(flown, wait.ms, wait.reason, why);
    if (!isAgain) await this.abandon(flown);
    return isAgain;
  }

  /**
   * One refusal behind pages may be a bad minute; two are a wall, or a cursor that is gone. What
   * lies behind an end that is known is not asked for again.
   */
  async #asksOnceMore(flown: Flown, { detail, status }: ServiceError) {
    const { intent } = flown.unit;
    const behind = this.#refusedBehind;
    if (behind.has(intent.n) || this.#parts.remaining.isPastEnd(intent)) return false;
    behind.add(intent.n);
    return this.#pause(flown, ONCE_MORE_MS, "retry", detail[0] ?? `the answer ${status}`);
  }

  /**
   * What a refusal means is told in the order of the pages, not of the answers: waits for those of
   * its target that lie before it.
   * @returns whether there were any, and it may be of the same bad minute as theirs
   * @throws what stopped the run: it says nothing then
   */
  async #overtook(flown: Flown): Promise<boolean> {
    const { flight } = this.#parts;
    if (!flight.isBehind(flown)) return false;
    // As a doubt: no other page goes out, and a look at the balance waits for none that waits.
    flight.turn(flown, "doubt");
    while (flight.isBehind(flown)) await flight.change();
    flight.turn(flown, "flying");
    if (flight.stopped) throw flight.failure;
    return this.#refusedBehind.size > 0;
  }

  /** @throws where an answer was charged, or a fault may have been: it is not asked again */
  async #stopIfCharged(flown: Flown, error: ServiceError) {
    const { budget, flight, reading } = this.#parts;
    if (this.#isMiss(error)) return;

    // Who keeps keys is asked only of a call that was alone, and believed where nothing tells.
    const isPromised = budget.isPromised(flown.unit);
    const isLookedAt = isFault(error.status) && (!isPromised || flown.alone);
    const isSeen = !isLookedAt || (await reading.take("room", flown));
    const { books } = this.#options.run.state;
    const isOpen = isLookedAt && (isSeen || !isPromised);
    const doubt = isOpen ? books.doubtOf(flown.unit.attempt) : ZERO;
    const cost = credits(maxCredits(ZERO, error.creditsUsed ?? ZERO) + doubt);
    if (cost > 0n) {
      flight.mark(flown, { sent: true });
      throw chargedForError(error, cost, isSeen);
    }
    if (!isPromised) error.isFree = true;
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

  async #takeTurn(flown: Flown) {
    const { pacer, maxWaitMs } = this.#options;
    const waitMs = pacer.take();
    // What is too long is left to the service: it may know better, and its refusal says until when.
    if (waitMs <= 0 || waitMs > maxWaitMs) return;
    if (!(await this.#pause(flown, waitMs, "rate_limit", "the rate limit")))
      throw this.#parts.flight.failure;
  }

  /** @returns false where the run was stopped meanwhile */
  async #pause(flown: Flown, ms: number, reason: Wait["reason"], why: string): Promise<boolean> {
    const { now, sleep, onWait } = this.#options;
    const { flight } = this.#parts;
    onWait({ reason, until: now() + ms, why });
    flight.turn(flown, "paused");

    const isOn = await lasted(sleep, ms, flight.halt);
    flight.turn(flown, "flying");
    onWait(undefined);
    return isOn;
  }

  /**
   * An answer that says no; never charged (docs/reference/contract.md, "Errors").
   * @returns whether it is asked again; undefined: nothing is known that helps
   */
  async #refused(flown: Flown, error: ServiceError): Promise<boolean | undefined> {
    const { remaining, settlement } = this.#parts;
    const { source } = this.#options;
    const { unit } = flown;
    const { offset, perPage } = unit.intent;
    const { status, detail } = error;

    if (mayBeCursor(unit, error) && (await this.#asksOnceMore(flown, error))) return true;
    if (this.#isMiss(error)) {
      await settlement.miss(flown);
      return false;
    }
    if (status === 402) {
      await this.#lowerToBalance(flown, error);
      return false;
    }
    if (![400, 413, 422].includes(status)) return this.#cursorRefused(unit, error);

    const text = detail.join("; ");
    if (source.forgiving && error.envelope) {
      await settlement.miss(flown, text);
      return false;
    }
    if (source.page !== undefined)
      throw drawnRefused(perPage, text, remaining.sizes.accepted.has(perPage));
    // Who declares what pages there are refuses none of them for its size, nor for where it lies
    // before the depth that is declared, too.
    const { depth = Infinity } = this.#options.client.dialect;
    if (error.exact && offset < depth) return this.#cursorRefused(unit, error);

    if ((await this.#overtook(flown)) && (await this.#asksOnceMore(flown, error))) return true;
    if (status !== 413 && this.#isTooDeep(unit)) {
      if (await this.#asksOnceMore(flown, error)) return true;
      this.wall = { depth: Math.min(offset, this.wall?.depth ?? offset), detail: text };
      remaining.wallAt(unit.intent);
      await settlement.giveUp(unit, "deeper than the service goes");
      return false;
    }

    if (await this.#resized(flown, error)) return false;
    return this.#cursorRefused(unit, error);
  }

  /** @throws CliError where what is left to refuse is the cursor of a page */
  async #cursorRefused(unit: Unit, error: ServiceError): Promise<undefined> {
    if (!mayBeCursor(unit, error)) return;
    const { answered = error.status, detail } = error;
    await this.#parts.settlement.giveUp(unit, "its cursor is gone", false);
    throw cursorGone(unit.intent.offset, `${answered}: ${detail.join("; ")}`);
  }

  /**
   * Whether a page is refused for where it lies: one of its size came before, and it is behind rows
   * that came. What leads to a page, a cursor, is refused for itself.
   */
  #isTooDeep({ intent }: Unit): boolean {
    const { remaining } = this.#parts;
    const { offset, perPage, cursor } = intent;
    if (cursor !== undefined || offset === 0) return false;
    // Behind a page that was refused so it is the same refusal, whatever the size.
    return remaining.isPastEnd(intent) || remaining.sizes.accepted.has(perPage);
  }

  /**
   * A page of a size that did not come yet may be refused for that: goes on with larger ones where
   * such came, else with smaller ones.
   * @returns whether there is one to go on with
   */
  async #resized(flown: Flown, error: ServiceError): Promise<boolean> {
    const { reading, remaining, settlement } = this.#parts;
    const { unit } = flown;
    const { offset, perPage } = unit.intent;
    const { accepted, refused } = remaining.sizes;
    const isTooSmall = [...accepted].some((size) => size > perPage);
    const smaller = isTooSmall ? undefined : smallerSize(perPage);
    if (accepted.has(perPage) || ++this.#refusedSizes > MOST_SIZES) return false;
    if (!isTooSmall && smaller === undefined) {
      error.refusedSizes = [...refused, perPage];
      return false;
    }

    this.resizedBefore = this.#options.run.nextNumber();
    remaining.refuse(perPage, isTooSmall ? perPage + 1 : undefined, offset);
    if (smaller !== undefined) await settlement.lowerPerPage(smaller);
    else
      this.#options.onNotice?.(
        `the service refused a page as small as ${perPage}; going on with larger ones`,
      );

    // The next size needs the room that this one may have taken.
    await reading.take("room", flown);
    await settlement.giveUp(unit, `no page of ${perPage} rows`);
    return true;
  }

  /**
   * 402: the hold was too large for the balance: with what that covers, once, and again only after
   * progress. Or for the cap of the key: with smaller pages, as far down as there are any.
   */
  async #lowerToBalance(flown: Flown, error: ServiceError) {
    const { flight, budget, remaining, reading, settlement } = this.#parts;
    const { unit } = flown;
    const size = unit.intent.perPage;
    const isSecond = this.#lowered;
    // Until it is known what the next page may be none goes out.
    flight.turn(flown, "doubt");
    // Without an account the error's own balance is all there is.
    let free = error.creditsRemaining;

    const isTold = await reading.take("funds", flown, async (left) => {
      free = left;
      // A balance that does not cover the hold bears it out: others spent what is gone.
      if (budget.affordable(free) >= size) await settlement.refusal(flown, error);
    });
    if (!isTold) await settlement.refusal(flown, error);
    const why = "not enough credits for the hold";
    if (flight.stopped || this.#lowered !== isSecond) return settlement.giveUp(unit, why);

    this.#lowered = true;
    const rows = free === undefined ? 0 : budget.affordable(free);
    const isOfBalance = rows < size;
    // Not the balance, then: the cap of the key, most likely, which a smaller page may fit.
    const smaller = isOfBalance ? undefined : smallerSize(size, error.affordableRows);
    const isOver = isOfBalance ? isSecond || rows < remaining.smallestGiven : smaller === undefined;
    if (isOver) throw budget.usedUp(error);

    budget.balance = free;
    if (smaller !== undefined) remaining.lowerPerPage(smaller);
    this.#options.onNotice?.(
      isOfBalance
        ? `the balance covers ${grouped(rows)} more; going on with smaller pages`
        : `refused (402): ${error.detail[0] ?? "no reason"}; going on with smaller pages`,
    );
    await settlement.giveUp(unit, why);
  }
}

/** What was good once may be so no more, and nothing else leads to the rows behind it. */
const mayBeCursor = (
  { intent: { cursor } }: Unit,
  { isWithoutCursor, status }: ServiceError,
): boolean => cursor !== undefined && !isWithoutCursor && [400, 404, 410, 422].includes(status);
