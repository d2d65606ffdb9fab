import { setImmediate as turn } from "node:timers/promises";
import { type Credits, credits, creditsText, minCredits, priceOf, ZERO } from "../../shared/contract/money.ts";
import { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import type { PageReply } from "../client/types.ts";
import { kindOf } from "../output/distinct.ts";
import { creditsOf, creditText, type SettledRecord, type Unit } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import type { Budget } from "./budget.ts";
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

/** Puts on the disk what happened, before anything is built on it: replies and what settles them, amounts, refusals. */
export class Settlement {
  readonly #options: SettlementOptions;
  readonly #flight: Flight;
  readonly #budget: Budget;
  readonly #remaining: Remaining;
  readonly #buffer: ReorderBuffer;
  readonly #repeats: Repeats;
  readonly #kind: RecordKind;
  readonly #side = new Set<Promise<void>>();
  #hasLooked = false;
  #movedTo: string | undefined;
  #rowBytes = 1_200;
  #written = 0;
  #guesses = 0;

  constructor(options: SettlementOptions, { flight, budget, remaining, buffer, repeats }: SettlementParts) {
    this.#options = options;
    this.#flight = flight;
    this.#budget = budget;
    this.#remaining = remaining;
    this.#buffer = buffer;
    this.#repeats = repeats;
    this.#kind = kindOf(options.run);
  }

  /** Whether the service promises to know a key for as long as it is used: one that only answered by a key may forget the next. */
  get honoursKeys(): boolean {
    return this.#options.honoursKeys;
  }

  /** Whether a reply was looked at, in this session or an earlier one. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  get rowBytes(): number {
    return this.#rowBytes;
  }

  get written(): number {
    return this.#written;
  }

  /** Resolves once nothing is being written that nobody waits for. */
  async idle(): Promise<void> {
    await Promise.all(this.#side);
  }

  restore(unit: Unit, settled: SettledRecord): void {
    // Another run paid for it: it tells nothing of what this service does now.
    if (settled.owned !== undefined) {
      this.#remaining.learn(unit.intent, settled);
      this.#buffer.add(unit, undefined);
      return;
    }
    this.#budget.learnPrice(creditsOf(settled.used), placesOf(settled));
    this.#learn(unit, settled);
    // A reply without rows is read once more when its turn comes, and says itself what it is.
    if (settled.rows > 0 || settled.impossible !== undefined) this.#check(unit);
    this.#buffer.add(unit, undefined);
    this.#hasLooked = true;
  }

  /** A paid reply came: it is kept, handed on, and looked at. */
  async receive(flown: Flown, reply: PageReply): Promise<void> {
    const { unit } = flown;
    const { creditsUsed, creditsRemaining: remaining, datasetVersion, requestId } = reply.meta;
    const measured = this.#budget.measured(remaining, flown.alone);
    // What a lost reply of this unit cost has left the balance; where this one cost nothing more, it is that charge told again.
    const isSame = unit.uncertain > 0n && measured === 0n && creditsUsed !== undefined && creditsUsed > 0n;
    const replayed = reply.replayed || isSame;
    // A negative charge is none: it would make room in the cap for others.
    const isTold = creditsUsed !== undefined || !(measured !== undefined && measured >= 0n && !this.#budget.priceKnown);
    const isImpossible = creditsUsed !== undefined && creditsUsed < 0n;
    const charged = isTold ? (isImpossible ? ZERO : creditsUsed) : measured;
    const atMost = charged ?? flown.hold;
    this.#flight.markSent(flown);
    const { datasetVersion: expected } = this.#options;
    if (datasetVersion !== undefined && expected !== null && datasetVersion !== expected) {
      this.#flight.stop(datasetMoved(expected, datasetVersion));
    }
    // The slot is free: the next request goes out before this page is converted. It is on the wire two turns later.
    this.#flight.turn(flown, "keeping");
    this.#budget.keeping(atMost);
    // With others in flight, or for a stored reply, the balance told is not the one of now.
    // What a look at the balance found gone for this unit is off it already.
    const off = replayed ? minCredits(unit.uncertain, atMost) : ZERO;
    const charge = { used: credits(atMost - off), told: remaining };
    const foreign = this.#budget.charge(charge, flown.alone && !replayed);
    if (foreign > 0n) this.#aside(this.bookForeign(foreign));
    await turn();
    await turn();
    const { page, problem } = read(reply.body, this.#kind);
    const rows = page?.length ?? 0;
    const withheld = Math.min(reply.withheld, Math.max(0, unit.intent.perPage - rows));
    const used = charged ?? (page === undefined ? flown.hold : this.#budget.priceOf(rows));
    try {
      // Some services answer a look-up that found nothing with a success: free, as a 404 is.
      const miss = this.#kind === "company" && page !== undefined && rows === 0 && used === 0n;
      await this.#settle(
        unit,
        {
          rows,
          used: creditText(used),
          ...(isImpossible ? { impossible: creditText(creditsUsed) } : {}),
          ...(remaining === undefined ? {} : { remaining: creditText(remaining) }),
          ...(reply.nextCursor === undefined ? {} : { next: reply.nextCursor }),
          ...(reply.total === undefined ? {} : { total: reply.total }),
          ...(datasetVersion === undefined ? {} : { version: datasetVersion }),
          ...(requestId === undefined ? {} : { requestId }),
          ...(replayed ? { replayed: true } : {}),
          ...(withheld > 0 ? { withheld } : {}),
          ...(miss ? { miss: true } : {}),
        },
        reply.body,
      );
    } finally {
      this.#budget.kept(atMost);
    }
    if (charged === undefined) this.#sayGuess();
    else this.#budget.learnPrice(charged, rows + withheld);
    this.#written += reply.body.length;
    if (rows > 0) this.#rowBytes = Math.max(this.#rowBytes, reply.body.length / rows);
    if (page !== undefined) this.#repeats.see(unit, page);
    this.#finish(flown, page);
    if (problem === undefined) this.#check(unit);
    else this.#flight.stop(unreadablePage(problem, this.#options.run.placeOf(unit)));
    this.#flight.signal();
  }

  /** A target that the service does not know, or refuses to look up: free. @param refused in its words */
  async miss(flown: Flown, refused?: string): Promise<void> {
    const why = refused === undefined ? {} : { refused: refused.slice(0, 500) };
    await this.#settle(flown.unit, { rows: 0, used: creditText(ZERO), miss: true, ...why }, undefined);
    this.#finish(flown, undefined);
  }

  /** Voids a unit that cost nothing; its rows are to be bought in another way (`again`). */
  async giveUp(unit: Unit, why: string, again = true): Promise<void> {
    const { run, now } = this.#options;
    try {
      await run.append({ t: "void", n: unit.intent.n, why, at: now() });
    } finally {
      if (again) this.#remaining.giveBack(unit.intent);
      this.#flight.remove(unit);
    }
  }

  async bookUncertain({ intent }: Unit, amount: Credits, why: string): Promise<void> {
    const { run, now, onNotice } = this.#options;
    await run.append({ t: "uncertain", n: intent.n, amount: creditText(amount), why, at: now() });
    onNotice?.(`a reply was lost: ${creditsText(amount)} may have been charged for it and count against the cap`);
  }

  async bookForeign(amount: Credits): Promise<void> {
    const { run, now } = this.#options;
    await run.append({ t: "foreign", amount: creditText(amount), at: now() });
  }

  /** The service gives smaller pages than was asked for. */
  async lowerPerPage(max: number): Promise<void> {
    this.#remaining.lowerPerPage(max);
    const { perPage } = this.#remaining;
    await this.#options.run.append({ t: "learned", perPageMax: perPage });
    this.#options.onNotice?.(`the service gives at most ${perPage} profiles a page; going on with that`);
  }

  async #settle(unit: Unit, told: Omit<SettledRecord, "t" | "n" | "at">, body: Buffer | undefined): Promise<void> {
    const { run, now } = this.#options;
    const record = await run.settle({ t: "settled", n: unit.intent.n, ...told, at: now() }, body);
    this.#learn(unit, record);
    this.#options.onSettled();
  }

  /** What a settled page teaches: of its target, of the dataset, of the segment's size. */
  #learn({ intent }: Unit, settled: SettledRecord): void {
    const { datasetVersion } = this.#options;
    const { version, cursorLength } = settled;
    if (cursorLength !== undefined) this.#flight.stop(cursorTooLong(cursorLength));
    if (version !== undefined && datasetVersion !== null && version !== datasetVersion) this.#movedTo = version;
    this.#remaining.learn(intent, { ...settled, rows: placesOf(settled) });
  }

  #finish({ unit }: Flown, page: Page | undefined): void {
    this.#buffer.add(unit, page);
    this.#hasLooked = true;
    this.#flight.remove(unit);
  }

  #sayGuess(): void {
    if (this.#guesses++ > 0) return;
    this.#options.onNotice?.("warning: the service does not say what a call cost; booked at the price of the quote");
  }

  #aside(work: Promise<void>): void {
    const watched = work
      .catch((error: unknown) => this.#flight.stop(error))
      .finally(() => {
        this.#side.delete(watched);
      });
    this.#side.add(watched);
  }

  /** What a paid reply must be. What was not so in an earlier session is not so now: nothing more is bought on it. */
  #check({ intent, settled }: Unit): void {
    if (settled === undefined) return;
    const { run, datasetVersion, source } = this.#options;
    const { impossible } = settled;
    const rows = placesOf(settled);
    const drawn = source.page === undefined ? 0 : (source.count(intent.target) ?? 0);
    const used = creditsOf(settled.used);
    const [now, quoted] = [this.#budget.priceOf(rows), priceOf(rows, creditsOf(run.plan.unit_price))];
    if (impossible !== undefined) this.#flight.stop(impossibleCharge(creditsOf(impossible)));
    else if (rows > intent.perPage) this.#flight.stop(pageTooLong(rows, intent.perPage));
    else if (used > now && used > quoted) this.#flight.stop(priceMoved(used, rows, now));
    else if (rows < drawn) this.#flight.stop(drawnShort(rows, drawn));
    else if (this.#movedTo !== undefined) this.#flight.stop(datasetMoved(datasetVersion, this.#movedTo));
  }
}

/** Rows of the segment that a page is, those that it no longer shows among them: they were paid for, and the next page begins behind them. */
const placesOf = ({ withheld = 0, rows }: Pick<SettledRecord, "rows" | "withheld">): number => rows + withheld;

function read(body: Buffer, kind: RecordKind): { readonly page?: Page; readonly problem?: unknown } {
  try {
    return { page: Page.read(body, kind) };
  } catch (problem) {
    return { problem };
  }
}
