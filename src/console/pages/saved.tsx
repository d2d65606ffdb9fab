import { useSignal } from "@preact/signals";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { api } from "../api.ts";
import { amount, figure, fragmentOf, inWords } from "../segment.ts";
import { chosenFilters, count, fail, may, mode, place } from "../state.ts";
import { Button, Card, SubmitForm, Text, useLoaded } from "./parts.tsx";

interface Saved {
  readonly name: string;
  readonly filters: Filters;
  readonly count: number;
}

/** Segments with a name, each with how many it had when it was saved. */
export function Segments() {
  const { found, load } = useLoaded<{ segments: readonly Saved[] }>("/segments");
  const saved = found?.segments ?? [];
  const name = useSignal("");
  const act = (work: Promise<unknown>): void => void work.then(load).catch(fail);
  const save = (): void => {
    if (name.value.trim() === "") return;
    act(api("PUT", "/segments", { name: name.value.trim(), filters: chosenFilters.value, mode: mode.value }));
    name.value = "";
  };
  return (
    <Card id="saved" title="Saved segments">
      {saved.length === 0 ? (
        <p class="soft">None yet. A name keeps these filters for you and your colleagues.</p>
      ) : null}
      <ul class="plain">
        {saved.map((each) => (
          <li key={each.name} class="line">
            <a href={fragmentOf({ ...place.value, page: "segment", filters: each.filters })}>{each.name}</a>
            <span class="soft">
              {inWords(each.filters)} · {amount(each.count, "person", "people")}
              {sinceSaved(each)}
            </span>
            {may.value.own ? (
              <Button
                look="quiet"
                aria-label={`Remove ${each.name}`}
                act={() => act(api("DELETE", "/segments", { name: each.name }))}
                text="Remove"
              />
            ) : null}
          </li>
        ))}
      </ul>
      {may.value.own ? (
        <SubmitForm class="line" act={save}>
          <Text aria-label="Name of the segment" placeholder="Name" maxLength={80} text={name} />
          <Button text="Save" />
        </SubmitForm>
      ) : null}
    </Card>
  );
}

/** How many more or fewer the segment has than when it was saved, where it is the one on the screen. */
function sinceSaved({ count: before, filters }: Saved): string {
  const isShown = JSON.stringify(filters) === JSON.stringify(chosenFilters.value);
  const delta = isShown && count.value !== undefined ? count.value.count - before : 0;
  return delta === 0 ? "" : ` (${delta > 0 ? "+" : "−"}${figure(Math.abs(delta))} since)`;
}
