/**
 * What was read from the store in this turn of the event loop, shared by the requests that arrived together. It saves most reads
 * under load and is as strict as reading every time: what is shared was read after all of these requests had been sent, so that
 * whatever had been acknowledged to anybody before (a revocation, a charge, another plan) is in it. It is empty again before the
 * loop looks for new requests.
 *
 * Only what runs within the turn in which its request arrived may use it; `isCurrent` tells.
 */
export class TurnCache {
  private readonly entries = new Map<string, unknown>();
  private turn = 0;
  private scheduled = false;

  /** The turn that a request arrives in. */
  enter(): number {
    if (!this.scheduled) {
      this.scheduled = true;
      setImmediate(() => {
        this.scheduled = false;
        this.turn++;
        this.entries.clear();
      });
    }
    return this.turn;
  }

  isCurrent(turn: number): boolean {
    return this.scheduled && turn === this.turn;
  }

  /** What was put in before in this turn. */
  peek(key: string): unknown {
    return this.entries.get(key);
  }

  /** Puts a value in, if its turn is not over. */
  put(turn: number, key: string, value: unknown): void {
    if (this.isCurrent(turn)) this.entries.set(key, value);
  }

  /** The value of this turn, made where it is the first. Keys and their types of values belong together. */
  get<Value>(key: string, make: () => Value): Value {
    const found = this.entries.get(key);
    if (found !== undefined) return found as Value;
    const made = make();
    this.entries.set(key, made);
    return made;
  }
}
