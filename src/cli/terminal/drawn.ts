// Tested by test/cli/waiting.test.ts.
import type { Writable } from "node:stream";
import { grouped, harmless } from "../../shared/contract/text.ts";
import { duration } from "../../shared/numbers.ts";
import { widthOfStream } from "./style.ts";

export type Terminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Cuts a text to a width. */
type Cut = (text: string, width: number) => string;

export const TICK_MS = 1000;

/** A terminal of no size says 0 columns, where ora would take back lines for ever. */
const sized = (stream: Terminal): NodeJS.WriteStream =>
  new Proxy(stream as NodeJS.WriteStream, {
    get: (terminal, name) =>
      name === "columns" ? widthOfStream(terminal) : Reflect.get(terminal, name),
  });

/** How many lines of progress are open on a stream: what only waits is not drawn beside them. */
const open = new WeakMap<Writable, number>();
export const lineOpened = (stream: Writable, more: number): void =>
  void open.set(stream, (open.get(stream) ?? 0) + more);

interface Drawn {
  redraw(): void;
  /** Writes something above it. */
  above(write: () => void): void;
  stop(): void;
}

/**
 * A line that is drawn anew each second, from `delay` milliseconds on: what is over at once shows
 * nothing. Its timers decide nothing, and keep no process alive.
 */
export function drawnLine(
  stream: Terminal,
  delay: number,
  text: (cut: Cut) => string | undefined,
): Drawn {
  let stopped = false;
  let drawn: { text: string; start(): unknown; stop(): unknown } | undefined;
  let cut: Cut = (words) => words;

  const redraw = (): void => {
    if (drawn !== undefined) drawn.text = text(cut) ?? "";
  };
  const first = setTimeout(() => void appear(), delay);
  const tick = setInterval(redraw, TICK_MS);
  first.unref();
  tick.unref();

  async function appear(): Promise<void> {
    // Neither is loaded for what is over at once.
    const [{ default: ora }, { truncate }] = await Promise.all([
      import("ora"),
      import("./width.ts"),
    ]);
    cut = truncate;
    const line = text(cut);
    if (stopped || line === undefined) return;
    // Colour is decided by style.ts; stdin stays as it
    // is, so that Ctrl-C reaches the process as a signal.
    drawn = ora({ stream: sized(stream), text: line, discardStdin: false, color: false });
    drawn.start();
  }

  return {
    redraw,

    above(write) {
      drawn?.stop();
      write();
      drawn?.start();
    },

    stop() {
      stopped = true;
      clearTimeout(first);
      clearInterval(tick);
      drawn?.stop();
      drawn = undefined;
    },
  };
}

/** Calls that follow each other within it are one wait. */
const ONE_WAIT_MS = 500;

/**
 * What a command waits for, on a terminal, after a second: a call, and how many were answered
 * before. Beside a line of progress it is silent.
 */
export function openWaiting(stream: Terminal, now: () => number) {
  const asked = new Set<{ readonly what: string }>();
  let since = 0;
  let answeredAt = Number.NEGATIVE_INFINITY;
  let answered = 0;
  let line: Drawn | undefined;

  const text = (cut: Cut): string | undefined => {
    const [first] = asked;
    if (first === undefined || (open.get(stream) ?? 0) > 0) return undefined;
    const many = answered === 0 ? "" : `call ${grouped(answered + 1)}, `;
    return cut(
      `waiting for ${harmless(first.what)}: ${many}${duration(now() - since)}`,
      widthOfStream(stream) - 3,
    );
  };

  return {
    asking(what: string): () => void {
      const call = { what };
      if (asked.size === 0) {
        if (now() - answeredAt > ONE_WAIT_MS) {
          since = now();
          answered = 0;
        }
        line = drawnLine(stream, Math.max(0, TICK_MS - (now() - since)), text);
      }
      asked.add(call);

      return () => {
        asked.delete(call);
        answered++;
        answeredAt = now();
        if (asked.size === 0) line?.stop();
      };
    },

    note(words: string): void {
      const write = (): void => void stream.write(`${words}\n`);
      if (asked.size === 0) write();
      else line?.above(write);
    },
  };
}
