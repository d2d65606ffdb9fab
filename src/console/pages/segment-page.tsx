import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import {
  type CountTold,
  type FreeAnswers,
  hintsFor,
  questionsTo,
  type Speech,
} from "../../shared/contract/hints.ts";
import { FACET_KEYS, type FilterKey } from "../../shared/contract/vocabulary.ts";
import type { FacetResult } from "../../shared/schema/api.ts";
import { answerTo, type Finding } from "../answer.ts";
import { api, reasonOf } from "../api.ts";
import { amount, figure, filterValues, inWords, labelOf, withValues } from "../segment.ts";
import {
  chosenFilters,
  count,
  counting,
  may,
  mode,
  segment,
  setFilters,
  uncounted,
  useInquiry,
  WHY_UNCOUNTED,
} from "../state.ts";
import { BuyDrawer } from "./buy.tsx";
import { Copy } from "./copy.tsx";
import { FilterForm } from "./filters.tsx";
import { Button, Card, Choice } from "./parts.tsx";

export function SegmentPage() {
  // What is bought is the segment that was priced: another one closes the dialog.
  const buying = useSignal<string | undefined>(undefined);
  return (
    <div class="segment">
      <h1 class="hidden">Segment</h1>
      <CountCard onBuy={() => (buying.value = segment.value)} />
      <FilterForm />
      <div class="column">
        <Breakdown />
        <Copy />
      </div>
      {buying.value === segment.value ? (
        <BuyDrawer onClose={() => (buying.value = undefined)} />
      ) : null}
    </div>
  );
}

function CountCard({ onBuy }: { readonly onBuy: () => void }) {
  const answer = count.value;
  const isEmpty = answer?.count === 0;
  const last = useSignal("…");
  if (answer !== undefined) last.value = figure(answer.count);

  return (
    <section class="card count" aria-label="Count">
      <div>
        <p class={counting.value ? "number old" : "number"} data-testid="count">
          {uncounted.value === undefined ? last.value : "–"}
        </p>
        <p class="soft">
          {inWords(chosenFilters.value)}
          {answer === undefined ? null : (
            <span class="meta">
              {answer.cached
                ? ` · counted at ${new Date(answer.as_of).toLocaleTimeString()}`
                : ` · counted in ${answer.ms} ms`}
            </span>
          )}
        </p>
        <p class="hidden" role="status">
          {answer === undefined ? "" : `${amount(answer.count, "person matches", "people match")}`}
        </p>
        {uncounted.value === undefined ? null : <Void {...uncounted.value} id={WHY_UNCOUNTED} />}
      </div>
      {answer === undefined ? (
        <div class="price" />
      ) : (
        <div class="price">
          {isEmpty ? (
            <Amiss of={segment.value} answer={answer} />
          ) : (
            <>
              <p>
                At most <b>{amount(answer.credits, "credit")}</b>
                <br />
                {answer.balance_after >= 0
                  ? `${amount(answer.balance_after, "credit")} left afterwards`
                  : `${amount(-answer.balance_after, "credit")} too few`}
              </p>
              {answer.unmatched?.length ? <Amiss of={segment.value} answer={answer} /> : null}
            </>
          )}
          {may.value.buy ? <Button look="main" disabled={isEmpty} act={onBuy} text="Buy…" /> : null}
        </div>
      )}
    </section>
  );
}

const PAGE: Speech = { name: labelOf, value: (text) => `"${text}"` };
const FREE: FreeAnswers = {
  count: (filters, signal) => api("POST", "/count", { filters, mode: mode.value }, signal),
  facets: (filters, key, { limit, signal }) =>
    api("POST", "/facets", { filters, mode: mode.value, key, limit }, signal),
};

interface AmissProps {
  readonly of: string;
  readonly answer: CountTold;
}

/** Values that nobody has, and what the filters may have meant. */
function Amiss({ answer, of }: AmissProps) {
  const finding = useSignal<Finding<Awaited<ReturnType<typeof hintsFor>>>>({ of });
  useEffect(() => {
    const turn = new AbortController();
    const { count: people, unmatched } = answer;
    const counted = { filters: chosenFilters.value, count: people, unmatched };
    void hintsFor(counted, questionsTo(FREE, turn.signal, PAGE)).then((value) => {
      if (!turn.signal.aborted) finding.value = { of, value };
    });
    return () => turn.abort();
  }, [of]);

  const { hints = [], remedy } = answerTo(of, finding.value).value ?? {};
  const isEmpty = answer.count === 0;
  return (
    <div role="status">
      {isEmpty ? (
        <p>
          Nobody matches.{" "}
          {hints.length > 0 ? "" : "Take a filter away: suggestions show how many each value has."}
        </p>
      ) : null}
      {hints.map((hint) =>
        hint === remedy?.text ? (
          <Button key={hint} act={() => setFilters(remedy.filters)} text={hint} />
        ) : (
          <p key={hint}>{hint}</p>
        ),
      )}
    </div>
  );
}

interface VoidProps {
  readonly why: string;
  readonly again: number | undefined;
  readonly id?: string;
}

function Void({ again, id, why }: VoidProps) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 500);
    return () => clearInterval(timer);
  }, []);

  const seconds = again === undefined ? 0 : Math.max(0, Math.ceil((again - now.value) / 1_000));
  return (
    <p class="problem" role="alert" id={id}>
      Not counted: {why}
      {again === undefined
        ? ""
        : seconds === 0
          ? "; asking again …"
          : `; asking again in ${seconds} s`}
    </p>
  );
}

const BARS = 12;
/** So that values that are chosen and few people's are shown too. */
const LOOKED_AT = 100;

/** The most telling first. */
const BREAKDOWN_KEYS: readonly FilterKey[] = [
  "department",
  "country",
  "seniority_level",
  "industry",
  ...FACET_KEYS.filter(
    (key) => !["department", "country", "seniority_level", "industry"].includes(key),
  ),
];
const BREAKDOWNS = BREAKDOWN_KEYS.map((each) => [each, labelOf(each)] as const);

function Breakdown() {
  const key = useSignal<FilterKey>("department");
  const chosen = filterValues(chosenFilters.value, key.value);
  const filters = withValues(chosenFilters.value, key.value, []);
  const question = JSON.stringify({ filters, mode: mode.value, key: key.value, limit: LOOKED_AT });
  const { again, error, value: facets } = useInquiry<FacetResult>("/facets", question);

  const toggle = (value: string): void => {
    const next = chosen.includes(value)
      ? chosen.filter((each) => each !== value)
      : [...chosen, value];
    setFilters(withValues(chosenFilters.value, key.value, next));
  };

  return (
    <Card
      id="breakdown"
      title="Breakdown"
      beside={<Choice name="by" chosen={key} options={BREAKDOWNS} />}
    >
      {chosen.length > 0 ? (
        <p class="soft">
          The filter on {labelOf(key.value).toLowerCase()} is left out here: these are all values
          there could be.
        </p>
      ) : null}
      {error !== undefined ? (
        <Void why={reasonOf(error)} again={again} />
      ) : facets === undefined ? (
        <p class="soft bars waiting">…</p>
      ) : facets.reason !== undefined ? (
        <p class="soft">Not counted: {facets.reason}</p>
      ) : (
        <Bars facets={facets} chosen={chosen} onToggle={toggle} />
      )}
    </Card>
  );
}

interface BarsProps {
  readonly facets: FacetResult;
  readonly chosen: readonly string[];
  readonly onToggle: (value: string) => void;
}

function Bars({ chosen, facets, onToggle }: BarsProps) {
  const isChosen = (value: string): boolean =>
    chosen.some((each) => each.toLowerCase() === value.toLowerCase());
  const told = (value: string): boolean =>
    facets.values.some((each) => each.value.toLowerCase() === value.toLowerCase());

  const values = facets.values.filter(({ value }, index) => index < BARS || isChosen(value));
  const hidden = facets.values.filter((each) => !values.includes(each));
  const others = hidden.reduce((sum, each) => sum + (each.count ?? 0), facets.others ?? 0);
  const unknown = chosen.filter((value) => !told(value)).map((value) => ({ value, count: 0 }));
  // What stands for many values at once does not set the axis.
  const most = Math.max(1, ...values.map((each) => each.count ?? 0));
  const bar = (name: ComponentChildren, people = 0) => (
    <>
      {name}
      <progress max={most} value={Math.min(most, people)} aria-hidden="true" />
      <span class="n">{figure(people)}</span>
    </>
  );

  const rest = [
    ["others", others],
    ["no value", facets.missing],
  ] as const;

  return (
    <ul class="bars">
      {[...values, ...unknown].map(({ count: people, value }) => (
        <li key={value}>
          <Button
            aria-pressed={isChosen(value)}
            act={() => onToggle(value)}
            text={bar(<bdi class="name">{value}</bdi>, people)}
          />
        </li>
      ))}
      {rest.map(([name, people]) =>
        people ? (
          <li key={name} class="rest">
            {bar(<span class="name">{name}</span>, people)}
          </li>
        ) : null,
      )}
    </ul>
  );
}
