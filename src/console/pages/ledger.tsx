import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { EntriesAnswer, KeysAnswer, UsageAnswer } from "../../service/console/account.ts";
import { isFormula } from "../../shared/contract/text.ts";
import { api } from "../api.ts";
import { figure, momentOf, whoOf } from "../segment.ts";
import { fail, mode } from "../state.ts";
import {
  Absent,
  Button,
  Card,
  Choice,
  saveFile,
  Table,
  type TableColumn,
  useLoaded,
} from "./parts.tsx";

type Entry = EntriesAnswer["entries"][number];

const CALLS = ["", "person_search", "company_enrich", "company_employees"].map(
  (call) => [call, call === "" ? "all" : call.replace("_", " ")] as const,
);

const entryText = ({ call, kind, note }: Entry) => (
  <>
    {call?.replaceAll("_", " ") ?? kind}
    {note === "" || note === call ? null : <span class="soft"> · {note}</span>}
  </>
);
const SHOWN: readonly TableColumn<Entry>[] = [
  ["Time", ({ at }) => momentOf(at), "tight"],
  ["Entry", entryText, "wide"],
  ["Who", ({ key }) => <span title={key ?? ""}>{whoOf(key ?? "")}</span>],
  ["Rows", ({ rows }) => (rows === null ? "" : figure(rows)), "n"],
  ["Credits", ({ amount }) => figure(amount), "n"],
  ["Balance after", ({ balance_after: after }) => figure(after), "n"],
];

export function Ledger() {
  const loaded = useSignal<readonly Entry[] | undefined>(undefined);
  const next = useSignal<string | null>(null);
  const [call, key, isBusy] = [useSignal(""), useSignal(""), useSignal(false)];
  const chosen = { mode: mode.value, call: call.value, key: key.value };

  const load = (after: string | null): void => {
    entriesOf(chosen, after, 50)
      .then((page) => {
        loaded.value = after === null ? page.entries : [...(loaded.value ?? []), ...page.entries];
        next.value = page.next;
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

  const entries = loaded.value ?? [];
  const controls = (
    <>
      <Choice name="call" chosen={call} options={CALLS} />
      <Choice name="key" chosen={key} options={[["", "all"], ...useKeyNames()]} />
      <Button look="quiet" disabled={isBusy.value} act={save} text="Download CSV" />
    </>
  );

  return (
    <Card id="ledger" title="Ledger" beside={controls}>
      <Absent isAsked={loaded.value !== undefined} isThere={entries.length > 0} />
      <Table name="Entries" testId="ledger" columns={SHOWN} rows={entries} />
      {next.value === null ? null : <Button act={() => load(next.value)} text="Older entries" />}
    </Card>
  );
}

function useKeyNames(): ReadonlyMap<string, string> {
  const { answer: keys } = useLoaded<KeysAnswer>("/keys");
  const path = `/usage?by=key&days=90&mode=${mode.value}`;
  const { answer: usage } = useLoaded<UsageAnswer>(path);
  const names = new Map(keys?.keys.map(({ id, name }) => [id, `${name} (${id})`]));
  for (const { key } of usage?.rows ?? []) if (key !== null && !names.has(key)) names.set(key, key);
  return names;
}

type Chosen = Readonly<Record<"mode" | "call" | "key", string>>;

function entriesOf(chosen: Chosen, after: string | null, limit: number) {
  const terms = { ...chosen, limit: String(limit), after: after ?? "" };
  const query = new URLSearchParams(Object.entries(terms).filter(([, value]) => value !== ""));
  return api<EntriesAnswer>("GET", `/entries?${query}`);
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
    const page: EntriesAnswer = await entriesOf(chosen, after, 200);
    for (const entry of page.entries)
      lines.push(COLUMNS.map((column) => cell(entry[column])).join(","));
    after = page.next;
  } while (after !== null);

  saveFile(
    new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv" }),
    `ledger-${chosen.mode}.csv`,
  );
}

/** A cell of CSV. A note that begins like a formula is text to a spreadsheet too. */
function cell(value: string | number | null): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const safe = isFormula(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
