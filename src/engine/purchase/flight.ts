// Tested by test/unit/flight.test.ts.
import { type Credits, sumOfCredits } from "../../shared/contract/money.ts";
import { byPosition, type Unit } from "../runs/journal.ts";

/**
 * `ready`: intent written; `paused`: waits for its turn, or for its next try; `flying`: asked for;
 * `keeping`: reply being written; `doubt`: it may be charged.
 */
export type Phase = "ready" | "paused" | "flying" | "keeping" | "doubt";

export interface Flown {
  readonly unit: Unit;
  readonly hold: Credits;
  readonly phase: Phase;
  /** Whether any attempt may have reached the service. */
  readonly sent: boolean;
  /** Whether a reply of it was lost, and it is asked for again. */
  readonly isLost: boolean;
  /** Until the books have its reply no call goes out: it would be taken for a part of that. */
  readonly bars?: boolean;
  /**
   * Whether no other call was in flight at any moment since
   * it was asked for, or since a look at the balance.
   */
  readonly alone: boolean;
}

const isAsked = ({ phase }: Flown): boolean => phase === "flying" || phase === "doubt";

/**
 * The units in flight with their holds, those that wait
 * from an earlier session, and the stop of it all.
 */
export class Flight {
  readonly #units = new Map<number, { -readonly [Key in keyof Flown]: Flown[Key] }>();
  /** Units of an earlier session whose reply is not known; they go first, under their own keys. */
  #pending: Unit[] = [];
  /**
   * Units whose reply was lost and that need a higher cap to be asked again, under their own keys.
   */
  readonly #shelved: Unit[] = [];
  readonly #halt = new AbortController();
  #isRead = false;
  readonly #changed = new Set<() => void>();
  /**
   * How often it changed so far: taken before a look at
   * it that awaits, and given to {@link change} after.
   */
  changes = 0;

  get stopped(): boolean {
    return this.#halt.signal.aborted;
  }

  get failure(): unknown {
    return this.#halt.signal.reason;
  }

  get halt(): AbortSignal {
    return this.#halt.signal;
  }

  /** Nothing more is bought; what is in flight is settled. The first reason counts. */
  stop(reason: unknown): void {
    this.#halt.abort(reason);
    this.signal();
  }

  get #all() {
    return [...this.#units.values()];
  }

  signal(): void {
    this.changes++;
    for (const resolve of this.#changed) resolve();
    this.#changed.clear();
  }

  /** Resolves with the next change. @param since at once where there was one after that */
  change(since = this.changes): Promise<void> {
    if (since !== this.changes) return Promise.resolve();
    return new Promise((resolve) => {
      this.#changed.add(resolve);
    });
  }

  /** Resolves once neither a reply nor a reading bars the way. @throws what stopped the run */
  async unbarred(): Promise<void> {
    while (
      !this.stopped &&
      (this.#isRead || this.#all.some(({ bars, phase }) => bars && phase !== "doubt"))
    )
      await this.change();
    if (this.stopped) throw this.failure;
  }

  /** Once nothing is under way: until the balance that is read then is a fact no call goes out. */
  async quiet(read: () => Promise<boolean>): Promise<boolean> {
    while (this.count("flying", "keeping") > 0) await this.change();
    this.#isRead = true;
    try {
      return await read();
    } finally {
      this.#isRead = false;
      this.signal();
    }
  }

  add(unit: Unit, sent: boolean): Flown {
    const { hold, n } = unit.intent;
    const flown = { unit, hold, phase: "ready" as Phase, sent, isLost: false, alone: true };
    this.#units.set(n, flown);
    return flown;
  }

  turn(flown: Flown, phase: Phase): void {
    this.mark(flown, { phase });
    if (this.count("flying", "doubt") > 1) {
      for (const one of this.#all) if (isAsked(one)) one.alone = false;
    }
    this.signal();
  }

  mark({ unit }: Flown, facts: Partial<Flown>): void {
    Object.assign(this.#units.get(unit.intent.n) ?? {}, facts);
  }

  remove({ intent }: Unit): void {
    this.#units.delete(intent.n);
    this.signal();
  }

  has({ unit }: Flown): boolean {
    return this.#units.has(unit.intent.n);
  }

  get isEmpty(): boolean {
    return this.#units.size === 0;
  }

  count(...phases: readonly Phase[]): number {
    return this.#all.filter(({ phase }) => phases.includes(phase)).length;
  }

  /** Whether one is asked for again whose reply was lost: alone, so that the balance tells. */
  get hasLost(): boolean {
    return this.#all.some(({ phase, isLost }) => phase !== "keeping" && isLost);
  }

  /**
   * Also for a reply that is being written: the balance is less by it once it is.
   * @param isReady also for those whose intent alone is written
   */
  held(isReady: boolean): Credits {
    const held = this.#all.filter(({ phase }) => isReady || phase !== "ready");
    return sumOfCredits(held.map(({ hold }) => hold));
  }

  /** Rows that may still come: those that were settled are counted in the run. */
  get rowsOpen(): number {
    const units = [...this.#all.map((one) => one.unit), ...this.#pending, ...this.#shelved];
    return units.reduce((sum, { intent, settled }) => sum + (settled ? 0 : intent.perPage), 0);
  }

  /**
   * Targets whose next page has to wait for what is in flight.
   * @param withKept also for what is being written
   */
  busyTargets(withKept: boolean): Set<number> {
    const asked = this.#all.filter(({ phase }) => withKept || phase !== "keeping");
    const units = [...this.#pending, ...asked.map(({ unit }) => unit)];
    return new Set(units.map(({ intent }) => intent.target));
  }

  /** Whether a page of its target that lies before it is asked for, or its reply being written. */
  isBehind({ unit: { intent } }: Flown): boolean {
    return this.#all.some(
      ({ phase, unit: { intent: other } }) =>
        phase !== "ready" && other.target === intent.target && other.offset < intent.offset,
    );
  }

  get isBeyondFirst(): boolean {
    return this.#all.some(({ unit }) => unit.intent.offset > 0);
  }

  /** Whether anything before this unit in the output is in flight or waits for its turn. */
  hasBefore(unit: Unit): boolean {
    const units = [...this.#all.map((one) => one.unit), ...this.#pending];
    return units.some((other) => byPosition(other, unit) < 0);
  }

  wait(...units: Unit[]): void {
    this.#pending = [...this.#pending, ...units].sort(byPosition);
  }

  nextWaiting(): Unit | undefined {
    return this.#pending.shift();
  }

  shelve(unit: Unit): void {
    this.#shelved.push(unit);
    // Pages behind it wait for it no longer.
    this.signal();
  }

  /** There is more room now: they are asked for again. */
  unshelve(): void {
    this.wait(...this.#shelved.splice(0));
  }

  get hasShelved(): boolean {
    return this.#shelved.length > 0;
  }

  /** Those of an earlier session that are still to be asked for again. */
  get pending(): readonly Unit[] {
    const next = this.#all.flatMap(({ phase, sent, unit }) =>
      phase === "ready" && sent ? unit : [],
    );
    return [...this.#pending, ...next];
  }
}
