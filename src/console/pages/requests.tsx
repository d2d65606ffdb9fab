import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { figure } from "../segment.ts";
import { fail, me } from "../state.ts";
import { Choice, DatasetFacts, Fact, Heads, Scroll } from "./parts.tsx";

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

/** The last calls of the API, as they come. No body and no value of a filter is ever kept. */
export function RequestsPage() {
  const rows = useSignal<readonly Request[] | undefined>(undefined);
  const status = useSignal<(typeof STATUSES)[number][0]>("");
  const isLive = useSignal(true);
  useEffect(() => {
    const turn = new AbortController();
    const load = (): void => {
      api<{ requests: readonly Request[] }>("GET", `/requests?status=${status.value}`, undefined, turn.signal)
        .then((found) => (rows.value = found.requests))
        .catch(fail);
    };
    load();
    const timer = isLive.value ? setInterval(load, POLL_MS) : undefined;
    return () => {
      turn.abort();
      clearInterval(timer);
    };
  }, [status.value, isLive.value]);
  return (
    <>
      <h1>Requests</h1>
      <div class="head">
        <Choice name="status" value={status.value} options={STATUSES} onChange={(next) => (status.value = next)} />
        <label class="tick">
          <input
            type="checkbox"
            checked={isLive.value}
            onChange={(event) => (isLive.value = event.currentTarget.checked)}
          />{" "}
          as they come
        </label>
      </div>
      {rows.value?.length === 0 ? (
        <p class="soft">None since the service was started. The console's own calls are left out.</p>
      ) : null}
      <Refused rows={rows.value ?? []} />
      <Scroll name="Requests">
        <table hidden={(rows.value ?? []).length === 0}>
          <Heads names={["Time", "Call", "Status", "Key", "Request id"]} numbers={["ms", "Credits"]} />
          <tbody>
            {(rows.value ?? []).map((row) => (
              <tr key={row.request_id + row.at}>
                <td class="tight">{new Date(row.at).toLocaleTimeString()}</td>
                <td class="tight">
                  {row.method} {row.route ?? "(no such route)"}
                </td>
                <td class={row.status >= 400 ? "refused" : ""}>{row.status}</td>
                <td class="tight">{row.key ?? ""}</td>
                <td class="tight soft">{row.request_id}</td>
                <td class="n">{figure(row.ms)}</td>
                <td class="n">{figure(row.credits)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

/** What was refused or failed, by status and call, the most frequent first. */
function Refused({ rows }: { readonly rows: readonly Request[] }) {
  const groups = new Map<string, { readonly row: Request; count: number }>();
  for (const row of rows.filter(({ status }) => status >= 400)) {
    const name = `${row.status} ${row.method} ${row.route ?? "(no such route)"}`;
    const group = groups.get(name) ?? { row, count: 0 };
    group.count += 1;
    groups.set(name, group);
  }
  if (groups.size === 0) return null;
  return (
    <section class="card" aria-labelledby="refused">
      <h2 id="refused">Refused and failed</h2>
      <ul class="plain" data-testid="refused">
        {[...groups]
          .sort(([, a], [, b]) => b.count - a.count)
          .map(([name, { count, row }]) => (
            <li key={name} class="line">
              <b>{figure(count)}</b> {name}
              <span class="soft">
                last {new Date(row.at).toLocaleTimeString()} · {row.request_id}
              </span>
            </li>
          ))}
      </ul>
    </section>
  );
}

export function PlanPage() {
  const now = me.value;
  if (now === undefined) return null;
  const { costs, name, per_day: perDay, per_minute: perMinute, small_counts: small } = now.plan;
  return (
    <>
      <h1>Plan</h1>
      <section class="card" aria-label="Plan">
        <h2>{name}</h2>
        <table class="facts">
          <tbody>
            <Fact name="Calls a minute" value={figure(perMinute)} />
            <Fact name="Calls a day" value={figure(perDay)} />
            <Fact
              name="Counts that are bounded"
              value={small === null ? "none" : `of fewer than ${figure(small)} people`}
            />
            {Object.entries(costs).map(([call, cost]) => (
              <Fact
                key={call}
                name={`Credits: ${call.replaceAll("_", " ")}`}
                value={cost === 0 ? "free" : figure(cost)}
              />
            ))}
            <Fact name="Profiles a page, at most" value={figure(now.limits.per_page_max)} />
            <Fact
              name="Deepest row"
              value={now.limits.max_depth === null ? "no bound" : figure(now.limits.max_depth)}
            />
            <Fact name="Counts are remembered, seconds" value={figure(now.limits.count_cache_seconds)} />
            <DatasetFacts before="Dataset: " />
          </tbody>
        </table>
      </section>
    </>
  );
}
