import {
  type Credits,
  credits,
  creditsLess,
  maxCredits,
  minCredits,
  priceOf,
  sumOfCredits,
  ZERO,
} from "../../shared/contract/money.ts";

/**
 * What a run cost, from facts alone (docs/explanation/caps.md). Test:
 * test/unit/engine/runs/books.test.ts.
 *
 * | fact | says | the attempt cost |
 * |---|---|---|
 * | `sent` | it may go out; its hold is the price times the rows asked | 0 to its hold |
 * | `told` | a success that says what it cost | that, to its rows at the price it was sent at |
 * | | one that says nothing | 0 to its rows at that price |
 * | | one without rows | what it says, to its hold |
 * | | one whose service declares its prices | what it says |
 * | | a stored reply | nothing: a lost attempt of its page cost it, of several each at most it |
 * | `refused` | an answer that is no success | what it says, to its hold |
 * | `lost` | no answer, and it may have arrived | 0 to its hold |
 * | `unsent` | it never went out | nothing |
 * | `quiet` | the balance, with nothing under way | |
 *
 * Whatever a hold was sent with, it counts as no less than the rows at the dearest price seen, and
 * than the dearest answer seen that brought no rows. A price of 0 is never learned.
 * Who promises to know a key is believed: what brought no rows cost what it says, once without a
 * reading, and asking again under the key adds nothing to what was lost, however often.
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
 * | and what was lost, where no reading was ever late | else one lost reply ends it |
 * | what a prompt balance does not show of a page that was lost is stored | keys kept unsaid |
 * | a fall below what was told closes nothing; then only a rest proves | the balance is late |
 * | a rise, or that after a rest: slack stays doubt, a new epoch begins | a top-up |
 * | alone in its epoch an unsure attempt cost the rest; holds are that dear then | untold prices |
 * | what a stored reply leaves of a fall is of the epoch behind | some were unsure beside it |
 * | a fall that a promise does not explain ends the belief in it | keys that are forgotten |
 * | other runs explain what they sent and settled in it, on the named account | not their holds |
 *
 * What passes a bound: a call that costs more than its hold, or tells less than it took where that
 * is more than its rows at the price; a late balance that shows a loss in place of the witness
 * (none, where the buyer rests before each reading for longer than it is late); a top-up as large
 * as a loss; a charge made after its call was given up and the witness was charged; a promise that
 * is broken, up to the reading that shows it.
 */
export type Fact = Sent | Ending | Quiet | Over;

/** One that may be made. */
export interface PageCall {
  /** The key of the page: attempts under one key may be one charge. */
  readonly page: string;
  readonly rows: number;
  readonly hold: Credits;
  /** Nobody told what a row costs: the hold is a guess, and the balance tells. */
  readonly isGuess?: boolean | undefined;
  /** Rows that are paid for together: as many as are begun cost as much as all of them. */
  readonly parcel?: number | undefined;
  /** Whether the service promises to still know the key. */
  readonly promised?: boolean | undefined;
}

export interface Sent extends PageCall {
  readonly t: "sent";
  readonly n: number;
  /** Times (`at`) are epoch milliseconds, and say on which day it was spent alone. */
  readonly at?: number;
}

export interface Ending {
  readonly t: "told" | "refused" | "lost" | "unsent";
  readonly n: number;
  readonly rows?: number;
  readonly used?: Credits | undefined;
  readonly stored?: boolean;
  /** Its service declares what it costs, and where it says so: it cost no more than it says. */
  readonly exact?: boolean | undefined;
  /** It broke at the service's end, where no promise tells what it cost. */
  readonly isFault?: boolean;
  readonly at?: number;
}

export interface Quiet {
  readonly t: "quiet";
  readonly balance: Credits;
  /** Read after a pause in which nothing was under way. */
  readonly rested?: boolean | undefined;
  /** A process began with it: who has no ending is lost. Else such a one did not go out yet. */
  readonly begins?: boolean;
  /** What other runs both sent and settled since the reading before, on the named account. */
  readonly beside?: Credits | undefined;
  /** What other runs of this service may have spent beyond that: it blames nobody else. */
  readonly own?: Credits | undefined;
  /** When it was asked for: what was charged meanwhile may be in it, or not. */
  readonly askedAt?: number | undefined;
  readonly at?: number;
}

/** Nobody asks again for what has no answer. */
interface Over {
  readonly t: "over";
}

interface Attempt {
  readonly sent: Sent;
  sentAt: number;
  endedAt: number;
  /**
   * `untold`: its answer does not say what it cost; `free`: it should have been, by the contract.
   */
  state: "flying" | "told" | "untold" | "stored" | "free" | "lost" | "unsent";
  /** Rows that came. */
  came: number;
  least: Credits;
  /** Undefined: its hold, which may still become dearer. */
  most: Credits | undefined;
  /** Its reply was lost, and it is asked for again under a key that is promised to be known. */
  heir: Attempt | undefined;
  /** By a promise of keys: another attempt under its key tells what they cost, or it was free. */
  isSpoken: boolean;
  /** Whether its answer says what it cost. */
  isSaid: boolean;
  /** No answer came, or one that broke on its way: it may be what a reply under its key tells. */
  isMissing: boolean;
  /** When it ended; until then when it was sent. */
  at: number;
}

/** The attempts between two quiet readings, and what they cost. The last one is open. */
export interface Epoch {
  readonly attempts: readonly Readonly<Attempt>[];
  readonly told: Credits;
  readonly doubt: Credits;
  readonly others: Credits;
  readonly at: number;
}

interface Closed {
  readonly attempts: readonly Attempt[];
  /**
   * What of the balance went with them, less what our
   * other runs explain; undefined: no reading tells.
   */
  fall: Credits | undefined;
  /** Whether it closed before others who are unsure: they may explain what is left of its fall. */
  readonly isPart?: boolean;
  /** What other runs of ours may have spent of the rest. */
  readonly own: Credits;
  readonly at: number;
}

type Reading = Required<Pick<Quiet, "balance" | "at">> & { readonly askedAt: number };

/** What was spent, at the time that it was: `rows` came for it. */
export interface Spending {
  /** `pending`: asked for, and asked for again under its key by whoever goes on. */
  readonly kind: "settled" | "uncertain" | "pending" | "foreign";
  readonly amount: Credits;
  readonly rows: number;
  readonly at: number;
}

const toldBy = (attempts: readonly Attempt[]): Credits =>
  sumOfCredits(attempts.map(({ least }) => least));

/** A part of an amount, rounded up. */
const share = (amount: Credits, part: number, whole: number): Credits =>
  credits((amount * BigInt(part) + BigInt(whole) - 1n) / BigInt(Math.max(1, whole)));

/** What so many rows may have cost, of the hold of their call. */
const shareOf = ({ hold, rows: asked, parcel = 1 }: Sent, rows: number): Credits =>
  share(hold, Math.ceil(rows / parcel), Math.ceil(asked / parcel));

/** Rows came for it, and what they cost is what left the balance. */
const isMeasured = ({ state }: Attempt): boolean => state === "untold";

/** A reply under the same promised key tells what it cost, or it is that reply. */
const isAnswered = ({ isSpoken, state }: Attempt): boolean => isSpoken && state !== "free";

const isFlying = ({ state }: Attempt): boolean => state === "flying";

/** One fact after the other, as they were written down. */
export class Books {
  readonly facts: Fact[] = [];
  readonly #attempts = new Map<number, Attempt>();
  readonly #pages = new Map<string, Attempt[]>();
  readonly #closed: Closed[] = [];
  /** Those that leave a doubt. This and the sums of all only a stored reply changes. */
  #doubted: Closed[] = [];
  #closedDoubt = ZERO;
  #closedOthers = ZERO;
  #open: Attempt[] = [];
  /** Those of the open epoch that may have cost more than they tell. */
  #unsure = new Set<Attempt>();
  /** The reading that the open epoch began with. */
  #start: (Reading & { readonly since: number }) | undefined;
  /** What is left of earlier falls, and attempts of the open epoch may explain. */
  #surplus = ZERO;
  #own = ZERO;
  /** What our other runs may have spent of the fall before, of which not all is explained. */
  #theirs = ZERO;
  #told = ZERO;
  #isLate = false;
  #isKept = true;
  #isOver = false;
  #sawPromise = false;
  #sawFree = false;
  #price = ZERO;
  #floor = ZERO;
  #moment = 0;
  /** Whether a charge was seen in the balance as soon as it was told, and none later. */
  #isPrompt = false;
  /** Whether nothing ended since the balance was read. */
  isRead = false;
  /** Whether the balance, when it was last read, did not show yet what answers told. */
  isBehind = false;

  constructor(facts: Iterable<Fact> = []) {
    for (const fact of facts) this.note(fact);
  }

  get epochs(): Epoch[] {
    const open = {
      attempts: this.#open,
      told: toldBy(this.#open),
      doubt: this.#slack(this.#unsure),
      others: this.#unexplained,
      at: this.#open.at(-1)?.at ?? 0,
    };
    return [...this.#closed.map((one) => this.#sumsOf(one)), open];
  }

  get told(): Credits {
    return this.#told;
  }

  get doubt(): Credits {
    return credits(this.#closedDoubt + this.#slack(this.#unsure));
  }

  /** What of the doubt an answer is still to tell: of who is under way, or asked for again. */
  get underWay(): Credits {
    return this.#doubtIn((one) => this.#isAwaited(one));
  }

  /** What of the doubt rows came for, in answers that do not say what they cost. */
  get measured(): Credits {
    return this.#doubtIn(isMeasured);
  }

  /** What of the doubt of the open epoch no answer is to tell any more: a reading may. */
  get unread(): Credits {
    const ended = [...this.#unsure].filter((one) => !this.#isAwaited(one) && !isMeasured(one));
    return this.#slack(ended);
  }

  get others(): Credits {
    return credits(this.#closedOthers + this.#unexplained);
  }

  /** What of earlier falls nothing explains: neither what was told by then, nor who is unsure. */
  get #unexplained(): Credits {
    const told = toldBy(this.#open) - this.#toldSince();
    return creditsLess(this.#surplus, told + this.#slack(this.#unsure) + this.#own);
  }

  get atMost(): Credits {
    return credits(this.told + this.doubt);
  }

  room(cap: Credits): Credits {
    return credits(cap - this.atMost);
  }

  /** The dearest price of a row, or a parcel, that was seen; undefined: as long as all was free. */
  get price(): Credits | undefined {
    return this.#price > 0n ? this.#price : undefined;
  }

  /** The dearest answer that was seen to bring no rows: no call is held at less. */
  get floor(): Credits {
    return this.#floor;
  }

  /** When the balance was last read, and asked for: epoch milliseconds. */
  get lastRead(): { readonly at: number; readonly askedAt: number } {
    return this.#start ?? { at: 0, askedAt: 0 };
  }

  /** Whether a promise, a guess, or an answer that was free is to be held against the balance. */
  get isUnseen(): boolean {
    const isUnread = (one: Attempt): boolean => one.sent.isGuess === true && one.came > 0;
    const isOpen = (one: Attempt): boolean => one.state === "free" && this.#slack([one]) > 0n;
    return (
      this.isTrusting ||
      (!this.#sawPromise && this.#isKept && this.#open.some(isAnswered)) ||
      (!this.#sawFree && [...this.#unsure].some(isOpen)) ||
      (!this.isRead && this.#open.some(isUnread))
    );
  }

  /** Whether a promise is believed of several answers, which no reading showed to be free. */
  get isTrusting(): boolean {
    const refused = this.#open.filter((one) => one.isSpoken && !isAnswered(one));
    return this.#isKept && refused.length > 1;
  }

  /** Whether the balance shows what was charged at once, as far as anybody saw. */
  get isPrompt(): boolean {
    return this.#isPrompt && !this.#isLate;
  }

  /** Whether only a reading after a rest proves something of who is unsure. */
  get wantsRest(): boolean {
    const witness = this.#witness();
    const isOpen = (one: Attempt): boolean =>
      one.endedAt >= witness && !this.#isBelieved(one) && this.#slack([one]) > 0n;
    const isUnread = this.unread > 0n;
    return (
      (this.#isLate && (isUnread || this.isUnseen)) ||
      (isUnread && [...this.#unsure].some((one) => !isFlying(one) && isOpen(one))) ||
      this.#open.some((one) => this.#isAskedAgain(one))
    );
  }

  /** What a call may cost, by all that was seen. */
  holdOf({ hold, rows, parcel }: PageCall): Credits {
    const dearest = priceOf(rows, this.#price, parcel);
    return maxCredits(maxCredits(hold, dearest), this.#floor);
  }

  /** By how much a call would raise what the run may have cost. */
  riskOf(sent: PageCall): Credits {
    const lost = this.#spokenFor(sent);
    return creditsLess(this.holdOf(sent), lost === undefined ? 0n : this.#slack([lost]));
  }

  isUnderWay(attempt: number | undefined): boolean {
    return attempt !== undefined && this.#attempts.get(attempt)?.state === "flying";
  }

  /** What an attempt may have cost beyond what is told of it. */
  doubtOf(attempt: number | undefined): Credits {
    return this.#doubtIn(({ sent }) => sent.n === attempt);
  }

  /** How many attempts of a page were lost. */
  lossesOf(page: string): number {
    return (this.#pages.get(page) ?? []).filter(({ state }) => state === "lost").length;
  }

  /** Whether the service is still believed to know its keys. */
  get keepsKeys(): boolean {
    return this.#isKept;
  }

  /** What a reading would leave unexplained. @param used told by the answer that it came with */
  restOf(balance: Credits, used: Credits = ZERO): Credits {
    if (this.#start === undefined) return ZERO;
    return creditsLess(credits(this.#start.balance - balance), this.#toldSince() + used);
  }

  /** Each amount when it was spent: for the days of `headcount spend`. */
  get spendings(): Spending[] {
    const spent: Spending[] = [];
    for (const { least, came, at } of this.#attempts.values())
      if (least > 0n || came > 0) spent.push({ kind: "settled", amount: least, rows: came, at });

    for (const [one, amount] of this.#doubts()) {
      const ended = isMeasured(one) ? "settled" : "uncertain";
      const kind = this.#isAwaited(one) ? "pending" : ended;
      spent.push({ kind, amount, rows: 0, at: one.at });
    }
    for (const { others: amount, at } of this.epochs)
      if (amount > 0n) spent.push({ kind: "foreign", amount, rows: 0, at });
    return spent;
  }

  /**
   * What was both sent and settled since then, and what may have gone from
   * the balance at all: what no reading showed yet may go later. @param until epoch milliseconds
   */
  spentSince(
    { at, askedAt }: Books["lastRead"],
    until = Infinity,
  ): { readonly settled: Credits; readonly most: Credits } {
    const unseen = new Set(this.#open);
    const recent = [...this.#attempts.values()].filter(
      (one) => unseen.has(one) || one.at >= askedAt,
    );
    const within = recent.filter(
      (one) => !isFlying(one) && (one.sent.at ?? 0) >= at && one.at <= until,
    );
    const most = sumOfCredits(recent.map((one) => this.#most(one)));
    return { settled: toldBy(within), most };
  }

  /** As whoever goes on with the run finds it. @param balance of now, where it is known */
  begun(balance: Credits | undefined): Books {
    const books = new Books(this.facts);
    for (const { sent, state } of this.#attempts.values())
      if (state === "flying") books.note({ t: "lost", n: sent.n });
    if (balance !== undefined) books.note({ t: "quiet", balance, begins: true });
    return books;
  }

  /** @throws RangeError for an answer to nothing: its hold would be missing */
  note(fact: Fact): void {
    this.facts.push(fact);
    this.#moment++;
    if (fact.t === "sent") this.#send(fact);
    else if (fact.t === "quiet") this.#read(fact);
    else if (fact.t === "over") this.#isOver = true;
    else {
      const attempt = this.#attempts.get(fact.n);
      if (attempt === undefined) throw new RangeError(`attempt ${fact.n} was never sent`);
      if (isFlying(attempt)) this.#end(attempt, fact);
    }
  }

  #send(sent: Sent) {
    const attempt: Attempt = {
      sent,
      sentAt: this.#moment,
      endedAt: Infinity,
      state: "flying",
      came: 0,
      least: ZERO,
      most: undefined,
      heir: undefined,
      isSpoken: false,
      isSaid: false,
      isMissing: false,
      at: sent.at ?? 0,
    };
    const lost = this.#spokenFor(sent);

    if (lost !== undefined) lost.heir = attempt;
    this.#attempts.set(sent.n, attempt);
    this.#pages.set(sent.page, [...(this.#pages.get(sent.page) ?? []), attempt]);
    this.#open.push(attempt);
    this.#unsure.add(attempt);
    this.#isOver = false;
  }

  /** The last lost attempt of the page, for which a promised key stands, too. */
  #spokenFor({ page, promised = false }: Pick<Sent, "page" | "promised">): Attempt | undefined {
    const lost = promised && this.#isKept ? this.#pages.get(page)?.at(-1) : undefined;
    return lost?.state === "lost" && this.#open.includes(lost) ? lost : undefined;
  }

  #end(attempt: Attempt, ending: Ending) {
    const { t, rows = 0, used, stored = false, exact = false, isFault = false, at } = ending;
    attempt.endedAt = this.#moment;
    attempt.at = at ?? attempt.at;
    this.isRead = false;
    attempt.state = "lost";
    attempt.isMissing = t === "lost" || isFault;
    if (t === "lost") return;
    if (t === "unsent") {
      this.#drop(attempt);
      return;
    }

    const { promised = false } = attempt.sent;
    const least = maxCredits(ZERO, used ?? ZERO);
    const most = maxCredits(least, shareOf(attempt.sent, rows));
    attempt.came = rows;
    attempt.isSaid = used !== undefined;
    attempt.state = rows === 0 ? "free" : used === undefined ? "untold" : "told";
    this.#learn(attempt, least);

    const earlier = this.#earlier(attempt);
    // Whether what was lost was charged a reading may have told: of that it says nothing more.
    const unread = earlier.filter((one) => one.isMissing && this.#open.includes(one));
    const isPromised = promised && this.#isKept && unread.length > 0;
    if ((stored && earlier.length > 0) || (isPromised && rows > 0)) {
      this.#recall(stored ? earlier : unread, least, most);
      attempt.state = "stored";
      // One that does not say that it is stored may be charged, too, should the promise be broken.
      attempt.most = stored ? ZERO : most;
      attempt.isSpoken = !stored;
    } else {
      this.#tell(attempt, least);
      if (exact) attempt.most = least;
      else if (rows > 0) attempt.most = most;
      else attempt.isSpoken = attempt.state === "free" && promised && this.#isKept && !isFault;
    }
    if (this.#slack([attempt]) === 0n && attempt.most !== undefined) this.#unsure.delete(attempt);
  }

  #drop(attempt: Attempt) {
    attempt.state = "unsent";
    attempt.most = ZERO;
    this.#open = this.#open.filter((one) => one !== attempt);
    const page = this.#pages.get(attempt.sent.page) ?? [];
    this.#pages.set(
      attempt.sent.page,
      page.filter((one) => one !== attempt),
    );
  }

  #tell(attempt: Attempt, amount: Credits) {
    this.#told = credits(this.#told + amount - attempt.least);
    attempt.least = amount;
  }

  /** A stored reply is the charge of one of those before it. */
  #recall(earlier: readonly Attempt[], least: Credits, most: Credits) {
    const lost = earlier.filter(({ state }) => state === "lost");
    const from = lost.length > 0 ? lost : earlier;
    const charged = this.#chargedOf(from, earlier, most);
    const isTold = earlier.some(({ least, state }) => least > 0n && state !== "free");

    for (const one of earlier) one.heir = undefined;
    // What was refused beside a lost one may have cost more than the page that is stored.
    for (const one of from) one.most = maxCredits(one.least, minCredits(one.most ?? most, most));
    // Who keeps keys charged once, whichever of them that was.
    const isOnce = this.#isKept && earlier.every(({ sent }) => sent.promised === true);
    if (isOnce) for (const one of earlier) one.isSpoken ||= one.state !== "free";
    if (!isTold && charged !== undefined) {
      this.#tell(charged, least);
      charged.most = maxCredits(least, charged.most ?? most);
      charged.isSpoken = false;
    }
    // That it was stored proves the promise for these: whatever breaks it later.
    for (const one of earlier) if (!this.#open.includes(one)) one.most = this.#most(one);
    this.#handOn();
    this.#sumClosed();
  }

  /**
   * Whose charge it is taken for: of one whose fall leaves as much in doubt and nothing else
   * explains, else where the largest doubt is, as a charge would be missed there.
   */
  #chargedOf(
    from: readonly Attempt[],
    earlier: readonly Attempt[],
    most: Credits,
  ): Attempt | undefined {
    const isItsFall = (epoch: Closed): boolean => {
      const beside = epoch.attempts.filter((one) => !earlier.includes(one));
      const { doubt, told } = this.#sumsOf(epoch);
      const isElse = epoch.fall !== undefined && this.#slack(beside) >= epoch.fall - told;
      return doubt >= most && !isElse;
    };
    const byDoubt = this.#doubted.toSorted((a, b) =>
      Number(this.#sumsOf(b).doubt - this.#sumsOf(a).doubt),
    );
    const places = [...byDoubt.filter(isItsFall), { attempts: this.#open }, ...byDoubt];

    // One that closed as spoken for has no room for a charge: another has it.
    const mayBe = places.flatMap(({ attempts }) =>
      attempts.filter((one) => from.includes(one) && this.#slack([one]) > 0n),
    );
    return mayBe[0] ?? from[0];
  }

  /** What a charge that was told leaves of a fall is for those who were unsure beside it. */
  #handOn() {
    for (const [index, epoch] of this.#closed.entries()) {
      const next = this.#closed[index + 1];
      if (!epoch.isPart || epoch.fall === undefined || (next && next.fall === undefined)) continue;

      const { others } = this.#sumsOf(epoch);
      epoch.fall = credits(epoch.fall - others);
      if (next?.fall === undefined) this.#surplus = credits(this.#surplus + others);
      else next.fall = credits(next.fall + others);
    }
  }

  #sumClosed() {
    const sums = this.#closed.map((one) => this.#sumsOf(one));
    this.#doubted = this.#closed.filter((_, index) => (sums[index]?.doubt ?? 0n) > 0n);
    this.#closedDoubt = sumOfCredits(sums.map(({ doubt }) => doubt));
    this.#closedOthers = sumOfCredits(sums.map(({ others }) => others));
  }

  /** Nothing is learned of what was free. */
  #learn({ state, came, sent: { parcel = 1 } }: Attempt, cost: Credits) {
    const begun = Math.ceil(came / parcel);
    if (came > 0) this.#price = maxCredits(this.#price, share(cost, 1, begun));
    else if (state === "free") this.#floor = maxCredits(this.#floor, cost);
  }

  #read({
    balance,
    rested = false,
    begins = false,
    beside = ZERO,
    own = ZERO,
    at = 0,
    askedAt = at,
  }: Quiet) {
    if (begins) {
      this.#isOver = false;
      for (const one of this.#open.filter(isFlying))
        this.#end(one, { t: "lost", n: one.sent.n, at });
    }
    // What is own and beside is of all the time since the epoch began, however often it was read.
    this.#own = credits(this.#theirs + own);

    const start = this.#start;
    const gone = credits((start?.balance ?? balance) - balance - beside);
    // Between two processes of a run others may spend what they like: it is none of its story.
    const most = credits(toldBy(this.#open) + this.#slack(this.#open));
    const fall = begins ? minCredits(gone, most) : gone;
    const again = start && this.#askedAgain(credits(this.#toldSince() - fall));
    if (again !== undefined) {
      const isBelieved = rested || this.isPrompt || (again.sent.promised && this.#isKept);
      // Late, or a stored reply: nobody knows yet.
      if (!isBelieved) return;
      this.#takeAsStored(again);
    }
    const isStale = fall < this.#toldSince();
    const isNew = start === undefined || balance > start.balance;
    const told = { balance, at, askedAt };

    this.isRead = true;
    this.isBehind = isStale && !isNew;
    if (this.isBehind) this.#isLate = true;
    else if (!rested && !isNew && this.#toldSince() > 0n) this.#isPrompt = true;

    if (isNew || (isStale && rested)) {
      const attempts = this.#open.filter((one) => !isFlying(one));
      const closed = { attempts, fall: undefined, own: this.#own, at };
      this.#begin(told, this.#open.filter(isFlying), closed);
    } else if (!isStale) this.#explain(credits(fall + this.#surplus), told, rested);
  }

  /** Whose charge the balance does not show, of a page that was lost: it may be that charge. */
  #askedAgain(lacking: Credits): Attempt | undefined {
    if (lacking <= 0n) return undefined;
    return this.#open.find((one) => one.least === lacking && this.#isAskedAgain(one));
  }

  #isAskedAgain(one: Attempt): boolean {
    const { state, sentAt } = one;
    const isNew = state === "told" && sentAt > (this.#start?.since ?? 0);
    return isNew && this.#earlier(one).some((before) => before.isMissing);
  }

  #takeAsStored(stored: Attempt) {
    const amount = stored.least;
    this.#tell(stored, ZERO);
    stored.state = "stored";
    stored.most = ZERO;
    const most = maxCredits(amount, shareOf(stored.sent, stored.came));
    this.#recall(this.#earlier(stored), amount, most);
  }

  /** Attempts of the same page whose charge a stored reply may tell. */
  #earlier({ sent, sentAt }: Attempt): Attempt[] {
    return (this.#pages.get(sent.page) ?? []).filter(
      (one) =>
        one.sentAt < sentAt &&
        (one.state === "lost" || one.state === "free" || one.state === "flying"),
    );
  }

  /** What was told of attempts that went out since the balance was last read. */
  #toldSince(): Credits {
    const since = this.#start?.since ?? 0;
    return toldBy(this.#open.filter(({ sentAt }) => sentAt > since));
  }

  /** What should be free, and says so or is of one that is never late: a reading is enough. */
  #isBelieved({ isSaid, sent, state }: Attempt): boolean {
    return state === "free" && (isSaid || this.isPrompt || sent.promised === true);
  }

  /** When the last attempt went out whose charge is told. */
  #witness(): number {
    const charged = this.#open.filter(({ least, state }) => state === "told" && least > 0n);
    return Math.max(0, ...charged.map(({ sentAt }) => sentAt));
  }

  /** Whom a fall proves goes into the books; the others stay, with what is left of it. */
  #explain(fall: Credits, told: Reading, rested: boolean) {
    const ended = this.#open.filter((one) => !isFlying(one));
    const rest = creditsLess(fall, toldBy(ended));
    // What our other runs may have spent breaks no promise.
    if (rest > credits(this.#slack(ended) + this.#own)) this.#doubtPromise(ended);
    this.#learnFree(ended, rest);
    this.#learnAlone(ended, rest);
    if (this.#isLate && !rested) return;

    const proven = this.#provenOf(ended, rested);
    const unsure = ended.filter((one) => !proven.includes(one));
    this.#sawPromise ||= ended.some(({ isSpoken }) => isSpoken);
    this.#sawFree ||= proven.some(({ state }) => state === "free");
    const left = creditsLess(fall, toldBy(ended));
    const explained = credits(toldBy(proven) + minCredits(left, this.#slack(proven)));

    const isPart = unsure.length > 0;
    const own = isPart ? explained : fall;
    const kept = [...unsure, ...this.#open.filter(isFlying)];
    const theirs = this.#own;
    this.#begin(told, kept, { attempts: proven, fall: own, isPart, own: theirs, at: told.at });
    // What they spent explains what is left, too, until somebody unsure does.
    this.#theirs = isPart ? theirs : ZERO;
    this.#own = this.#theirs;
    this.#surplus = creditsLess(fall, own);
  }

  #provenOf(ended: readonly Attempt[], rested: boolean): readonly Attempt[] {
    const witness = this.#witness();
    return ended.filter(
      (one) =>
        one.endedAt < witness ||
        (rested && one.state === "free") ||
        this.#isBelieved(one) ||
        (one.state === "lost" && rested && !this.#isLate) ||
        this.#slack([one]) === 0n,
    );
  }

  /** What one that was alone cost beyond what it told, or what was guessed of it. */
  #learnAlone([only, ...others]: readonly Attempt[], rest: Credits) {
    if (only === undefined || others.length > 0 || rest === 0n) return;
    const slack = this.#slack([only]);
    if (slack === 0n && !only.sent.isGuess) return;

    const cost = credits(only.least + rest);
    const isTold = rest > slack || isMeasured(only);
    if (isTold) only.most = maxCredits(only.most ?? ZERO, cost);
    if (isTold || only.state === "free") this.#learn(only, cost);
  }

  /**
   * What should be free while more is gone than was held for it: each may have cost as much as
   * the other, and the next one may, too. Others may have taken it; a cap has to hold all the same.
   */
  #learnFree(ended: readonly Attempt[], rest: Credits) {
    const unsure = ended.filter((one) => this.#slack([one]) > 0n);
    const isFree = unsure.length > 0 && unsure.every(({ state }) => state === "free");
    if (!isFree || rest <= this.#slack(unsure)) return;

    const each = share(rest, 1, unsure.length);
    this.#floor = maxCredits(this.#floor, each);
    for (const one of unsure) one.most = credits(one.least + each);
  }

  /** More is gone than one charge of each key explains: lost ones may have been charged each. */
  #doubtPromise(ended: readonly Attempt[]) {
    const isRelied = ended.some((one) => one.heir !== undefined || isAnswered(one));
    if (!this.#isKept || !(isRelied || this.isTrusting)) return;
    this.#isKept = false;
    this.#unsure = new Set(this.#open);
  }

  /** @param closed the epoch before */
  #begin(told: Reading, kept: Attempt[], closed: Closed) {
    for (const one of closed.attempts) one.most = this.#most(one);
    this.#close(closed);
    this.#open = kept;
    this.#unsure = new Set(kept);
    // Who is not under way at a reading goes out after it.
    for (const one of kept) if (isFlying(one)) one.sentAt = this.#moment + 1;
    this.#start = { ...told, since: this.#moment };
    this.#surplus = ZERO;
    this.#theirs = ZERO;
  }

  #close(closed: Closed) {
    if (closed.attempts.length === 0 && (closed.fall ?? 0n) === 0n) return;
    const { doubt, others } = this.#sumsOf(closed);
    this.#closed.push(closed);
    if (doubt > 0n) this.#doubted.push(closed);
    this.#closedDoubt = credits(this.#closedDoubt + doubt);
    this.#closedOthers = credits(this.#closedOthers + others);
  }

  #sumsOf({ attempts, fall, own, at }: Closed): Epoch {
    const told = toldBy(attempts);
    const slack = this.#slack(attempts);
    const rest = creditsLess(fall ?? told, told);
    const doubt = fall === undefined ? slack : minCredits(rest, slack);
    return { attempts, told, doubt, others: creditsLess(rest, doubt + own), at };
  }

  /** Which attempts the doubt stands in: of a fall those that came first. */
  #doubts(): [Attempt, Credits][] {
    const open = [...this.#unsure].map((one): [Attempt, Credits] => [one, this.#slack([one])]);
    const closed = this.#doubted.flatMap((epoch) => {
      let left = this.#sumsOf(epoch).doubt;
      return epoch.attempts.map((one): [Attempt, Credits] => {
        const amount = minCredits(left, this.#slack([one]));
        left = credits(left - amount);
        return [one, amount];
      });
    });
    return [...closed, ...open].filter(([, amount]) => amount > 0n);
  }

  #doubtIn(isMeant: (one: Attempt) => boolean): Credits {
    return sumOfCredits(this.#doubts().flatMap(([one, amount]) => (isMeant(one) ? amount : [])));
  }

  #slack(attempts: Iterable<Attempt>): Credits {
    return sumOfCredits(Array.from(attempts, (one) => this.#most(one) - one.least));
  }

  #most({ sent, least, most, heir, isSpoken }: Attempt): Credits {
    const isSpokenFor = isSpoken || heir?.state === "flying" || heir?.state === "lost";
    if (this.#isKept && isSpokenFor) return least;
    return most ?? maxCredits(least, this.holdOf(sent));
  }

  #isAwaited(one: Attempt): boolean {
    if (this.#isOver) return false;
    const { state, sent } = one;
    const isLast = this.#pages.get(sent.page)?.at(-1) === one;
    return isFlying(one) || (state === "lost" && isLast && sent.promised === true && this.#isKept);
  }
}
