// Tested by test/e2e/export.test.ts.
import { Page } from "../../shared/rows/page.ts";
import { byPosition, type Unit } from "../runs/journal.ts";
import type { Flight } from "./flight.ts";

interface Settled {
  readonly unit: Unit;
  readonly page: Page | undefined;
}

export interface ReorderOptions {
  readonly isNext: (unit: Unit) => boolean;
  readonly read: (unit: Unit) => Page;
  /**
   * Takes the pages in the order of the output, each once,
   * after it is settled. A rejection ends the buying.
   */
  readonly commit: (page: Page, unit: Unit) => Promise<void>;
  readonly interrupted: AbortSignal;
  readonly flight: Flight;
}

/**
 * Hands settled pages on in the order of the output,
 * as soon as nothing before them is still to come.
 */
export class ReorderBuffer {
  readonly #options: ReorderOptions;
  readonly #waiting: Settled[] = [];
  #finished = false;

  constructor(options: ReorderOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(unit: Unit, page: Page | undefined): void {
    let at = this.#waiting.length;
    for (
      let before = this.#waiting[at - 1];
      before !== undefined && byPosition(unit, before.unit) < 0;
    ) {
      before = this.#waiting[--at - 1];
    }
    this.#waiting.splice(at, 0, { unit, page });
  }

  finish(): void {
    this.#finished = true;
    this.#options.flight.signal();
  }

  get isHeldUp(): boolean {
    return this.#waiting.length > 0 && this.#first() === undefined;
  }

  /**
   * Hands on what earlier sessions bought, as far as nothing
   * before it is missing, before anything more is bought.
   */
  async commitKept(): Promise<void> {
    while (this.#first() !== undefined && !this.#options.flight.stopped)
      if (!(await this.#commitFirst())) return;
  }

  /** Pages of earlier sessions behind one that is still missing. */
  *heldUp(): Iterable<readonly [Unit, Page]> {
    for (const { unit, page } of this.#waiting) {
      if (unit.settled?.follows !== undefined) yield [unit, page ?? this.#options.read(unit)];
    }
  }

  async commitAll(): Promise<void> {
    for (;;) {
      // Interrupted: what is paid for is kept, and nobody waits for a reader that may be stuck.
      if (this.#options.interrupted.aborted) return;
      if (this.#first() === undefined && !this.#finished) {
        await this.#options.flight.change();
        continue;
      }

      // A page left out for good (a cap, a wall) holds up
      // none behind it; after a failure they stay in the run.
      if (
        this.#waiting.length === 0 ||
        (this.#first() === undefined && this.#options.flight.stopped)
      )
        return;
      if (!(await this.#commitFirst())) return;
    }
  }

  #first(): Settled | undefined {
    const first = this.#waiting[0];
    return first !== undefined && this.#options.isNext(first.unit) ? first : undefined;
  }

  /** @returns false where the output failed; the run is stopped then */
  async #commitFirst(): Promise<boolean> {
    const first = this.#waiting.shift();
    if (first === undefined) return true;

    const { unit, page } = first;
    try {
      // A free miss has no reply.
      await this.#options.commit(
        unit.settled?.follows === undefined ? Page.empty : (page ?? this.#options.read(unit)),
        unit,
      );
      page?.release();
    } catch (error) {
      this.#options.flight.stop(error);
      return false;
    }

    this.#options.flight.signal();
    return true;
  }
}
