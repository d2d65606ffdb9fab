import { useSignal } from "@preact/signals";
import { figure } from "../segment.ts";
import { me } from "../state.ts";
import { Card, Choice, datasetFacts, FactTable, Table, type TableColumn, Tick, useLoaded } from "./parts.tsx";

interface Request {
  readonly at: string;
  readonly method: string;
  readonly route: string | null;
  readonly status: number;
  readonly ms: number;
  readonly credits: number;
  readonly key: string | null;
  readonly request_id: string;
}

const POLL_MS = 2_000;
const STATUSES = [
  ["", "all"],
  ["2", "answered"],
  ["4", "refused (4xx)"],
  ["5", "failed (5xx)"],
] as const;

const callOf = ({ method, route }: Request): string => `${method} ${route ?? "(no such route)"}`;
const timeOf = ({ at }: Request): string => new Date(at).toLocaleTimeString();
const COLUMNS: readonly TableColumn<Request>[] = [
  ["Time", timeOf, "tight"],
  ["Call", callOf, "tight"],
  ["Status", ({ status }) => <span class={status >= 400 ? "refused" : ""}>{status}</span>],
  ["Key", ({ key }) => key, "tight"],
  ["Request id", (row) => row.request_id, "tight soft"],
  ["ms", ({ ms }) => figure(ms), "n"],
  ["Credits", ({ credits }) => figure(credits), "n"],
];

/** The last calls of the API, as they come. No body and no value of a filter is ever kept. */
export function RequestsPage() {
  const status = useSignal<(typeof STATUSES)[number][0]>("");
  const isLive = useSignal(true);
  const path = `/requests?status=${status.value}`;
  const { found } = useLoaded<{ requests: readonly Request[] }>(path, isLive.value ? POLL_MS : undefined);
  const rows = found?.requests ?? [];
  return (
    <>
      <h1>Requests</h1>
      <div class="head">
        <Choice name="status" chosen={status} options={STATUSES} />
        <Tick text="as they come" checked={isLive.value} onChange={(next) => (isLive.value = next)} />
      </div>
      {found?.requests.length === 0 ? (
        <p class="soft">None since the service was started. The console's own calls are left out.</p>
      ) : null}
      <Refused rows={rows} />
      <Table name="Requests" columns={COLUMNS} rows={rows} />
    </>
  );
}

/** What was refused or failed, by status and call, the most frequent first. */
function Refused({ rows }: { readonly rows: readonly Request[] }) {
  const groups = Map.groupBy(
    rows.filter(({ status }) => status >= 400),
    (row) => `${row.status} ${callOf(row)}`,
  );
  if (groups.size === 0) return null;
  return (
    <Card id="refused" title="Refused and failed">
      <ul class="plain" data-testid="refused">
        {[...groups]
          .sort(([, a], [, b]) => b.length - a.length)
          .map(([name, [row, ...more]]) => (
            <li key={name} class="line">
              <b>{figure(1 + more.length)}</b> {name}
              <span class="soft">
                last {row && timeOf(row)} · {row?.request_id}
              </span>
            </li>
          ))}
      </ul>
    </Card>
  );
}

export function PlanPage() {
  const now = me.value;
  if (now === undefined) return null;
  const { limits, plan } = now;
  const small = plan.small_counts === null ? "none" : `of fewer than ${figure(plan.small_counts)} people`;
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
            ...Object.entries(plan.costs).map(
              ([call, cost]) => [`Credits: ${call.replaceAll("_", " ")}`, cost === 0 ? "free" : figure(cost)] as const,
            ),
            ["Profiles a page, at most", figure(limits.per_page_max)],
            ["Deepest row", limits.max_depth === null ? "no bound" : figure(limits.max_depth)],
            ["Counts are remembered, seconds", figure(limits.count_cache_seconds)],
            ...datasetFacts("Dataset: "),
          ]}
        />
      </section>
    </>
  );
}
