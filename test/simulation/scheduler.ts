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

const PATIENCE_MS = 20_000;
/** Turns of the event loop in which nothing happens any more: what goes on within the process takes one or two. */
const QUIET_TURNS = 4;
/** Work that Node's threads do. */
const REQUEST = /Req(Promise|Callback)$|Connect|WriteWrap|ShutdownWrap|ZLIB/i;

/** Nobody moves without its leave, and only one at a time: so the order of all events follows from the story, not from threads. */
export class Scheduler {
  time: number;
  readonly waiting: Token[] = [];
  /** The story as it happened. Two runs of one seed have the same. */
  readonly transcript: string[] = [];
  /** Who was let go last: what its call meets in the service is its. */
  moving = "";
  /** Calls that the service is about, and that wait nowhere. */
  readonly atService = new Set<string>();
  /** Whether somebody is about something that nothing here shows. */
  isBusy: () => boolean = () => false;
  /** What was wrong, seen by somebody who moved. */
  failure: unknown;

  constructor(time: number) {
    this.time = time;
  }

  say(text: string): void {
    this.transcript.push(text);
  }

  arrive(token: Token): void {
    this.waiting.push(token);
  }

  leave(token: Token): void {
    const at = this.waiting.indexOf(token);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  /** Who waits, in an order of names. */
  inOrder(): Token[] {
    return [...this.waiting].sort((a, b) => (a.actor === b.actor ? 0 : a.actor < b.actor ? -1 : 1));
  }

  /** Lets one go on, or does a fault to it, and waits until all of what follows has come to a stop. */
  async release(token: Token, fault?: string): Promise<void> {
    this.say(
      `${token.actor} ${token.kind} ${token.detail}${fault === undefined ? "" : `: ${fault}`}`,
    );
    this.leave(token);
    this.moving = token.actor;
    await this.move(
      fault === undefined ? () => token.go() : (token.faults[fault] ?? (() => token.go())),
    );
  }

  /** @throws what was wrong */
  async move(work: () => void): Promise<void> {
    work();
    const until = Date.now() + PATIENCE_MS;
    for (let quiet = 0, turns = 0; quiet < QUIET_TURNS; turns++) {
      await new Promise<void>((resolve) =>
        turns < 100 ? setImmediate(resolve) : setTimeout(resolve, 1),
      );
      const isQuiet =
        this.atService.size === 0 &&
        !process.getActiveResourcesInfo().some((one) => REQUEST.test(one));
      quiet = isQuiet && !this.isBusy() ? quiet + 1 : 0;
      if (this.failure !== undefined) throw this.failure;
      if (Date.now() > until)
        throw new Error(`nothing comes of it:\n${this.transcript.slice(-10).join("\n")}`);
    }
  }
}
