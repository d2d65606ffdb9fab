import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isFormula } from "../../shared/contract/text.ts";
import { api } from "../api.ts";
import { figure } from "../segment.ts";
import { fail, mode } from "../state.ts";
import { Absent, Choice, download, Heads, Scroll } from "./parts.tsx";

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly call: string | null;
  readonly key: string | null;
  readonly actor: string | null;
  readonly rows: number | null;
  readonly price: number | null;
  readonly amount: number;
  readonly balance_after: number;
  readonly request_id: string | null;
  readonly note: string;
}

const CALLS = ["", "person_search", "company_enrich", "company_employees"].map(
  (call) => [call, call === "" ? "all" : call.replace("_", " ")] as const,
);

/** Every movement of credits, newest first. */
export function Ledger() {
  const loaded = useSignal<readonly Entry[] | undefined>(undefined);
  const entries = loaded.value ?? [];
  const next = useSignal<string | null>(null);
  const [call, key, isBusy] = [useSignal(""), useSignal(""), useSignal(false)];
  const chosen = { mode: mode.value, call: call.value, key: key.value };
  const load = (after: string | null): void => {
    entriesOf(chosen, after, 50)
      .then((found) => {
        loaded.value = after === null ? found.entries : [...(loaded.value ?? []), ...found.entries];
        next.value = found.next;
      })
      .catch(fail);
  };
  useEffect(() => {
    loaded.value = undefined;
    load(null);
  }, [mode.value, call.value, key.value]);
  const save = (): void => {
    isBusy.value = true;
    saveCsv(chosen)
      .catch(fail)
      .finally(() => (isBusy.value = false));
  };
  return (
    <section class="card" aria-labelledby="ledger">
      <div class="head">
        <h2 id="ledger">Ledger</h2>
        <Choice name="call" value={call.value} options={CALLS} onChange={(next) => (call.value = next)} />
        <KeyFilter value={key.value} onChange={(id) => (key.value = id)} />
        <button type="button" class="quiet" disabled={isBusy.value} onClick={save}>
          Download CSV
        </button>
      </div>
      <Absent isAsked={loaded.value !== undefined} isThere={entries.length > 0} />
      <Entries entries={entries} />
      {next.value === null ? null : (
        <button type="button" onClick={() => load(next.value)}>
          Older entries
        </button>
      )}
    </section>
  );
}

const Entries = ({ entries }: { readonly entries: readonly Entry[] }) => (
  <Scroll name="Entries">
    <table data-testid="ledger" hidden={entries.length === 0}>
      <Heads names={["Time", "Entry", "Key"]} numbers={["Rows", "Credits", "Balance after"]} />
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td class="tight">{new Date(entry.at).toLocaleString()}</td>
            <td>
              {entry.call?.replaceAll("_", " ") ?? entry.kind}
              {entry.note === "" || entry.note === entry.call ? null : <span class="soft"> · {entry.note}</span>}
            </td>
            <td class="tight">{entry.key ?? ""}</td>
            <td class="n">{entry.rows === null ? "" : figure(entry.rows)}</td>
            <td class="n">{figure(entry.amount)}</td>
            <td class="n">{figure(entry.balance_after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
);

/** All keys there are, and all console sessions that charged lately. */
function KeyFilter({ onChange, value }: { readonly value: string; readonly onChange: (id: string) => void }) {
  const names = useSignal<ReadonlyMap<string, string>>(new Map());
  useEffect(() => {
    const turn = new AbortController();
    const keys = api<{ keys: readonly { id: string; name: string }[] }>("GET", "/keys", undefined, turn.signal);
    const path = `/usage?by=key&days=90&mode=${mode.value}`;
    const used = api<{ rows: readonly { key: string | null }[] }>("GET", path, undefined, turn.signal);
    Promise.all([keys, used])
      .then(([made, usage]) => {
        const found = new Map(made.keys.map(({ id, name }) => [id, `${name} (${id})`]));
        for (const { key } of usage.rows) if (key !== null && !found.has(key)) found.set(key, key);
        names.value = found;
      })
      .catch(fail);
    return () => turn.abort();
  }, [mode.value]);
  return <Choice name="key" value={value} options={[["", "all"], ...names.value]} onChange={onChange} />;
}

interface Chosen {
  readonly mode: string;
  readonly call: string;
  readonly key: string;
}

function entriesOf({ call, key, mode: of }: Chosen, after: string | null, limit: number) {
  const query = new URLSearchParams({ mode: of, limit: String(limit) });
  if (after !== null) query.set("after", after);
  if (call !== "") query.set("call", call);
  if (key !== "") query.set("key", key);
  return api<{ entries: readonly Entry[]; next: string | null }>("GET", `/entries?${query}`);
}

const COLUMNS = [
  ...(["id", "at", "kind", "call", "key", "actor", "rows", "price"] as const),
  ...(["amount", "balance_after", "request_id", "note"] as const),
];

/** Every entry that is chosen, the newest first, to its end: a ledger that is cut says nothing. */
async function saveCsv(chosen: Chosen): Promise<void> {
  const lines = [COLUMNS.join(",")];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof entriesOf>> = await entriesOf(chosen, after, 200);
    for (const entry of page.entries) lines.push(COLUMNS.map((column) => cell(entry[column])).join(","));
    after = page.next;
  } while (after !== null);
  const url = URL.createObjectURL(new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv" }));
  download(url, `ledger-${chosen.mode}.csv`);
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A cell of CSV. A note that begins like a formula is text to a spreadsheet too. */
function cell(value: string | number | null): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const safe = isFormula(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
