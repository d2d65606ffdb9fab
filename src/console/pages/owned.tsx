import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { OwnedPeopleAnswer } from "../../service/console/owned.ts";
import { api } from "../api.ts";
import { figure, fragmentOf, ownedInWords } from "../segment.ts";
import { count, fail, may, owned, owns, place, segment } from "../state.ts";
import { Card } from "./parts.tsx";
import { People } from "./people.tsx";

const TABS = [
  [undefined, "All"],
  ["new", "New"],
  ["owned", "Owned"],
] as const;

/** All of the segment, who is new to the account, and whom it owns. */
export function Tabs() {
  if (!owns.value) return null;
  const mine = owned.value;
  const numbers = { all: count.value?.count, new: mine?.new, owned: mine?.owned };
  return (
    <nav class="tabs" aria-label="People of this segment">
      {TABS.map(([tab, name]) => (
        <a
          key={name}
          href={fragmentOf({ ...place.value, tab })}
          aria-current={place.value.tab === tab ? "true" : undefined}
        >
          {name} <span class="n">{shown(numbers[tab ?? "all"])}</span>
        </a>
      ))}
    </nav>
  );
}

const shown = (people: number | null | undefined): string =>
  people === undefined ? "…" : people === null ? "–" : figure(people);

const TOO_MANY =
  "So many people are not looked through for those you own. A purchase of new people leaves them out all the same.";

export function NewPeople() {
  const [mine, all] = [owned.value, count.value];
  return (
    <Card id="new" title="New people">
      <p>
        {mine === undefined || all === undefined
          ? "…"
          : mine.new === null
            ? TOO_MANY
            : `${ownedInWords(mine.count, mine.new)}. Their rows are here once they are bought.`}
      </p>
    </Card>
  );
}

/** Rows as they were bought, as far as they are kept. */
export function OwnedPeople() {
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
                    : `${figure(hidden)} of them ${hidden === 1 ? "has" : "have"} no row here: bought by a program, or kept no longer.`}
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
