import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { CountAnswer } from "../../service/console/segment.ts";
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
import {
  amount,
  costOf,
  figure,
  filterValues,
  inWords,
  labelOf,
  ownedInWords,
  withValues,
} from "../segment.ts";
import {
  chosenFilters,
  count,
  counting,
  isSaidAtFields,
  may,
  mode,
  owned,
  place,
  segment,
  setFilters,
  uncounted,
  useInquiry,
} from "../state.ts";
import { BuyDrawer } from "./buy.tsx";
import { Copy } from "./copy.tsx";
import { FilterForm } from "./filters.tsx";
import { NewPeople, Tabs } from "./owned.tsx";
import { Button, Card, Choice } from "./parts.tsx";
import { OwnedRows } from "./people.tsx";
import { SaveSegment } from "./saved.tsx";

export function SegmentPage() {
  // What is bought is the segment that was priced: another one closes the dialog.
  const buying = useSignal<string | undefined>(undefined);
  return (
    <div class="segment">
      <h1 class="hidden">Segment</h1>
      <CountCard onBuy={() => (buying.value = segment.value)} />
      <Tabs />
      <FilterForm />
      <div class="column">
        {place.value.tab === "owned" ? (
          <OwnedRows key={segment.value} />
        ) : place.value.tab === "new" ? (
          <NewPeople />
        ) : (
          <>
            <Breakdown />
            <SaveSegment />
            <Copy />
          </>
        )}
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

  return (
    <section class="card count" aria-label="Count">
      <div>
        <p class="number" data-testid="count" aria-busy={counting.value}>
          {answer === undefined ? (counting.value ? "…" : "–") : figure(answer.count)}
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
        {uncounted.value === undefined || isSaidAtFields.value ? null : (
          <Void {...uncounted.value} />
        )}
      </div>
      {answer === undefined ? (
        <div class="price" />
      ) : (
        <div class="price">
          {isEmpty ? (
            <Amiss of={segment.value} answer={answer} />
          ) : (
            <>
              <Price answer={answer} />
              {answer.unmatched?.length ? <Amiss of={segment.value} answer={answer} /> : null}
            </>
          )}
          {may.value.buy ? (
            <Button look="main" disabled={isEmpty} act={onBuy} text={offerOf()} />
          ) : null}
        </div>
      )}
    </section>
  );
}

/** What is bought of it: the new people, where some of it are owned. */
function offerOf(): string {
  const mine = owned.value;
  if (!mine?.owned || mine.new === null) return "Buy…";
  return mine.new === 0 ? "Buy again…" : `Buy the other ${figure(mine.new)}…`;
}

/** Of the new people, where it is known that some are owned; else of all. */
function Price({ answer }: { readonly answer: CountAnswer }) {
  const mine = owned.value;
  const fresh = mine?.owned && mine.new !== null ? mine.new : answer.count;
  const { after, cost } = costOf(answer, fresh);
  return (
    <p>
      {fresh === answer.count ? null : (
        <>
          <span data-testid="owned">{ownedInWords(answer.count, fresh)}</span>
          <br />
        </>
      )}
      At most <b>{amount(cost, "credit")}</b>
      <br />
      {after >= 0
        ? `${amount(after, "credit")} left afterwards`
        : `${amount(-after, "credit")} too few`}
    </p>
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

  const { hints = [], offers = [] } = answerTo(of, finding.value).value ?? {};
  const isEmpty = answer.count === 0;
  return (
    <div role="status">
      {isEmpty && hints.length === 0 ? (
        <p>Nobody matches. Take a filter away: suggestions show how many each value has.</p>
      ) : null}
      {hints.map((hint) => {
        const means = offers.filter(({ of: from }) => from === hint);
        return means.length === 0 ? (
          <p key={hint}>{hint}</p>
        ) : (
          means.map(({ filters, text }) => (
            <Button key={text} act={() => setFilters(filters)} text={text} />
          ))
        );
      })}
    </div>
  );
}

interface VoidProps {
  readonly why: string;
  readonly again: number | undefined;
}

function Void({ again, why }: VoidProps) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 500);
    return () => clearInterval(timer);
  }, []);

  const seconds = again === undefined ? 0 : Math.max(0, Math.ceil((again - now.value) / 1_000));
  return (
    <p class="problem" role="alert">
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
        // Of what is not counted at all one place says why.
        uncounted.value === undefined && <Void why={reasonOf(error)} again={again} />
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
  // Of a list that goes on, what is not among its first is not known to be nobody.
  const isWhole = !facets.others;
  const unknown = chosen
    .filter((value) => !told(value))
    .map((value) => ({ value, count: isWhole ? 0 : undefined }));
  const most = Math.max(1, ...values.map((each) => each.count ?? 0));
  // What stands for many values at once is drawn against everybody, and sets no axis.
  const all = values.reduce((sum, each) => sum + (each.count ?? 0), others + (facets.missing ?? 0));
  const bar = (name: ComponentChildren, people: number | undefined, axis = most) => (
    <>
      {name}
      <progress max={Math.max(1, axis)} value={people ?? 0} aria-hidden="true" />
      <span class="n">{people === undefined ? "–" : figure(people)}</span>
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
            {bar(<span class="name">{name}</span>, people, all)}
          </li>
        ) : null,
      )}
    </ul>
  );
}
