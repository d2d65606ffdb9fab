import type { Context } from "../context.ts";
import type { Filters } from "../contract/filters.ts";
import type { Progress } from "../terminal/progress.ts";
import type { CountOptions } from "./count.ts";
import type { Session } from "./session.ts";

// Counts are free but take turns in the rate limit; a few in flight hide the latency of each.
const IN_FLIGHT = 4;

/** One free count for each segment, in their order, with a spinner. The first failure ends all of them. */
export async function countAll(
  session: Session,
  segments: readonly Filters[],
  options: CountOptions,
  context: Context,
): Promise<number[]> {
  const progress = await progressOf(options, context);
  const counts = new Array<number>(segments.length).fill(0);
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  let next = 0;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < segments.length; index = next++) {
      counts[index] = (await session.client.count(segments[index] ?? {}, signal)).count;
      progress.update({ done: ++done, total: segments.length });
    }
  };
  const workers = Array.from({ length: Math.min(IN_FLIGHT, segments.length) }, worker);
  try {
    await Promise.all(workers);
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(workers);
    throw error;
  } finally {
    progress.stop();
  }
  return counts;
}

async function progressOf(options: CountOptions, context: Context): Promise<Progress> {
  const [{ openProgress }, { hasColor, styleFor }] = await Promise.all([
    import("../terminal/progress.ts"),
    import("../terminal/style.ts"),
  ]);
  // Off a terminal a breakdown is over before its milestones would be read.
  const enabled = options.quiet !== true && context.stderr.isTTY === true;
  const style = styleFor(hasColor(context.stderr, context.env, options.color));
  return openProgress({ stream: context.stderr, enabled, now: context.now, style, unit: "count" });
}

/** The form of a breakdown or of several files: as asked, else a table for a terminal and `piped` for a pipe. */
export const formatOf = <Piped extends string>(
  options: CountOptions,
  context: Context,
  piped: Piped,
): "table" | "csv" | "json" | Piped =>
  options.json === true ? "json" : (options.format ?? (context.stdout.isTTY === true ? "table" : piped));
