import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { LostReplyError, ServiceError, WaitTooLongError } from "../client/errors.ts";
import type { Pacer } from "../client/pacing.ts";
import { nextWait } from "../client/retry.ts";
import type { Dialect, PagePosition, PageReply, PaidCallOptions, ServiceClient } from "../client/types.ts";
import { affordableRows, type Credits, credits, formatCredits, minCredits, priceOf, ZERO } from "../contract/money.ts";
import { CliError, EXIT } from "../errors.ts";
import { Agenda, type Targets } from "./agenda.ts";
import { ledgerEntry, settledEntry } from "./booking.ts";
import { freeBytes } from "./disk.ts";
import {
  creditsOf,
  creditText,
  type IntentRecord,
  newUnit,
  pendingUnits,
  replyLength,
  type SettledRecord,
  type Unit,
} from "./journal.ts";
import type { Ledger } from "./ledger.ts";
import { asLost, smallerPage, wholeReply } from "./replies.ts";
import type { Run } from "./run.ts";
import { Page } from "./views/page.ts";

/** What a run asks for, target by target: one for a search, one for each company otherwise. */
export interface Source extends Targets {
  call(target: number, position: PagePosition, options: PaidCallOptions): Promise<PageReply>;
  /** Whether a 404 means that the service does not know this target (free), and not a mistake. */
  readonly missing: boolean;
}

export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

/** What a person may be shown while a run is at work. */
export interface BuyProgress {
  /** Rows paid for and kept. */
  readonly rows: number;
  readonly settled: Credits;
  readonly uncertain: Credits;
  /** The wait that is under way: for the rate limit or before another attempt. */
  readonly wait: { readonly reason: "rate_limit" | "retry"; readonly until: number; readonly why: string } | undefined;
}

export interface BuyerOptions extends Clock {
  readonly run: Run;
  readonly client: ServiceClient;
  readonly source: Source;
  readonly pacer: Pacer;
  readonly ledger: Ledger;
  /** Credits a row. */
  readonly price: Credits;
  /** The most that this run may cost in all its sessions, uncertain credits included; undefined: only `maxRows` counts. */
  readonly cap: Credits | undefined;
  /** The most rows that this run may buy in all its sessions; undefined: as many as there are. */
  readonly maxRows: number | undefined;
  readonly perPage: number;
  readonly concurrency: number;
  readonly maxWaitMs: number;
  readonly interrupted: AbortSignal;
  /** Whether the service is known to honour `Idempotency-Key`. */
  readonly honoursKeys: boolean;
  /** Balance before the first call, where the service told. */
  readonly balance: Credits | undefined;
  readonly datasetVersion: string | null;
  /** Takes the pages in the order of the output, each once, after it is settled. A rejection ends the buying. */
  readonly commit: (page: Page, unit: Unit) => Promise<void>;
  /** Asked after each page that was handed on: whether what came is reason to buy no more. */
  readonly enough?: (() => boolean) | undefined;
  readonly onProgress?: ((progress: BuyProgress) => void) | undefined;
  readonly onNotice?: ((text: string) => void) | undefined;
}

/** Why a run bought no more, where nothing went wrong. */
export interface BuyResult {
  /** `all`: nothing is left to ask for. `limit`: the rows or credits allowed are used up. */
  readonly ended: "all" | "limit";
  /** Where the service refused to go deeper, with its words. */
  readonly wall: { readonly offset: number; readonly detail: string } | undefined;
  /** The dataset version that a reply named instead of the run's. */
  readonly movedTo: string | undefined;
  /** Rows of the segment as the last reply told; undefined where no reply did. */
  readonly total: number | undefined;
  /** Balance after the last call, where the service tells. */
  readonly balance: Credits | undefined;
}

/** Attempts at one page before the service counts as failed. */
const ATTEMPTS = 10;
/** An idempotency key is good for 24 hours (api-decisions); older intents are not repeated under it. */
const KEY_LIFE_MS = 23 * 3_600_000;
/** Room on the disk beyond the pages in flight: plan, journal, ledger. */
const DISK_RESERVE = 512 * 1024;
const TYPICAL_ROW_BYTES = 1_200;

interface Active {
  readonly unit: Unit;
  readonly hold: Credits;
  /** `ready`: its intent is synced; `flying`: asked for; `keeping`: its reply is being written; `doubt`: it may be charged. */
  phase: "ready" | "flying" | "keeping" | "doubt";
  /** Whether any attempt may have reached the service. */
  sent: boolean;
}

interface Settled {
  readonly unit: Unit;
  readonly page: Page | undefined;
}

/**
 * Buys the pages of a run. The order in which things reach the disk is what keeps every credit accounted for: the intent with
 * its idempotency key, then (after the request) the bytes of the reply, then the line that settles it, and only then does a row
 * go on to the output. Never more than the cap is at risk: holds in flight and uncertain credits count.
 */
export class Buyer {
  readonly #o: BuyerOptions;
  readonly #paging: Dialect["paging"];
  readonly #agenda: Agenda;
  readonly #active = new Map<number, Active>();
  /** Units of an earlier session whose reply is not known; they go first, under their own keys. */
  readonly #pending: Unit[] = [];
  /** Of those, the ones that a cap lowered since leaves no room for: they stay at risk, and are not repeated. */
  readonly #shelved: Unit[] = [];
  /** Settled and not yet handed on, in the order of the output. */
  #done: Settled[] = [];
  readonly #halt = new AbortController();
  #failure: unknown;
  #stopped = false;
  #bought = false;
  #changed = new Set<() => void>();
  #honoursKeys: boolean;
  #balance: Credits | undefined;
  #balanceSure = false;
  #lowered = false;
  #wall: BuyResult["wall"];
  #movedTo: string | undefined;
  #total: number | undefined;
  #rowBytes = TYPICAL_ROW_BYTES;
  #lowering = 0;
  #finished = false;
  /** Work that nobody waits for at once; `buy` waits for all of it. */
  readonly #side = new Set<Promise<void>>();

  constructor(options: BuyerOptions) {
    this.#o = options;
    this.#paging = options.run.plan.paging;
    const perPage = Math.min(options.perPage, options.run.state.perPageMax ?? Number.POSITIVE_INFINITY);
    this.#agenda = new Agenda(options.source, this.#paging, perPage);
    this.#honoursKeys = options.honoursKeys;
    this.#balance = options.balance;
  }

  /**
   * Buys until nothing is left or allowed. Whatever ends it, what is in flight is settled first.
   * @throws what ended it: an error of a call, of the disk, of the output; `CliError` where the balance is used up
   */
  async buy(): Promise<BuyResult> {
    const onInterrupt = (): void => {
      const flying = this.#flying();
      const pages = flying === 1 ? "the page" : `${flying} pages`;
      if (flying > 0) this.#o.onNotice?.(`waiting for ${pages} in flight; the same signal again leaves at once`);
      this.#stop(this.#o.interrupted.reason);
    };
    if (this.#o.interrupted.aborted) onInterrupt();
    this.#o.interrupted.addEventListener("abort", onInterrupt, { once: true });
    try {
      await this.#restore();
      await this.#commitKept();
      const committing = this.#commitAll();
      await this.#feed().catch((error: unknown) => this.#stop(error));
      while (this.#active.size > 0) await this.#change();
      this.#finished = true;
      this.#signal();
      await committing;
      await Promise.all(this.#side);
    } finally {
      this.#o.interrupted.removeEventListener("abort", onInterrupt);
    }
    if (!this.#stopped && !this.#balanceSure) await this.#lookAtBalance();
    await this.#o.ledger.flush().catch((error: unknown) => this.#stop(error));
    if (this.#stopped) throw this.#failure;
    return {
      ended: this.#agenda.somethingLeft || this.#shelved.length > 0 ? "limit" : "all",
      wall: this.#wall,
      movedTo: this.#movedTo,
      total: this.#total,
      balance: this.#balanceSure ? this.#balance : undefined,
    };
  }

  // Going on

  /** Rebuilds what is bought, asked for and left from the journal of earlier sessions. */
  async #restore(): Promise<void> {
    const { run } = this.#o;
    for (const unit of [...run.state.units.values()].sort(byPosition)) {
      if (unit.voided && unit.settled === undefined) continue;
      this.#agenda.take(unit.intent);
      if (unit.settled !== undefined) {
        this.#learn(unit, unit.settled);
        this.#done.push({ unit, page: undefined });
        this.#bought = true;
      }
    }
    for (const unit of pendingUnits(run.state)) await this.#recover(unit);
    this.#pending.sort(byPosition);
    this.#done.sort((a, b) => byPosition(a.unit, b.unit));
  }

  /** An intent without an end: its reply may be on the disk, it may have been charged, or it was never sent. */
  async #recover(unit: Unit): Promise<void> {
    const { run, now } = this.#o;
    const body = run.readOldPage(unit.intent.n);
    const kept = body === undefined ? undefined : wholeReply(body, now());
    const cursorLost = this.#paging === "cursor" && unit.next === undefined;
    if (body !== undefined && kept !== undefined && !cursorLost) {
      const { rows, used, remaining } = kept;
      await this.#settle(unit, { body, rows, used, remaining, next: unit.next ?? undefined });
      this.#done.push({ unit, page: undefined });
      this.#bought = true;
      return;
    }
    const tooOld = now() - unit.intent.at > KEY_LIFE_MS;
    if (!tooOld && this.#honoursKeys) {
      this.#pending.push(unit);
      return;
    }
    const charged = this.#explain(creditsOf(unit.intent.hold));
    const why = tooOld ? "its idempotency key is older than 24 hours" : "the service is not known to honour keys";
    if (charged > 0n) await this.#bookUncertain(unit, charged, `the process ended before the reply came; ${why}`);
    if (tooOld || !this.#fits(creditsOf(unit.intent.hold))) await this.#giveUp(unit, why);
    else this.#pending.push(unit);
  }

  /** How much of a hold the balance cannot explain: at most the hold, all of it where nobody knows. */
  #explain(hold: Credits): Credits {
    const { run, balance } = this.#o;
    let before: Credits | undefined;
    for (const { settled } of run.state.units.values()) {
      if (settled?.remaining === undefined) continue;
      const remaining = creditsOf(settled.remaining);
      if (before === undefined || remaining < before) before = remaining;
    }
    if (before === undefined || balance === undefined) return hold;
    const gone = before - balance - run.state.uncertain;
    return gone <= 0n ? ZERO : minCredits(credits(gone), hold);
  }

  // Budget

  #atRisk(): Credits {
    let sum: bigint = ZERO;
    for (const { hold, phase } of this.#active.values()) if (phase !== "keeping") sum += hold;
    return credits(sum);
  }

  /** Credits that may still be put at risk. */
  #room(): Credits | undefined {
    const { cap, run } = this.#o;
    if (cap === undefined) return undefined;
    let pending: bigint = 0n;
    for (const unit of [...this.#pending, ...this.#shelved]) pending += creditsOf(unit.intent.hold);
    return credits(cap - run.state.settled - run.state.uncertain - this.#keeping - this.#atRisk() - pending);
  }

  /** Charged by replies that are being written; settled in the state once they are on the disk. */
  #keeping: Credits = ZERO;

  #fits(hold: Credits): boolean {
    const room = this.#room();
    return room === undefined || hold <= room;
  }

  #rowRoom(): number {
    const { maxRows, run, price } = this.#o;
    const room = this.#room();
    let rows = room === undefined ? Number.POSITIVE_INFINITY : affordableRows(room, price);
    if (maxRows !== undefined) {
      // A page that is being written counts whole: how many rows it has is known only once it was read.
      let flying = 0;
      for (const { unit } of this.#active.values()) flying += unit.intent.perPage;
      for (const unit of [...this.#pending, ...this.#shelved]) flying += unit.intent.perPage;
      rows = Math.min(rows, maxRows - run.state.rows - flying);
    }
    return rows;
  }

  // Choosing

  /** The next unit to ask for, or why there is none now. */
  #pick(): IntentRecord | "wait" | "end" | "broke" {
    const { run, price, now } = this.#o;
    const idle = this.#active.size > 0 || this.#pending.length > 0 ? "wait" : "end";
    let room = this.#rowRoom();
    if (room < 1 || this.#o.enough?.() === true) return idle;
    const slot = this.#agenda.next((target) => this.#isBusy(target));
    if (slot === undefined) return idle;
    if (this.#balance !== undefined) {
      const covered = affordableRows(credits(this.#balance - this.#atRisk()), price);
      if (covered < Math.min(room, this.#agenda.perPage, slot.left) && idle === "wait") return "wait";
      if (covered < 1) return "broke";
      room = Math.min(room, covered);
    }
    const perPage = this.#agenda.sizeFor(slot, room);
    const intent: IntentRecord = {
      t: "intent",
      n: run.state.nextN,
      target: slot.target,
      offset: slot.from,
      perPage,
      ...(slot.cursor === undefined ? {} : { cursor: slot.cursor }),
      key: randomUUID(),
      hold: creditText(priceOf(perPage, price)),
      at: now(),
    };
    this.#agenda.take(intent);
    return intent;
  }

  #isBusy(target: number): boolean {
    for (const { unit, phase } of this.#active.values()) {
      if (unit.intent.target === target && phase !== "keeping") return true;
      // The cursor of the next page is known once this one is settled.
      if (unit.intent.target === target && this.#paging === "cursor") return true;
    }
    return this.#pending.some((unit) => unit.intent.target === target);
  }

  // Buying

  #slotFree(): boolean {
    let flying = 0;
    let keeping = 0;
    for (const { phase } of this.#active.values()) {
      if (phase === "flying" || phase === "doubt") flying++;
      if (phase === "keeping") keeping++;
    }
    // Alone until the first reply was looked at: it tells the largest page, the price, whether keys are honoured.
    const allowed = this.#bought ? this.#o.concurrency : 1 - keeping;
    const inDoubt = [...this.#active.values()].some(({ phase }) => phase === "doubt");
    if (inDoubt || this.#lowering > 0 || flying >= allowed) return false;
    // A slow reader of the output stops the buying: no more pages are held than this.
    if (this.#done.length + this.#active.size <= this.#o.concurrency + 3) return true;
    // Unless what is waiting waits for a page that was left out in an earlier session.
    const first = this.#done[0];
    return flying === 0 && first !== undefined && !this.#isNext(first.unit);
  }

  /** Makes intents durable one ahead of the requests, so that a free slot is used at once. */
  async #feed(): Promise<void> {
    while (!this.#stopped) {
      const resumed = this.#pending.shift();
      if (resumed !== undefined) {
        const room = this.#room();
        if (room !== undefined && credits(room - creditsOf(resumed.intent.hold)) < 0n) {
          this.#shelved.push(resumed);
          continue;
        }
        await this.#requireDisk(resumed.intent.perPage);
        const active: Active = {
          unit: resumed,
          hold: creditsOf(resumed.intent.hold),
          phase: "ready",
          sent: true,
        };
        this.#active.set(resumed.intent.n, active);
        await this.#launchWhenFree(active);
        continue;
      }
      const next = this.#pick();
      if (next === "end") return;
      if (next === "broke") {
        await this.#askBalance();
        continue;
      }
      if (next === "wait") {
        await this.#change();
        continue;
      }
      await this.#prepare(next);
    }
  }

  /** What the balance was thought to be leaves nothing; others may have topped it up since. */
  async #askBalance(): Promise<void> {
    const { client, price } = this.#o;
    const account = await client.account(this.#halt.signal);
    this.#balance = account.balance === undefined ? undefined : credits(account.balance - (account.held ?? ZERO));
    if (this.#balance !== undefined && affordableRows(this.#balance, price) < 1) throw this.#outOfCredits(undefined);
  }

  /**
   * Writes an intent down, to be synced with whatever is written next, or as soon as it is needed.
   * @returns undefined where nothing was begun; the failure is thrown
   */
  async #prepare(intent: IntentRecord): Promise<void> {
    const { run } = this.#o;
    const active: Active = { unit: newUnit(intent), hold: creditsOf(intent.hold), phase: "ready", sent: false };
    this.#active.set(intent.n, active);
    try {
      await this.#requireDisk(intent.perPage);
      const kept = run.appendLater(intent);
      // Awaited below; where waiting for a free slot fails first, this failure is no other one.
      kept.catch(() => undefined);
      await this.#untilFree();
      run.hurry();
      await kept;
    } catch (error) {
      // Not on the disk, so not sent: its rows are simply still to be bought.
      this.#active.delete(intent.n);
      this.#agenda.giveBack(intent);
      throw error;
    }
    const unit = run.state.units.get(intent.n);
    if (unit === undefined) throw new Error(`the journal lost intent ${intent.n}`);
    const known: Active = { ...active, unit };
    this.#active.set(intent.n, known);
    await this.#launchWhenFree(known);
  }

  async #untilFree(): Promise<void> {
    while (!this.#stopped && !this.#slotFree()) await this.#change();
  }

  async #launchWhenFree(active: Active): Promise<void> {
    const { intent } = active.unit;
    await this.#untilFree();
    const outdated =
      !active.sent &&
      (intent.perPage > this.#agenda.perPage || this.#agenda.isPastEnd(intent) || !this.#covered(active));
    if (this.#stopped || outdated) {
      // Of an earlier session: it stays pending, under its key.
      if (active.sent && !outdated) this.#active.delete(intent.n);
      else await this.#giveUp(active.unit, this.#stopped ? "not sent" : "no longer fits");
      this.#signal();
      return;
    }
    active.phase = "flying";
    void this.#ask(active).catch(async (error: unknown) => {
      this.#stop(error);
      // Nothing that was never sent, or was only refused, is left as if it might have been charged.
      if (!active.sent && this.#active.has(intent.n)) await this.#giveUp(active.unit, "refused").catch(() => undefined);
      this.#active.delete(intent.n);
      this.#signal();
    });
  }

  /** Whether the balance still covers a page that was prepared while others were in flight. */
  #covered({ hold }: Active): boolean {
    return this.#balance === undefined || this.#atRisk() <= this.#balance || hold === 0n;
  }

  /** What could not be kept is not bought. @throws CliError where a page more might not fit on the disk */
  async #requireDisk(rows: number): Promise<void> {
    const free = await freeBytes(this.#o.run.path);
    if (free === undefined) return;
    let coming = rows;
    for (const { unit } of this.#active.values()) coming += unit.intent.perPage;
    if (free <= coming * this.#rowBytes * 1.5 + DISK_RESERVE) throw diskFull(this.#o.run.path);
  }

  /** One unit, with its attempts, to its end: settled, given back, or left pending with the failure that stops the run. */
  async #ask(active: Active): Promise<void> {
    const { source, maxWaitMs, now, random, sleep } = this.#o;
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
        reply = await source.call(intent.target, position, { idempotencyKey: intent.key });
      } catch (error) {
        if (this.#halt.signal.aborted && error === this.#halt.signal.reason) return this.#abandon(active);
        const lost = asLost(error);
        if (lost === undefined && (await this.#refused(active, error))) return;
        if (lost?.sent === true) {
          active.sent = true;
          if (!this.#honoursKeys && !(await this.#settleDoubt(active, lost))) return;
        }
        const limited = error instanceof ServiceError && error.status === 429;
        if (limited) refusals++;
        else faults++;
        const wait = nextWait(lost ?? error, limited ? refusals : faults, {
          now,
          sleep,
          random,
          maxWaitMs,
          attempts: ATTEMPTS,
        });
        if (wait === undefined) throw error;
        const why = limited ? "the rate limit" : (lost ?? (error as Error)).message;
        if (!(await this.#pause(wait.ms, wait.reason, why))) return this.#abandon(active);
        continue;
      }
      return this.#received(active, reply);
    }
  }

  /** Stopped between two attempts: what may have been charged stays pending, what was never sent is given back. */
  async #abandon(active: Active): Promise<void> {
    if (active.sent) this.#active.delete(active.unit.intent.n);
    else await this.#giveUp(active.unit, "not sent");
    this.#signal();
  }

  /** Waits for a turn in the shared bucket of this key. */
  async #takeTurn(): Promise<void> {
    const { pacer, maxWaitMs, now } = this.#o;
    const turnOf = pacer.take();
    if (turnOf.waitMs <= 0 && turnOf.kind === "go") return;
    if (turnOf.waitMs > maxWaitMs) {
      const resetAt = turnOf.kind === "exhausted" ? turnOf.resetAt : now() + turnOf.waitMs;
      throw new WaitTooLongError(turnOf.waitMs, maxWaitMs, resetAt, undefined);
    }
    const why = turnOf.kind === "exhausted" ? "the calls of the day are used up" : "the rate limit";
    if (!(await this.#pause(turnOf.waitMs, "rate_limit", why))) throw this.#halt.signal.reason;
  }

  /** @returns false where the run was stopped meanwhile */
  async #pause(ms: number, reason: "rate_limit" | "retry", why: string): Promise<boolean> {
    const until = this.#o.now() + ms;
    this.#progress({ reason, until, why });
    try {
      await this.#o.sleep(ms, this.#halt.signal);
      return !this.#stopped;
    } catch (error) {
      if (this.#halt.signal.aborted) return false;
      throw error;
    } finally {
      this.#progress(undefined);
    }
  }

  /**
   * An answer that says no. Never charged (contract section 7).
   * @returns whether it was dealt with; false: another attempt may help
   */
  async #refused(active: Active, error: unknown): Promise<boolean> {
    if (!(error instanceof ServiceError)) return false;
    const { intent } = active.unit;
    const { status, detail } = error;
    if (status === 404 && this.#o.source.missing && error.envelope) {
      await this.#settle(active.unit, { body: undefined, rows: 0, used: ZERO, remaining: undefined, miss: true });
      this.#bought = true;
      this.#finishUnit(active, undefined);
      return true;
    }
    if (status === 402) {
      await this.#lowerToBalance(active, error);
      return true;
    }
    if (status !== 422 && status !== 413) return false;
    const text = detail.join("; ");
    if (status === 422 && /depth|deep|reaches row|goes to row|beyond/i.test(text)) {
      this.#wall ??= { offset: intent.offset, detail: text };
      this.#agenda.cut(intent.target, intent.offset);
      await this.#giveUp(active.unit, "deeper than the service goes", false);
      return true;
    }
    if (status === 413 || /per[_ -]?page|page[_ -]?size|limit/i.test(text)) {
      const max = smallerPage(text, intent.perPage);
      if (max === undefined) return false;
      this.#agenda.lowerPerPage(max);
      await this.#o.run.append({ t: "learned", perPageMax: this.#agenda.perPage });
      this.#o.onNotice?.(`the service gives at most ${this.#agenda.perPage} profiles a page; going on with that`);
      await this.#giveUp(active.unit, `more than ${max} rows a page`);
      return true;
    }
    return false;
  }

  /** 402: the hold was too large for the balance. Once, and again only after progress, with what the balance covers. */
  async #lowerToBalance(active: Active, error: ServiceError): Promise<void> {
    this.#lowering++;
    try {
      await this.#giveUp(active.unit, "not enough credits for the hold");
      if (this.#lowered) throw this.#outOfCredits(error);
      await this.#lower(active, error);
    } finally {
      this.#lowering--;
      this.#signal();
    }
  }

  async #lower(active: Active, error: ServiceError): Promise<void> {
    const { client, price } = this.#o;
    while ([...this.#active.values()].some(({ phase }) => phase === "flying" || phase === "keeping")) {
      await this.#change();
      if (this.#stopped || this.#lowered) return;
    }
    this.#lowered = true;
    let free = error.creditsRemaining;
    try {
      const account = await client.account(this.#halt.signal);
      if (account.balance !== undefined) free = credits(account.balance - (account.held ?? ZERO));
    } catch {
      // The error's own balance is all there is.
    }
    const rows = free === undefined ? 0 : affordableRows(free, price);
    if (rows < 1) throw this.#outOfCredits(error);
    this.#balance = free;
    this.#balanceSure = false;
    const asked = active.unit.intent.perPage;
    if (rows >= asked) this.#agenda.lowerPerPage(Math.floor(asked / 2));
    this.#o.onNotice?.(`the balance covers ${rows} more; going on with smaller pages`);
  }

  #outOfCredits(cause: ServiceError | undefined): CliError {
    const { run, price } = this.#o;
    const balance = cause?.creditsRemaining ?? this.#balance;
    return new CliError({
      code: "insufficient_credits",
      category: "credits",
      exitCode: EXIT.credits,
      message: `not enough credits for another profile at ${formatCredits(price)}: the balance is ${balance === undefined ? "used up" : formatCredits(balance)}; ${run.state.rows} rows are bought and kept`,
      ...(cause === undefined ? {} : { status: cause.status, cause }),
      ...(cause?.requestId === undefined ? {} : { requestId: cause.requestId }),
    });
  }

  /**
   * A reply was lost and nobody knows whether this service honours the key: as soon as nothing else is in flight, the free
   * balance tells. What it cannot explain is booked as uncertain, inside the cap.
   * @returns whether another attempt may be made under the cap
   */
  async #settleDoubt(active: Active, lost: LostReplyError): Promise<boolean> {
    const { client, sleep } = this.#o;
    active.phase = "doubt";
    this.#signal();
    // Each in doubt looks at the balance in turn, the lowest number first, while nothing else moves it.
    const mustWait = ({ phase, unit }: Active): boolean =>
      phase === "flying" || phase === "keeping" || (phase === "doubt" && unit.intent.n < active.unit.intent.n);
    while ([...this.#active.values()].some(mustWait)) await this.#change();
    let after: Credits | undefined;
    try {
      let account = await client.account();
      // The service may still be at work on the call whose reply was lost: its hold is not yet a charge.
      for (let look = 0; look < 5 && (account.held ?? ZERO) > 0n; look++) {
        await sleep(500);
        account = await client.account();
      }
      after = account.balance;
    } catch {
      after = undefined;
    }
    const before = this.#balance;
    const gone = before === undefined || after === undefined ? active.hold : credits(before - after);
    const uncertain = minCredits(gone, active.hold);
    if (after !== undefined) this.#balance = after;
    if (uncertain > 0n) await this.#bookUncertain(active.unit, uncertain, lost.message);
    if (before !== undefined && after !== undefined && gone > active.hold)
      await this.#bookForeign(credits(gone - active.hold));
    active.phase = "flying";
    this.#signal();
    const room = this.#room();
    // This unit's own hold is in the sum already.
    if (room === undefined || room >= 0n) return true;
    await this.#giveUp(active.unit, "the cap leaves no room for another attempt");
    return false;
  }

  // Keeping

  async #received(active: Active, reply: PageReply): Promise<void> {
    const { unit } = active;
    const { meta } = reply;
    active.sent = true;
    if (reply.replayed) this.#honoursKeys = true;
    const alone = this.#flying() === 1;
    active.phase = "keeping";
    this.#keeping = credits(this.#keeping + meta.creditsUsed);
    this.#countBalance(meta.creditsUsed, reply, alone);
    // The slot is free: the next request goes out before this page is converted. It is on the wire two turns later.
    this.#lowered = false;
    this.#signal();
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
      await this.#settle(unit, {
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
      this.#keeping = credits(this.#keeping - meta.creditsUsed);
    }
    if (page !== undefined && rows > 0) this.#rowBytes = Math.max(this.#rowBytes, reply.body.length / rows);
    this.#finishUnit(active, page);
    this.#check(unit, rows, meta.creditsUsed, problem);
    this.#bought = true;
    this.#signal();
  }

  /** With several pages in flight only the account tells, at the end, what others spent meanwhile. */
  async #lookAtBalance(): Promise<void> {
    try {
      const { balance } = await this.#o.client.account(this.#halt.signal);
      const gone = this.#balance === undefined || balance === undefined ? ZERO : credits(this.#balance - balance);
      this.#balance = balance;
      this.#balanceSure = true;
      if (gone > 0n) await this.#bookForeign(gone);
    } catch (error) {
      // Everything is bought and kept: no reason to fail for a number in the last line. A disk that fails is one.
      if (!(error instanceof ServiceError || error instanceof LostReplyError || error instanceof WaitTooLongError)) {
        this.#stop(error);
      }
    }
  }

  #flying(): number {
    let flying = 0;
    for (const { phase } of this.#active.values()) if (phase === "flying" || phase === "doubt") flying++;
    return flying;
  }

  #countBalance(used: Credits, reply: PageReply, alone: boolean): void {
    const told = reply.meta.creditsRemaining;
    if (this.#balance !== undefined) this.#balance = credits(this.#balance - used);
    this.#balanceSure = alone && told !== undefined && !reply.replayed;
    // With others in flight, or for a stored reply, the balance told is not the one of now.
    if (!this.#balanceSure || told === undefined) return;
    const gone = this.#balance === undefined ? ZERO : credits(this.#balance - told);
    this.#balance = told;
    if (gone > 0n) {
      const booked = this.#bookForeign(gone)
        .catch((error: unknown) => this.#stop(error))
        .finally(() => this.#side.delete(booked));
      this.#side.add(booked);
    }
  }

  /** What a paid reply must be: as many rows as asked for or fewer, at the price of the quote, from the same dataset. */
  #check(unit: Unit, rows: number, used: Credits, problem: unknown): void {
    const { intent } = unit;
    if (problem !== undefined) {
      const place = this.#o.run.placeOf(unit);
      this.#stop(
        incomplete(
          "unreadable_page",
          `a paid reply holds no list of profiles: ${(problem as Error).message}; it is kept as ${place}`,
        ),
      );
    } else if (rows > intent.perPage) {
      this.#stop(
        incomplete(
          "page_too_long",
          `the service answered ${rows} profiles to a page of ${intent.perPage}; pages can no longer be told apart`,
        ),
      );
    } else if (used > priceOf(rows, this.#o.price)) {
      const expected = formatCredits(priceOf(rows, this.#o.price));
      this.#stop(
        incomplete(
          "price_moved",
          `the service charged ${formatCredits(used)} credits for ${rows} profiles that were quoted at ${expected}`,
        ),
      );
    } else if (this.#movedTo !== undefined) {
      const { datasetVersion } = this.#o;
      this.#stop(
        incomplete(
          "dataset_moved",
          `the service changed its dataset from ${datasetVersion} to ${this.#movedTo} while this run was at work; pages of both do not make one list`,
        ),
      );
    }
  }

  async #settle(
    unit: Unit,
    reply: {
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
    },
  ): Promise<void> {
    const { run, now } = this.#o;
    const { n } = unit.intent;
    const refunded = reply.replayed === true ? unit.uncertain : ZERO;
    const unkept: SettledRecord = {
      t: "settled",
      n,
      rows: reply.rows,
      used: creditText(reply.used),
      ...(reply.remaining === undefined ? {} : { remaining: creditText(reply.remaining) }),
      ...(reply.next === undefined ? {} : { next: reply.next }),
      ...(reply.total === undefined ? {} : { total: reply.total }),
      ...(reply.version === undefined ? {} : { version: reply.version }),
      ...(reply.requestId === undefined ? {} : { requestId: reply.requestId }),
      ...(reply.replayed === true ? { replayed: true } : {}),
      ...(reply.miss === true ? { miss: true } : {}),
      at: now(),
    };
    const record = await run.settle(unkept, reply.body);
    this.#o.ledger.add(
      ...(refunded > 0n ? [ledgerEntry(run, "refunded", n, refunded, record.at)] : []),
      ...(reply.miss === true ? [] : [settledEntry(run, record)]),
    );
    this.#learn(unit, record);
    this.#progress(undefined);
  }

  /** What a settled page teaches: of its target, of the dataset, of the segment's size. */
  #learn({ intent }: Unit, settled: SettledRecord): void {
    const { datasetVersion } = this.#o;
    const { total, version } = settled;
    if (version !== undefined && datasetVersion !== null && version !== datasetVersion) this.#movedTo = version;
    if (total !== undefined) this.#total = total;
    this.#agenda.learn(intent, settled);
  }

  /** Voids a unit that cost nothing; its rows are to be bought in another way (`again`). */
  async #giveUp(unit: Unit, why: string, again = true): Promise<void> {
    const { run, now } = this.#o;
    const { intent } = unit;
    try {
      await run.append({ t: "void", n: intent.n, why, at: now() });
    } finally {
      this.#active.delete(intent.n);
      if (again) this.#agenda.giveBack(intent);
      this.#signal();
    }
  }

  async #bookUncertain(unit: Unit, amount: Credits, why: string): Promise<void> {
    const { run, now } = this.#o;
    const at = now();
    await run.append({ t: "uncertain", n: unit.intent.n, amount: creditText(amount), why, at });
    this.#o.ledger.add(ledgerEntry(run, "uncertain", unit.intent.n, amount, at));
    this.#o.onNotice?.(
      `a reply was lost: ${formatCredits(amount)} credits may have been charged for it and count against the cap`,
    );
  }

  async #bookForeign(amount: Credits): Promise<void> {
    const { run, now } = this.#o;
    const at = now();
    await run.append({ t: "foreign", amount: creditText(amount), at });
    this.#o.ledger.add(ledgerEntry(run, "foreign", 0, amount, at));
  }

  #finishUnit(active: Active, page: Page | undefined): void {
    this.#active.delete(active.unit.intent.n);
    const item: Settled = { unit: active.unit, page };
    const at = this.#done.findIndex(({ unit }) => byPosition(active.unit, unit) < 0);
    if (at < 0) this.#done.push(item);
    else this.#done.splice(at, 0, item);
    this.#signal();
  }

  // Handing on

  /** Hands pages on in the order of the output, as soon as nothing before them is still to come. */
  async #commitAll(): Promise<void> {
    for (;;) {
      // Interrupted: what is paid for is kept, and nobody waits for a reader that may be stuck.
      if (this.#o.interrupted.aborted) return;
      const first = this.#done[0];
      if (first === undefined || !this.#isNext(first.unit)) {
        // A page left out for good (a cap, a wall) does not hold up the ones behind it; after a failure they stay in the run.
        if (this.#finished && (first === undefined || this.#stopped)) return;
        if (!this.#finished) {
          await this.#change();
          continue;
        }
      }
      if (first === undefined || !(await this.#commitFirst())) return;
    }
  }

  /** Hands on what earlier sessions bought, as far as nothing before it is missing, before anything more is bought. */
  async #commitKept(): Promise<void> {
    for (let first = this.#done[0]; first !== undefined && this.#isNext(first.unit); first = this.#done[0]) {
      if (this.#stopped || !(await this.#commitFirst())) return;
    }
  }

  /** @returns false where the output failed; the run is stopped then */
  async #commitFirst(): Promise<boolean> {
    const first = this.#done.shift();
    if (first === undefined) return true;
    try {
      const { settled } = first.unit;
      if (settled !== undefined && replyLength(settled) > 0) {
        await this.#o.commit(first.page ?? Page.read(this.#o.run.readReply(first.unit)), first.unit);
      } else await this.#o.commit(Page.read(EMPTY_REPLY), first.unit);
    } catch (error) {
      this.#stop(error);
      return false;
    }
    this.#signal();
    return true;
  }

  /** Whether nothing before this unit is in flight or still to be asked for. */
  #isNext(unit: Unit): boolean {
    for (const active of this.#active.values()) if (byPosition(active.unit, unit) < 0) return false;
    for (const pending of this.#pending) if (byPosition(pending, unit) < 0) return false;
    return !this.#agenda.hasBefore(unit.intent);
  }

  // Being told

  #stop(reason: unknown): void {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#failure = reason;
      this.#halt.abort(reason);
    }
    this.#signal();
  }

  #signal(): void {
    const waiting = this.#changed;
    this.#changed = new Set();
    for (const resolve of waiting) resolve();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed.add(resolve);
    });
  }

  #progress(wait: BuyProgress["wait"]): void {
    const { settled, uncertain, rows } = this.#o.run.state;
    this.#o.onProgress?.({ rows, settled, uncertain, wait });
  }
}

const EMPTY_REPLY = Buffer.from('{"result":[]}');

const byPosition = (a: Unit, b: Unit): number => a.intent.target - b.intent.target || a.intent.offset - b.intent.offset;

const incomplete = (code: string, message: string): CliError =>
  new CliError({ code, category: "incomplete", exitCode: EXIT.incomplete, message });

const diskFull = (path: string): CliError =>
  new CliError({
    code: "disk_full",
    category: "filesystem",
    exitCode: EXIT.incomplete,
    message: `the disk with ${path} is almost full: stopped before buying what could not be kept`,
  });
