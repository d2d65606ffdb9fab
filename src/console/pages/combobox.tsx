import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { isFacetKey } from "../../shared/contract/facets.ts";
import { type FilterKey, type Filters, knownValues } from "../../shared/contract/filters.ts";
import { requestFacets } from "../facets.ts";
import { figure, filterValues, labelOf, withValues } from "../segment.ts";

interface Option {
  readonly value: string;
  readonly count: number | undefined;
}

export interface ComboboxProps {
  readonly filterKey: FilterKey;
  readonly filters: Filters;
  readonly mode: string;
  readonly problem: string | undefined;
  readonly onChange: (filters: Filters) => void;
}

const PAUSE_MS = 120;
const OPTIONS = 12;

/** A filter that takes several values: chips (any of them matches) and an input that suggests what the segment has. */
export function Combobox({ filterKey, filters, mode, onChange, problem }: ComboboxProps) {
  const id = useId();
  const text = useSignal("");
  const active = useSignal(-1);
  const isOpen = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const chosen = filterValues(filters, filterKey);

  const options = useSuggestions({ filterKey, filters, mode, text: text.value, isOpen: isOpen.value });
  const choose = (value: string): void => {
    const clean = value.trim();
    text.value = "";
    active.value = -1;
    if (clean !== "" && !chosen.includes(clean)) onChange(withValues(filters, filterKey, [...chosen, clean]));
    input.current?.focus();
  };
  const drop = (value: string): void => {
    const rest = chosen.filter((each) => each !== value);
    onChange(withValues(filters, filterKey, rest));
    input.current?.focus();
  };
  const expanded = isOpen.value && options.length > 0;
  return (
    <div class="field">
      <label for={id}>{labelOf(filterKey)}</label>
      <div class={problem === undefined ? "combo" : "combo wrong"}>
        <Chips values={chosen} onDrop={drop} />
        <input
          id={id}
          ref={input}
          role="combobox"
          type="text"
          autocomplete="off"
          spellcheck={false}
          aria-expanded={expanded}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={expanded && active.value >= 0 ? `${id}-${active.value}` : undefined}
          aria-describedby={problem === undefined ? undefined : `${id}-problem`}
          aria-invalid={problem !== undefined}
          value={text.value}
          onFocus={() => {
            isOpen.value = true;
          }}
          onBlur={() => {
            isOpen.value = false;
          }}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            active.value = -1;
            isOpen.value = true;
          }}
          data-filter={filterKey}
          onKeyDown={(event) => {
            // Enter and the arrows are the input method's while it composes.
            if (event.isComposing) return;
            const act = keyAct(event.key, { length: options.length, at: active.value, isEmpty: text.value === "" });
            if (act === undefined) return;
            if (act.kind !== "drop") event.preventDefault();
            if (act.kind === "move") [isOpen.value, active.value] = [true, act.to];
            else if (act.kind === "choose") choose(options[active.value]?.value ?? text.value);
            else if (act.kind === "close") isOpen.value = false;
            else if (chosen.length > 0) drop(chosen.at(-1) ?? "");
          }}
        />
      </div>
      <FieldProblem id={`${id}-problem`} text={problem} />
      <Options
        id={id}
        name={`${labelOf(filterKey)}: suggestions`}
        options={options}
        active={active.value}
        hidden={!expanded}
        onChoose={choose}
      />
    </div>
  );
}

export const FieldProblem = ({ id, text }: { readonly id: string; readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p id={id} class="problem">
      {text}
    </p>
  );

type KeyAct = { readonly kind: "move"; readonly to: number } | { readonly kind: "choose" | "close" | "drop" };

/** What a key does in the input: arrows go round the options, Enter takes one or the text, Backspace takes the last chip away. */
export function keyAct(
  key: string,
  { at, isEmpty, length }: { readonly at: number; readonly isEmpty: boolean; readonly length: number },
): KeyAct | undefined {
  switch (key) {
    case "ArrowDown":
      return { kind: "move", to: length === 0 ? -1 : (at + 1) % length };
    case "ArrowUp":
      return { kind: "move", to: length === 0 ? -1 : (at <= 0 ? length : at) - 1 };
    case "Enter":
      return { kind: "choose" };
    case "Escape":
      return { kind: "close" };
    case "Backspace":
      return isEmpty ? { kind: "drop" } : undefined;
    default:
      return undefined;
  }
}

function useSuggestions(asked: {
  readonly filterKey: FilterKey;
  readonly filters: Filters;
  readonly mode: string;
  readonly text: string;
  readonly isOpen: boolean;
}): readonly Option[] {
  const { filterKey, filters, isOpen, mode, text } = asked;
  const options = useSignal<readonly Option[]>([]);
  const chosen = filterValues(filters, filterKey);
  const without = JSON.stringify(withValues(filters, filterKey, []));
  useEffect(() => {
    if (!isOpen) return;
    const turn = new AbortController();
    const ask = (): void => {
      suggest(filterKey, JSON.parse(without) as Filters, mode, text, turn.signal)
        .then((found) => {
          options.value = found.filter(({ value }) => !chosen.includes(value));
        })
        // Suggestions only help: without them any text can be entered.
        .catch(() => undefined);
    };
    const timer = setTimeout(ask, text === "" ? 0 : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      turn.abort();
    };
  }, [text, isOpen, without, mode, chosen.length]);
  return options.value;
}

const Chips = ({
  onDrop,
  values,
}: {
  readonly values: readonly string[];
  readonly onDrop: (value: string) => void;
}) => (
  <>
    {values.map((value) => (
      <span class="chip" key={value}>
        <bdi>{value}</bdi>
        <button type="button" aria-label={`Remove ${value}`} onClick={() => onDrop(value)}>
          ×
        </button>
      </span>
    ))}
  </>
);

interface OptionsProps {
  readonly id: string;
  readonly name: string;
  readonly options: readonly Option[];
  readonly active: number;
  readonly hidden: boolean;
  readonly onChoose: (value: string) => void;
}

const Options = ({ active, hidden, id, name, onChoose, options }: OptionsProps) => (
  <div id={`${id}-list`} role="listbox" aria-label={name} hidden={hidden} class="options">
    {options.map(({ count, value }, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the input's keys choose; an option never has the focus
      <div
        key={value}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === active}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => onChoose(value)}
      >
        <bdi>{value}</bdi>
        {count === undefined ? null : <span class="n">{figure(count)}</span>}
      </div>
    ))}
  </div>
);

async function suggest(
  key: FilterKey,
  filters: Filters,
  mode: string,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly Option[]> {
  const known = knownValues(key)
    .filter((value) => value.toLowerCase().startsWith(prefix.trim().toLowerCase()))
    .map((value): Option => ({ value, count: undefined }));
  if (!isFacetKey(key)) return known;
  try {
    const found = await requestFacets(
      { filters, mode, key, ...(prefix.trim() === "" ? {} : { prefix }), limit: OPTIONS },
      signal,
    );
    return found.values.length > 0 ? found.values : known;
  } catch (error) {
    if (known.length > 0 && !signal.aborted) return known;
    throw error;
  }
}
