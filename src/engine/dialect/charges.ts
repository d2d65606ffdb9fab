// Tested by test/unit/engine/dialect/charges.test.ts.
import { type Credits, ZERO } from "../../shared/contract/money.ts";
import type { VendorBody } from "../../shared/dialect/holes.ts";
import { type DialectFile, paidCall, type VendorCall } from "../../shared/dialect/shape.ts";
import type { Pacer } from "../client/pacing.ts";
import { amountAt, declaredPrice } from "./meanings.ts";

/** A call whose end nobody tells, as its process is gone, may be charged so long. */
const CHARGED_MS = 300_000;

/** What a page cost by its file, and by its vendor; undefined: he told nothing that proves it. */
export interface Charged {
  readonly declared: Credits;
  readonly told: Credits | undefined;
  readonly balance: Credits | undefined;
}

/**
 * Who tells what a call charged: the reply itself, else a balance that fell while nothing else was
 * under way, be it of this process or of another one of this machine.
 */
export class Charges {
  readonly #now: () => number;
  /** Where the balance alone tells a charge: knows who else of this machine is charged. */
  readonly #payer: Pick<Pacer, "pays"> | undefined;
  /** As the last reply told it. */
  #balance: Credits | undefined;
  /**
   * Paid calls that are under way, all that went out, and how many had when it was told: of one
   * that was lost the balance fell, too, and the page behind it is not alone.
   */
  #flying = 0;
  #begun = 0;
  #toldAt = 0;
  /** Whether a balance that only a call of its own tells was seen to fall by a price. */
  #isSeen = false;
  /** When a call was last asked for, and when that one was which told the balance. */
  #askedAt = 0;
  #seenAt = 0;

  constructor(file: DialectFile, now: () => number, payer: Pick<Pacer, "pays"> | undefined) {
    this.#now = now;
    const { balance, charged } = paidCall(file).reply ?? {};
    const isByBalance = (balance ?? file.calls.account) !== undefined && charged === undefined;
    this.#payer = isByBalance ? payer : undefined;
  }

  /** A call goes out. @returns what is to be done when it is over */
  begin(isPaid: boolean): () => void {
    const at = this.#now();
    this.#askedAt = at;
    if (!isPaid) return () => {};

    this.#flying++;
    this.#begun++;
    this.#payer?.pays(at + CHARGED_MS, at);
    return () => {
      this.#flying--;
      this.#payer?.pays(this.#now(), at);
    };
  }

  /** @returns what a call took that sells nobody */
  ofFree(call: VendorCall, told: VendorBody): Credits {
    const balance = amountAt(call.reply?.balance, told);
    // Who has no price in the file only tells: a balance may have fallen for others.
    const fell = call.price === undefined ? ZERO : this.#fellBy(balance, 0);
    this.#see(balance);
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
    askBalance: (() => Promise<unknown>) | undefined,
  ): Promise<Charged> {
    const balance = amountAt(call.reply?.balance, told);
    const declared = declaredPrice(call, rows);
    const inReply = amountAt(call.reply?.charged, told) ?? this.#fellBy(balance);
    const isAsked = inReply === undefined && balance === undefined && declared > 0n;
    const inBalance = isAsked && askBalance ? await this.#asked(declared, askBalance) : undefined;
    this.#see(balance);
    return { declared, told: inReply ?? inBalance, balance };
  }

  /**
   * Before a page that is to find nobody.
   * @returns what is done when it did: what it cost is in what the balance falls by next
   */
  passing(): () => void {
    const [balance, begun] = [this.#balance, this.#begun];
    return () => {
      if (this.#begun !== begun + 1) return;
      this.#balance = balance;
      this.#begun = begun;
    };
  }

  #see(balance: Credits | undefined): void {
    if (balance === undefined) return;
    this.#balance = balance;
    this.#seenAt = this.#askedAt;
    this.#toldAt = this.#flying === 0 ? this.#begun : Number.POSITIVE_INFINITY;
  }

  /** Whether so many paid calls went out since the balance was told, and none is under way. */
  #isAlone(calls = 1): boolean {
    return this.#flying === 0 && this.#begun === this.#toldAt + calls;
  }

  /** By how much the balance fell since the last reply, with nothing else of ours under way. */
  #fellBy(balance: Credits | undefined, calls = 1): Credits | undefined {
    if (balance === undefined || this.#balance === undefined || !this.#isAlone(calls))
      return undefined;
    // Of what others of this machine took nobody can say which of them did.
    if (this.#payer?.pays(this.#now(), this.#seenAt)) return undefined;
    const fell = this.#balance - balance;
    return fell < 0n ? undefined : (fell as Credits);
  }

  /**
   * Where no reply tells a charge the balance is asked for after the first: one that fell by as
   * much or more tells it. One that fell by less may be late, and proves nothing.
   */
  async #asked(declared: Credits, ask: () => Promise<unknown>): Promise<Credits | undefined> {
    const [before, since, begun] = [this.#balance, this.#seenAt, this.#begun];
    if (this.#isSeen || !this.#isAlone() || before === undefined) return undefined;

    this.#isSeen = true;
    // The page is paid, and kept, whatever comes of the question.
    await ask().catch(() => undefined);
    // Pages that went out while it was asked are in the answer too.
    const isShared = this.#begun !== begun || this.#payer?.pays(this.#now(), since) === true;
    const fell = isShared || this.#balance === undefined ? 0n : before - this.#balance;
    return fell < declared ? undefined : (fell as Credits);
  }
}
