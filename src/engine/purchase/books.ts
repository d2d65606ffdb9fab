import {
  type Credits,
  credits,
  creditsLess,
  maxCredits,
  minCredits,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";

/**
 * What a run cost, from facts alone. Test: test/unit/engine/purchase/books.test.ts.
 * No buyer asks it yet: what a run is told to have cost is still what settle.ts and budget.ts say.
 *
 * | fact | says | the attempt cost |
 * |---|---|---|
 * | `sent` | it goes out; its hold is the price times the rows asked | 0 to its hold |
 * | `told` | a success that says what it cost | that, to its rows at the price it was sent at |
 * | | a success that says nothing; one without rows | what it says, to its hold |
 * | | a stored reply | nothing: a lost attempt of its page cost it, of several each at most it |
 * | `refused` | an answer that is no success | what it says, to its hold |
 * | `lost` | no answer, and it may have arrived | 0 to its hold |
 * | `quiet` | the balance, with nothing under way: who was, is lost (the process ended) | |
 *
 * A hold is never below the rows at the dearest price seen, nor below the
 * dearest answer seen that brought no rows. A price of 0 is never learned. Where
 * a key is promised to be known, asking again adds nothing to one lost reply.
 *
 * Quiet readings cut a run into epochs, each with the fall of the
 * balance: `rest` of it is what neither answers nor our other runs tell,
 * `slack` how much the attempts may have cost beyond what they tell.
 *
 *     doubt = min(rest, slack)    others = rest - doubt
 *     at most = told + doubts     room = cap - at most
 *
 * | rule | why |
 * |---|---|
 * | slack stays until a reading after a *witness*, a told charge sent later | balances are late |
 * | what should be free is proven free by a reading after a rest, too | else one 429 ends a run |
 * | a fall below what was told closes nothing; then only a rest proves | the balance is late |
 * | a rise, or that after a rest: slack stays doubt, a new epoch begins | a top-up |
 * | alone in its epoch an unsure attempt cost the rest; holds are that dear then | untold prices |
 * | other runs explain what they sent and settled in it, on the named account | not their holds |
 *
 * What passes a bound: a call that costs more than its hold, or tells less than it took where that
 * is more than its rows at the price; a late balance that shows a loss in place of the witness
 * (none, where the buyer rests before each reading for longer than it is late); a top-up as large
 * as a loss; a charge made after its call was given up and the witness was charged; a promise that
 * is broken, as by a charge for an error that was lost.
 */
export type Fact = Sent | Ending | Quiet;

export interface Sent {
  readonly t: "sent";
  readonly n: number;
  /** The key of the page: attempts under one key may be one charge. */
  readonly page: string;
  readonly rows: number;
  readonly hold: Credits;
  /** Whether the service promises to still know the key. */
  readonly promised?: boolean;
}

export interface Ending {
  readonly t: "told" | "refused" | "lost";
  readonly n: number;
  readonly rows?: number;
  readonly used?: Credits;
  readonly stored?: boolean;
}

interface Quiet {
  readonly t: "quiet";
  readonly balance: Credits;
  /** Read after a pause in which nothing was under way. */
  readonly rested?: boolean;
  readonly account?: string;
  /** What other runs both sent and settled since the reading before. */
  readonly beside?: readonly { readonly account?: string; readonly settled: Credits }[];
}

interface Attempt {
  readonly sent: Sent;
  readonly sentAt: number;
  endedAt: number;
  /**
   * `untold`: its answer does not say what it cost; `free`: it should have been, by the contract.
   */
  state: "flying" | "told" | "untold" | "stored" | "free" | "lost";
  /** Rows that came. */
  came: number;
  least: Credits;
  /** Undefined: its hold, which may still become dearer. */
  most: Credits | undefined;
  /** Its reply was lost, and it is asked for again under a key that is promised to be known. */
  heir: Attempt | undefined;
}

/** The attempts between two quiet readings, and what they cost. The last one is open. */
export interface Epoch {
  readonly attempts: readonly Readonly<Attempt>[];
  readonly told: Credits;
  readonly doubt: Credits;
  readonly others: Credits;
}

interface Closed {
  readonly attempts: readonly Attempt[];
  /**
   * What of the balance went with them, less what our
   * other runs explain; undefined: no reading tells.
   */
  readonly fall: Credits | undefined;
}

const sum = (amounts: readonly Credits[]): Credits =>
  credits(amounts.reduce((total, amount) => total + amount, 0n));

const toldBy = (attempts: readonly Attempt[]): Credits => sum(attempts.map(({ least }) => least));

/** A part of an amount, rounded up. */
const share = (amount: Credits, part: number, whole: number): Credits =>
  credits((amount * BigInt(part) + BigInt(whole) - 1n) / BigInt(Math.max(1, whole)));

/** One fact after the other, as they were written down. */
export class Books {
  readonly #attempts = new Map<number, Attempt>();
  readonly #pages = new Map<string, Attempt[]>();
  readonly #closed: Closed[] = [];
  #open: Attempt[] = [];
  /** The reading that the open epoch began with. */
  #start: { readonly balance: Credits; readonly at: number } | undefined;
  /** What is left of earlier falls, and attempts of the open epoch may explain. */
  #surplus = ZERO;
  #beside = ZERO;
  #isLate = false;
  #price = ZERO;
  #floor = ZERO;
  #at = 0;

  constructor(facts: Iterable<Fact> = []) {
    for (const fact of facts) this.note(fact);
  }

  get epochs(): Epoch[] {
    const slack = this.#slack(this.#open);
    const open = {
      attempts: this.#open,
      told: toldBy(this.#open),
      doubt: slack,
      others: creditsLess(this.#surplus, slack),
    };
    return [...this.#closed.map((one) => this.#sumsOf(one)), open];
  }

  get told(): Credits {
    return toldBy([...this.#attempts.values()]);
  }

  get doubt(): Credits {
    const closed = this.#closed.map((one) => this.#sumsOf(one).doubt);
    return credits(sum(closed) + this.#slack(this.#open));
  }

  get others(): Credits {
    return sum(this.epochs.map(({ others }) => others));
  }

  get atMost(): Credits {
    return credits(this.told + this.doubt);
  }

  room(cap: Credits): Credits {
    return credits(cap - this.atMost);
  }

  /** The dearest price of a row that was seen; undefined: none, as long as all was free. */
  get price(): Credits | undefined {
    return this.#price > 0n ? this.#price : undefined;
  }

  /** What a call may cost. @param price that is counted on */
  holdOf(rows: number, price: Credits): Credits {
    return maxCredits(priceOf(rows, maxCredits(price, this.#price)), this.#floor);
  }

  /** By how much a call would raise what the run may have cost. */
  riskOf(sent: Pick<Sent, "page" | "hold" | "promised">): Credits {
    const lost = this.#spokenFor(sent);
    return creditsLess(sent.hold, lost === undefined ? 0n : this.#slack([lost]));
  }

  /** @throws RangeError for an answer to nothing: its hold would be missing */
  note(fact: Fact): void {
    this.#at++;
    if (fact.t === "sent") this.#send(fact);
    else if (fact.t === "quiet") this.#read(fact);
    else {
      const attempt = this.#attempts.get(fact.n);
      if (attempt === undefined) throw new RangeError(`attempt ${fact.n} was never sent`);
      if (attempt.state === "flying") this.#end(attempt, fact);
    }
  }

  #send(sent: Sent): void {
    const facts = {
      sent,
      sentAt: this.#at,
      endedAt: Number.POSITIVE_INFINITY,
      came: 0,
      least: ZERO,
    };
    const attempt: Attempt = { ...facts, state: "flying", most: undefined, heir: undefined };
    const lost = this.#spokenFor(sent);

    if (lost !== undefined) lost.heir = attempt;
    this.#attempts.set(sent.n, attempt);
    this.#pages.set(sent.page, [...(this.#pages.get(sent.page) ?? []), attempt]);
    this.#open.push(attempt);
  }

  /** The one lost attempt of the page that a promised key stands for, too. */
  #spokenFor({ page, promised = false }: Pick<Sent, "page" | "promised">): Attempt | undefined {
    const [lost, ...others] = this.#pages.get(page) ?? [];
    const isOne = promised && others.length === 0 && lost?.state === "lost";
    return isOne && this.#open.includes(lost) ? lost : undefined;
  }

  #end(attempt: Attempt, { t, rows = 0, used, stored = false }: Ending): void {
    attempt.endedAt = this.#at;
    attempt.state = "lost";
    if (t === "lost") return;

    const { hold, rows: asked, page } = attempt.sent;
    const least = maxCredits(ZERO, used ?? ZERO);
    const most = maxCredits(least, share(hold, rows, asked));
    attempt.came = rows;
    attempt.state = rows === 0 ? "free" : used === undefined ? "untold" : "told";
    this.#learn(attempt, least);

    const earlier = (this.#pages.get(page) ?? []).filter(
      ({ sentAt, state }) =>
        sentAt < attempt.sentAt && (state === "lost" || state === "free" || state === "flying"),
    );
    if (stored && earlier.length > 0) {
      this.#recall(earlier, least, most);
      attempt.state = "stored";
      attempt.most = ZERO;
    } else {
      attempt.least = least;
      if (attempt.state === "told") attempt.most = most;
    }
  }

  /**
   * A stored reply is the charge of one of those before it:
   * of one that a fall leaves in doubt, where there is one.
   */
  #recall(earlier: readonly Attempt[], least: Credits, most: Credits): void {
    const doubted = this.epochs.filter(({ doubt }) => doubt > 0n).flatMap((one) => one.attempts);
    const charged = earlier.find((one) => doubted.includes(one)) ?? earlier[0];
    const isTold = earlier.some((one) => one.least > 0n);

    for (const one of earlier) {
      one.heir = undefined;
      one.most = maxCredits(one.least, minCredits(one.most ?? most, most));
    }
    if (isTold || charged === undefined) return;
    charged.least = least;
    charged.most = maxCredits(least, charged.most ?? most);
  }

  /** Nothing is learned of what was free. */
  #learn({ state, came }: Attempt, cost: Credits): void {
    if (came > 0) this.#price = maxCredits(this.#price, share(cost, 1, came));
    else if (state === "free") this.#floor = maxCredits(this.#floor, cost);
  }

  #read({ balance, rested = false, account, beside = [] }: Quiet): void {
    for (const one of this.#open)
      if (one.state === "flying") this.#end(one, { t: "lost", n: one.sent.n });
    const named = beside.filter((one) => account !== undefined && one.account === account);
    this.#beside = sum([this.#beside, ...named.map(({ settled }) => settled)]);
    const start = this.#start;
    const fall = credits((start?.balance ?? balance) - balance - this.#beside);
    const told = toldBy(this.#open.filter(({ sentAt }) => sentAt > (start?.at ?? 0)));
    const isStale = fall < told;
    const isNew = start === undefined || balance > start.balance;

    if (isStale && !isNew) this.#isLate = true;
    if (isNew || (isStale && rested)) this.#begin(balance, []);
    else if (!isStale) this.#explain(credits(fall + this.#surplus), balance, rested);
  }

  /** Whom a fall proves goes into the books; the others stay, with what is left of it. */
  #explain(fall: Credits, balance: Credits, rested: boolean): void {
    const rest = creditsLess(fall, toldBy(this.#open));
    const [only, ...others] = this.#open;
    const slack = this.#slack(this.#open);
    if (only !== undefined && others.length === 0 && slack > 0n && rest > slack) {
      only.most = credits(only.least + rest);
      this.#learn(only, only.most);
    }
    if (this.#isLate && !rested) return;

    const charged = this.#open.filter(({ least, state }) => state === "told" && least > 0n);
    const witness = Math.max(0, ...charged.map(({ sentAt }) => sentAt));
    const isProven = (one: Attempt): boolean =>
      one.endedAt < witness || (rested && one.state === "free") || this.#slack([one]) === 0n;
    const proven = this.#open.filter(isProven);
    const kept = this.#open.filter((one) => !isProven(one));
    const explained = credits(toldBy(proven) + minCredits(rest, this.#slack(proven)));

    const own = kept.length === 0 ? fall : explained;
    this.#begin(balance, kept, { attempts: proven, fall: own });
    this.#surplus = creditsLess(fall, own);
  }

  /** @param closed the epoch before; without it nothing of that is proven */
  #begin(
    balance: Credits,
    kept: Attempt[],
    closed: Closed = { attempts: this.#open, fall: undefined },
  ): void {
    for (const one of closed.attempts) {
      one.most = this.#most(one);
      one.heir = undefined;
    }
    this.#closed.push(closed);
    this.#open = kept;
    this.#start = { balance, at: this.#at };
    this.#surplus = ZERO;
    this.#beside = ZERO;
  }

  #sumsOf({ attempts, fall }: Closed): Epoch {
    const told = toldBy(attempts);
    const slack = this.#slack(attempts);
    const rest = creditsLess(fall ?? told, told);
    const doubt = fall === undefined ? slack : minCredits(rest, slack);
    return { attempts, told, doubt, others: creditsLess(rest, doubt) };
  }

  #slack(attempts: readonly Attempt[]): Credits {
    return sum(attempts.map((one) => credits(this.#most(one) - one.least)));
  }

  #most({ sent, least, most, heir }: Attempt): Credits {
    if (heir?.state === "flying" || heir?.state === "told") return least;
    return most ?? maxCredits(least, maxCredits(sent.hold, this.holdOf(sent.rows, ZERO)));
  }
}
