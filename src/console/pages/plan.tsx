import { figure } from "../segment.ts";
import { me } from "../state.ts";
import { FactTable } from "./parts.tsx";

export function PlanPage() {
  const now = me.value;
  if (now === undefined) return null;

  const { dataset, limits, plan } = now;
  const small =
    plan.small_counts === null ? "none" : `of fewer than ${figure(plan.small_counts)} people`;

  return (
    <>
      <h1>Plan</h1>
      <section class="card" aria-label="Plan">
        <h2>{plan.name}</h2>
        <FactTable
          rows={[
            ["Calls a minute", figure(plan.per_minute)],
            ["Calls a day", figure(plan.per_day)],
            ["Counts that are bounded", small],
            ["Rows of a purchase are kept, days", figure(plan.keep_days)],
            ...Object.entries(plan.costs).map(
              ([call, cost]) =>
                [
                  `Credits: ${call.replaceAll("_", " ")}`,
                  cost === 0 ? "free" : figure(cost),
                ] as const,
            ),
            ["Profiles a page, at most", figure(limits.per_page_max)],
            ["Deepest row", limits.max_depth === null ? "no bound" : figure(limits.max_depth)],
            ["Counts are remembered, seconds", figure(limits.count_cache_seconds)],
            ...Object.entries({ ...dataset }).map(
              ([key, value]) =>
                [`Dataset: ${key}`, typeof value === "number" ? figure(value) : value] as const,
            ),
          ]}
        />
      </section>
    </>
  );
}
