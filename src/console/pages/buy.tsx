import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ExportAnswer, QuoteAnswer } from "../../service/console/segment.ts";
import { ApiError, api, reasonOf } from "../api.ts";
import { amount, figure, fragmentOf, inWords, momentOf } from "../segment.ts";
import {
  chosenFilters,
  count,
  go,
  mode,
  owned,
  owns,
  place,
  recount,
  refreshMe,
  useInquiry,
} from "../state.ts";
import { Alert, Button, Choice, Dialog, DialogButtons, FactTable, Text } from "./parts.tsx";

const WHOM = [
  ["new", "new people alone"],
  ["all", "all of them, also those you own"],
] as const;
const NOT_WHOLE = "how many is a whole number of 1 or more, or empty for all";

/** @param text how many, as it was typed; nothing for all. What is no number is not asked. */
function useQuote(text: string, who: "new" | "all") {
  const wanted = { filters: chosenFilters.value, mode: mode.value, who };
  const isNumber = text === "" || /^[1-9]\d{0,14}$/.test(text);
  const question = isNumber
    ? JSON.stringify(text === "" ? wanted : { ...wanted, profiles: Number(text) })
    : undefined;
  const { ask, error, value } = useInquiry<QuoteAnswer>("/quote", question, text === "" ? 0 : 200);

  const refused = error === undefined ? "" : reasonOf(error);
  return {
    quote: value,
    question,
    wrong: isNumber ? refused : NOT_WHOLE,
    /** It binds no more: asked anew, and the button has to be pressed again. */
    renew: () => {
      if (question !== undefined) ask(question);
      recount();
    },
  };
}

function allOf(who: "new" | "all"): string {
  const every = (who === "new" ? owned.value?.new : undefined) ?? count.value?.count;
  return every === undefined ? "all" : `all ${figure(every)}`;
}

const offerOf = (quote: QuoteAnswer | undefined): string =>
  quote === undefined
    ? "Buy"
    : `Buy ${amount(quote.profiles, "profile")} for ${amount(quote.credits, "credit")}`;

/** What it costs, bound for ten minutes; the button says the number that is charged, or less. */
export function BuyDrawer({ onClose }: { readonly onClose: () => void }) {
  const [first, problem, isBusy] = [useSignal(""), useSignal(""), useSignal(false)];
  const who = useSignal<"new" | "all">("new");
  const { question, quote: now, renew, wrong } = useQuote(first.value.trim(), who.value);

  useEffect(() => {
    problem.value = "";
  }, [question]);

  const begin = async (post: () => Promise<Pick<ExportAnswer, "id">>): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;

    try {
      const { id } = await post();
      refreshMe();
      onClose();
      go({ page: "exports", item: id });
    } catch (failure) {
      problem.value = reasonOf(failure);
      if (failure instanceof ApiError && failure.status === 409) renew();
    } finally {
      isBusy.value = false;
    }
  };

  const buy = ({ quote_id }: QuoteAnswer) =>
    begin(() => api<ExportAnswer>("POST", "/exports", { quote_id }));

  const goOn = (item: ExportAnswer) =>
    begin(async () => {
      await api("POST", `/exports/${item.id}/continue`, { credits: item.credits_left });
      return item;
    });

  const said = problem.value || wrong;

  return (
    <Dialog title="Buy" onClose={onClose}>
      <p class="soft">{inWords(chosenFilters.value)}</p>
      {owns.value ? <Choice name="Whom" chosen={who} options={WHOM} /> : null}
      <Text label="How many" placeholder={allOf(who.value)} inputMode="numeric" text={first} />
      {now === undefined ? (
        <p class="soft">{said === "" ? "…" : ""}</p>
      ) : (
        <QuoteFacts quote={now} goOn={goOn} />
      )}
      <Alert text={said} />
      <DialogButtons onClose={onClose}>
        <Button
          look="main"
          disabled={now?.allowed !== true || isBusy.value}
          act={() => void (now && buy(now))}
          text={offerOf(now)}
        />
      </DialogButtons>
    </Dialog>
  );
}

interface QuoteFactsProps {
  readonly quote: QuoteAnswer;
  /** Buys what a purchase that stopped has not. */
  readonly goOn: (item: ExportAnswer) => void;
}

const QuoteFacts = ({ quote: now, goOn }: QuoteFactsProps) => (
  <>
    <FactTable
      rows={[
        ["Matches", figure(now.count)],
        ...(now.owned ? [["You own", figure(now.owned)] as const] : []),
        ["To buy", amount(now.profiles, "profile")],
        ["Credits", figure(now.credits)],
        [
          now.bound_by === "key" ? "Left of the key's cap" : "Balance after",
          figure(now.balance_after),
        ],
        ["Requests", figure(now.requests)],
        ["Price holds until", new Date(now.expires).toLocaleTimeString()],
      ]}
    />
    {now.only_new && now.new === null ? (
      <p class="soft">At most so many: whoever you own is left out and costs nothing.</p>
    ) : null}
    {now.only_new ? null : <BoughtBefore quote={now} goOn={goOn} />}
    {now.allowed ? null : (
      <p class="problem">
        {now.bound_by === "key"
          ? "The cap of this key does not cover it. Ask for fewer, or for a higher cap."
          : "The balance does not cover it. Ask for fewer, or top up."}
      </p>
    )}
  </>
);

/**
 * People who were paid for already: they are downloaded
 * again for nothing, and bought again at the whole price.
 */
function BoughtBefore({ quote, goOn }: QuoteFactsProps) {
  const { bought, profiles } = quote;
  const reach = (item: ExportAnswer): number =>
    item.state === "buying" ? item.profiles : item.rows;
  const [best] = [...bought].sort((one, other) => reach(other) - reach(one));
  if (best === undefined) return null;

  const mine = Math.min(reach(best), profiles);
  return (
    <p class="problem">
      {mine === profiles
        ? `All ${amount(mine, "profile")}`
        : `${figure(mine)} of these ${figure(profiles)}`}{" "}
      {best.state === "buying" ? "are being bought since" : "were bought on"} {momentOf(best.made)}{" "}
      and cost nothing again under{" "}
      <a href={fragmentOf({ ...place.value, page: "exports", item: best.id })}>Exports</a>. Buy
      charges for all of them anew.
      {best.state === "stopped" && best.kept && best.profiles > best.rows ? (
        <Button
          act={() => goOn(best)}
          text={
            `Buy the other ${figure(best.profiles - best.rows)} ` +
            `for ${amount(best.credits_left, "credit")}`
          }
        />
      ) : null}
    </p>
  );
}
