import { useSignal } from "@preact/signals";
import type { SegmentsAnswer } from "../../service/console/saved.ts";
import { api } from "../api.ts";
import { amount, dayOf, figure, fragmentOf, inWords, whoOf } from "../segment.ts";
import { chosenFilters, fail, may, mode, place } from "../state.ts";
import { Alert, Button, Card, SubmitForm, Text, useLoaded, useWork } from "./parts.tsx";

type Saved = SegmentsAnswer["segments"][number];

interface SavedProps {
  readonly segment: Saved;
  readonly remove: () => void;
}

function SavedCard({ remove, segment }: SavedProps) {
  const { bought, bought_at: boughtAt, by, count, counted, filters, id, name } = segment;
  const href = fragmentOf({ ...place.value, page: "segment", filters });

  return (
    <Card
      id={`saved-${id}`}
      title={<a href={href}>{name}</a>}
      beside={
        may.value.buy ? (
          <Button look="quiet" aria-label={`Remove ${name}`} act={remove} text="Remove" />
        ) : null
      }
    >
      <p class="soft">{inWords(filters)}</p>
      <p>
        <b>{amount(count, "person", "people")}</b> on {dayOf(counted)} ·{" "}
        {boughtAt === null
          ? "nothing bought of it here"
          : `${figure(bought)} bought here, last on ${dayOf(boughtAt)}`}
      </p>
      <p class="soft">Saved by {whoOf(by)}</p>
    </Card>
  );
}

/** Segments with a name: how many each had last, and what was bought of it on this page. */
export function SavedPage() {
  const { answer, load } = useLoaded<SegmentsAnswer>(`/segments?mode=${mode.value}`);
  const remove = ({ id }: Saved): void =>
    void api("DELETE", `/segments/${id}`).catch(fail).finally(load);

  const segments = answer?.segments ?? [];
  return (
    <>
      <h1>Saved segments</h1>
      {answer !== undefined && segments.length === 0 ? (
        <p>
          Nothing is saved yet. Choose filters of{" "}
          <a href={fragmentOf({ ...place.value, page: "segment" })}>a segment</a>, and give it a
          name under Save.
        </p>
      ) : null}
      {segments.map((segment) => (
        <SavedCard key={segment.id} segment={segment} remove={() => remove(segment)} />
      ))}
    </>
  );
}

/** Gives the segment on the screen a name. */
export function SaveSegment() {
  const [name, said] = [useSignal(""), useSignal("")];
  const { act, problem } = useWork(() => {
    said.value = `Saved as ${name.value}`;
    name.value = "";
  });
  if (!may.value.buy) return null;

  const body = { name: name.value, filters: chosenFilters.value, mode: mode.value };
  return (
    <Card id="save" title="Save">
      <SubmitForm class="line" act={() => act(api("POST", "/segments", body))}>
        <Text label="Name of this segment" maxLength={80} required text={name} />
        <Button text="Save" />
        <span class="soft" role="status">
          {said.value}
        </span>
      </SubmitForm>
      <Alert text={problem.value} />
    </Card>
  );
}
