import { useSignal } from "@preact/signals";
import type { Filters } from "../../shared/contract/filters.ts";
import { api } from "../api.ts";
import { amount, figure, fragmentOf, inWords } from "../segment.ts";
import { chosenFilters, count, fail, may, mode, place } from "../state.ts";
import { Text, useLoaded } from "./parts.tsx";

interface Saved {
  readonly name: string;
  readonly filters: Filters;
  readonly count: number;
  readonly counted: string;
}

/** Segments with a name, each with how many it had when it was saved. */
export function Segments() {
  const { found, load } = useLoaded<{ segments: readonly Saved[] }>("/segments");
  const saved = found?.segments ?? [];
  const name = useSignal("");
  const act = (work: Promise<unknown>): void => void work.then(load).catch(fail);
  const save = (event: Event): void => {
    event.preventDefault();
    if (name.value.trim() === "") return;
    act(api("PUT", "/segments", { name: name.value.trim(), filters: chosenFilters.value, mode: mode.value }));
    name.value = "";
  };
  const now = JSON.stringify(chosenFilters.value);
  return (
    <section class="card" aria-labelledby="saved">
      <h2 id="saved">Saved segments</h2>
      {saved.length === 0 ? (
        <p class="soft">None yet. A name keeps these filters for you and your colleagues.</p>
      ) : null}
      <ul class="plain">
        {saved.map((each) => {
          const isShown = JSON.stringify(each.filters) === now && count.value !== undefined;
          const delta = isShown ? (count.value?.count ?? 0) - each.count : 0;
          return (
            <li key={each.name} class="line">
              <a href={fragmentOf({ ...place.value, page: "segment", filters: each.filters })}>{each.name}</a>
              <span class="soft">
                {inWords(each.filters)} · {amount(each.count, "person", "people")}
                {delta === 0 ? "" : ` (${delta > 0 ? "+" : "−"}${figure(Math.abs(delta))} since)`}
              </span>
              {may.value.own ? (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Remove ${each.name}`}
                  onClick={() => act(api("DELETE", "/segments", { name: each.name }))}
                >
                  Remove
                </button>
              ) : null}
            </li>
          );
        })}
      </ul>
      {may.value.own ? (
        <form class="line" onSubmit={save}>
          <Text aria-label="Name of the segment" placeholder="Name" maxLength={80} text={name} />
          <button type="submit">Save</button>
        </form>
      ) : null}
    </section>
  );
}
