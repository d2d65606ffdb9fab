/** The most that is kept; beyond it everything is read again. */
const MAX_ENTRIES = 10_000;

/**
 * What was read from the store in this turn of the event loop, shared by the requests that arrived together, and kept for the next
 * turns while the store says that nobody changed anything. It saves most reads under load and is as strict as reading every time:
 * what is shared was read, or known to be unchanged, after all of these requests had been sent, so that whatever had been
 * acknowledged to anybody before (a revocation, a charge, another plan) is in it.
 *
 * Only what runs within the turn in which its request arrived may use it; `isCurrent` tells.
 */
export class TurnCache<Value> {
  private readonly entries = new Map<string, Value>();
  private readonly isUnchanged: () => boolean;
  private turn = 0;
  private scheduled = false;

  /** @param isUnchanged asked once a turn: whether everything is still as it was when this was asked before */
  constructor(isUnchanged: () => boolean) {
    this.isUnchanged = isUnchanged;
  }

  /** The turn that a request arrives in. */
  enter(): number {
    if (!this.scheduled) {
      this.scheduled = true;
      if (!this.isUnchanged() || this.entries.size > MAX_ENTRIES) this.entries.clear();
      // It runs before the loop looks for new requests.
      setImmediate(() => {
        this.scheduled = false;
        this.turn++;
      });
    }
    return this.turn;
  }

  isCurrent(turn: number): boolean {
    return this.scheduled && turn === this.turn;
  }

  get(key: string): Value | undefined {
    return this.entries.get(key);
  }

  put(key: string, value: Value): void {
    this.entries.set(key, value);
  }

  /** Forgets this value, if it is still the one. */
  drop(key: string, value: Value): void {
    if (this.entries.get(key) === value) this.entries.delete(key);
  }

  clear(): void {
    this.entries.clear();
  }
}
