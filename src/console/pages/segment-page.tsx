import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { FilterKey } from "../../shared/contract/filters.ts";
import { answerTo, type Finding, patience, SegmentInquiry } from "../answer.ts";
import { reasonOf } from "../api.ts";
import { BREAKDOWN_KEYS, type Facets, requestFacets } from "../facets.ts";
import { amount, figure, filterValues, inWords, labelOf, withValues } from "../segment.ts";
import { chosenFilters, count, counting, may, me, mode, segment, setFilters, uncounted } from "../state.ts";
import { BuyDrawer, Preview } from "./buy.tsx";
import { Copy } from "./copy.tsx";
import { FilterForm } from "./filters.tsx";
import { Choice, Heads } from "./parts.tsx";
import { Segments } from "./saved.tsx";

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
        {may.value.buy ? <Preview /> : null}
        {me.value?.role === "key" ? null : <Segments />}
      </div>
      {buying.value === segment.value ? <BuyDrawer onClose={() => (buying.value = undefined)} /> : null}
    </div>
  );
}

function CountCard({ onBuy }: { readonly onBuy: () => void }) {
  const found = count.value;
  const isEmpty = found?.count === 0;
  const last = useSignal("…");
  if (found !== undefined) last.value = figure(found.count);
  return (
    <section class="card count" aria-label="Count">
      <div>
        <p class={counting.value ? "number old" : "number"} data-testid="count">
          {uncounted.value === undefined ? last.value : "–"}
        </p>
        <p class="soft">
          {inWords(chosenFilters.value)}
          {found === undefined ? null : (
            <span class="meta">
              {found.cached
                ? ` · counted at ${new Date(found.as_of).toLocaleTimeString()}`
                : ` · counted in ${found.ms} ms`}
            </span>
          )}
        </p>
        <p class="hidden" role="status">
          {found === undefined ? "" : `${amount(found.count, "person", "people")} match`}
        </p>
        {uncounted.value === undefined ? null : <Void {...uncounted.value} />}
      </div>
      {found === undefined ? (
        <div class="price" />
      ) : (
        <div class="price">
          {isEmpty ? (
            <p>Nobody matches. Take a filter away: suggestions show how many each value has.</p>
          ) : (
            <p>
              At most <b>{amount(found.credits, "credit")}</b>
              <br />
              {found.balance_after >= 0
                ? `${figure(found.balance_after)} left after all of it`
                : `${figure(-found.balance_after)} short of all of it`}
            </p>
          )}
          {may.value.buy ? (
            <button type="button" class="main" disabled={isEmpty} onClick={onBuy}>
              Buy…
            </button>
          ) : null}
        </div>
      )}
    </section>
  );
}

/** Why there is no answer, and how long until it is asked for again. */
function Void({ again, why }: { readonly why: string; readonly again: number | undefined }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = again === undefined ? 0 : Math.max(0, Math.ceil((again - now.value) / 1_000));
  return (
    <p class="problem" role="alert">
      Not counted: {why}
      {again === undefined ? "" : seconds === 0 ? "; asking again …" : `; asking again in ${seconds} s`}
    </p>
  );
}

const BARS = 12;

/** The values of one key inside the segment, as bars. Without the key itself, so that it shows what else there could be. */
function Breakdown() {
  const key = useSignal<FilterKey>("department");
  const found = useSignal<Finding<Facets>>({ of: "" });
  const inquiry = useMemo(() => new SegmentInquiry(askFacets, (next) => (found.value = next), patience), []);
  const asTable = useSignal(false);
  const chosen = filterValues(chosenFilters.value, key.value);
  const question = {
    filters: withValues(chosenFilters.value, key.value, []),
    mode: mode.value,
    key: key.value,
    limit: BARS,
  };
  const asked = JSON.stringify(question);
  useEffect(() => {
    inquiry.ask(asked);
    return () => inquiry.stop();
  }, [asked]);
  const { again, error, value: facets } = answerTo(asked, found.value);
  const toggle = (value: string): void => {
    const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value];
    setFilters(withValues(chosenFilters.value, key.value, next));
  };
  return (
    <section class="card" aria-labelledby="breakdown">
      <div class="head">
        <h2 id="breakdown">Breakdown</h2>
        <Choice
          name="by"
          value={key.value}
          options={BREAKDOWN_KEYS.map((each) => [each, labelOf(each)] as const)}
          onChange={(each) => (key.value = each)}
        />
        <button
          type="button"
          class="quiet"
          aria-pressed={asTable.value}
          onClick={() => (asTable.value = !asTable.value)}
        >
          As table
        </button>
      </div>
      {chosen.length > 0 ? (
        <p class="soft">
          The filter on {labelOf(key.value).toLowerCase()} is left out here: these are all values there could be.
        </p>
      ) : null}
      {error !== undefined ? (
        <Void why={reasonOf(error)} again={again} />
      ) : facets === undefined ? (
        <p class="soft bars waiting">…</p>
      ) : facets.reason !== undefined ? (
        <p class="soft">Not counted: {facets.reason}</p>
      ) : asTable.value ? (
        <FacetTable facets={facets} />
      ) : (
        <Bars facets={facets} chosen={chosen} onToggle={toggle} />
      )}
    </section>
  );
}

const askFacets = (of: string, signal: AbortSignal): Promise<Facets> => requestFacets(JSON.parse(of), signal);

interface BarsProps {
  readonly facets: Facets;
  readonly chosen: readonly string[];
  readonly onToggle: (value: string) => void;
}

function Bars({ chosen, facets, onToggle }: BarsProps) {
  const most = Math.max(1, ...facets.values.map((each) => each.count), facets.others ?? 0, facets.missing ?? 0);
  return (
    <ul class="bars">
      {facets.values.map(({ count: people, value }) => (
        <li key={value}>
          <button
            type="button"
            aria-pressed={chosen.some((each) => each.toLowerCase() === value.toLowerCase())}
            onClick={() => onToggle(value)}
          >
            <bdi class="name">{value}</bdi>
            <progress max={most} value={people} aria-hidden="true" />
            <span class="n">{figure(people)}</span>
          </button>
        </li>
      ))}
      <Rest name="others" people={facets.others} most={most} />
      <Rest name="no value" people={facets.missing} most={most} />
    </ul>
  );
}

function Rest({
  most,
  name,
  people,
}: {
  readonly name: string;
  readonly people: number | null;
  readonly most: number;
}) {
  if (people === null || people === 0) return null;
  return (
    <li class="rest">
      <span class="name">{name}</span>
      <progress max={most} value={people} aria-hidden="true" />
      <span class="n">{figure(people)}</span>
    </li>
  );
}

const FacetTable = ({ facets }: { readonly facets: Facets }) => (
  <table>
    <Heads names={[labelOf(facets.key)]} numbers={["People"]} />
    <tbody>
      {[
        ...facets.values,
        { value: "(others)", count: facets.others ?? 0 },
        { value: "(no value)", count: facets.missing ?? 0 },
      ].map(({ count: people, value }) => (
        <tr key={value}>
          <td>
            <bdi>{value}</bdi>
          </td>
          <td class="n">{figure(people)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
