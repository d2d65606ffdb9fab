import { useSignal } from "@preact/signals";
import { amount, figure } from "../segment.ts";
import { mode } from "../state.ts";
import { Absent, Card, Table, type TableColumn, Tabs, useLoaded } from "./parts.tsx";

interface UsageRow {
  readonly day: string | null;
  readonly key: string | null;
  readonly call: string | null;
  readonly credits: number;
  readonly refunded: number;
}

const STACKS = ["key", "call"] as const;
/** So many have a colour of their own; what is left is one more. */
const COLOURS = 4;
const OTHERS = "others";

/** What was charged of each day, stacked by key or by call. */
export function Usage() {
  const days = useSignal(30);
  const by = useSignal<(typeof STACKS)[number]>("key");
  const path = `/usage?by=${by.value}&days=${days.value}&mode=${mode.value}`;
  const { found } = useLoaded<{ rows: readonly UsageRow[] }>(path);
  const rows = found?.rows ?? [];
  const { byDay, names } = stacked(rows, by.value, days.value);
  const refunded = rows.reduce((sum, row) => sum + row.refunded, 0);
  const tabs = (
    <>
      <Tabs name="Stacked by" all={STACKS} chosen={by} text={(each) => `by ${each}`} />
      <Tabs name="How far back" all={[30, 90]} chosen={days} text={(each) => `${each} days`} />
    </>
  );
  return (
    <Card id="usage" title="Credits by day" beside={tabs}>
      {found === undefined ? <Absent isAsked={false} isThere={false} /> : <Plot days={byDay} />}
      <ul class="legend">
        {names.map((name, index) => (
          <li key={name}>
            <span class={`swatch s${index}`} aria-hidden="true" />
            {name} <span class="soft">{figure(sumOf(byDay.map(({ parts }) => parts[index] ?? 0)))}</span>
          </li>
        ))}
      </ul>
      {refunded > 0 ? <p class="soft">{amount(refunded, "credit")} of these were given back since.</p> : null}
      <details>
        <summary>As table</summary>
        <Table
          name="Credits by day"
          testId="usage"
          rows={byDay.filter(({ credits }) => credits > 0)}
          columns={[
            ["Day (UTC)", ({ day }) => day, "row"],
            ...names.map((name, index): TableColumn<Day> => [name, ({ parts }) => figure(parts[index] ?? 0), "n"]),
            ["all", ({ credits }) => figure(credits), "n"],
          ]}
        />
      </details>
    </Card>
  );
}

interface Day {
  readonly day: string;
  readonly credits: number;
  readonly parts: readonly number[];
}

const sumOf = (some: readonly number[]): number => some.reduce((sum, each) => sum + each, 0);

/** The days to this one, each in as many parts as there are names: the largest first, and what is left in one more. */
function stacked(rows: readonly UsageRow[], by: (typeof STACKS)[number], days: number) {
  const nameOf = (row: UsageRow): string => (by === "key" ? row.key : row.call?.replaceAll("_", " ")) ?? "";
  const creditsOf = (some: readonly UsageRow[] = []): number => sumOf(some.map(({ credits }) => credits));
  const stacks = [...Map.groupBy(rows, nameOf)]
    .map(([name, some]) => ({ name, credits: creditsOf(some) }))
    .filter(({ credits }) => credits > 0)
    .sort((a, b) => b.credits - a.credits || (a.name < b.name ? -1 : 1));
  const shown = stacks.slice(0, COLOURS).map(({ name }) => name);
  const names = stacks.length > COLOURS ? [...shown, OTHERS] : shown;
  const today = Date.now();
  const byDay = Array.from({ length: days }, (_, index): Day => {
    const day = new Date(today - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    const ofDay = rows.filter((row) => row.day === day);
    const parts = Map.groupBy(ofDay, (row) => (shown.includes(nameOf(row)) ? nameOf(row) : OTHERS));
    return { day, credits: creditsOf(ofDay), parts: names.map((name) => creditsOf(parts.get(name))) };
  });
  return { byDay, names };
}

function Plot({ days }: { readonly days: readonly Day[] }) {
  const most = Math.max(1, ...days.map(({ credits }) => credits));
  const total = sumOf(days.map(({ credits }) => credits));
  const width = 100 / days.length;
  return (
    <>
      <svg
        class="plot"
        viewBox="0 0 100 30"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${amount(total, "credit")} in ${days.length} days; most on one day: ${figure(most)}`}
      >
        {days.map(({ day, parts }, index) =>
          parts.map((credits, part) => {
            const height = (28 * credits) / most;
            const y = 30 - (28 * sumOf(parts.slice(0, part))) / most - height;
            const x = index * width + width * 0.1;
            return <rect key={`${day} ${part}`} class={`s${part}`} x={x} width={width * 0.8} y={y} height={height} />;
          }),
        )}
      </svg>
      <p class="ends soft">
        <span>{days[0]?.day}</span>
        <span>at most {figure(most)}</span>
        <span>{days.at(-1)?.day}</span>
      </p>
    </>
  );
}
