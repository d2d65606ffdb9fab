import { counted, grouped, harmless } from "../../shared/contract/text.ts";
import { bar, duration } from "../../shared/numbers.ts";
import { drawnLine, lineOpened, type Terminal, TICK_MS } from "./drawn.ts";
import { type Style, widthOfStream } from "./style.ts";
import { truncate, widthOf } from "./width.ts";

/** How far an export is. All numbers are of the whole run, what an earlier process did included. */
export interface ProgressState {
  readonly done: number;
  readonly total?: number | undefined;
  readonly detail?: string | undefined;
  /** How long nothing goes on, as is known. */
  readonly waitMs?: number | undefined;
}

export interface ProgressOptions {
  readonly stream: Terminal;
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

/** How fast it goes, and how long it takes yet; nothing before that can be told. */
function paceOf(
  { done, total, waitMs = 0 }: ProgressState,
  elapsed: number,
  { startedWith = 0, units }: Pick<ProgressOptions, "startedWith"> & { readonly units: string },
) {
  const fresh = done - startedWith;
  // What is known to be waited for makes it slower, and comes before what is left.
  const perSecond = (fresh * 1000) / (elapsed + waitMs);
  const hasSpeed = elapsed >= TICK_MS && fresh > 0;
  const speed = hasSpeed
    ? `${perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))} ${units}/s`
    : "";
  const rest =
    hasSpeed && total !== undefined && total > done
      ? `${duration(waitMs + ((total - done) * 1000) / perSecond)} left`
      : "";
  return { speed, rest };
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
  const { rest, speed } = paceOf(state, options.now() - startedAt, { ...options, units });
  const rows =
    total === undefined
      ? counted(done, options.unit, units)
      : `${grouped(done)} of ${counted(total, options.unit, units)}`;

  const detail = harmless(state.detail ?? "");
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
        : progressLine({ ...state, waitMs: rest }, startedAt, options, before);

    return before < 8 || far === ""
      ? options.style.warning(wait)
      : `${options.style.warning(wait)}  ${far}`;
  };

  const line = drawnLine(stream, SPINNER_DELAY_MS, text);
  lineOpened(stream, 1);

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
      lineOpened(stream, -1);
      line.stop();
    },
  };
}
