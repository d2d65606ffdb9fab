import { worldOf } from "../app/buy/order.ts";
import type { Session } from "../app/session.ts";
import { stateDir } from "../engine/connections/paths.ts";
import type { Context } from "../shared/context.ts";
import { usageError } from "../shared/errors.ts";
import { HeadcountError } from "./errors.ts";

/** As a signal to the command would: pages in flight are settled first. */
export function interruption(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const first = AbortSignal.any(signals.filter((signal) => signal !== undefined));
  const controller = new AbortController();
  const stop = (): void => {
    const reason = { name: "AbortError", code: "SIGINT" };
    controller.abort(Object.assign(new Error("interrupted", { cause: first.reason }), reason));
  };

  if (first.aborted) stop();
  else first.addEventListener("abort", stop, { once: true });
  return controller.signal;
}

/** An open connection, and how what fails at it is told. */
export class Connected {
  readonly session: Session;
  readonly context: Context;
  readonly notice: (text: string) => void;
  /** Undefined where nobody hears why nobody matches: that is asked by free counts. */
  readonly hint: ((text: string) => void) | undefined;
  readonly stateDir: string;
  readonly #open = new Set<Promise<void>>();
  #isClosed = false;

  constructor(session: Session, context: Context, notice: ((text: string) => void) | undefined) {
    this.session = session;
    this.context = context;
    this.notice = notice ?? (() => undefined);
    this.hint = notice;
    this.stateDir = stateDir(context);
  }

  /** Nothing is begun any more, and what is under way is over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#open);
  }

  /** Waits for it before it is closed. */
  track(work: Promise<unknown>): void {
    const over: Promise<void> = work
      .catch(() => undefined)
      .then(() => void this.#open.delete(over));
    this.#open.add(over);
  }

  #requireOpen(): void {
    if (this.#isClosed) throw usageError("this connection is closed", undefined, "closed");
  }

  /** The same world, which a signal of the call's own ends too. */
  contextOf(signal: AbortSignal | undefined): Context {
    this.#requireOpen();

    const { context } = this;
    if (signal === undefined) return context;
    const interrupted = interruption(context.interrupted, signal);
    return Object.create(context, { interrupted: { value: interrupted } }) as Context;
  }

  world(signal: AbortSignal | undefined) {
    return worldOf(this.session, this.contextOf(signal));
  }

  /** @throws HeadcountError whatever the work throws */
  async ask<T>(work: () => Promise<T>): Promise<T> {
    const done = (async () => {
      this.#requireOpen();
      return await work();
    })();
    this.track(done);
    try {
      return await done;
    } catch (error) {
      throw this.told(error);
    }
  }

  /** @param run that keeps what was paid before it */
  told(error: unknown, run?: string): HeadcountError {
    const { mapError } = worldOf(this.session, this.context);
    return error instanceof HeadcountError ? error : new HeadcountError(mapError(error), run);
  }
}
