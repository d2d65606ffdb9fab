import { useSignal } from "@preact/signals";
import type { SegmentsAnswer } from "../../service/console/saved.ts";
import { api } from "../api.ts";
import { figure, fragmentOf, inWords, whoOf } from "../segment.ts";
import { chosenFilters, fail, may, mode, place } from "../state.ts";
import {
  Alert,
  Button,
  Card,
  SubmitForm,
  Table,
  type TableColumn,
  Text,
  useLoaded,
  useWork,
} from "./parts.tsx";

type Saved = SegmentsAnswer["segments"][number];

const dayOf = (time: string): string => new Date(time).toLocaleDateString();

const columns = (remove: (segment: Saved) => void): readonly TableColumn<Saved>[] => [
  [
    "Name",
    ({ filters, name }) => (
      <a href={fragmentOf({ ...place.value, page: "segment", filters, item: undefined })}>{name}</a>
    ),
    "row",
  ],
  ["Filters", ({ filters }) => inWords(filters)],
  ["People", ({ count }) => figure(count), "n"],
  ["Counted", ({ counted }) => dayOf(counted), "tight"],
  ["Bought here", ({ bought }) => figure(bought), "n"],
  ["Last", ({ bought_at: at }) => (at === null ? "never" : dayOf(at)), "tight"],
  ["By", ({ by }) => whoOf(by), "tight"],
  ...(may.value.buy
    ? [
        [
          "Remove",
          (segment: Saved) => (
            <Button
              look="quiet"
              aria-label={`Remove ${segment.name}`}
              act={() => remove(segment)}
              text="Remove"
            />
          ),
        ] as const,
      ]
    : []),
];

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
        <p>Nothing is saved yet. Choose filters and press Save below them.</p>
      ) : null}
      {segments.length === 0 ? null : (
        <Card id="saved" title="Segments">
          <Table name="Saved segments" testId="saved" columns={columns(remove)} rows={segments} />
        </Card>
      )}
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
