import { setImmediate as turn } from "node:timers/promises";
import type { PageReply } from "../client/types.ts";
import { type Credits, formatCredits, ZERO } from "../contract/money.ts";
import { CliError, EXIT } from "../errors.ts";
import { Page } from "../output/page.ts";
import { creditText, type SettledRecord, type Unit } from "../runs/journal.ts";
import type { Budget } from "./budget.ts";
import type { Active, Buying } from "./flight.ts";
import type { Handover } from "./in-order.ts";

/** A reply as it is to be kept. */
export interface Keepable {
  /** Undefined: there is nothing to keep (a free miss). */
  readonly body: Buffer | undefined;
  readonly rows: number;
  readonly used: Credits;
  readonly remaining: Credits | undefined;
  readonly next?: string | undefined;
  readonly total?: number | undefined;
  readonly version?: string | undefined;
  readonly requestId?: string | undefined;
  readonly replayed?: boolean;
  readonly miss?: boolean;
}

/** Puts on the disk what happened, before anything is built on it: replies and what settles them, amounts, refusals. */
export class Keeper {
  readonly #b: Buying;
  readonly #budget: Budget;
  readonly #handover: Handover;
  /** Work that nobody waits for at once. */
  readonly #side = new Set<Promise<void>>();
  #rowBytes = 1_200;
  #written = 0;

  constructor(buying: Buying, budget: Budget, handover: Handover) {
    this.#b = buying;
    this.#budget = budget;
    this.#handover = handover;
  }

  /** The most bytes that a row was seen to take. */
  get rowBytes(): number {
    return this.#rowBytes;
  }

  /** Bytes of replies that were written. */
  get written(): number {
    return this.#written;
  }

  /** Resolves once nothing is being written that nobody waits for. */
  async idle(): Promise<void> {
    await Promise.all(this.#side);
  }

  /** A paid reply came: it is kept, handed on, and looked at. */
  async receive(active: Active, reply: PageReply): Promise<void> {
    const b = this.#b;
    const { unit } = active;
    const { meta } = reply;
    active.sent = true;
    if (reply.replayed) b.honoursKeys = true;
    const alone = b.count("flying", "doubt") === 1;
    active.phase = "keeping";
    this.#budget.keeping(meta.creditsUsed);
    const foreign = this.#budget.charge(reply, alone);
    if (foreign > 0n) this.#aside(this.bookForeign(foreign));
    // The slot is free: the next request goes out before this page is converted. It is on the wire two turns later.
    b.signal();
    await turn();
    await turn();
    let page: Page | undefined;
    let problem: unknown;
    try {
      page = Page.read(reply.body);
    } catch (error) {
      problem = error;
    }
    const rows = page?.length ?? 0;
    try {
      await this.settle(unit, {
        body: reply.body,
        rows,
        used: meta.creditsUsed,
        remaining: meta.creditsRemaining,
        next: reply.nextCursor,
        total: reply.total,
        version: meta.datasetVersion,
        requestId: meta.requestId,
        replayed: reply.replayed,
      });
    } finally {
      this.#budget.kept(meta.creditsUsed);
    }
    this.#written += reply.body.length;
    if (page !== undefined && rows > 0) this.#rowBytes = Math.max(this.#rowBytes, reply.body.length / rows);
    this.finish(active, page);
    this.#check(unit, rows, meta.creditsUsed, problem);
    b.bought = true;
    b.signal();
  }

  /** A target that the service does not know: free. */
  async miss(active: Active): Promise<void> {
    await this.settle(active.unit, { body: undefined, rows: 0, used: ZERO, remaining: undefined, miss: true });
    this.#b.bought = true;
    this.finish(active, undefined);
  }

  /** Keeps a reply, books it, and learns from it. */
  async settle(unit: Unit, reply: Keepable): Promise<void> {
    const { run, options } = this.#b;
    const record = await run.settle(settledRecord(unit, reply, options.now()), reply.body);
    this.learn(unit, record);
    this.#b.progress(undefined);
  }

  /** What a settled page teaches: of its target, of the dataset, of the segment's size. */
  learn({ intent }: Unit, settled: SettledRecord): void {
    const { datasetVersion } = this.#b.options;
    const { total, version } = settled;
    if (version !== undefined && datasetVersion !== null && version !== datasetVersion) this.#b.movedTo = version;
    if (total !== undefined) this.#b.total = total;
    this.#b.agenda.learn(intent, settled);
  }

  /** The unit is over: its page goes on when its turn comes. */
  finish({ unit }: Active, page: Page | undefined): void {
    this.#b.active.delete(unit.intent.n);
    this.#handover.add(unit, page);
    this.#b.signal();
  }

  /** Voids a unit that cost nothing; its rows are to be bought in another way (`again`). */
  async giveUp({ intent }: Unit, why: string, again = true): Promise<void> {
    const { run, options, active, agenda } = this.#b;
    try {
      await run.append({ t: "void", n: intent.n, why, at: options.now() });
    } finally {
      active.delete(intent.n);
      if (again) agenda.giveBack(intent);
      this.#b.signal();
    }
  }

  async bookUncertain({ intent }: Unit, amount: Credits, why: string): Promise<void> {
    const { run, options } = this.#b;
    await run.append({ t: "uncertain", n: intent.n, amount: creditText(amount), why, at: options.now() });
    options.onNotice?.(
      `a reply was lost: ${formatCredits(amount)} credits may have been charged for it and count against the cap`,
    );
  }

  async bookForeign(amount: Credits): Promise<void> {
    const { run, options } = this.#b;
    await run.append({ t: "foreign", amount: creditText(amount), at: options.now() });
  }

  #aside(work: Promise<void>): void {
    const watched = work
      .catch((error: unknown) => this.#b.stop(error))
      .finally(() => {
        this.#side.delete(watched);
      });
    this.#side.add(watched);
  }

  /** What a paid reply must be: as many rows as asked for or fewer, at the price of the quote, from the same dataset. */
  #check(unit: Unit, rows: number, used: Credits, problem: unknown): void {
    const b = this.#b;
    const { perPage } = unit.intent;
    const expected = this.#budget.priceOf(rows);
    if (problem !== undefined) {
      const reason = (problem as Error).message;
      b.stop(
        incomplete(
          "unreadable_page",
          `a paid reply holds no list of profiles: ${reason}; it is kept as ${b.run.placeOf(unit)}`,
        ),
      );
    } else if (rows > perPage) {
      b.stop(
        incomplete(
          "page_too_long",
          `the service answered ${rows} profiles to a page of ${perPage}; pages can no longer be told apart`,
        ),
      );
    } else if (used > expected) {
      b.stop(
        incomplete(
          "price_moved",
          `the service charged ${formatCredits(used)} credits for ${rows} profiles that were quoted at ${formatCredits(expected)}`,
        ),
      );
    } else if (b.movedTo !== undefined) {
      b.stop(
        incomplete(
          "dataset_moved",
          `the service changed its dataset from ${b.options.datasetVersion} to ${b.movedTo} while this run was at work; pages of both do not make one list`,
        ),
      );
    }
  }
}

function settledRecord({ intent }: Unit, reply: Keepable, at: number): SettledRecord {
  const { rows, used, remaining, next, total, version, requestId } = reply;
  return {
    t: "settled",
    n: intent.n,
    rows,
    used: creditText(used),
    ...(remaining === undefined ? {} : { remaining: creditText(remaining) }),
    ...(next === undefined ? {} : { next }),
    ...(total === undefined ? {} : { total }),
    ...(version === undefined ? {} : { version }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(reply.replayed === true ? { replayed: true } : {}),
    ...(reply.miss === true ? { miss: true } : {}),
    at,
  };
}

const incomplete = (code: string, message: string): CliError =>
  new CliError({ code, category: "incomplete", exitCode: EXIT.incomplete, message });
