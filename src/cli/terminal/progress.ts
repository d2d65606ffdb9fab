import type { Writable } from "node:stream";
import { counted, grouped, harmless } from "../../shared/contract/text.ts";
import { bar, duration } from "../../shared/numbers.ts";
import { type Style, widthOfStream } from "./style.ts";
import { truncate, widthOf } from "./width.ts";

/** How far an export is. All numbers are of the whole run, what an earlier process did included. */
export interface ProgressState {
  readonly done: number;
  readonly total?: number | undefined;
  readonly detail?: string | undefined;
}

export interface ProgressOptions {
  readonly stream: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly enabled: boolean;
  readonly now: () => number;
  readonly style: Style;
  readonly unit: string;
  readonly units?: string;
  readonly unicode?: boolean;
  /** Rows that were there before this process began: left out of the speed. */
  readonly startedWith?: number;
}

export interface ProgressLine {
  update(state: ProgressState): void;
  /** Shows a countdown until `until` (epoch ms) after the reason; `undefined` takes it away. */
  wait(until: number | undefined, reason?: string): void;
  note(text: string): void;
  stop(): void;
}

const SPINNER_DELAY_MS = 200;
const TICK_MS = 1000;
const BAR = 10;
// Off a terminal shorter waits are no news.
const LONG_WAIT_MS = 30_000;
// Sooner than this the summary says it all.
const FIRST_MILESTONE_MS = 2000;
const SILENT: ProgressLine = {
  update: () => undefined,
  wait: () => undefined,
  note: () => undefined,
  stop: () => undefined,
};

/**
 * Progress on stderr: a spinner with speed and time
 * left on a terminal, a line for every 10% otherwise.
 */
export function openProgress(options: ProgressOptions): ProgressLine {
  if (!options.enabled) return SILENT;
  return options.stream.isTTY === true ? spinner(options) : milestones(options);
}

/** Where it is narrow the time left stays longest. */
export function progressLine(
  state: ProgressState,
  startedAt: number,
  options: ProgressOptions,
  width = Number.POSITIVE_INFINITY,
): string {
  const { done, total } = state;
  const units = options.units ?? `${options.unit}s`;
  const elapsed = options.now() - startedAt;
  const fresh = done - (options.startedWith ?? 0);
  const perSecond = elapsed > 0 && fresh > 0 ? (fresh * 1000) / elapsed : 0;
  const hasSpeed = elapsed >= TICK_MS && perSecond > 0;
  const rows =
    total === undefined
      ? counted(done, options.unit, units)
      : `${grouped(done)} of ${counted(total, options.unit, units)}`;

  const detail = harmless(state.detail ?? "");
  const speed = hasSpeed
    ? `${perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))} ${units}/s`
    : "";
  const rest =
    hasSpeed && total !== undefined && total > done
      ? `${duration(((total - done) * 1000) / perSecond)} left`
      : "";

  const share = total === undefined || total <= 0 ? undefined : Math.min(done, total) / total;
  const percent = share === undefined ? "" : `${Math.floor(share * 100)}%  `;
  const unicode = options.unicode ?? true;
  const drawn =
    share === undefined || options.stream.isTTY !== true
      ? ""
      : `${bar(share, BAR, unicode).padEnd(BAR, unicode ? "░" : ".")} `;
  const line = (before: string, ...parts: readonly string[]): string =>
    before + percent + parts.filter((part) => part !== "").join(", ");

  const lines = [
    line(drawn, rows, detail, speed, rest),
    line(drawn, rows, speed, rest),
    line(drawn, rows, rest),
    line("", rows, rest),
    line("", rest === "" ? rows : rest),
  ];
  return lines.find((text) => widthOf(text) <= width) ?? truncate(lines.at(-1) ?? "", width);
}

function milestones(options: ProgressOptions): ProgressLine {
  const startedAt = options.now();
  const tenth = ({ done, total }: ProgressState): number =>
    total === undefined || total <= 0 ? 0 : Math.floor((Math.min(done, total) / total) * 10);
  let said: number | undefined;
  let toldUntil: number | undefined;
  const write = (text: string): void => void options.stream.write(`${text}\n`);

  return {
    ...SILENT,

    update(state) {
      const now = tenth(state);
      // What an earlier process had reached is no news of this one.
      said ??= tenth({ ...state, done: options.startedWith ?? 0 });
      if (now <= said || options.now() - startedAt < FIRST_MILESTONE_MS) return;
      said = now;
      write(progressLine(state, startedAt, options));
    },

    wait(until, reason) {
      if (until === undefined || until === toldUntil || until - options.now() < LONG_WAIT_MS)
        return;
      toldUntil = until;
      write(`${harmless(reason ?? "waiting")} ${duration(until - options.now())}`);
    },

    note: write,
  };
}

/** A terminal of no size says 0 columns, where ora would take back lines for ever. */
const sized = (stream: ProgressOptions["stream"]): NodeJS.WriteStream =>
  new Proxy(stream as NodeJS.WriteStream, {
    get: (terminal, name) =>
      name === "columns" ? widthOfStream(terminal) : Reflect.get(terminal, name),
  });

/** How many lines of progress are open on a stream: what only waits is not drawn beside them. */
const open = new WeakMap<Writable, number>();
const opened = (stream: Writable, more: number): void =>
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
function drawnLine(
  stream: ProgressOptions["stream"],
  delay: number,
  text: () => string | undefined,
): Drawn {
  let stopped = false;
  let drawn: { text: string; start(): unknown; stop(): unknown } | undefined;

  const redraw = (): void => {
    if (drawn !== undefined) drawn.text = text() ?? "";
  };
  const first = setTimeout(() => void appear(), delay);
  const tick = setInterval(redraw, TICK_MS);
  first.unref();
  tick.unref();

  async function appear(): Promise<void> {
    const { default: ora } = await import("ora");
    const line = text();
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
export function openWaiting(stream: ProgressOptions["stream"], now: () => number) {
  const asked = new Set<{ readonly what: string }>();
  let since = 0;
  let answeredAt = Number.NEGATIVE_INFINITY;
  let answered = 0;
  let line: Drawn | undefined;

  const text = (): string | undefined => {
    const [first] = asked;
    if (first === undefined || (open.get(stream) ?? 0) > 0) return undefined;
    const many = answered === 0 ? "" : `call ${grouped(answered + 1)}, `;
    const said = `waiting for ${harmless(first.what)}: ${many}${duration(now() - since)}`;
    return truncate(said, widthOfStream(stream) - 3);
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

function spinner(options: ProgressOptions): ProgressLine {
  const { stream, now } = options;
  const startedAt = now();
  let state: ProgressState = { done: options.startedWith ?? 0 };
  let waiting: { readonly until: number; readonly reason: string } | undefined;
  let stopped = false;

  const text = (): string => {
    // A line that wraps could not be taken back.
    const room = widthOfStream(stream) - 3;
    if (waiting === undefined) return progressLine(state, startedAt, options, room);

    const rest = Math.max(0, waiting.until - now());
    const wait = truncate(`${waiting.reason} ${duration(Math.ceil(rest / 1000) * 1000)}`, room);
    const before = room - widthOf(wait) - 2;
    const far =
      state.total === undefined && state.done === 0
        ? ""
        : progressLine(state, startedAt, options, before);

    return before < 8 || far === ""
      ? options.style.warning(wait)
      : `${options.style.warning(wait)}  ${far}`;
  };

  const line = drawnLine(stream, SPINNER_DELAY_MS, text);
  opened(stream, 1);

  return {
    update(next) {
      state = next;
      line.redraw();
    },

    wait(until, reason = "waiting") {
      waiting = until === undefined ? undefined : { until, reason: harmless(reason) };
      line.redraw();
    },

    note: (words) => line.above(() => void stream.write(`${words}\n`)),

    stop() {
      if (stopped) return;
      stopped = true;
      opened(stream, -1);
      line.stop();
    },
  };
}
