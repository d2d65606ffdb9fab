import { Page } from "../output/page.ts";
import { byPosition, type Unit } from "../runs/journal.ts";
import type { Buying } from "./flight.ts";

interface Settled {
  readonly unit: Unit;
  /** Undefined where an earlier session bought it: it is read when its turn comes. */
  readonly page: Page | undefined;
}

const EMPTY_REPLY = Buffer.from('{"result":[]}');

/** Hands settled pages on in the order of the output, as soon as nothing before them is still to come. */
export class Handover {
  readonly #b: Buying;
  /** Settled and not yet handed on, in the order of the output. */
  readonly #waiting: Settled[] = [];
  #finished = false;

  constructor(buying: Buying) {
    this.#b = buying;
  }

  /** Pages that wait to be handed on. */
  get length(): number {
    return this.#waiting.length;
  }

  add(unit: Unit, page: Page | undefined): void {
    // Nearly always the last place, or close to it.
    let at = this.#waiting.length;
    for (let before = this.#waiting[at - 1]; before !== undefined && byPosition(unit, before.unit) < 0; ) {
      before = this.#waiting[--at - 1];
    }
    this.#waiting.splice(at, 0, { unit, page });
  }

  /** Nothing more will come. */
  finish(): void {
    this.#finished = true;
    this.#b.signal();
  }

  /** Whether the first page that waits does so for one that is not even in flight. */
  get isHeldUp(): boolean {
    const first = this.#waiting[0];
    return first !== undefined && !this.#isNext(first.unit);
  }

  /** Hands on what earlier sessions bought, as far as nothing before it is missing, before anything more is bought. */
  async commitKept(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined && this.#isNext(first.unit); first = this.#waiting[0]) {
      if (this.#b.stopped || !(await this.#commitFirst())) return;
    }
  }

  /** Hands on until {@link finish}, or until the output fails. */
  async commitAll(): Promise<void> {
    for (;;) {
      // Interrupted: what is paid for is kept, and nobody waits for a reader that may be stuck.
      if (this.#b.options.interrupted.aborted) return;
      const first = this.#waiting[0];
      if (first === undefined || !this.#isNext(first.unit)) {
        // A page left out for good (a cap, a wall) does not hold up the ones behind it; after a failure they stay in the run.
        if (this.#finished && (first === undefined || this.#b.stopped)) return;
        if (!this.#finished) {
          await this.#b.change();
          continue;
        }
      }
      if (first === undefined || !(await this.#commitFirst())) return;
    }
  }

  /** @returns false where the output failed; the run is stopped then */
  async #commitFirst(): Promise<boolean> {
    const first = this.#waiting.shift();
    if (first === undefined) return true;
    const { options, run } = this.#b;
    try {
      const { unit, page } = first;
      const kept = unit.settled?.follows !== undefined;
      await options.commit(kept ? (page ?? Page.read(run.readReply(unit))) : Page.read(EMPTY_REPLY), unit);
    } catch (error) {
      this.#b.stop(error);
      return false;
    }
    this.#b.signal();
    return true;
  }

  /** Whether nothing before this unit is in flight or still to be asked for. */
  #isNext(unit: Unit): boolean {
    const { active, pending, agenda } = this.#b;
    for (const other of active.values()) if (byPosition(other.unit, unit) < 0) return false;
    for (const other of pending) if (byPosition(other, unit) < 0) return false;
    return !agenda.hasBefore(unit.intent);
  }
}
