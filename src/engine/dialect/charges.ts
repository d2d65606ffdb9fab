// Tested by test/unit/engine/dialect/charges.test.ts.
import { type Credits, credits, minCredits, ZERO } from "../../shared/contract/money.ts";
import type { VendorBody } from "../../shared/dialect/holes.ts";
import { type DialectFile, paidCall, type VendorCall } from "../../shared/dialect/shape.ts";
import type { Pacer } from "../client/pacing.ts";
import { amountAt, declaredPrice } from "./meanings.ts";

/** A call whose end nobody tells, as its process is gone, may be charged so long. */
const CHARGED_MS = 300_000;

/** One call, from its asking to its answer. */
export interface CallSpan {
  /** When it was asked for: epoch milliseconds. */
  readonly at: number;
  readonly isPaid: boolean;
  /** Paid calls that had gone out by then; not a number where others were under way meanwhile. */
  begun: number;
}

/** What a page cost by its file, and by its vendor; undefined: he told nothing that proves it. */
export interface Charged {
  readonly declared: Credits;
  readonly told: Credits | undefined;
  readonly balance: Credits | undefined;
}

/**
 * Who tells what a call charged: the reply itself, else a balance that fell while nothing else was
 * under way, be it of this process or of another one of this machine. One that fell by less than
 * the file declares may be late, and proves nothing.
 */
export class Charges {
  readonly #now: () => number;
  /** Where the balance alone tells a charge: knows who else of this machine is charged. */
  readonly #payer: Pick<Pacer, "pays"> | undefined;
  /** As the last reply told it. */
  #shown = ZERO;
  /** The same less what it does not show yet. */
  #balance: Credits | undefined;
  /** When that reply was asked for, and how many paid calls had gone out by it. */
  #seenAt = 0;
  #toldAt = 0;
  /**
   * Paid calls that are under way, and all that went out: of one that was lost the balance fell,
   * too, and the page behind it is not alone.
   */
  #flying = 0;
  #begun = 0;
  /** Whether a balance that only a call of its own tells was seen to fall by a price. */
  #isSeen = false;
  /** Whether whoever buys by the same key elsewhere lowers it, too. */
  readonly #isForeign: boolean;

  constructor(file: DialectFile, now: () => number, payer: Pick<Pacer, "pays"> | undefined) {
    this.#now = now;
    const { balance, charged } = paidCall(file).reply ?? {};
    this.#isForeign = file.shared === true;
    const isByBalance = (balance ?? file.calls.account) !== undefined && charged === undefined;
    this.#payer = isByBalance ? payer : undefined;
  }

  /** A call goes out. */
  begin(isPaid: boolean): CallSpan {
    const at = this.#now();
    const isAlone = this.#flying === 0;
    if (isPaid) {
      this.#flying++;
      this.#begun++;
      this.#payer?.pays(this.#chargedUntil(), at);
    }
    return { at, isPaid, begun: isAlone ? this.#begun : Number.NaN };
  }

  /** It is over, as soon as it is. */
  end(span: CallSpan): void {
    if (span.begun !== this.#begun) span.begun = Number.NaN;
    if (!span.isPaid) return;
    this.#flying--;
    this.#payer?.pays(this.#chargedUntil(), span.at);
  }

  /** @returns what a call took that sells nobody */
  ofFree(call: VendorCall, told: VendorBody, span: CallSpan): Credits {
    const balance = amountAt(call.reply?.balance, told);
    // Who has no price in the file only tells: a balance may have fallen for others.
    const fell = call.price === undefined ? ZERO : this.#fellBy(span, balance, ZERO, 0);
    this.#see(span, balance, ZERO);
    return amountAt(call.reply?.charged, told) ?? fell ?? ZERO;
  }

  /**
   * @param rows that were sold, or may have been
   * @param askBalance asks for the balance by a call of its own; undefined: none tells it
   */
  async ofPage(
    call: VendorCall,
    told: VendorBody,
    rows: number,
    span: CallSpan,
    askBalance: (() => Promise<{ readonly span: CallSpan }>) | undefined,
  ): Promise<Charged> {
    const balance = amountAt(call.reply?.balance, told);
    const declared = declaredPrice(call, rows);
    const inReply = amountAt(call.reply?.charged, told) ?? this.#fellBy(span, balance, declared);
    const isAsked = inReply === undefined && balance === undefined && declared > 0n;
    const inBalance =
      isAsked && askBalance ? await this.#asked(span, declared, askBalance) : undefined;
    this.#see(span, balance, inReply ?? declared);
    return { declared, told: inReply ?? inBalance, balance };
  }

  /** A page found nobody: what it cost, and did not tell, is in what the balance falls by next. */
  passed(span: CallSpan): void {
    if (this.#isAlone(span)) this.#toldAt = span.begun;
  }

  /** @param cost of the call, as it is booked */
  #see({ at, begun }: CallSpan, balance: Credits | undefined, cost: Credits): void {
    if (balance === undefined) return;
    const isFilled = balance > this.#shown;
    const booked = credits((this.#balance ?? balance) - cost);
    this.#balance = isFilled ? balance : minCredits(balance, booked);
    this.#shown = balance;
    this.#seenAt = at;
    this.#toldAt = begun;
  }

  /** Whether so many paid calls went out since the balance was told, and nothing beside them. */
  #isAlone({ begun }: CallSpan, calls = 1): boolean {
    return begun === this.#toldAt + calls;
  }

  /** Whether calls of others of this machine may have been charged since then. */
  #isShared(since: number): boolean {
    return this.#isForeign || this.#payer?.pays(this.#chargedUntil(), since) === true;
  }

  /** Until when what is under way may be charged. */
  #chargedUntil(): number {
    return this.#now() + (this.#flying > 0 ? CHARGED_MS : 0);
  }

  /** By how much the balance fell since the last reply, with nothing else of ours under way. */
  #fellBy(
    span: CallSpan,
    balance: Credits | undefined,
    least: Credits,
    calls = 1,
  ): Credits | undefined {
    if (balance === undefined || this.#balance === undefined || !this.#isAlone(span, calls))
      return undefined;
    // Of what others took nobody can say which of them did.
    if (this.#isShared(this.#seenAt)) return undefined;
    const fell = credits(this.#balance - balance);
    return fell < least ? undefined : fell;
  }

  /** Where no reply tells a charge the balance is asked for after the first. */
  async #asked(
    span: CallSpan,
    declared: Credits,
    ask: () => Promise<{ readonly span: CallSpan }>,
  ): Promise<Credits | undefined> {
    const [before, since] = [this.#balance, this.#seenAt];
    if (this.#isSeen || !this.#isAlone(span) || before === undefined) return undefined;

    this.#isSeen = true;
    // The page is paid, and kept, whatever comes of the question.
    const asked = await ask().catch(() => undefined);
    // Pages that went out while it was asked are in the answer too.
    const isShared = asked?.span.begun !== span.begun || this.#isShared(since);
    const fell = credits(isShared || this.#balance === undefined ? 0n : before - this.#balance);
    return fell < declared ? undefined : fell;
  }
}
