// Tested by test/scene/replies.test.ts.
import { isUtf8 } from "node:buffer";
import { setImmediate as turn } from "node:timers/promises";
import type { Context } from "../../shared/context.ts";
import { type Credits, creditsText, maxCredits, ZERO } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { CliError, option, say } from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import type { ServiceError } from "../client/errors.ts";
import type { PageReply } from "../client/types.ts";
import { kindOf } from "../output/distinct.ts";
import {
  creditsOf,
  type IntentRecord,
  placesOf,
  type SettledRecord,
  type Unasked,
  type Unit,
} from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { spentBeside } from "../runs/spend.ts";
import { isContradicted, unaskedIn } from "./as-asked.ts";
import type { Budget } from "./budget.ts";
import type { Flight, Flown } from "./flight.ts";
import type { ReorderBuffer } from "./in-order.ts";
import {
  cursorAgain,
  cursorCut,
  cursorTooLong,
  datasetMoved,
  drawnShort,
  impossibleCharge,
  notAsFiltered,
  pageTooLong,
  priceMoved,
  unreadablePage,
} from "./page-failures.ts";
import type { Remaining, Targets } from "./remaining.ts";
import type { Repeats } from "./repeats.ts";

/** What all have who buy the pages of a run. */
export interface Buying extends Pick<Context, "now" | "sleep" | "random" | "interrupted"> {
  readonly run: Run;
  readonly onNotice?: ((text: string) => void) | undefined;
}

export interface SettlementOptions extends Buying {
  readonly datasetVersion: string | null;
  readonly source: Targets;
  readonly onSettled: () => void;
}

export interface SettlementParts {
  readonly flight: Flight;
  readonly budget: Budget;
  readonly remaining: Remaining;
  readonly buffer: ReorderBuffer;
  readonly repeats: Repeats;
}

/**
 * Puts on the disk what was seen, before anything is built on it:
 * replies, refusals, losses. What that cost the books derive.
 */
export class Settlement {
  readonly #options: SettlementOptions;
  readonly #parts: SettlementParts;
  readonly #kind: RecordKind;
  /** Whether a reply was looked at, in this session or an earlier one. */
  hasLooked = false;
  #movedTo: string | undefined;
  rowBytes = 1_200;
  readonly #said = new Set<string>();

  constructor(options: SettlementOptions, parts: SettlementParts) {
    this.#options = options;
    this.#parts = parts;
    this.#kind = kindOf(options.run);
  }

  restore(unit: Unit, settled: SettledRecord): void {
    this.#learn(unit, settled);
    this.#parts.buffer.add(unit, undefined);
    // Another run paid for it: it tells nothing of what this service does now.
    if (settled.owned !== undefined) return;

    this.hasLooked = true;
    this.#check(unit, settled.used ?? ZERO);
  }

  async receive(flown: Flown, reply: PageReply): Promise<void> {
    const { unit } = flown;
    const { budget } = this.#parts;
    const { creditsUsed: used, creditsRemaining: remaining } = reply.meta;
    // The balance of a stored reply is of then; one that was lost before may be stored, unsaid.
    const isQuiet = flown.alone && !flown.sent && !reply.replayed && remaining !== undefined;
    await this.#land(flown, reply, isQuiet);

    const page = Page.read(reply.body, this.#kind);
    const facts = this.#factsOf(unit, page, reply);
    const quiet = isQuiet && {
      quiet: true,
      ...(await spentBeside(this.#options.run, remaining, { used, until: unit.intent.at })),
    };
    const quoted = budget.priceKnown ? budget.priceOf(placesOf(facts)) : (used ?? ZERO);

    await this.#settle(unit, { ...facts, ...quiet }, reply.body);
    if (isQuiet) budget.balance = remaining;
    else budget.takeOff(used ?? flown.hold);

    this.#sayOf(reply, facts.unasked);
    this.#handOn(flown, reply.body, page, quoted);
  }

  /**
   * The slot is free: the next request goes out before this page is converted, and is on the wire
   * two turns later.
   */
  async #land(flown: Flown, { meta }: PageReply, isQuiet: boolean) {
    const { flight } = this.#parts;
    const { creditsUsed, datasetVersion } = meta;
    const { datasetVersion: expected } = this.#options;

    // After a dear reply nothing goes out before the books have it, nor before a reading is a
    // fact: what went out meanwhile would be taken for a part of it.
    const bars = isQuiet || (creditsUsed !== undefined && creditsUsed > flown.hold);
    flight.mark(flown, { sent: true, bars });
    if (datasetVersion !== undefined && expected !== null && datasetVersion !== expected)
      flight.stop(datasetMoved(expected, datasetVersion));

    if (!bars) flight.turn(flown, "keeping");
    await turn();
    await turn();
  }

  /** What a reply says, with its rows and beside them. */
  #factsOf(unit: Unit, page: Page, reply: PageReply) {
    const { exact, meta, nextCursor, price, replayed, stop, total } = reply;
    const { creditsUsed: used } = meta;
    const room = Math.max(0, unit.intent.perPage - page.length);
    const withheld = Math.min(reply.withheld, room);
    const unread = this.#unread(unit, page, withheld, used);
    // Some services answer a look-up that found nothing with a success, and some charge it.
    const miss = this.#kind === "company" && page.length + unread === 0;

    return {
      rows: page.length,
      used,
      declared: price?.declared,
      told: price?.told && maxCredits(ZERO, price.told),
      remaining: meta.creditsRemaining,
      next: nextCursor,
      total,
      version: meta.datasetVersion,
      requestId: meta.requestId,
      exact: exact || undefined,
      stop: stop && stopFacts(stop),
      replayed: replayed || undefined,
      withheld: withheld || undefined,
      unread: unread || undefined,
      cut: (reply.isCut && nextCursor === undefined) || undefined,
      miss: miss || undefined,
      unasked: this.#unasked(unit, page),
    };
  }

  #sayOf({ meta, price }: PageReply, unasked: Unasked | undefined) {
    if (unasked !== undefined && !isContradicted(unasked))
      this.#sayOnce(
        `no row of the first page says ${unasked.key} as it was asked for, row ${unasked.row} ` +
          `says "${unasked.came}": whether they are who was asked for nobody can tell`,
      );
    if (meta.creditsUsed === undefined)
      this.#sayOnce(
        "no amount that can be read tells what a call cost; booked at the price of the quote",
      );

    const { declared = ZERO, told = declared } = price ?? {};
    if (told >= ZERO && told < declared)
      this.#sayOnce(
        `the vendor charged ${creditsText(told)} for what its file says costs ` +
          `${creditsText(declared)}; booked as it was charged`,
      );
  }

  /**
   * Rows that came and are no JSON, or did not come because the reply breaks off: as many as were
   * charged for and are no rows, where the charge is told; else those that were found, and of a
   * reply that breaks off, or that cannot be read at all, its whole page.
   */
  #unread(
    { intent }: Unit,
    { broken, isCut, isSound, length }: Page,
    withheld: number,
    used: Credits | undefined,
  ): number {
    if (isSound) return 0;
    const most = Math.max(0, (intent.most ?? intent.perPage) - length - withheld);
    if (used === undefined || used <= 0n)
      return isCut || broken.length === 0 ? most : Math.min(most, broken.length);

    const charged = Math.round(Number(used) / Number(this.#parts.budget.price));
    return Math.min(most, Math.max(isCut ? 0 : 1, broken.length, charged - length - withheld));
  }

  /**
   * A reply that is kept: what it is like, whether it
   * came before, and whether anything is bought after it.
   */
  #handOn(flown: Flown, body: Buffer, page: Page, quoted: Credits) {
    const { flight, repeats } = this.#parts;
    const { problem } = page;
    if (!isUtf8(body))
      this.#sayOnce(
        "a reply is not in UTF-8 and does not say in what: letters in it cannot be read",
      );

    if (page.length > 0) this.rowBytes = Math.max(this.rowBytes, body.length / page.length);
    if (problem === undefined) repeats.see(flown.unit, page);

    this.#finish(flown, page);
    if (problem === undefined) this.#check(flown.unit, quoted);
    else flight.stop(unreadablePage(problem, this.#options.run.placeOf(flown.unit)));
    flight.signal();
  }

  /** A target that the service does not know, or refuses to look up. @param refused in its words */
  async miss(flown: Flown, refused?: string): Promise<void> {
    await this.#settle(flown.unit, { rows: 0, miss: true, refused: refused?.slice(0, 500) });
    this.#finish(flown, undefined);
  }

  /** An answer that is no success. */
  async refusal({ unit }: Flown, { status, creditsUsed, exact }: ServiceError): Promise<void> {
    const { run, now } = this.#options;
    const { n } = unit.intent;
    await run.append({ t: "refused", n, status, used: creditsUsed, exact, at: now() });
  }

  /** No answer came to a request that may have arrived. */
  async loss(flown: Flown): Promise<void> {
    const { run, now } = this.#options;
    this.#parts.flight.mark(flown, { sent: true, isLost: true });
    await run.append({ t: "lost", n: flown.unit.intent.n, at: now() });
  }

  /** On the disk before it goes out: whoever recovers the run counts it. */
  async sendAgain({ intent: { n } }: Unit, promised: boolean): Promise<void> {
    const { run, now } = this.#options;
    await run.sendAgain({ t: "sent", n, promised: promised || undefined, at: now() });
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

  async lowerPerPage(max: number): Promise<void> {
    this.#parts.remaining.lowerPerPage(max);
    const { perPage } = this.#parts.remaining;
    await this.#options.run.append({ t: "learned", perPageMax: perPage });
    this.#options.onNotice?.(
      `the service refused a larger page; going on with ${counted(perPage, "profile")} a page`,
    );
  }

  async #settle(unit: Unit, facts: Omit<SettledRecord, "t" | "n" | "at">, body?: Buffer) {
    const { run, now } = this.#options;
    const record = await run.settle({ t: "settled", n: unit.intent.n, ...facts, at: now() }, body);
    this.#learn(unit, record);
    this.#options.onSettled();
  }

  /** Of the first page, before anything is bought after it. */
  #unasked({ intent }: Unit, page: Page): Unasked | undefined {
    const filters = this.#options.source.filters?.(intent.target);
    return this.hasLooked ? undefined : unaskedIn(page, filters ?? {});
  }

  #learn({ intent }: Unit, settled: SettledRecord) {
    const { datasetVersion } = this.#options;
    const { version, cursorLength } = settled;
    if (cursorLength !== undefined) this.#parts.flight.stop(cursorTooLong(cursorLength));
    if (version !== undefined && datasetVersion !== null && version !== datasetVersion)
      this.#movedTo = version;

    const { remaining } = this.#parts;
    const before = remaining.paging;
    const rows = placesOf(settled);
    remaining.learn(intent, { ...settled, rows });
    // Rows that it lacks are paid for: whoever has only new people come would pay for them again.
    const isLost = settled.cut && settled.unread === undefined;
    if (isLost && remaining.paging === "cursor" && remaining.missing.rows > 0)
      this.#parts.flight.stop(cursorCut(intent.offset + rows));
    if (remaining.isLedBack && remaining.somethingLeft)
      this.#parts.flight.stop(cursorAgain(intent.offset + rows));
    if (remaining.paging !== before && remaining.somethingLeft)
      this.#sayOnce(
        `${say`the service gave a cursor to the next page, and nobody said how it pages: this run goes
          on by cursors, one page after the other; ${option("paging", "cursor")} says it beforehand`}`,
      );
  }

  #finish({ unit }: Flown, page: Page | undefined) {
    this.#parts.buffer.add(unit, page);
    this.hasLooked = true;
    this.#parts.flight.remove(unit);
  }

  #sayOnce(what: string) {
    if (this.#said.has(what)) return;
    this.#said.add(what);
    this.#options.onNotice?.(`warning: ${what}`);
  }

  /**
   * What a paid reply must be. What was not so in an earlier
   * session is not so now: nothing more is bought on it.
   * @param expected what its rows were thought to cost
   */
  #check(unit: Unit, expected: Credits) {
    const why = unit.settled && this.#whyNoMore(unit.intent, unit.settled, expected);
    if (why !== undefined) this.#parts.flight.stop(why);
  }

  #whyNoMore(intent: IntentRecord, settled: SettledRecord, expected: Credits) {
    const { run, datasetVersion, source } = this.#options;
    const { stop, unasked, used = ZERO } = settled;
    const rows = placesOf(settled);
    const drawn = source.page === undefined ? 0 : (source.count(intent.target) ?? 0);
    const quoted = this.#parts.budget.priceOf(rows, creditsOf(run.plan.unit_price));

    if (used < 0n) return impossibleCharge(used);
    if (stop !== undefined) return new CliError(stop);
    if (rows > intent.perPage) return pageTooLong(rows, intent.perPage);
    if (used > expected && used > quoted) return priceMoved(used, rows, expected);
    if (unasked !== undefined && isContradicted(unasked)) return notAsFiltered(unasked);
    if (rows < drawn) return drawnShort(rows, drawn);
    return this.#movedTo && datasetMoved(datasetVersion, this.#movedTo);
  }
}

const stopFacts = ({ code, category, message, hint = "" }: CliError) => ({
  code,
  category,
  message,
  hint: `${hint}`,
});
