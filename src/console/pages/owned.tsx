import { figure, fragmentOf, ownedInWords, TOO_MANY } from "../segment.ts";
import { count, owned, owns, place } from "../state.ts";
import { Card } from "./parts.tsx";

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
