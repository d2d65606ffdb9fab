import type { CountedSegment } from "../../../app/count/hints.ts";
import type { NamedFilters } from "../../../app/segments/segment-set.ts";
import type { CountView } from "../../../engine/client/types.ts";
import { creditsOrNull, priceOf } from "../../../shared/contract/money.ts";
import type { Filters } from "../../../shared/contract/vocabulary.ts";
import { creditsColumn, printList } from "../../terminal/list.ts";
import { type CountDesk, noticeUnknownCost, pricesFor } from "./one.ts";
import { SEGMENTS } from "./parts.ts";

export async function countFiles(
  segments: readonly NamedFilters[],
  counting: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { printer, session } = counting;
  const { json, terminal } = printer;
  const counts = await countAll(
    segments.map(({ filters }) => filters),
    counting,
  );
  const account = await pricesFor(counting);
  const unit = account?.costs.person_search;
  const rows = segments.map(({ name, filters }, index) => {
    const { count = 0 } = counts[index] ?? {};
    const cost = unit === undefined ? null : priceOf(count, unit, account?.parcel);
    return { segment: name, count, filters, cost };
  });

  if (json) {
    const unit_cost = creditsOrNull(unit);
    printer.document<"count">(
      rows.map(({ cost, ...row }) => ({ ...row, unit_cost, max_cost: creditsOrNull(cost) })),
    );
  } else {
    const price = creditsColumn<(typeof rows)[number]>("cost", "credits at most");
    await printList(terminal ? [...SEGMENTS, price] : SEGMENTS, rows, printer, "none");
  }

  noticeUnknownCost(account, session);
  return segments.map((segment, index) => ({
    ...segment,
    count: counts[index]?.count ?? 0,
    unmatched: counts[index]?.unmatched,
  }));
}

// Counts are free but take turns in the rate limit; a few in flight hide the latency of each.
const IN_FLIGHT = 4;

/**
 * One free count for each segment, in their order,
 * with a spinner. The first failure ends all of them.
 */
export async function countAll(
  segments: readonly Filters[],
  { context, printer, session }: CountDesk,
): Promise<readonly CountView[]> {
  const { openProgress } = await import("../../terminal/progress.ts");
  const progress = openProgress({
    stream: context.stderr,
    enabled: !printer.quiet && context.stderr.isTTY === true,
    now: context.now,
    style: printer.noteStyle,
    unicode: printer.unicode,
    unit: "count",
  });
  session.pauses.show = progress.wait;

  const counts: CountView[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  let next = 0;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < segments.length; index = next++) {
      counts[index] = await session.client.count(segments[index] ?? {}, signal);
      progress.wait(undefined);
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
    session.pauses.show = undefined;
    progress.stop();
  }

  return counts;
}
