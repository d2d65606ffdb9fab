import { isUtf8 } from "node:buffer";
import { setImmediate as turn } from "node:timers/promises";
import {
  type Credits,
  credits,
  creditsText,
  maxCredits,
  minCredits,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import type { ServiceError } from "../client/errors.ts";
import type { PageReply } from "../client/types.ts";
import { kindOf, readPage } from "../output/distinct.ts";
import { creditsOf, creditText, isBooked, type SettledRecord, type Unit } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { spentBeside } from "../runs/spend.ts";
import type { Budget, Fall } from "./budget.ts";
import {
  cursorTooLong,
  datasetMoved,
  drawnShort,
  impossibleCharge,
  pageTooLong,
  priceMoved,
  unreadablePage,
} from "./failures.ts";
import type { Flight, Flown } from "./flight.ts";
import type { ReorderBuffer } from "./in-order.ts";
import type { Remaining, Targets } from "./remaining.ts";
import type { Repeats } from "./repeats.ts";

export interface SettlementOptions {
  readonly run: Run;
  readonly now: () => number;
  /** When the balance was told that the buying began with: epoch milliseconds. */
  readonly since: number;
  readonly datasetVersion: string | null;
  readonly honoursKeys: boolean;
  readonly source: Targets;
  readonly onSettled: () => void;
  readonly onNotice?: ((text: string) => void) | undefined;
}

export interface SettlementParts {
  readonly flight: Flight;
  readonly budget: Budget;
  readonly remaining: Remaining;
  readonly buffer: ReorderBuffer;
  readonly repeats: Repeats;
}

export const UNTOLD = "the balance fell with an answer that was lost, or that says it cost less";
/** A promise to know keys is believed no more in this run. */
export const FORGOTTEN = "the balance fell again when a lost reply was asked for once more";

/**
 * Puts on the disk what happened, before anything is built
 * on it: replies and what settles them, amounts, refusals.
 */
export class Settlement {
  readonly #options: SettlementOptions;
  readonly #parts: SettlementParts;
  readonly #kind: RecordKind;
  /**
   * Falls of the balance that are not ours, and how
   * much of them our other runs were found to explain.
   */
  #others: Credits = ZERO;
  #siblings: Credits = ZERO;
  /** Whether a reply was looked at, in this session or an earlier one. */
  hasLooked = false;
  #movedTo: string | undefined;
  rowBytes = 1_200;
  written = 0;
  readonly #said = new Set<string>();

  constructor(options: SettlementOptions, parts: SettlementParts) {
    this.#options = options;
    this.#parts = parts;
    this.#kind = kindOf(options.run);
  }

  /**
   * Whether the service promises to know a key while it is used, and was not seen to forget one.
   */
  get honoursKeys(): boolean {
    return this.#options.honoursKeys && !this.#options.run.state.forgetsKeys;
  }

  restore(unit: Unit, settled: SettledRecord): void {
    // Another run paid for it: it tells nothing of what this service does now.
    if (settled.owned !== undefined) {
      this.#parts.remaining.learn(unit.intent, settled);
      this.#parts.buffer.add(unit, undefined);
      return;
    }

    const { budget } = this.#parts;
    budget.learnPrice(credits(creditsOf(settled.used) + doubtOf(unit)), placesOf(settled));
    if (settled.miss === true && creditsOf(settled.used) === 0n)
      budget.missCost = budget.mostOf(unit.uncertain);
    this.#learn(unit, settled);

    // A reply without rows is read once more when its turn comes, and says itself what it is.
    if (settled.rows > 0 || settled.impossible !== undefined) this.#check(unit);
    this.#parts.buffer.add(unit, undefined);
    this.hasLooked = true;
  }

  async receive(flown: Flown, reply: PageReply): Promise<void> {
    const { unit } = flown;
    const { flight, budget } = this.#parts;
    const { creditsUsed, creditsRemaining: remaining, datasetVersion } = reply.meta;
    const measured = flown.alone ? budget.gone(remaining) : undefined;
    const isExact = budget.isExact(flown);
    // A price that nobody told, or a call whose reply tells none: the balance does.
    const isOpen = isExact && !(budget.priceKnown && creditsUsed !== undefined);

    // What a lost reply cost has left the balance; where
    // this one cost nothing more, it is that charge again.
    const isSame =
      unit.uncertain > 0n && measured === 0n && creditsUsed !== undefined && creditsUsed > 0n;
    const replayed = reply.replayed || isSame;
    const charged = chargeOf(creditsUsed, budget.priceKnown ? undefined : measured);
    const atMost = charged ?? flown.hold;
    // No stored reply: those that were lost before it
    // cost as much, each, where their key was forgotten.
    const again =
      this.honoursKeys && !replayed ? credits((charged ?? ZERO) * BigInt(flown.lost)) : ZERO;

    flight.mark(flown, { sent: true });
    const { datasetVersion: expected } = this.#options;
    if (datasetVersion !== undefined && expected !== null && datasetVersion !== expected)
      flight.stop(datasetMoved(expected, datasetVersion));

    // The slot is free: the next request goes out before this
    // page is converted. It is on the wire two turns later.
    flight.turn(flown, "keeping");

    // The balance told with a stored reply is not the one of
    // now; what a look found gone for this unit is off already.
    const off = replayed ? minCredits(unit.uncertain, atMost) : ZERO;
    const most = isSame ? ZERO : maxCredits(ZERO, credits(budget.mostOf(flown.hold) - atMost));
    const doubted = { balance: replayed ? undefined : remaining, most: credits(most + again) };
    const fall = budget.charge(flown, { used: credits(atMost - off), ...doubted });
    let atRisk = credits(atMost + most + (isOpen ? (fall?.gone ?? ZERO) : (fall?.most ?? again)));
    budget.keeping(atRisk);
    await turn();
    await turn();

    const reading = readPage(reply.body, this.#kind);
    const rows = reading.page?.length ?? 0;
    const withheld = Math.min(reply.withheld, Math.max(0, unit.intent.perPage - rows));
    const used = charged ?? (reading.page === undefined ? flown.hold : budget.priceOf(rows));
    // Rows at the price of the quote leave no doubt: what is gone beyond them others spent.
    const doubt = credits(atMost + most - used);
    const suspect =
      rows === 0
        ? doubt
        : minCredits(doubt, maxCredits(ZERO, credits(budget.priceOf(rows) - used)));

    try {
      // Some services answer a look-up that found nothing with a success, and some charge it.
      const miss = this.#kind === "company" && reading.page?.length === 0;
      const facts = factsOf(reply, { replayed, withheld, miss });

      await this.#settle(unit, { rows, used: creditText(used), ...facts }, reply.body);
      // In the sum of what was charged from here on.
      budget.keeping(credits(-used));
      atRisk = credits(atRisk - used);

      const gone = credits((fall?.gone ?? ZERO) + atMost - used);
      const isForgotten = again > 0n && gone >= used;
      const less = credits(suspect - most - (isForgotten || fall === undefined ? ZERO : again));

      if (fall === undefined) budget.takeOff(credits(used - atMost), less);
      else {
        const isFirst = miss && isExact && used === 0n && budget.missCost === undefined;
        const ours = isOpen || isFirst ? gone : credits(fall.most + less);
        await this.explain(unit, { gone, most: ours }, isForgotten ? FORGOTTEN : UNTOLD);
        if (isFirst) budget.missCost = unit.uncertain;
      }
    } finally {
      budget.keeping(credits(-atRisk));
    }

    if (charged === undefined)
      this.#sayOnce("the service does not say what a call cost; booked at the price of the quote");
    budget.learnPrice(credits(used + doubtOf(unit)), rows + withheld);
    this.#handOn(flown, reply.body, reading);
  }

  /**
   * A reply that is kept: what it is like, whether it
   * came before, and whether anything is bought after it.
   */
  #handOn(flown: Flown, body: Buffer, { page, problem }: ReturnType<typeof readPage>): void {
    const { flight, repeats } = this.#parts;
    if (!isUtf8(body))
      this.#sayOnce(
        "a reply is not in UTF-8 and does not say in what: letters in it cannot be read",
      );

    this.written += body.length;
    if (page !== undefined) {
      if (page.length > 0) this.rowBytes = Math.max(this.rowBytes, body.length / page.length);
      repeats.see(flown.unit, page);
    }

    this.#finish(flown, page);
    if (problem === undefined) this.#check(flown.unit);
    else flight.stop(unreadablePage(problem, this.#options.run.placeOf(flown.unit)));
    flight.signal();
  }

  /** A target that the service does not know, or refuses to look up. @param refused in its words */
  async miss(flown: Flown, refused?: string): Promise<void> {
    const why = refused === undefined ? {} : { refused: refused.slice(0, 500) };
    await this.#settle(
      flown.unit,
      { rows: 0, used: creditText(ZERO), miss: true, ...why },
      undefined,
    );
    this.#finish(flown, undefined);
  }

  /**
   * Where keys are honoured only what a call alone
   * moved is doubted, and no limit that is waited for.
   */
  trusts(flown: Flown, status: number): boolean {
    return (
      this.honoursKeys && status !== 404 && (status === 429 || !this.#parts.budget.isExact(flown))
    );
  }

  /**
   * What an answer that is no success cost, by its own
   * words and by the balance: uncertain, inside the cap.
   */
  async refusal(flown: Flown, answer: ServiceError): Promise<void> {
    const { unit, hold } = flown;
    const { status, envelope } = answer;
    const used = maxCredits(ZERO, answer.creditsUsed ?? ZERO);
    const isFree = this.#parts.budget.showsFree(flown, answer);
    // Where the hold of a 402 went, the account tells.
    const isSafe = isFree || !envelope || status === 402 || this.trusts(flown, status);
    const most = isSafe ? ZERO : maxCredits(ZERO, credits(this.#parts.budget.mostOf(hold) - used));
    if (most > 0n) this.#parts.budget.takeOff(ZERO, most);
    if (used <= 0n) return;

    this.#parts.budget.charge(flown, { used, balance: undefined, most: ZERO });
    await this.bookUncertain(unit, used, `the service says that its answer ${status} was not free`);
  }

  /**
   * A fall of the balance that no charge explains:
   * our other runs, then calls in doubt, then others.
   */
  async explain(unit: Unit, { gone, most }: Fall, why: string): Promise<void> {
    if (gone <= 0n) return;
    const siblings = most > 0n ? await this.beside(gone) : ZERO;
    const ours = minCredits(credits(gone - siblings), most);
    this.#siblings = credits(this.#siblings + siblings);
    this.#others = credits(this.#others + gone - siblings - ours);
    if (ours > 0n) await this.bookUncertain(unit, ours, why);
  }

  /** What of a fall our other runs explain. */
  async beside(gone: Credits): Promise<Credits> {
    const spent = await spentBeside(this.#options.run, this.#options.since);
    return minCredits(gone, maxCredits(ZERO, credits(spent - this.#siblings)));
  }

  /** What is left of the falls once our other runs' spending is off: others spent it. */
  async bookOthers(): Promise<void> {
    if (this.#others <= 0n) return;
    const { run, since, now } = this.#options;
    const amount = credits(this.#others + this.#siblings - (await spentBeside(run, since)));
    this.#others = ZERO;
    if (amount > 0n) await run.append({ t: "foreign", amount: creditText(amount), at: now() });
  }

  /** Voids a unit that cost nothing; its rows are to be bought in another way (`again`). */
  async giveUp(unit: Unit, why: string, again = true): Promise<void> {
    const { run, now } = this.#options;
    try {
      await run.append({ t: "void", n: unit.intent.n, why, at: now() });
    } finally {
      if (again) this.#parts.remaining.giveBack(unit.intent);
      this.#parts.flight.remove(unit);
    }
  }

  async bookUncertain({ intent }: Unit, amount: Credits, why: string): Promise<void> {
    const { run, now, onNotice } = this.#options;
    const forgot = why === FORGOTTEN ? { forgot: true as const } : {};

    await run.append({
      t: "uncertain",
      n: intent.n,
      amount: creditText(amount),
      why,
      ...forgot,
      at: now(),
    });

    onNotice?.(
      `${why}: ${creditsText(amount)} may have been charged for it and count against the cap`,
    );
  }

  /**
   * On the disk before it is sent: whoever recovers the
   * run knows by it that this one is not booked yet.
   */
  async sendAgain(unit: Unit): Promise<void> {
    const { run, now } = this.#options;
    if (isBooked(unit)) await run.append({ t: "again", n: unit.intent.n, at: now() });
  }

  async lowerPerPage(max: number): Promise<void> {
    this.#parts.remaining.lowerPerPage(max);
    const { perPage } = this.#parts.remaining;
    await this.#options.run.append({ t: "learned", perPageMax: perPage });
    this.#options.onNotice?.(
      `the service refused a larger page; going on with ${counted(perPage, "profile")} a page`,
    );
  }

  async #settle(
    unit: Unit,
    facts: Omit<SettledRecord, "t" | "n" | "at">,
    body: Buffer | undefined,
  ): Promise<void> {
    const { run, now } = this.#options;
    const record = await run.settle({ t: "settled", n: unit.intent.n, ...facts, at: now() }, body);
    this.#learn(unit, record);
    this.#options.onSettled();
  }

  #learn({ intent }: Unit, settled: SettledRecord): void {
    const { datasetVersion } = this.#options;
    const { version, cursorLength } = settled;
    if (cursorLength !== undefined) this.#parts.flight.stop(cursorTooLong(cursorLength));
    if (version !== undefined && datasetVersion !== null && version !== datasetVersion)
      this.#movedTo = version;
    this.#parts.remaining.learn(intent, { ...settled, rows: placesOf(settled) });
  }

  #finish({ unit }: Flown, page: Page | undefined): void {
    this.#parts.buffer.add(unit, page);
    this.hasLooked = true;
    this.#parts.flight.remove(unit);
  }

  #sayOnce(what: string): void {
    if (this.#said.has(what)) return;
    this.#said.add(what);
    this.#options.onNotice?.(`warning: ${what}`);
  }

  /**
   * What a paid reply must be. What was not so in an earlier
   * session is not so now: nothing more is bought on it.
   */
  #check({ intent, settled }: Unit): void {
    if (settled === undefined) return;

    const { run, datasetVersion, source } = this.#options;
    const { impossible } = settled;
    const rows = placesOf(settled);
    const drawn = source.page === undefined ? 0 : (source.count(intent.target) ?? 0);
    const used = creditsOf(settled.used);
    const [now, quoted] = [
      this.#parts.budget.priceOf(rows),
      priceOf(rows, creditsOf(run.plan.unit_price)),
    ];

    if (impossible !== undefined) this.#parts.flight.stop(impossibleCharge(creditsOf(impossible)));
    else if (rows > intent.perPage) this.#parts.flight.stop(pageTooLong(rows, intent.perPage));
    else if (used > now && used > quoted) this.#parts.flight.stop(priceMoved(used, rows, now));
    else if (rows < drawn) this.#parts.flight.stop(drawnShort(rows, drawn));
    else if (this.#movedTo !== undefined)
      this.#parts.flight.stop(datasetMoved(datasetVersion, this.#movedTo));
  }
}

/** A negative charge is none: it would make room in the cap for others. */
function chargeOf(own: Credits | undefined, measured: Credits | undefined): Credits | undefined {
  if (own !== undefined) return maxCredits(ZERO, own);
  return measured !== undefined && measured >= 0n ? measured : undefined;
}

type Marks = Required<Pick<SettledRecord, "replayed" | "withheld" | "miss">>;

/** What a reply says beside its rows and its charge. */
function factsOf(
  { nextCursor, total, meta }: PageReply,
  { replayed, withheld, miss }: Marks,
): Partial<SettledRecord> {
  const { creditsRemaining: remaining, creditsUsed: used = ZERO, datasetVersion, requestId } = meta;
  return {
    ...(used < 0n ? { impossible: creditText(used) } : {}),
    ...(remaining === undefined ? {} : { remaining: creditText(remaining) }),
    ...(nextCursor === undefined ? {} : { next: nextCursor }),
    ...(total === undefined ? {} : { total }),
    ...(datasetVersion === undefined ? {} : { version: datasetVersion }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(replayed ? { replayed } : {}),
    ...(withheld > 0 ? { withheld } : {}),
    ...(miss ? { miss } : {}),
  };
}

/** What was booked of a request since it went out last. */
const doubtOf = ({ booked, lost }: Unit): Credits =>
  credits(lost.slice(booked).reduce<bigint>((sum, amount) => sum + amount, ZERO));

/**
 * Rows of the segment that a page is, with those it
 * no longer shows: the next page begins behind them.
 */
const placesOf = ({ withheld = 0, rows }: Pick<SettledRecord, "rows" | "withheld">): number =>
  rows + withheld;
