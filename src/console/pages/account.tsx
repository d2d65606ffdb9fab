import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { counted, grouped } from "../segment.ts";
import { fail, me, mode } from "../state.ts";
import { Fact } from "./buy.tsx";
import { Scroll } from "./scroll.tsx";

interface UsageRow {
  readonly day: string | null;
  readonly key: string | null;
  readonly call: string | null;
  readonly calls: number;
  readonly credits: number;
}

export interface Entry {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly call: string | null;
  readonly key: string | null;
  readonly rows: number | null;
  readonly amount: number;
  readonly balance_after: number;
  readonly request_id: string | null;
  readonly note: string;
}

export function AccountPage() {
  const money = me.value?.modes.find((each) => each.mode === mode.value);
  return (
    <>
      <h1>Account</h1>
      <section class="card" aria-labelledby="balance">
        <h2 id="balance">Balance</h2>
        <p class="number small">{grouped(money?.balance ?? 0)}</p>
        <p class="soft">
          {counted(money?.held ?? 0, "credit")} held by calls in flight · {counted(money?.used_today ?? 0, "credit")}{" "}
          used today (UTC)
        </p>
      </section>
      <Usage />
      <Ledger />
    </>
  );
}

function Usage() {
  const days = useSignal(30);
  const rows = useSignal<readonly UsageRow[]>([]);
  useEffect(() => {
    const turn = new AbortController();
    api<{ rows: readonly UsageRow[] }>(
      "GET",
      `/usage?by=day&days=${days.value}&mode=${mode.value}`,
      undefined,
      turn.signal,
    )
      .then((found) => (rows.value = found.rows))
      .catch(fail);
    return () => turn.abort();
  }, [days.value, mode.value]);
  const byDay = daysBack(days.value).map((day) => ({
    day,
    credits: rows.value.filter((row) => row.day === day).reduce((sum, row) => sum + row.credits, 0),
  }));
  const most = Math.max(1, ...byDay.map(({ credits }) => credits));
  const total = byDay.reduce((sum, { credits }) => sum + credits, 0);
  const width = 100 / byDay.length;
  return (
    <section class="card" aria-labelledby="usage">
      <div class="head">
        <h2 id="usage">Credits by day</h2>
        <fieldset class="tabs" aria-label="How far back">
          {[30, 90].map((each) => (
            <button key={each} type="button" aria-pressed={days.value === each} onClick={() => (days.value = each)}>
              {each} days
            </button>
          ))}
        </fieldset>
      </div>
      <svg
        class="plot"
        viewBox="0 0 100 30"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${counted(total, "credit")} in ${days.value} days; most on one day: ${grouped(most)}`}
      >
        {byDay.map(({ credits, day }, index) => (
          <rect
            key={day}
            x={index * width + width * 0.1}
            width={width * 0.8}
            y={30 - (28 * credits) / most}
            height={(28 * credits) / most}
          />
        ))}
      </svg>
      <p class="ends soft">
        <span>{byDay[0]?.day}</span>
        <span>at most {grouped(most)}</span>
        <span>{byDay.at(-1)?.day}</span>
      </p>
      <details>
        <summary>As table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" class="n">
                Credits
              </th>
            </tr>
          </thead>
          <tbody>
            {byDay
              .filter(({ credits }) => credits > 0)
              .map(({ credits, day }) => (
                <Fact key={day} name={day} value={grouped(credits)} />
              ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

function daysBack(days: number): readonly string[] {
  const today = Date.now();
  return Array.from({ length: days }, (_, index) =>
    new Date(today - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}

/** Every movement of credits, newest first. */
function Ledger() {
  const entries = useSignal<readonly Entry[]>([]);
  const next = useSignal<string | null>(null);
  const call = useSignal("");
  const load = (after: string | null): void => {
    const query = new URLSearchParams({ mode: mode.value, limit: "50" });
    if (after !== null) query.set("after", after);
    if (call.value !== "") query.set("call", call.value);
    api<{ entries: readonly Entry[]; next: string | null }>("GET", `/entries?${query}`)
      .then((found) => {
        entries.value = after === null ? found.entries : [...entries.value, ...found.entries];
        next.value = found.next;
      })
      .catch(fail);
  };
  useEffect(() => load(null), [mode.value, call.value]);
  return (
    <section class="card" aria-labelledby="ledger">
      <div class="head">
        <h2 id="ledger">Ledger</h2>
        <label>
          call{" "}
          <select value={call.value} onChange={(event) => (call.value = event.currentTarget.value)}>
            <option value="">all</option>
            <option value="person_search">person search</option>
            <option value="company_enrich">company enrich</option>
            <option value="company_employees">company employees</option>
          </select>
        </label>
      </div>
      {entries.value.length === 0 ? <p class="soft">Nothing yet.</p> : null}
      <Scroll name="Entries">
        <table data-testid="ledger" hidden={entries.value.length === 0}>
          <thead>
            <tr>
              {["Time", "Entry", "Key"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              {["Rows", "Credits", "Balance after"].map((name) => (
                <th key={name} scope="col" class="n">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {entries.value.map((entry) => (
              <tr key={entry.id}>
                <td class="tight">{new Date(entry.at).toLocaleString()}</td>
                <td>
                  {entry.call?.replaceAll("_", " ") ?? entry.kind}
                  {entry.note === "" || entry.note === entry.call ? null : <span class="soft"> · {entry.note}</span>}
                </td>
                <td class="tight">{entry.key ?? ""}</td>
                <td class="n">{entry.rows === null ? "" : grouped(entry.rows)}</td>
                <td class="n">{grouped(entry.amount)}</td>
                <td class="n">{grouped(entry.balance_after)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {next.value === null ? null : (
        <button type="button" onClick={() => load(next.value)}>
          Older entries
        </button>
      )}
    </section>
  );
}
