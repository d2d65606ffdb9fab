import fc from "fast-check";
import { Books, type Ending, type Fact, type Sent } from "../../../../src/engine/runs/books.ts";
import {
  type Credits,
  credits,
  maxCredits,
  priceOf,
  ZERO,
} from "../../../../src/shared/contract/money.ts";
import { seededRandom } from "../../../support/exactness.ts";

// A service with habits, others who use its account, and a buyer who knows nothing but facts. What the service truly took
// stands beside the books after each of them.

const AMOUNT = 1_000_000n;
const amountOf = (whole: number): Credits => credits(BigInt(Math.round(whole * 4)) * (AMOUNT / 4n));

/** Longer than any balance is late by time. */
const REST = 12;

export interface Habits {
  readonly seed: number;
  readonly price: number;
  readonly cap: number;
  readonly underWay: number;
  readonly pageRows: number;
  readonly losses: number;
  readonly kills: number;
  readonly refusals: number;
  readonly emptyPages: number;
  /** What an answer costs that should be free, in parts of its hold. */
  readonly freeCosts: number;
  readonly freeTells: boolean;
  readonly keys: "kept" | "kept unsaid" | "promised" | "forgotten";
  /** What a success says of its cost. */
  readonly tells: "exact" | "nothing" | "with the next" | "zero";
  readonly othersSpend: number;
  /** `mistaken`: of another account, and told as if it were the same. */
  readonly siblings: "none" | "same account" | "another account" | "no account named" | "mistaken";
  readonly isPriceTold: boolean;
  readonly firstRowFree: boolean;
  /** A row costs half from this one on. */
  readonly tier: number;
  /** From this call on a row costs so many times as much. */
  readonly dearerAt: number;
  readonly dearer: number;
  readonly lateBy: "time" | "calls";
  readonly late: number;
  /** The balance jumps up: by more than was ever spent, or by about a page. */
  readonly topUp: "none" | "large" | "small";
  /** The buyer rests before each reading, longer than the balance is late. */
  readonly isPatient: boolean;
}

const rate = (most: number) => fc.double({ min: 0, max: most, noNaN: true });

/** Everything at once but what no bound can hold under: a balance that is late, and small top-ups. */
export const habits = fc.record<Habits>({
  seed: fc.integer(),
  price: fc.constantFrom(1, 1, 2, 0.25, 3),
  cap: fc.integer({ min: 5, max: 90 }),
  underWay: fc.integer({ min: 1, max: 8 }),
  pageRows: fc.constantFrom(1, 5, 10, 20),
  losses: rate(0.5),
  kills: rate(0.05),
  refusals: rate(0.5),
  emptyPages: rate(0.3),
  freeCosts: fc.constantFrom(0, 0, 0.5, 1, 2.5),
  freeTells: fc.boolean(),
  keys: fc.constantFrom("kept", "kept unsaid", "promised", "forgotten"),
  tells: fc.constantFrom("exact", "exact", "exact", "nothing", "with the next", "zero"),
  othersSpend: fc.constantFrom(0, 0, 0.1, 0.5),
  siblings: fc.constantFrom("none", "none", "same account", "another account", "no account named"),
  isPriceTold: fc.constantFrom(true, true, true, false),
  firstRowFree: fc.constantFrom(false, false, false, true),
  tier: fc.constantFrom(0, 0, 0, 15),
  dearerAt: fc.integer({ min: 1, max: 12 }),
  dearer: fc.constantFrom(1, 1, 1, 2, 10),
  lateBy: fc.constant("time"),
  late: fc.constant(0),
  topUp: fc.constantFrom("none", "none", "large"),
  isPatient: fc.constant(false),
});

/** The same with a balance that is late. */
export const lateHabits = fc
  .tuple(
    habits,
    fc.integer({ min: 1, max: 10 }),
    fc.constantFrom("time" as const, "calls" as const),
  )
  .map(([others, late, lateBy]): Habits => ({ ...others, late, lateBy }));

interface Page {
  readonly page: string;
  readonly rows: number;
}

interface Call extends Page {
  readonly n: number;
  readonly hold: Credits;
  /** What it may have cost when it went out, by all that was seen. */
  readonly most: Credits;
  /** What the service did with it, once it did; a call that was lost on the way there stays undefined. */
  answer: Ending | undefined;
  isDone: boolean;
}

interface Movement {
  readonly at: number;
  readonly calls: number;
  readonly amount: Credits;
}

interface Sibling {
  readonly sentAt: number;
  readonly settledAt: number;
  readonly amount: Credits;
}

/** What the service takes and what it shows of it. */
class Service {
  readonly habits: Habits;
  readonly random: () => number;
  readonly #movements: Movement[] = [];
  readonly #kept = new Map<string, { readonly rows: number; readonly used?: Credits }>();
  #before = ZERO;
  #rows = 0;
  #calls = 0;
  now = 0;
  truth = ZERO;

  constructor(habits: Habits, random: () => number) {
    this.habits = habits;
    this.random = random;
  }

  move(amount: Credits): void {
    this.#movements.push({ at: this.now, calls: this.#calls, amount });
  }

  get price(): number {
    const { price, dearer, dearerAt } = this.habits;
    return this.#calls >= dearerAt ? price * dearer : price;
  }

  /** As it shows it: without what happened lately. */
  get balance(): Credits {
    const { late, lateBy } = this.habits;
    const shown = this.#movements.filter(({ at, calls }) =>
      lateBy === "time" ? at <= this.now - late : calls <= this.#calls - late,
    );
    const gone = (late === 0 ? this.#movements : shown).reduce(
      (sum, { amount }) => sum + amount,
      0n,
    );
    return credits(10_000n * AMOUNT - gone);
  }

  /** @returns what it took */
  serve(call: Call): Credits {
    const { refusals, emptyPages, freeCosts, freeTells, keys } = this.habits;
    const { n, page, rows: asked } = call;
    const kept = this.#kept.get(page);
    this.#calls++;
    call.isDone = true;
    if (kept !== undefined && keys !== "forgotten") {
      const stored = keys === "kept unsaid" ? {} : { stored: true };
      call.answer = { t: "told", n, ...kept, ...stored };
      return ZERO;
    }

    const chance = this.random();
    const isRefused = chance < refusals;
    const isEmpty = !isRefused && chance < refusals + emptyPages;
    if (isRefused || isEmpty) {
      const used = credits((call.hold * BigInt(freeCosts * 10)) / 10n);
      const words = freeTells ? { used } : {};
      call.answer = isRefused ? { t: "refused", n, ...words } : { t: "told", n, rows: 0, ...words };
      this.#take(used);
      return used;
    }

    const rows = this.random() < 0.8 ? asked : 1 + Math.floor(this.random() * asked);
    const used = this.#costOf(rows);
    this.#take(used);
    const answer = { rows, ...this.#words(used) };
    this.#kept.set(page, answer);
    call.answer = { t: "told", n, ...answer };
    this.#before = used;
    return used;
  }

  #take(amount: Credits): void {
    this.truth = credits(this.truth + amount);
    this.move(amount);
  }

  #words(used: Credits): { readonly used?: Credits } {
    const { tells } = this.habits;
    if (tells === "nothing") return {};
    if (tells === "zero") return { used: ZERO };
    return { used: tells === "exact" ? used : this.#before };
  }

  #costOf(rows: number): Credits {
    const { firstRowFree, tier } = this.habits;
    let cost = 0;
    for (let row = 0; row < rows; row++) {
      const isFree = firstRowFree && this.#rows === 0;
      cost += isFree ? 0 : this.price * (tier > 0 && this.#rows >= tier ? 0.5 : 1);
      this.#rows++;
    }
    return credits(BigInt(Math.round(cost * 1_000_000)));
  }
}

export interface Moment {
  readonly books: Books;
  readonly facts: readonly Fact[];
  readonly truth: Credits;
  readonly cap: Credits;
  /** By how much calls cost more than their hold: of those that nobody has told yet, and of all. */
  readonly beyond: { readonly untold: Credits; readonly ever: Credits };
}

export interface Told {
  readonly facts: readonly Fact[];
  readonly truth: Credits;
  readonly cap: Credits;
  readonly books: Books;
}

/** What the buyer believes of a fact; the control believes too much. */
export type Belief = (fact: Fact) => Fact;

/** Tells one story. @param look after each fact */
export function tell(
  habits: Habits,
  look: (moment: Moment) => void,
  believe: Belief = (fact) => fact,
): Told {
  const random = seededRandom(habits.seed);
  const service = new Service(habits, random);
  const buyer = new Buyer(habits, service, random, look, believe);
  buyer.buy();
  return { facts: buyer.facts, truth: service.truth, cap: buyer.cap, books: buyer.books };
}

/** Follows the one mechanism: let what is under way land, read the balance, go on. */
class Buyer {
  readonly #habits: Habits;
  readonly #service: Service;
  readonly #random: () => number;
  readonly #look: (moment: Moment) => void;
  readonly #believe: Belief;
  readonly cap: Credits;
  readonly facts: Fact[] = [];
  books = new Books();
  #flying: Call[] = [];
  /** Pages whose reply is missing, with the holds they began with. */
  #again: Page[] = [];
  readonly #beyond = new Map<number, Credits>();
  #ever = ZERO;
  #siblings: Sibling[] = [];
  #n = 0;
  #price: Credits | undefined;

  constructor(
    habits: Habits,
    service: Service,
    random: () => number,
    look: (moment: Moment) => void,
    believe: Belief,
  ) {
    this.#habits = habits;
    this.#service = service;
    this.#random = random;
    this.#look = look;
    this.#believe = believe;
    this.cap = amountOf(habits.cap);
    this.#price = habits.isPriceTold ? amountOf(habits.price) : undefined;
  }

  buy(): void {
    const { kills } = this.#habits;
    this.#read(false);
    for (let step = 0; step < 40; step++) {
      this.#passTime();
      if (this.#random() < kills) this.#kill();
      else if (!this.#act()) break;
    }
    this.#land();
    this.#read(false);
  }

  /** @returns whether there is more to do */
  #act(): boolean {
    const { underWay, pageRows } = this.#habits;
    const allowed = this.#unit === undefined ? 1 : underWay;
    if (this.#flying.length >= allowed || (this.#flying.length > 0 && this.#random() < 0.5)) {
      this.#answer();
      return true;
    }

    const rows = this.#unit === undefined ? 1 : pageRows;
    const next = this.#again[0] ?? { page: `page ${this.#n}`, rows };
    if (this.#hasRoom(next)) return this.#send(next);
    if (this.#flying.length > 0) {
      this.#answer();
      return true;
    }

    this.#read(false);
    if (!this.#hasRoom(next)) this.#read(true);
    if (this.#hasRoom(next)) return this.#send(next);
    // A lost page waits for a higher cap; a smaller one may fit.
    if (this.#again.length > 0) return this.#again.shift() !== undefined;
    return rows > 1 && this.#hasRoom({ ...next, rows: 1 }) && this.#send({ ...next, rows: 1 });
  }

  /** What a row costs as far as anybody knows: a price that nobody told is learned from one row. */
  get #unit(): Credits | undefined {
    const seen = this.books.price;
    return this.#price === undefined ? seen : maxCredits(this.#price, seen ?? ZERO);
  }

  #sentOf({ page, rows }: Page): Sent {
    const hold = priceOf(rows, this.#unit ?? amountOf(1));
    const promised = this.#habits.keys === "promised";
    return { t: "sent", n: this.#n + 1, page, rows, hold, promised };
  }

  #hasRoom(next: Page): boolean {
    return this.books.room(this.cap) >= this.books.riskOf(this.#sentOf(next));
  }

  #send(next: Page): true {
    const sent = this.#sentOf(next);
    this.#n = sent.n;
    this.#again = this.#again.filter(({ page }) => page !== next.page);
    const most = this.books.holdOf(sent);
    this.#flying.push({ ...sent, most, answer: undefined, isDone: false });
    this.#note(sent);
    return true;
  }

  /** One of those under way ends, whichever: replies overtake each other. */
  #answer(): void {
    const [call] = this.#flying.splice(Math.floor(this.#random() * this.#flying.length), 1);
    if (call === undefined) return;
    const { losses } = this.#habits;
    const { n, page, rows } = call;
    const chance = this.#random();
    if (chance >= losses / 2) this.#serve(call);

    const isLost = chance < losses || call.answer === undefined;
    // Somebody on the way may answer in its place.
    const isBroken = this.#random() < 0.25;
    const lost: Ending = isBroken ? { t: "refused", n, isFault: true } : { t: "lost", n };
    const answer = isLost || call.answer === undefined ? lost : call.answer;
    const isSold = answer.t === "told" && answer.rows !== 0;
    if (!isSold && this.#random() < 0.8) this.#again.push({ page, rows });
    if (
      answer.t !== "lost" &&
      answer.used !== undefined &&
      (!isSold || this.#habits.tells === "exact")
    )
      this.#beyond.delete(n);
    this.#note(answer);
  }

  #serve(call: Call): void {
    if (call.isDone) return;
    const used = this.#service.serve(call);
    const { answer, hold, most, n, rows } = call;
    const isSold = answer?.t === "told" && answer.rows !== 0;
    const came = isSold ? (answer.rows ?? 0) : rows;
    // What came at the price that it was sent at.
    const part = credits((hold * BigInt(came) + BigInt(rows) - 1n) / BigInt(rows));
    // An error is charged beside what its promised key stands for.
    const free = this.#habits.keys === "promised" ? ZERO : most;
    const counted = isSold ? part : free;
    if (used <= counted) return;
    this.#beyond.set(n, credits(used - counted));
    this.#ever = credits(this.#ever + used - counted);
  }

  #land(): void {
    while (this.#flying.length > 0) {
      this.#passTime();
      this.#answer();
    }
  }

  /** The process ends; the next one reads the journal. */
  #kill(): void {
    for (const call of this.#flying) {
      if (this.#random() < 0.5) this.#serve(call);
      this.#again.push(call);
    }
    this.#flying = [];
    this.books = new Books(this.facts);
    this.#passTime();
    this.#read(false, true);
  }

  #passTime(): void {
    const { othersSpend, siblings, topUp } = this.#habits;
    const service = this.#service;
    service.now++;
    for (const call of this.#flying) if (this.#random() < 0.2) this.#serveSome(call);
    if (this.#random() < othersSpend) service.move(amountOf(1 + Math.floor(this.#random() * 20)));
    if (topUp !== "none" && this.#random() < 0.03)
      service.move(amountOf(topUp === "large" ? -20_000 : -1 - Math.floor(this.#random() * 30)));
    if (siblings !== "none" && this.#random() < 0.2) this.#letSiblingBuy();
  }

  #serveSome(call: Call): void {
    if (this.#random() >= this.#habits.losses) this.#serve(call);
  }

  /** It holds for a while on both sides of its charge. */
  #letSiblingBuy(): void {
    const { now } = this.#service;
    const amount = amountOf(1 + Math.floor(this.#random() * 20));
    const sentAt = now - Math.floor(this.#random() * 3);
    this.#siblings.push({ sentAt, settledAt: now + Math.floor(this.#random() * 3), amount });
    if (!["another account", "mistaken"].includes(this.#habits.siblings))
      this.#service.move(amount);
  }

  #read(isAgain: boolean, begins = false): void {
    if (!begins) this.#land();
    const rested = isAgain || this.#habits.isPatient;
    if (rested) this.#service.now += REST;
    const { siblings } = this.#habits;
    const { now, balance } = this.#service;
    const settled = this.#siblings
      .filter(({ sentAt, settledAt }) => sentAt > this.books.lastRead.at && settledAt <= now)
      .reduce((sum, { amount }) => sum + amount, 0n);
    const isTold = ["same account", "mistaken"].includes(siblings);
    const beside = isTold ? credits(settled) : ZERO;
    this.#note({ t: "quiet", balance, rested, begins, beside, at: now });
  }

  #note(fact: Fact): void {
    const believed = this.#believe(fact);
    this.facts.push(believed);
    this.books.note(believed);
    const untold = credits([...this.#beyond.values()].reduce((sum, amount) => sum + amount, 0n));
    const beyond = { untold, ever: this.#ever };
    const { books, facts, cap } = this;
    this.#look({ books, facts, truth: this.#service.truth, cap, beyond });
  }
}
