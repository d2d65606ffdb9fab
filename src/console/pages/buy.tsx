import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { ApiError, api, said } from "../api.ts";
import { counted, fragmentOf, grouped, inWords } from "../segment.ts";
import { count, fail, filters, go, me, mode, place, refreshMe } from "../state.ts";
import { Alert, Dialog, Fact, Heads, Scroll } from "./parts.tsx";

interface Quote {
  readonly quote_id: string;
  readonly count: number;
  readonly profiles: number;
  readonly credits: number;
  readonly requests: number;
  readonly balance: number;
  readonly balance_after: number;
  readonly allowed: boolean;
  readonly bound_by: "key" | "balance" | null;
  readonly expires: string;
  /** What was bought of this very segment, and is kept. */
  readonly bought: readonly { readonly id: string; readonly rows: number; readonly made: string }[];
}

const PREVIEW = 5;
const FIELDS = ["name", "title", "company_name", "country", "city"] as const;
type Person = Readonly<Record<string, unknown>>;

/** A few people of the segment, paid for, and never shown without being asked for. */
export function Preview() {
  const rows = useSignal<readonly Person[] | undefined>(undefined);
  const of = useSignal("");
  const isBusy = useSignal(false);
  /** Where the answer was lost it was bought perhaps: the same quote shows it, and a new one would buy it again. */
  const held = useRef<{ readonly of: string; readonly quote: Quote } | undefined>(undefined);
  const profiles = Math.min(PREVIEW, count.value?.count ?? 0);
  const price = (me.value?.plan.costs.person_search ?? 1) * profiles;
  const shownFor = JSON.stringify([filters.value, mode.value]);
  const show = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const body = { filters: filters.value, mode: mode.value, profiles };
      const quote = held.current?.of === shownFor ? held.current.quote : await api<Quote>("POST", "/quote", body);
      if (quote.credits > price) throw new ApiError(409, { error: "the price changed: look at it again" });
      held.current = { of: shownFor, quote };
      const bought = await api<{ rows: readonly Person[] }>("POST", "/preview", { quote_id: quote.quote_id });
      held.current = undefined;
      rows.value = bought.rows;
      of.value = shownFor;
      refreshMe();
    } catch (error) {
      if (error instanceof ApiError) held.current = undefined;
      fail(error);
    } finally {
      isBusy.value = false;
    }
  };
  const isCurrent = rows.value !== undefined && of.value === shownFor;
  return (
    <section class="card" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      {isCurrent ? (
        <Scroll name="People">
          <table>
            <Heads names={FIELDS.map((field) => field.replace("_", " "))} />
            <tbody>
              {(rows.value ?? []).map((row, index) => (
                <tr key={index}>
                  {FIELDS.map((field) => (
                    <td key={field}>
                      <bdi>{textOf(row[field])}</bdi>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <button type="button" disabled={profiles === 0 || isBusy.value} onClick={() => void show()}>
          Show {counted(profiles, "person", "people")} for {counted(price, "credit")}
        </button>
      )}
    </section>
  );
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** What it costs, bound for ten minutes; the button says the number that is charged, or less. */
export function BuyDrawer({ onClose }: { readonly onClose: () => void }) {
  const all = count.value?.count ?? 0;
  const first = useSignal("");
  const quote = useSignal<Quote | undefined>(undefined);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const asked = first.value.trim() === "" ? undefined : Number(first.value);
  const ask = (signal?: AbortSignal): Promise<void> =>
    api<Quote>(
      "POST",
      "/quote",
      { filters: filters.value, mode: mode.value, ...(asked === undefined ? {} : { profiles: asked }) },
      signal,
    )
      .then((found) => {
        quote.value = found;
        problem.value = "";
      })
      .catch((error: unknown) => {
        if (signal?.aborted === true) return;
        quote.value = undefined;
        problem.value = said(error);
      });
  useEffect(() => {
    const turn = new AbortController();
    quote.value = undefined;
    const timer = setTimeout(() => void ask(turn.signal), first.value === "" ? 0 : 200);
    return () => {
      clearTimeout(timer);
      turn.abort();
    };
  }, [first.value]);
  const buy = async (): Promise<void> => {
    const bound = quote.value;
    if (bound === undefined || isBusy.value) return;
    isBusy.value = true;
    try {
      await api("POST", "/exports", { quote_id: bound.quote_id });
      refreshMe();
      onClose();
      go({ page: "exports" });
    } catch (error) {
      problem.value = said(error);
      // It binds no more: the new number is shown, and the button has to be pressed again.
      if (error instanceof ApiError && error.status === 409) void ask();
    } finally {
      isBusy.value = false;
    }
  };
  const now = quote.value;
  return (
    <Dialog title="Buy" onClose={onClose}>
      <p class="soft">{inWords(filters.value)}</p>
      <HowMany all={all} text={first.value} onChange={(text) => (first.value = text)} />
      {now === undefined ? <p class="soft">{problem.value === "" ? "…" : ""}</p> : <QuoteFacts quote={now} />}
      <Alert text={problem.value} />
      <div class="head">
        <button type="button" class="quiet" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="main"
          disabled={now === undefined || !now.allowed || isBusy.value}
          onClick={() => void buy()}
        >
          {now === undefined ? "Buy" : `Buy ${counted(now.profiles, "profile")} for ${counted(now.credits, "credit")}`}
        </button>
      </div>
    </Dialog>
  );
}

interface HowManyProps {
  readonly all: number;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

function HowMany({ all, onChange, text }: HowManyProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>How many (all {grouped(all)} where it is empty)</label>
      <input
        id={id}
        type="text"
        inputMode="numeric"
        value={text}
        onInput={(event) => onChange(event.currentTarget.value.replace(/\D/g, ""))}
      />
    </div>
  );
}

const QuoteFacts = ({ quote: now }: { readonly quote: Quote }) => (
  <>
    <table class="facts">
      <tbody>
        <Fact name="Matches" value={grouped(now.count)} />
        <Fact name="To buy" value={counted(now.profiles, "profile")} />
        <Fact name="Credits" value={grouped(now.credits)} />
        <Fact name="Balance after" value={grouped(now.balance_after)} />
        <Fact name="Requests" value={grouped(now.requests)} />
        <Fact name="Bound until" value={new Date(now.expires).toLocaleTimeString()} />
      </tbody>
    </table>
    <Bought quote={now} />
    {now.allowed === false ? (
      <p class="problem">
        {now.bound_by === "key" ? "The cap of this key does not cover it." : "The balance does not cover it."} Ask for
        fewer, or top up.
      </p>
    ) : null}
  </>
);

/** People who were paid for already: they are downloaded again for nothing, and bought again at the whole price. */
function Bought({ quote: { bought, profiles } }: { readonly quote: Quote }) {
  const [best] = [...bought].sort((one, other) => other.rows - one.rows);
  if (best === undefined) return null;
  const mine = Math.min(best.rows, profiles);
  return (
    <p class="problem">
      {mine === profiles ? `All ${counted(mine, "profile")}` : `${grouped(mine)} of these ${grouped(profiles)}`} were
      bought on {new Date(best.made).toLocaleString()} and cost nothing again under{" "}
      <a href={fragmentOf({ ...place.value, page: "exports" })}>Exports</a>. Buy charges for all of them anew.
    </p>
  );
}
