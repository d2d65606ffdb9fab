import { useEffect } from "preact/hooks";
import type { ExportFormat } from "../../service/console/call.ts";
import type { ExportAnswer } from "../../service/console/segment.ts";
import { api, fileAt } from "../api.ts";
import {
  amount,
  exportCommand,
  figure,
  fragmentOf,
  inWords,
  momentOf,
  refreshCommand,
  searchCommand,
  whoOf,
} from "../segment.ts";
import { fail, go, may, me, mode, place, refreshMe } from "../state.ts";
import { Button, Head, Shown, saveFile, useLoaded } from "./parts.tsx";
import { ExportPeople } from "./people.tsx";

const POLL_MS = 2_000;

/**
 * What was bought here. It goes on without this tab,
 * and can be fetched again at no cost while it is kept.
 */
export function ExportsPage() {
  const { answer, load } = useLoaded<{ exports: readonly ExportAnswer[] }>(
    `/exports?mode=${mode.value}`,
    POLL_MS,
  );
  const { item: chosen } = place.value;
  const items = (answer?.exports ?? []).filter(({ id }) => chosen === undefined || id === chosen);
  const buying = items.filter(({ state }) => state === "buying").length;
  useEffect(refreshMe, [buying]);

  const act: Act = (id, what, body) =>
    void api("POST", `/exports/${id}/${what}`, body).catch(fail).finally(load);

  return (
    <>
      <h1>Exports</h1>
      <p class="soft">
        Closing this page does not stop a purchase. What is bought is kept for{" "}
        {amount(me.value?.plan.keep_days ?? 1, "day")}: a download that broke is begun again for
        nothing.
      </p>
      <p class="hidden" role="status">
        {stateInWords(items)}
      </p>
      {answer === undefined ? <p class="soft">…</p> : null}
      {answer !== undefined && items.length === 0 ? (
        <p>
          {chosen === undefined
            ? "Nothing was bought here yet. Choose a segment and press Buy."
            : "There is no such export in this account and mode."}
        </p>
      ) : null}
      {chosen === undefined ? null : (
        <p>
          <a href={fragmentOf({ ...place.value, item: undefined })}>All that was bought</a>
        </p>
      )}
      {items.map((item) => (
        <ExportCard key={item.id} item={item} act={act} isAlone={item.id === chosen} />
      ))}
    </>
  );
}

/** Changes when one of them ends, and not with every page. */
const stateInWords = (items: readonly ExportAnswer[]): string =>
  (["buying", "ready", "stopped"] as const)
    .flatMap((state) => {
      const many = items.filter((item) => item.state === state).length;
      return many === 0 ? [] : [`${amount(many, "export")} ${state}`];
    })
    .join(", ");

const STATES = { buying: "Buying", ready: "Ready", stopped: "Stopped" };

type Act = (id: string, what: "continue" | "stop", body?: { readonly credits: number }) => void;

interface ExportCardProps {
  readonly act: Act;
  readonly item: ExportAnswer;
  readonly isAlone: boolean;
}

/** Whether there is something to show and to download. */
const hasRows = ({ kept, rows, state }: ExportAnswer): boolean =>
  kept && rows > 0 && state !== "buying";

function ExportCard({ act, isAlone, item }: ExportCardProps) {
  const { by, credits, filters, id, kept, price, price_agreed, profiles, rows, state, why } = item;
  const isShort = state === "stopped";
  const isThere = hasRows(item);

  return (
    <>
      <section class="card" aria-label={`Export ${id}`} data-state={state}>
        <Head
          title={<h2>{inWords(filters)}</h2>}
          beside={<span class={`badge ${state}`}>{STATES[state]}</span>}
        />
        <progress max={Math.max(1, profiles)} value={rows} aria-label="Profiles bought" />
        <p>
          {figure(rows)} of {amount(profiles, "profile")} for {amount(credits, "credit")}
          {why === "" ? "" : ` · ${isShort ? "stopped" : "waiting"}: ${why}`}
        </p>
        <p class="soft">
          Begun {momentOf(item.made)} by {whoOf(by)} ·{" "}
          {kept ? `kept until ${momentOf(item.kept_until)}` : "no longer kept"}
        </p>
        {kept && isShort && price !== price_agreed ? (
          <p>
            A profile costs {amount(price, "credit")} now, and {figure(price_agreed)} when it was
            agreed to: Continue agrees to what the rest costs now.
          </p>
        ) : null}
        {may.value.buy ? <ExportButtons item={item} act={act} isAlone={isAlone} /> : null}
        <AsCommand item={item} />
      </section>
      {isAlone && isThere && may.value.buy ? (
        <ExportPeople key={`${id} ${rows}`} item={item} />
      ) : null}
    </>
  );
}

function ExportButtons({ act, isAlone, item }: ExportCardProps) {
  const { credits_left: credits, id, kept, profiles, rows, state } = item;
  const rest = `${amount(profiles - rows, "profile")} more for ${amount(credits, "credit")}`;

  return (
    <div class="line">
      {hasRows(item) && !isAlone ? (
        <Button act={() => go({ item: id })} text={`Show ${amount(rows, "person", "people")}`} />
      ) : null}
      {hasRows(item) ? <Downloads item={item} /> : null}
      {kept && state === "stopped" ? (
        <Button
          look="main"
          act={() => act(id, "continue", { credits })}
          text={`Continue: ${rest}`}
        />
      ) : null}
      {state === "buying" ? <Button act={() => act(id, "stop")} text="Stop" /> : null}
    </div>
  );
}

function AsCommand({ item }: { readonly item: ExportAnswer }) {
  const { credits_anew, filters, id, kept, profiles, state } = item;

  return (
    <details>
      <summary>As a command</summary>
      {hasRows(item) ? (
        <>
          <p class="soft">The same rows for nothing, with a key of this account that has no cap:</p>
          <Shown>{exportCommand(id, me.value?.origin ?? location.origin)}</Shown>
        </>
      ) : null}
      <p class="soft">
        All of them bought anew
        {state === "stopped" && kept ? "; Continue buys the rest alone" : ""}:
      </p>
      <Shown>{searchCommand(filters, Math.ceil(credits_anew), profiles)}</Shown>
      {Object.keys(filters).length === 0 ? null : (
        <>
          <p class="soft">Later, only whoever is not in the file yet:</p>
          <Shown>{refreshCommand(id, filters)}</Shown>
        </>
      )}
    </details>
  );
}

const Downloads = ({ item }: { readonly item: ExportAnswer }) => (
  <>
    <Button
      act={() => save(item, "csv")}
      text={`Download CSV${item.state === "stopped" ? ` (first ${figure(item.rows)})` : ""}`}
    />
    {(me.value?.formats ?? []).map((format) =>
      format === "csv" ? null : (
        <Button key={format} look="quiet" act={() => save(item, format)} text={NAMES[format]} />
      ),
    )}
  </>
);

const NAMES = { ndjson: "NDJSON", xlsx: "Excel (.xlsx)", parquet: "Parquet" };

function save({ id, profiles, rows }: ExportAnswer, format: ExportFormat): void {
  const name = `people-${id}${rows < profiles ? `-first-${rows}` : ""}.${format}`;
  fileAt(`/exports/${id}/${format}`)
    .then((file) => saveFile(file, name))
    .catch(fail);
}
