import { type Signal, signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PeopleAnswer } from "../../service/console/files.ts";
import type { OwnedPeopleAnswer } from "../../service/console/owned.ts";
import type { ExportAnswer } from "../../service/console/segment.ts";
import {
  NUMBER_FIELDS,
  PERSON,
  PERSON_FIELDS,
  type Person,
} from "../../shared/contract/records.ts";
import { api } from "../api.ts";
import {
  arranged,
  asCells,
  type Extent,
  type FetchedPages,
  type Field,
  rowsBetween,
  rowsIn,
  type Sorting,
} from "../people.ts";
import { amount, figure, labelOf, TOO_MANY } from "../segment.ts";
import { fail, may, segment } from "../state.ts";
import { Button, Card, Text } from "./parts.tsx";

/** Of every row, its line among it: 2.25rem, in pixels. */
const ROW = 36;
/** Rows above and below what is in sight, so that a turn of the wheel shows no gap. */
const MORE = 12;

/** A column is as wide as the example of its field: a title is seen whole beside a short city. */
const remOf = (field: Field): number =>
  Math.min(20, Math.max(10, 3 + String(PERSON[field][0]).length * 0.55));
const widthOf = (fields: readonly Field[]): string =>
  `${fields.reduce((width, field) => width + remOf(field), 0)}rem`;

/** Those that are shown, as long as the page is open. */
const columns = signal<readonly Field[]>([
  "name",
  "title",
  "company_name",
  "department",
  "city",
  "country",
  "network_url",
]);

type GetPage = (page: number, signal: AbortSignal) => Promise<readonly Person[]>;

/** Pages of people, each asked for once, and no more than two at a time. */
function usePages(get: GetPage, { pages }: Extent) {
  const fetched = useSignal<FetchedPages>(new Map());
  const asked = useRef(new Map<number, Promise<void>>());
  const turn = useRef(new AbortController());
  useEffect(() => () => turn.current.abort(), []);

  const fetchPage = (page: number): Promise<void> => {
    const known = asked.current.get(page);
    if (known !== undefined) return known;

    const { signal } = turn.current;
    const coming = get(page, signal)
      .then((people) => {
        fetched.value = new Map(fetched.value).set(page, people);
      })
      .catch((error: unknown) => {
        asked.current.delete(page);
        throw error;
      });
    asked.current.set(page, coming);
    return coming;
  };

  const fetchAll = async (): Promise<readonly Person[]> => {
    for (let page = 0; page < pages; page += 2)
      await Promise.all([page, page + 1].filter((each) => each < pages).map(fetchPage));
    return Array.from({ length: pages }, (_, page) => fetched.value.get(page) ?? []).flat();
  };

  return { fetched, fetchPage, fetchAll };
}

/** The people of an export. */
export const ExportPeople = ({ item }: { readonly item: ExportAnswer }) => (
  <People
    extent={{ pages: item.pages, perPage: item.per_page, rows: item.rows }}
    get={async (page, signal) => {
      const path = `/exports/${item.id}/people/${page}`;
      return (await api<PeopleAnswer>("GET", path, undefined, signal)).people;
    }}
  />
);

const NO_ROW = "bought by a program, or kept no longer";

/** Rows as they were bought, as far as they are kept. */
export function OwnedRows() {
  const answer = useSignal<OwnedPeopleAnswer | undefined>(undefined);
  useEffect(() => {
    if (!may.value.buy) return;
    const turn = new AbortController();
    api<OwnedPeopleAnswer>("POST", "/owned/people", JSON.parse(segment.value), turn.signal)
      .then((next) => (answer.value = next))
      .catch(fail);
    return () => turn.abort();
  }, []);

  const { owned: all, people } = answer.value ?? { owned: undefined, people: [] };
  const hidden = (all ?? 0) - people.length;
  return (
    <>
      {all === undefined || all === null || hidden > 0 || people.length === 0 ? (
        <Card id="owned" title="Owned people">
          <p>
            {!may.value.buy
              ? "Rows are shown to whoever may buy."
              : all === undefined
                ? "…"
                : all === null
                  ? TOO_MANY
                  : all === 0
                    ? "Nobody of this segment is owned yet."
                    : `${amount(hidden, "person has", "people have")} no row here: ${NO_ROW}.`}
          </p>
        </Card>
      ) : null}
      {people.length === 0 ? null : (
        <People
          key={people.length}
          extent={{ pages: 1, perPage: people.length, rows: people.length }}
          get={async () => people}
        />
      )}
    </>
  );
}

interface PeopleProps {
  readonly extent: Extent;
  readonly get: GetPage;
}

/** In rows of which only those in sight are there. */
function People({ extent, get }: PeopleProps) {
  const { fetched, fetchAll, fetchPage } = usePages(get, extent);
  const words = useSignal("");
  const sorting = useSignal<Sorting | undefined>(undefined);
  const said = useSignal("");

  const isArranged = useComputed(() => words.value.trim() !== "" || sorting.value !== undefined);
  const isWhole = useComputed(() => fetched.value.size === extent.pages);
  const chosen = useComputed(() => {
    if (!isArranged.value || !isWhole.value) return undefined;
    const all = rowsBetween(extent, fetched.value, 0, extent.rows).rows as readonly Person[];
    return arranged(all, words.value, sorting.value);
  });

  useEffect(() => {
    if (isArranged.value && !isWhole.value) fetchAll().catch(fail);
  }, [isArranged.value]);

  const copy = async (): Promise<void> => {
    const people = chosen.value ?? (await fetchAll());
    await navigator.clipboard.writeText(asCells(people, columns.value));
    said.value = `${amount(people.length, "row")} copied`;
  };

  const total = rowsIn(extent, fetched.value);
  const controls = (
    <div class="line">
      <Text aria-label="Find among them" placeholder="Find among them" text={words} />
      <Button look="quiet" act={() => copy().catch(fail)} text="Copy rows" />
    </div>
  );

  return (
    <Card id="people" title="People" beside={controls}>
      <p class="soft" role="status">
        {isArranged.value && !isWhole.value
          ? `Fetching: ${figure(fetched.value.size)} of ${amount(extent.pages, "page")} …`
          : chosen.value === undefined
            ? amount(total, "person", "people")
            : `${figure(chosen.value.length)} of ${amount(total, "person", "people")}`}
        {said.value === "" ? "" : ` · ${said.value}`}
      </p>
      <ColumnChoice />
      <PeopleGrid
        total={chosen.value?.length ?? total}
        sorting={sorting}
        between={(from, to) =>
          chosen.value === undefined
            ? rowsBetween(extent, fetched.value, from, to)
            : { rows: chosen.value.slice(from, to), missing: [] }
        }
        onMissing={(pages) => {
          for (const page of pages) fetchPage(page).catch(fail);
        }}
      />
    </Card>
  );
}

function ColumnChoice() {
  const toggle = (field: Field): void => {
    const next = PERSON_FIELDS.filter((each) =>
      each === field ? !columns.value.includes(each) : columns.value.includes(each),
    );
    // A table of no column would be nothing to come back by.
    if (next.length > 0) columns.value = next;
  };

  return (
    <details class="columns">
      <summary>
        Columns ({columns.value.length} of {PERSON_FIELDS.length})
      </summary>
      <div>
        {PERSON_FIELDS.map((field) => (
          <label key={field}>
            <input
              type="checkbox"
              checked={columns.value.includes(field)}
              onChange={() => toggle(field)}
            />{" "}
            {labelOf(field)}
          </label>
        ))}
      </div>
    </details>
  );
}

interface GridProps {
  readonly total: number;
  readonly sorting: Signal<Sorting | undefined>;
  readonly between: (from: number, to: number) => ReturnType<typeof rowsBetween>;
  readonly onMissing: (pages: readonly number[]) => void;
}

/** How far a key goes from a row, of so many and with so many in sight. */
const STEPS: Readonly<Record<string, (row: number, total: number, sight: number) => number>> = {
  ArrowDown: (row) => row + 1,
  ArrowUp: (row) => row - 1,
  PageDown: (row, _, sight) => row + sight,
  PageUp: (row, _, sight) => row - sight,
  Home: () => 0,
  End: (_, total) => total - 1,
};

function PeopleGrid({ between, onMissing, sorting, total }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, height, current] = [useSignal(0), useSignal(640), useSignal(0)];
  const first = Math.max(0, Math.floor(top.value / ROW) - MORE);
  const end = Math.min(total, Math.ceil((top.value + height.value) / ROW) + MORE);
  const { missing, rows } = between(first, end);
  useEffect(() => {
    height.value = scroller.current?.clientHeight ?? height.value;
    onMissing(missing);
  }, [missing.join(" ")]);

  useEffect(() => {
    current.value = 0;
    scroller.current?.scrollTo({ top: 0 });
  }, [total, sorting.value]);

  const move = (event: KeyboardEvent): void => {
    const own = scroller.current;
    if (event.target !== event.currentTarget || own === null) return;
    const person = rows[current.value - first];
    if (isCopy(event) && person !== undefined) {
      copyRow(event, person);
      return;
    }

    const next = STEPS[event.key]?.(current.value, total, Math.floor(own.clientHeight / ROW) - 2);
    if (next === undefined) return;
    event.preventDefault();
    current.value = Math.min(total - 1, Math.max(0, next));
    top.value = broughtToSight(own, current.value);
  };

  return (
    <div
      class="people"
      ref={scroller}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: keys lead through it
        role="grid"
        aria-label="People"
        aria-rowcount={total + 1}
        aria-activedescendant={total === 0 ? undefined : `person-${current.value}`}
        tabIndex={0}
        style={{ width: widthOf(columns.value), minWidth: "100%" }}
        onKeyDown={move}
      >
        <Heads sorting={sorting} />
        <tbody>
          <Space rows={first} />
          {rows.map((person, index) => (
            <PersonRow key={first + index} at={first + index} person={person} current={current} />
          ))}
          <Space rows={total - end} />
        </tbody>
      </table>
    </div>
  );
}

const isCopy = ({ ctrlKey, key, metaKey }: KeyboardEvent) => key === "c" && (ctrlKey || metaKey);

function copyRow(event: Event, person: Person): void {
  event.preventDefault();
  void navigator.clipboard.writeText(asCells([person], columns.value)).catch(fail);
}

const Heads = ({ sorting }: { readonly sorting: Signal<Sorting | undefined> }) => (
  <thead>
    <tr aria-rowindex={1}>
      {columns.value.map((field) => (
        <SortHead key={field} field={field} sorting={sorting} />
      ))}
    </tr>
  </thead>
);

/** The head covers the first row in sight. @returns how far it is scrolled then */
function broughtToSight(scroller: HTMLElement, row: number): number {
  const { clientHeight, scrollTop } = scroller;
  const at = row * ROW;
  if (at < scrollTop) scroller.scrollTop = at;
  else if (at + 2 * ROW > scrollTop + clientHeight)
    scroller.scrollTop = at + 2 * ROW - clientHeight;
  return scroller.scrollTop;
}

interface PersonRowProps {
  readonly at: number;
  readonly person: Person | undefined;
  readonly current: Signal<number>;
}

const PersonRow = ({ at, current, person }: PersonRowProps) => (
  <tr
    id={`person-${at}`}
    aria-rowindex={at + 2}
    aria-selected={at === current.value}
    onClick={() => (current.value = at)}
  >
    {columns.value.map((field) => (
      <td key={field} title={String(person?.[field] ?? "")} class={lookOf(field)}>
        {shown(person, field)}
      </td>
    ))}
  </tr>
);

const lookOf = (field: Field) => (NUMBER_FIELDS.has(field) ? "n" : undefined);

const shown = (person: Person | undefined, field: Field) => {
  if (person === undefined) return "…";
  const value = person[field];
  return typeof value === "number" ? figure(value) : <bdi>{value}</bdi>;
};

const Space = ({ rows }: { readonly rows: number }) =>
  rows <= 0 ? null : (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
    <tr class="space" aria-hidden="true">
      <td colSpan={columns.value.length} style={{ height: `${rows * ROW}px` }} />
    </tr>
  );

interface SortHeadProps {
  readonly field: Field;
  readonly sorting: Signal<Sorting | undefined>;
}

/** Up, down, and as they came. */
function SortHead({ field, sorting }: SortHeadProps) {
  const now = sorting.value?.field === field ? sorting.value : undefined;
  const turn = (): void => {
    sorting.value = now?.isDown ? undefined : { field, isDown: now !== undefined };
  };
  const way = now === undefined ? undefined : now.isDown ? "descending" : "ascending";

  return (
    <th scope="col" aria-sort={way} class={lookOf(field)} style={{ width: widthOf([field]) }}>
      <Button
        act={turn}
        text={`${labelOf(field)}${now === undefined ? "" : now.isDown ? " ↓" : " ↑"}`}
      />
    </th>
  );
}
