import { readConfig } from "../../engine/connections/config.ts";
import { findFolder } from "../../engine/connections/paths.ts";
import type { RunSummary } from "../../engine/runs/reader.ts";
import { isOver, type RunStore } from "../../engine/runs/run-store.ts";
import type { Context } from "../../shared/context.ts";
import { spanMs } from "../../shared/contract/text.ts";

/**
 * How long runs are kept that are over, as it was
 * set: `90d`; undefined: until somebody removes them.
 */
export const keptRuns = (context: Context): string | undefined =>
  readConfig(findFolder("config", context)).retention?.runs;

/**
 * The runs that nothing happened to for a span: those
 * that are over, and with `force` unfinished ones too.
 */
export async function runsOlderThan(
  span: string,
  store: RunStore,
  context: Context,
  force = false,
): Promise<readonly RunSummary[]> {
  const [now, ms] = [context.now(), spanMs(span) ?? Number.POSITIVE_INFINITY];
  const runs = await store.list();
  return runs.filter(
    (run) => run.status !== "running" && now - run.lastAt >= ms && (isOver(run) || force),
  );
}
