import { randomUUID } from "node:crypto";
import { LostReplyError, ServiceError, WaitTooLongError } from "../client/errors.ts";
import { credits, ZERO } from "../contract/money.ts";
import { CliError, EXIT } from "../errors.ts";
import { freeBytes } from "../runs/disk.ts";
import { creditsOf, creditText, type IntentRecord, newUnit, type Unit } from "../runs/journal.ts";
import { Attempts } from "./attempt.ts";
import { Budget } from "./budget.ts";
import { type Active, type BuyerOptions, Buying, type BuyResult } from "./flight.ts";
import { Handover } from "./in-order.ts";
import { restore } from "./recovery.ts";
import { Keeper } from "./settle.ts";

/** Room on the disk beyond the pages in flight: plan, journal. */
const DISK_RESERVE = 512 * 1024;
/** How long it is believed what room there is, where little was written meanwhile. */
const DISK_LOOK_MS = 1_000;

/** A unit that may be asked for once its intent is on the disk. */
interface Ready {
  readonly active: Active;
  readonly kept: Promise<void>;
}

/**
 * Buys the pages of a run. The order in which things reach the disk is what keeps every credit accounted for: the intent with
 * its idempotency key, then (after the request) the bytes of the reply with the line that settles it, and only then does a row
 * go on to the output. Never more than the cap is at risk: holds in flight and uncertain credits count.
 *
 * This class chooses what to ask for and when. {@link Attempts} asks, {@link Keeper} writes down, {@link Handover} hands pages on
 * in order, {@link Budget} knows what may be spent, and recovery.ts begins where an earlier session ended.
 */
export class Buyer {
  readonly #b: Buying;
  readonly #budget: Budget;
  readonly #handover: Handover;
  readonly #keeper: Keeper;
  readonly #attempts: Attempts;
  /** Units whose intents are written ahead, so that a free slot is used at once and their sync is shared with a page's. */
  readonly #ready: Ready[] = [];
  #disk: { readonly free: number; readonly at: number; readonly written: number } | undefined;

  constructor(options: BuyerOptions) {
    this.#b = new Buying(options);
    this.#budget = new Budget(this.#b);
    this.#handover = new Handover(this.#b);
    this.#keeper = new Keeper(this.#b, this.#budget, this.#handover);
    this.#attempts = new Attempts(this.#b, this.#budget, this.#keeper);
  }

  /**
   * Buys until nothing is left or allowed. Whatever ends it, what is in flight is settled first.
   * @throws what ended it: an error of a call, of the disk, of the output; `CliError` where the balance is used up
   */
  async buy(): Promise<BuyResult> {
    const b = this.#b;
    const { interrupted, onNotice } = b.options;
    const onInterrupt = (): void => {
      const flying = b.count("flying", "doubt");
      const pages = flying === 1 ? "the page" : `${flying} pages`;
      if (flying > 0) onNotice?.(`waiting for ${pages} in flight; the same signal again leaves at once`);
      b.stop(interrupted.reason);
    };
    if (interrupted.aborted) onInterrupt();
    interrupted.addEventListener("abort", onInterrupt, { once: true });
    try {
      await restore(b, this.#budget, this.#keeper, this.#handover);
      await this.#handover.commitKept();
      const committing = this.#handover.commitAll();
      await this.#feed().catch((error: unknown) => b.stop(error));
      await this.#dropReady();
      while (b.active.size > 0) await b.change();
      this.#handover.finish();
      await committing;
      await this.#keeper.idle();
    } finally {
      interrupted.removeEventListener("abort", onInterrupt);
    }
    if (!b.stopped && !this.#budget.sure) await this.#lookAtBalance();
    if (b.stopped) throw b.failure;
    return {
      ended: b.agenda.somethingLeft || b.shelved.length > 0 ? "limit" : "all",
      wall: b.wall,
      movedTo: b.movedTo,
      total: b.total,
      balance: this.#budget.sure ? this.#budget.balance : undefined,
    };
  }

  /** With several pages in flight only the account tells, at the end, what others spent meanwhile. */
  async #lookAtBalance(): Promise<void> {
    const known = this.#budget.balance;
    try {
      const { balance } = await this.#b.options.client.account(this.#b.halt);
      const gone = known === undefined || balance === undefined ? ZERO : credits(known - balance);
      this.#budget.setBalance(balance, true);
      if (gone > 0n) await this.#keeper.bookForeign(gone);
    } catch (error) {
      // Everything is bought and kept: no reason to fail for a number in the last line. A disk that fails is one.
      if (!(error instanceof ServiceError || error instanceof LostReplyError || error instanceof WaitTooLongError)) {
        this.#b.stop(error);
      }
    }
  }

  // Choosing

  /** Asks for one unit after the other, as slots become free, until nothing is left or allowed. */
  async #feed(): Promise<void> {
    const b = this.#b;
    while (!b.stopped) {
      const why = await this.#prepare();
      const first = this.#ready[0];
      if (first !== undefined && this.#slotFree()) {
        this.#ready.shift();
        await this.#launch(first);
      } else if (first !== undefined || why === "wait") await b.change();
      else if (why === "end") return;
      else if (why === "broke") await this.#budget.ask();
    }
  }

  /**
   * Writes intents ahead: one until the first reply was looked at, then one for each page in flight.
   * @returns why there are no more of them
   */
  async #prepare(): Promise<"enough" | "wait" | "end" | "broke"> {
    const b = this.#b;
    while (this.#ready.length < (b.bought ? b.options.concurrency : 1)) {
      const resumed = b.pending.shift();
      if (resumed !== undefined) {
        await this.#resume(resumed);
        continue;
      }
      const next = this.#pick();
      if (typeof next === "string") return next;
      await this.#intend(next);
    }
    return "enough";
  }

  /** A unit of an earlier session: its intent is on the disk already. */
  async #resume(unit: Unit): Promise<void> {
    const hold = creditsOf(unit.intent.hold);
    if (!this.#budget.fits(hold)) {
      this.#b.shelved.push(unit);
      return;
    }
    const active: Active = { unit, hold, phase: "ready", sent: true };
    this.#b.active.set(unit.intent.n, active);
    this.#ready.push({ active, kept: Promise.resolve() });
    await this.#requireDisk();
  }

  async #intend(intent: IntentRecord): Promise<void> {
    const b = this.#b;
    const unit = newUnit(intent);
    const active: Active = { unit, hold: creditsOf(intent.hold), phase: "ready", sent: false };
    b.active.set(intent.n, active);
    try {
      await this.#requireDisk();
    } catch (error) {
      b.active.delete(intent.n);
      b.agenda.giveBack(intent);
      throw error;
    }
    const kept = b.run.intend(unit);
    // Looked at where it is awaited; until then a failure is no unhandled one.
    kept.catch(() => undefined);
    this.#ready.push({ active, kept });
  }

  /** The next unit to ask for, or why there is none now. */
  #pick(): IntentRecord | "wait" | "end" | "broke" {
    const b = this.#b;
    const idle = b.active.size > 0 || b.pending.length > 0 ? "wait" : "end";
    let room = this.#budget.rowRoom();
    if (room < 1 || b.options.enough?.() === true) return idle;
    const slot = b.agenda.next((target) => this.#isBusy(target));
    if (slot === undefined) return idle;
    const covered = this.#budget.covered();
    if (covered !== undefined) {
      if (covered < Math.min(room, b.agenda.perPage, slot.left) && idle === "wait") return "wait";
      if (covered < 1) return "broke";
      room = Math.min(room, covered);
    }
    const perPage = b.agenda.sizeFor(slot, room);
    const intent: IntentRecord = {
      t: "intent",
      n: b.run.nextNumber(),
      target: slot.target,
      offset: slot.from,
      perPage,
      ...(slot.cursor === undefined ? {} : { cursor: slot.cursor }),
      key: randomUUID(),
      hold: creditText(this.#budget.priceOf(perPage)),
      at: b.options.now(),
    };
    b.agenda.take(intent);
    return intent;
  }

  #isBusy(target: number): boolean {
    const { active, pending, paging } = this.#b;
    for (const { unit, phase } of active.values()) {
      if (unit.intent.target === target && phase !== "keeping") return true;
      // The cursor of the next page is known once this one is settled.
      if (unit.intent.target === target && paging === "cursor") return true;
    }
    return pending.some((unit) => unit.intent.target === target);
  }

  #slotFree(): boolean {
    const b = this.#b;
    const flying = b.count("flying", "doubt");
    // Alone until the first reply was looked at: it tells the largest page, the price, whether keys are honoured.
    const allowed = b.bought ? b.options.concurrency : 1 - b.count("keeping");
    if (b.count("doubt") > 0 || this.#attempts.isLowering || flying >= allowed) return false;
    // A slow reader of the output stops the buying: no more pages are held than this.
    if (this.#handover.length + b.count("flying", "keeping") < b.options.concurrency + 3) return true;
    // Unless what is waiting waits for a page that was left out in an earlier session.
    return flying === 0 && this.#handover.isHeldUp;
  }

  async #launch({ active, kept }: Ready): Promise<void> {
    const b = this.#b;
    const { intent } = active.unit;
    b.run.hurry();
    try {
      await kept;
    } catch (error) {
      // Not on the disk, so not sent: its rows are simply still to be bought.
      b.active.delete(intent.n);
      b.agenda.giveBack(intent);
      throw error;
    }
    if (b.stopped || this.#isOutdated(active)) return this.#takeBack(active);
    active.phase = "flying";
    void this.#attempts.ask(active).catch(async (error: unknown) => {
      b.stop(error);
      // Nothing that was never sent, or was only refused, is left as if it might have been charged.
      if (!active.sent && b.active.has(intent.n)) {
        await this.#keeper.giveUp(active.unit, "refused").catch(() => undefined);
      }
      b.active.delete(intent.n);
      b.signal();
    });
  }

  /** Whether a unit that was prepared while others were in flight is no longer what is wanted. */
  #isOutdated(active: Active): boolean {
    const { agenda, options } = this.#b;
    const { intent } = active.unit;
    if (active.sent) return false;
    if (intent.perPage > agenda.perPage || agenda.isPastEnd(intent)) return true;
    return !this.#budget.covers(active) || options.enough?.() === true;
  }

  /** A unit that was not sent in this session. One of an earlier session stays pending, under its key. */
  async #takeBack(active: Active): Promise<void> {
    const { unit, sent } = active;
    if (sent) this.#b.active.delete(unit.intent.n);
    else await this.#keeper.giveUp(unit, this.#b.stopped ? "not sent" : "no longer fits");
    this.#b.signal();
  }

  /** Nothing more is asked for. */
  async #dropReady(): Promise<void> {
    const dropped = this.#ready.splice(0).flatMap(({ active, kept }) => [kept, this.#takeBack(active)]);
    for (const end of await Promise.allSettled(dropped)) if (end.status === "rejected") this.#b.stop(end.reason);
  }

  /** What could not be kept is not bought. @throws CliError where what is asked for might not fit on the disk */
  async #requireDisk(): Promise<void> {
    const { run, options, active } = this.#b;
    const { written, rowBytes } = this.#keeper;
    const known = this.#disk;
    // The output may lie on the same disk.
    const since = known === undefined ? 0 : 2 * (written - known.written);
    const stale = known === undefined || options.now() - known.at >= DISK_LOOK_MS || since > known.free / 8;
    if (stale) {
      const free = (await freeBytes(run.path)) ?? Number.POSITIVE_INFINITY;
      this.#disk = { free, at: options.now(), written };
    }
    const free = stale ? (this.#disk?.free ?? 0) : known.free - since;
    let coming = 0;
    for (const { unit } of active.values()) coming += unit.intent.perPage;
    if (free <= coming * rowBytes * 1.5 + DISK_RESERVE) throw diskFull(run.path);
  }
}

const diskFull = (path: string): CliError =>
  new CliError({
    code: "disk_full",
    category: "filesystem",
    exitCode: EXIT.incomplete,
    message: `the disk with ${path} is almost full: stopped before buying what could not be kept`,
  });
