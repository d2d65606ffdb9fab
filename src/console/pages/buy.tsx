import { useSignal } from "@preact/signals";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import { answerTo, type Finding, patience, SegmentInquiry } from "../answer.ts";
import { ApiError, api, reasonOf } from "../api.ts";
import { amount, figure, fragmentOf, inWords } from "../segment.ts";
import { chosenFilters, count, fail, go, me, mode, place, refreshMe, segment } from "../state.ts";
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
  const shownFor = segment.value;
  const show = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const body = { filters: chosenFilters.value, mode: mode.value, profiles };
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
          {count.value === undefined
            ? "Show some people: not priced yet"
            : `Show ${amount(profiles, "person", "people")} for ${amount(price, "credit")}`}
        </button>
      )}
    </section>
  );
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

const askQuote = (of: string, signal: AbortSignal): Promise<Quote> => api("POST", "/quote", JSON.parse(of), signal);
const NOT_WHOLE = "how many is a whole number of 1 or more, or empty for all";

/** What it costs, bound for ten minutes; the button says the number that is charged, or less. */
export function BuyDrawer({ onClose }: { readonly onClose: () => void }) {
  const first = useSignal("");
  const answer = useSignal<Finding<Quote>>({ of: "" });
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const text = first.value.trim();
  const isNumber = text === "" || /^[1-9]\d{0,14}$/.test(text);
  const asked = JSON.stringify({
    filters: chosenFilters.value,
    mode: mode.value,
    ...(text === "" || !isNumber ? {} : { profiles: Number(text) }),
  });
  const inquiry = useMemo(() => new SegmentInquiry(askQuote, (next) => (answer.value = next), patience), []);
  useEffect(() => {
    problem.value = "";
    if (isNumber) inquiry.ask(asked, text === "" ? 0 : 200);
    return () => inquiry.stop();
  }, [asked, isNumber]);
  const { error, value: now } = answerTo(isNumber ? asked : "", answer.value);
  const buy = async (): Promise<void> => {
    const bound = now;
    if (bound === undefined || isBusy.value) return;
    isBusy.value = true;
    try {
      await api("POST", "/exports", { quote_id: bound.quote_id });
      refreshMe();
      onClose();
      go({ page: "exports" });
    } catch (error) {
      problem.value = reasonOf(error);
      // It binds no more: the new number is shown, and the button has to be pressed again.
      if (error instanceof ApiError && error.status === 409) inquiry.ask(asked);
    } finally {
      isBusy.value = false;
    }
  };
  const wrong = isNumber ? problem.value || (error === undefined ? "" : reasonOf(error)) : NOT_WHOLE;
  return (
    <Dialog title="Buy" onClose={onClose}>
      <p class="soft">{inWords(chosenFilters.value)}</p>
      <HowMany all={count.value?.count} text={first.value} onChange={(typed) => (first.value = typed)} />
      {now === undefined ? <p class="soft">{wrong === "" ? "…" : ""}</p> : <QuoteFacts quote={now} />}
      <Alert text={wrong} />
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
          {now === undefined ? "Buy" : `Buy ${amount(now.profiles, "profile")} for ${amount(now.credits, "credit")}`}
        </button>
      </div>
    </Dialog>
  );
}

interface HowManyProps {
  readonly all: number | undefined;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

function HowMany({ all, onChange, text }: HowManyProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>How many ({all === undefined ? "all" : `all ${figure(all)}`} where it is empty)</label>
      <input
        id={id}
        type="text"
        inputMode="numeric"
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

const QuoteFacts = ({ quote: now }: { readonly quote: Quote }) => (
  <>
    <table class="facts">
      <tbody>
        <Fact name="Matches" value={figure(now.count)} />
        <Fact name="To buy" value={amount(now.profiles, "profile")} />
        <Fact name="Credits" value={figure(now.credits)} />
        <Fact name="Balance after" value={figure(now.balance_after)} />
        <Fact name="Requests" value={figure(now.requests)} />
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
      {mine === profiles ? `All ${amount(mine, "profile")}` : `${figure(mine)} of these ${figure(profiles)}`} were
      bought on {new Date(best.made).toLocaleString()} and cost nothing again under{" "}
      <a href={fragmentOf({ ...place.value, page: "exports" })}>Exports</a>. Buy charges for all of them anew.
    </p>
  );
}
