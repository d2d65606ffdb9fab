import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { amount, figure } from "../segment.ts";
import { fail, mode } from "../state.ts";
import { Absent, Heads, Scroll, Tabs } from "./parts.tsx";

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

interface Stack {
  readonly name: string;
  readonly credits: number;
}

/** What was charged of each day, stacked by key or by call. */
export function Usage() {
  const days = useSignal(30);
  const by = useSignal<(typeof STACKS)[number]>("key");
  const loaded = useSignal<readonly UsageRow[] | undefined>(undefined);
  const rows = loaded.value ?? [];
  useEffect(() => {
    const turn = new AbortController();
    const query = `by=${by.value}&days=${days.value}&mode=${mode.value}`;
    api<{ rows: readonly UsageRow[] }>("GET", `/usage?${query}`, undefined, turn.signal)
      .then((found) => (loaded.value = found.rows))
      .catch((error: unknown) => {
        if (!turn.signal.aborted) loaded.value = undefined;
        fail(error);
      });
    return () => turn.abort();
  }, [days.value, by.value, mode.value]);
  const nameOf = (row: UsageRow): string => (by.value === "key" ? row.key : row.call?.replaceAll("_", " ")) ?? "";
  const sumOf = (some: readonly UsageRow[]): number => some.reduce((sum, { credits }) => sum + credits, 0);
  const stacks = [...new Set(rows.map(nameOf))]
    .map((name): Stack => ({ name, credits: sumOf(rows.filter((row) => nameOf(row) === name)) }))
    .filter(({ credits }) => credits > 0)
    .sort((a, b) => b.credits - a.credits || (a.name < b.name ? -1 : 1));
  const shown = stacks.slice(0, COLOURS).map(({ name }) => name);
  const names = stacks.length > COLOURS ? [...shown, OTHERS] : shown;
  const byDay = daysBack(days.value).map((day) => {
    const ofDay = rows.filter((row) => row.day === day);
    const of = (name: string): readonly UsageRow[] =>
      ofDay.filter((row) => (name === OTHERS ? !shown.includes(nameOf(row)) : nameOf(row) === name));
    return { day, credits: sumOf(ofDay), parts: names.map((name) => sumOf(of(name))) };
  });
  const refunded = rows.reduce((sum, row) => sum + row.refunded, 0);
  return (
    <section class="card" aria-labelledby="usage">
      <div class="head">
        <h2 id="usage">Credits by day</h2>
        <Tabs
          name="Stacked by"
          all={STACKS}
          chosen={by.value}
          text={(each) => `by ${each}`}
          onChoose={(each) => (by.value = each)}
        />
        <Tabs
          name="How far back"
          all={[30, 90]}
          chosen={days.value}
          text={(each) => `${each} days`}
          onChoose={(each) => (days.value = each)}
        />
      </div>
      {loaded.value === undefined ? <Absent isAsked={false} isThere={false} /> : <Plot days={byDay} />}
      <ul class="legend">
        {names.map((name, index) => (
          <li key={name}>
            <span class={`swatch s${index}`} aria-hidden="true" />
            {name} <span class="soft">{figure(byDay.reduce((sum, { parts }) => sum + (parts[index] ?? 0), 0))}</span>
          </li>
        ))}
      </ul>
      {refunded > 0 ? <p class="soft">{amount(refunded, "credit")} of these were given back since.</p> : null}
      <Days names={names} days={byDay} />
    </section>
  );
}

interface Day {
  readonly day: string;
  readonly credits: number;
  readonly parts: readonly number[];
}

function Plot({ days }: { readonly days: readonly Day[] }) {
  const most = Math.max(1, ...days.map(({ credits }) => credits));
  const total = days.reduce((sum, { credits }) => sum + credits, 0);
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
            const below = parts.slice(0, part).reduce((sum, each) => sum + each, 0);
            const height = (28 * credits) / most;
            const y = 30 - (28 * below) / most - height;
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

const Days = ({ days, names }: { readonly days: readonly Day[]; readonly names: readonly string[] }) => (
  <details>
    <summary>As table</summary>
    <Scroll name="Credits by day">
      <table data-testid="usage">
        <Heads names={["Day (UTC)"]} numbers={[...names, "all"]} />
        <tbody>
          {days
            .filter(({ credits }) => credits > 0)
            .map(({ credits, day, parts }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                {[...parts, credits].map((each, index) => (
                  <td key={index} class="n">
                    {figure(each)}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </Scroll>
  </details>
);

function daysBack(days: number): readonly string[] {
  const today = Date.now();
  return Array.from({ length: days }, (_, index) =>
    new Date(today - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}
