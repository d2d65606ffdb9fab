// Tested by test/scene/replies.test.ts.
import { randomUUID } from "node:crypto";
import { ZERO } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { Page } from "../../shared/rows/page.ts";
import { WaitTooLongError } from "../client/errors.ts";
import { kindOf } from "../output/distinct.ts";
import { freeBytes } from "../runs/disk.ts";
import {
  BESIDE,
  byPosition,
  newUnit,
  pendingUnits,
  type RunState,
  type Unit,
} from "../runs/journal.ts";
import { type AttemptOptions, type AttemptParts, Attempts } from "./attempt.ts";
import { Budget, type BudgetOptions } from "./budget.ts";
import { diskFull } from "./failures.ts";
import { Flight, type Flown } from "./flight.ts";
import { ReorderBuffer } from "./in-order.ts";
import { type Ask, type Next, nextPage } from "./next-page.ts";
import { priceUntold } from "./page-failures.ts";
import { oneSize } from "./paging.ts";
import { BalanceReading } from "./reading.ts";
import { type BuyResult, Remaining, type Wall } from "./remaining.ts";
import { Repeats } from "./repeats.ts";
import { Settlement, type SettlementOptions } from "./settle.ts";
import type { Progress } from "./world.ts";

/** Room on the disk beyond the pages in flight: plan, journal, receipt. */
const DISK_RESERVE = 512 * 1024;

export interface BuyerOptions
  extends BudgetOptions,
    Omit<AttemptOptions, "onWait">,
    Pick<SettlementOptions, "datasetVersion"> {
  readonly perPage: number;
  readonly perPageTold: boolean;
  readonly concurrency: number;
  readonly commit: (page: Page, unit: Unit) => Promise<void>;
  /** Asked after each page that was handed on: whether what came is reason to buy no more. */
  readonly enough?: (() => boolean) | undefined;
  /** Finds out in which parts to ask for what lies behind a wall. @returns whether that goes on */
  readonly divide: (wall: Wall) => Promise<boolean>;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

interface Ready {
  readonly flown: Flown;
  readonly saving: Promise<void>;
}

/** The largest page; of pages that all have one size that one, as earlier sessions had it. */
function sizeOf({ client, maxRows = 1, perPage, run: { state } }: BuyerOptions): number {
  const most = Math.min(perPage, state.perPageMax ?? Infinity);
  if (!client.dialect.isOneSize) return most;
  const [earlier] = state.units.values();
  return earlier?.intent.perPage ?? oneSize(maxRows, most);
}

/**
 * Buys the pages of a run. The order on the disk keeps every credit accounted
 * for: the intent with its key, the reply with the line that settles it, and
 * only then the output (docs/reference/runs.md). No more than the cap is at risk.
 */
export class Buyer {
  readonly #options: BuyerOptions;
  readonly #flight = new Flight();
  readonly #remaining: Remaining;
  readonly #repeats: Repeats;
  #indivisible = false;
  /** Whether the account did not tell its balance when it was asked. */
  #isBlind = false;
  readonly #budget: Budget;
  readonly #buffer: ReorderBuffer;
  readonly #reading: BalanceReading;
  readonly #settlement: Settlement;
  readonly #attempts: Attempts;
  readonly #ready: Ready[] = [];
  /** Whether what earlier sessions bought was handed on, as far as it could be. */
  #isLive = false;

  constructor(options: BuyerOptions) {
    const { run, source, interrupted } = options;
    const commit = (page: Page, unit: Unit): Promise<void> => {
      if (!this.#isLive) this.#repeats.see(unit, page);
      return options.commit(page, unit);
    };

    const flight = this.#flight;
    const perPage = sizeOf(options);
    const isTold = options.perPageTold || run.state.perPageMax !== undefined;
    const { paging, first_page: firstPage } = run.plan;
    const remaining = new Remaining(source, { paging, firstPage }, perPage, isTold);
    if (options.client.dialect.isOneSize || options.parcel !== undefined)
      remaining.refuse(0, perPage);
    this.#repeats = new Repeats(source, (target, end) => remaining.cut(target, end));

    const isNext = (unit: Unit): boolean =>
      !flight.hasBefore(unit) && !remaining.hasBefore(unit.intent);
    const read = (unit: Unit): Page => Page.read(run.readReply(unit), kindOf(run));
    const budget = new Budget(options, run.state, flight);
    const buffer = new ReorderBuffer({ isNext, read, commit, interrupted, flight });
    const reading = new BalanceReading(options, { flight, budget });
    const parts = { flight, remaining, budget, buffer, repeats: this.#repeats };
    const settlement = new Settlement({ ...options, onSettled: () => this.#progress() }, parts);

    this.#options = options;
    this.#remaining = remaining;
    this.#budget = budget;
    this.#buffer = buffer;
    this.#reading = reading;
    this.#settlement = settlement;
    this.#attempts = new Attempts(
      { ...options, onWait: this.#progress },
      { ...parts, reading, settlement },
    );
  }

  /**
   * Buys until nothing is left or allowed; what is in flight is settled first.
   * @throws what ended it
   */
  async buy(): Promise<BuyResult> {
    const flight = this.#flight;
    const settlement = this.#settlement;
    const { interrupted, run } = this.#options;
    const onInterrupt = (): void => this.#interrupt();

    if (interrupted.aborted) onInterrupt();
    interrupted.addEventListener("abort", onInterrupt, { once: true });

    try {
      await restore(run.state, { flight, remaining: this.#remaining, settlement });
      await this.#buffer.commitKept();
      this.#isLive = true;
      for (const [unit, page] of this.#buffer.heldUp()) this.#repeats.see(unit, page);

      const committing = this.#buffer.commitAll();
      await this.#feed().catch((error: unknown) => flight.stop(error));
      this.#attempts.turns.end();
      await this.#dropReady();
      while (!flight.isEmpty) await flight.change();
      this.#buffer.finish();
      await committing;
    } finally {
      interrupted.removeEventListener("abort", onInterrupt);
    }

    try {
      // Of what was stopped, too: what no answer is to tell any more a reading may.
      await this.#reading.take(flight.stopped ? "room" : "end");
      this.#learnPageRows();
    } catch (error) {
      // Everything is bought and kept: no reason to fail for a number in the last line.
      if (!(error instanceof WaitTooLongError)) flight.stop(error);
    }

    if (flight.stopped) throw flight.failure;

    return {
      repeated: this.#repeats.repeated,
      missing: this.#remaining.missing,
      least: this.#indivisible ? this.#remaining.smallestGiven : undefined,
      own: this.#remaining.sizes.own,
      price: this.#budget.price,
      ended: this.#remaining.somethingLeft || flight.hasShelved ? "limit" : "all",
      wall: this.#attempts.wall,
      balance:
        run.state.books.isRead && !run.state.books.isBehind ? this.#budget.balance : undefined,
    };
  }

  /**
   * Of one segment, where nobody told the most: two pages
   * of a size, none larger, where more was asked for.
   */
  #learnPageRows() {
    const { client, run, perPageTold } = this.#options;
    const { perPageMax, units } = run.state;
    if (perPageTold || run.plan.target.kind !== "search") return;
    const sizes = [...units.values()].map(({ settled }) => settled?.rows ?? 0);
    const most = sizes.reduce((largest, rows) => Math.max(largest, rows), 0);
    const { own = perPageMax } = this.#remaining.sizes;
    const isOwn = most === own && sizes.filter((rows) => rows === own).length > 1;
    // Larger ones than were counted on: another page size since.
    if (isOwn || most > (client.dialect.pageRows ?? most)) client.learn({ pageRows: most });
  }

  #interrupt() {
    const { interrupted, onNotice } = this.#options;
    const flying = this.#flight.count("flying", "doubt");
    const pages = flying === 1 ? "the page" : `${flying} pages`;
    if (flying > 0)
      onNotice?.(`waiting for ${pages} in flight; the same signal again leaves at once`);
    this.#flight.stop(interrupted.reason);
  }

  readonly #progress = (wait?: Progress["wait"]): void => {
    const { settled, uncertain, rows } = this.#options.run.state;
    this.#options.onProgress?.({ rows, settled, uncertain, wait });
  };

  async #feed() {
    while (!this.#flight.stopped) {
      const changes = this.#flight.changes;
      await this.#look();
      const why = await this.#prepare();
      const first = this.#ready[0];
      const isOver = why === "end" || why === "indivisible";

      if (first !== undefined && this.#hasFreeSlot()) {
        this.#ready.shift();
        await this.#launch(first);
      } else if (first !== undefined || why === "wait") await this.#flight.change(changes);
      else if (isOver && (await this.#findsRoom())) continue;
      else if (why === "end" && (await this.#goesPastWall())) continue;
      else if (isOver) {
        this.#indivisible = why === "indivisible";
        return;
      } else if (why === "broke") await this.#requireBalance();
    }
  }

  /** Whether a belief is to be held against the balance before anything else goes out. */
  get #isInDoubt(): boolean {
    return this.#options.run.state.books.isUnseen && !this.#isBlind;
  }

  /** Of a balance that is late the first reading shows nothing: the next one is after a rest. */
  async #look() {
    if (this.#flight.count("paused", "flying", "keeping", "doubt") > 0) return;
    while (this.#isInDoubt && !this.#flight.stopped)
      this.#isBlind = !(await this.#reading.take("belief"));
  }

  /** Where room is lacking, a reading may show that what is in doubt was free. */
  async #findsRoom(): Promise<boolean> {
    const { run, maxRows = Infinity } = this.#options;
    const isLeft = this.#remaining.somethingLeft || this.#flight.hasShelved;
    if (!isLeft || run.state.rows >= maxRows) return false;

    const before = this.#budget.room();
    await this.#reading.take("room");
    // A look that was late proves something only after a rest.
    if (this.#budget.room() <= before) await this.#reading.take("room");
    if (this.#budget.room() <= before) return false;
    this.#flight.unshelve();
    return true;
  }

  /** @throws CliError where neither the first row's reply nor the balance tells its price */
  async #requirePrice() {
    const { rows, owned } = this.#options.run.state;
    if (this.#budget.priceKnown || rows <= owned || !this.#flight.isEmpty) return;
    const isRead = await this.#reading.take("price");
    if (!this.#budget.priceKnown) throw priceUntold(isRead);
  }

  async #goesPastWall(): Promise<boolean> {
    const { wall } = this.#attempts;
    if (wall === undefined || this.#options.client.dialect.vendor !== undefined) return false;
    this.#options.onNotice?.(
      `the service goes no deeper than row ${grouped(wall.depth)} of this segment; ` +
        "what lies behind it is divided",
    );
    // What was refused there may count as charged until the balance is read.
    if (this.#budget.rowRoom() < 1) await this.#reading.take("room");
    // Every row of what is divided is known by then.
    if (this.#budget.rowRoom() < 1 || !(await this.#options.divide(wall))) return false;
    this.#attempts.wall = undefined;
    return true;
  }

  /**
   * Writes intents ahead: one until the first reply, then one for each page in flight.
   * @returns why no more
   */
  async #prepare(): Promise<"enough" | Exclude<Next, Ask>> {
    const { concurrency, pacer } = this.#options;
    const isAhead = this.#settlement.hasLooked && !pacer.isDeclared;
    while (this.#ready.length < (isAhead ? concurrency : 1)) {
      const resumed = this.#flight.nextWaiting();
      if (resumed !== undefined) {
        await this.#resume(resumed);
        continue;
      }

      await this.#requirePrice();
      let next = this.#next();
      if (typeof next !== "string") {
        // No turn is taken for a page that would wait for others then.
        if (pacer.isDeclared && !(this.#hasFreeSlot() && this.#attempts.turns.has())) return "wait";
        await this.#requireDisk(next.perPage);
        // That it fits the cap and that it is held for are one step: nothing takes it between.
        next = this.#next();
      }
      if (typeof next === "string") return next;
      this.#intend(next);
    }

    return "enough";
  }

  #next(): Next {
    const flight = this.#flight;
    if (this.#options.enough?.()) return flight.isEmpty ? "end" : "wait";

    const budget = this.#budget;
    const remaining = this.#remaining;
    const { proven, repeated } = this.#repeats;
    const turns = repeated ? "no" : proven ? "yes" : "unknown";
    const { paging, perPage, sizes } = remaining;

    return nextPage(
      { paging, perPage, sizes, turns, open: () => remaining.open() },
      {
        rows: budget.rowRoom(),
        covered: budget.covered(),
        whole: budget.wholeRoom(),
        priced: budget.priceKnown && !this.#isUnproven && !remaining.isBlind,
        moving: !flight.isEmpty,
        busy: flight.busyTargets(paging === "cursor" || turns === "unknown"),
        proving: flight.isBeyondFirst,
      },
    );
  }

  /** Of a file that nobody has called by: until a page was looked at. */
  get #isUnproven(): boolean {
    const { client } = this.#options;
    return client.dialect.isUnproven === true && !this.#settlement.hasLooked;
  }

  async #resume(unit: Unit) {
    if (!this.#budget.fits(this.#budget.riskOf(unit))) return this.#flight.shelve(unit);
    this.#ready.push({ flown: this.#flight.add(unit, true), saving: Promise.resolve() });
    await this.#requireDisk();
  }

  #intend(ask: Ask) {
    const { run, now, honoursKeys, parcel } = this.#options;
    const unit = newUnit({
      t: "intent",
      n: run.nextNumber(),
      ...ask,
      most: ask.most < ask.perPage ? ask.most : undefined,
      parcel,
      key: randomUUID(),
      hold: this.#budget.priceOf(ask.most),
      promised: (honoursKeys && run.state.books.keepsKeys) || undefined,
      guess: !this.#budget.priceKnown || undefined,
      at: now(),
    });
    const flown = this.#flight.add(unit, false);

    this.#remaining.take(ask);

    const saving = run.intend(unit);
    // Looked at where it is awaited; until then a failure is no unhandled one.
    saving.catch(() => undefined);
    this.#ready.push({ flown, saving });
  }

  /**
   * Others may have topped up what was thought to leave nothing.
   * @throws CliError exit 4 where it is used up
   */
  async #requireBalance() {
    await this.#reading.take("funds");
    const { balance = ZERO } = this.#budget;
    if (this.#budget.affordable(balance) < 1) throw this.#budget.usedUp(undefined);
  }

  #hasFreeSlot(): boolean {
    const flight = this.#flight;
    const { concurrency } = this.#options;
    const flying = flight.count("paused", "flying", "doubt");
    // Alone until the first reply was looked at: it tells the
    // largest page, the price, whether keys are honoured.
    if (this.#isInDoubt) return false;
    const isFree = this.#settlement.hasLooked && !flight.hasLost;
    const allowed = isFree ? concurrency : 1 - flight.count("keeping");
    if (flight.count("doubt") > 0 || flying >= allowed) return false;
    // A slow reader of the output stops the buying: no more pages are held than this.
    if (this.#buffer.length + flight.count("paused", "flying", "keeping") < concurrency + 3)
      return true;

    // Unless what is waiting waits for a page that was left out in an earlier session.
    return flying === 0 && this.#buffer.isHeldUp;
  }

  async #launch({ flown, saving }: Ready) {
    const flight = this.#flight;
    this.#options.run.hurry();

    try {
      await saving;
    } catch (error) {
      // Not on the disk, so not sent: its rows are simply still to be bought.
      this.#remaining.giveBack(flown.unit.intent);
      flight.remove(flown.unit);
      throw error;
    }

    if (flight.stopped || this.#isOutdated(flown)) return this.#attempts.abandon(flown);
    flight.turn(flown, "flying");
    void this.#attempts.ask(flown).catch(async (error: unknown) => {
      flight.stop(error);
      // Nothing that was never sent, or was only refused, is left as if it might have been charged.
      if (!flown.sent && flight.has(flown)) {
        await this.#settlement.giveUp(flown.unit, "refused").catch(() => undefined);
      }
      flight.remove(flown.unit);
    });
  }

  #isOutdated(flown: Flown): boolean {
    const { intent } = flown.unit;
    if (flown.sent) return false;
    const isResized =
      this.#options.source.page === undefined &&
      (intent.perPage > this.#remaining.perPage || intent.n < this.#attempts.resizedBefore);
    if (isResized || this.#repeats.repeated || this.#remaining.isPastEnd(intent)) return true;
    return (
      !this.#budget.fits(ZERO) || !this.#budget.covers(flown) || this.#options.enough?.() === true
    );
  }

  async #dropReady() {
    const dropped = this.#ready
      .splice(0)
      .flatMap(({ flown, saving }) => [saving, this.#attempts.abandon(flown)]);
    for (const end of await Promise.allSettled(dropped))
      if (end.status === "rejected") this.#flight.stop(end.reason);
  }

  /**
   * What could not be kept is not bought. @param more rows beyond those that are asked for
   * @throws CliError where what is asked for might not fit on the disk
   */
  async #requireDisk(more = 0) {
    const { path } = this.#options.run;
    const bytes = 1.5 * (this.#flight.rowsOpen + more) * this.#settlement.rowBytes;
    if (((await freeBytes(path)) ?? Infinity) <= bytes + DISK_RESERVE) throw diskFull(path);
  }
}

/** Rebuilds what is bought, asked for and left from the journal of earlier sessions. */
async function restore(
  state: RunState,
  { flight, remaining, settlement }: Pick<AttemptParts, "flight" | "remaining" | "settlement">,
) {
  for (const unit of [...state.units.values()].sort(byPosition)) {
    if ((unit.voided && unit.settled === undefined) || remaining.isHole(unit)) continue;
    // Written once everything before it is there.
    if (unit.intent.target === BESIDE) continue;
    remaining.take(unit.intent);
    if (unit.settled !== undefined) settlement.restore(unit, unit.settled);
  }

  // An intent without an end: it may have been charged, or it was never sent.
  for (const unit of pendingUnits(state)) {
    const { owned, target } = unit.intent;
    if (owned)
      await settlement.giveUp(unit, "the reply of another run was not written", target !== BESIDE);
    // A service that keeps keys without saying so answers
    // for nothing; at another it costs what a new key would.
    else flight.wait(unit);
  }
}
