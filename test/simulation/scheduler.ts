/** Where somebody waits for the scheduler. `detail` is for the story: no ports, no random ids. */
export interface Token {
  /** `ada`, or a call of hers: `ada#3`. */
  readonly actor: string;
  readonly kind: "request" | "at work" | "reply" | "sleep";
  readonly detail: string;
  /** What may be done beside letting it go on. */
  readonly faults: Readonly<Record<string, () => void>>;
  go(): void;
}

/** Nobody moves without its leave, and only one at a time: so the order of all events follows from the story, not from threads. */
export class Scheduler {
  time: number;
  readonly waiting: Token[] = [];
  /** The story as it happened. Two runs of one seed have the same. */
  readonly transcript: string[] = [];
  /** Who was let go last: whatever arrives next is its. */
  moving = "";
  #events = 0;
  #seen = 0;
  #wake: (() => void) | undefined;

  constructor(time: number) {
    this.time = time;
  }

  say(text: string): void {
    this.transcript.push(text);
  }

  arrive(token: Token): void {
    this.waiting.push(token);
    this.ended();
  }

  /** Whoever moved has come to an end, with nothing to wait for. */
  ended(): void {
    this.#events++;
    this.#wake?.();
  }

  leave(token: Token): void {
    const at = this.waiting.indexOf(token);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  /** Who waits, in an order of names. */
  inOrder(): Token[] {
    return [...this.waiting].sort((a, b) => (a.actor === b.actor ? 0 : a.actor < b.actor ? -1 : 1));
  }

  /** Lets one go on, or does a fault to it, and waits until it has come to its next stop. */
  async release(token: Token, fault?: string): Promise<void> {
    this.say(`${token.actor} ${token.kind} ${token.detail}${fault === undefined ? "" : `: ${fault}`}`);
    this.leave(token);
    this.moving = token.actor;
    await this.move(fault === undefined ? () => token.go() : (token.faults[fault] ?? (() => token.go())));
  }

  async move(work: () => void): Promise<void> {
    this.#seen = this.#events;
    work();
    for (const until = Date.now() + 20_000; this.#events === this.#seen; ) {
      if (Date.now() > until) throw new Error(`nothing comes of it:\n${this.transcript.slice(-10).join("\n")}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
  }
}
