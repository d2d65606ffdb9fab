import { type Signal, useSignal } from "@preact/signals";
import type { PartialInputHTMLAttributes } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { isFacetKey } from "../../shared/contract/facets.ts";
import { type FilterKey, type Filters, knownValues } from "../../shared/contract/filters.ts";
import { api } from "../api.ts";
import { figure, filterValues, labelOf, withValues } from "../segment.ts";
import { chosenFilters, mode, setFilters } from "../state.ts";

/** What the people of a segment have under one key. */
export interface Facets {
  readonly key: string;
  readonly values: readonly { readonly value: string; readonly count?: number }[];
  /** People of values that are not named; null where it was cut. */
  readonly others: number | null;
  readonly missing: number | null;
  readonly exact: boolean;
  readonly reason?: string;
}

const PAUSE_MS = 120;
const OPTIONS = 12;

interface FieldProps {
  readonly filterKey: FilterKey;
  readonly problem: string | undefined;
}

/** A filter that takes several values: chips (any of them matches) and an input that suggests what the segment has. */
export function Combobox({ filterKey, problem }: FieldProps) {
  const id = useId();
  const [text, active, isOpen] = [useSignal(""), useSignal(-1), useSignal(false)];
  const input = useRef<HTMLInputElement>(null);
  const chosen = filterValues(chosenFilters.value, filterKey);
  const options = useSuggestions(filterKey, text.value, isOpen.value);
  const set = (values: readonly string[]): void => {
    if (values.length !== chosen.length) setFilters(withValues(chosenFilters.value, filterKey, values));
    input.current?.focus();
  };
  const choose = (value: string): void => {
    const clean = value.trim();
    [text.value, active.value] = ["", -1];
    set(clean === "" || chosen.includes(clean) ? chosen : [...chosen, clean]);
  };
  const press = (act: KeyAct): void => {
    if (act.kind === "move") [isOpen.value, active.value] = [true, act.to];
    else if (act.kind === "choose") choose(options[active.value]?.value ?? text.value);
    else if (act.kind === "close") isOpen.value = false;
    else set(chosen.slice(0, -1));
  };
  const type = (typed: string): void => {
    [text.value, active.value, isOpen.value] = [typed, -1, true];
  };
  const isShown = isOpen.value && options.length > 0;
  return (
    <div class="field">
      <label for={id}>{labelOf(filterKey)}</label>
      <div class={problem === undefined ? "combo" : "combo wrong"}>
        {chosen.map((value) => (
          <span class="chip" key={value}>
            <bdi>{value}</bdi>
            <button type="button" aria-label={`Remove ${value}`} onClick={() => set(chosen.filter((v) => v !== value))}>
              ×
            </button>
          </span>
        ))}
        <ListInput
          {...{ id, text, active, isShown, length: options.length, press, type }}
          inputRef={input}
          aria-autocomplete="list"
          aria-describedby={problem === undefined ? undefined : `${id}-problem`}
          aria-invalid={problem !== undefined}
          data-filter={filterKey}
          onFocus={() => (isOpen.value = true)}
          onBlur={() => (isOpen.value = false)}
        />
      </div>
      <FieldProblem id={`${id}-problem`} text={problem} />
      <Listbox
        {...{ id, active, choose }}
        name={`${labelOf(filterKey)}: suggestions`}
        look="options"
        hidden={!isShown}
        options={options}
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

interface ListInputProps extends Omit<PartialInputHTMLAttributes<HTMLInputElement>, "type"> {
  readonly id: string;
  readonly inputRef: { current: HTMLInputElement | null };
  readonly text: Signal<string>;
  /** Which option of the list is meant; -1: none. */
  readonly active: Signal<number>;
  readonly isShown: boolean;
  readonly length: number;
  readonly press: (act: KeyAct) => void;
  readonly type: (text: string) => void;
  readonly "data-filter"?: string;
}

/** An input above a {@link Listbox}, which never has the focus itself. */
export function ListInput({ active, id, inputRef, isShown, length, press, text, type, ...rest }: ListInputProps) {
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter and the arrows are the input method's while it composes.
    const act = event.isComposing ? undefined : keyAct(event.key, active.value, length, text.value === "");
    if (act === undefined) return;
    if (act.kind !== "drop") event.preventDefault();
    press(act);
  };
  return (
    <input
      {...rest}
      id={id}
      ref={inputRef}
      role="combobox"
      type="text"
      autocomplete="off"
      spellcheck={false}
      aria-expanded={isShown}
      aria-controls={`${id}-list`}
      aria-activedescendant={isShown && active.value >= 0 ? `${id}-${active.value}` : undefined}
      value={text.value}
      onInput={(event) => type(event.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}

export type KeyAct = { readonly kind: "move"; readonly to: number } | { readonly kind: "choose" | "close" | "drop" };

/** What a key does in the input: arrows go round the options, Backspace takes the last chip away. */
function keyAct(key: string, at: number, length: number, isEmpty: boolean): KeyAct | undefined {
  if (key === "ArrowDown") return { kind: "move", to: length === 0 ? -1 : (at + 1) % length };
  if (key === "ArrowUp") return { kind: "move", to: length === 0 ? -1 : (at <= 0 ? length : at) - 1 };
  if (key === "Enter") return { kind: "choose" };
  if (key === "Escape") return { kind: "close" };
  return key === "Backspace" && isEmpty ? { kind: "drop" } : undefined;
}

function useSuggestions(key: FilterKey, text: string, isOpen: boolean): Facets["values"] {
  const options = useSignal<Facets["values"]>([]);
  const chosen = filterValues(chosenFilters.value, key);
  const without = JSON.stringify(withValues(chosenFilters.value, key, []));
  useEffect(() => {
    if (!isOpen) return;
    const turn = new AbortController();
    const ask = (): void => {
      suggest(key, JSON.parse(without) as Filters, text.trim(), turn.signal)
        .then((found) => (options.value = found.filter(({ value }) => !chosen.includes(value))))
        // Suggestions only help: without them any text can be entered.
        .catch(() => undefined);
    };
    const timer = setTimeout(ask, text === "" ? 0 : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      turn.abort();
    };
  }, [text, isOpen, without, mode.value, chosen.length]);
  return options.value;
}

interface ListboxProps {
  readonly id: string;
  readonly name: string;
  readonly look: "options" | "plain";
  readonly options: Facets["values"];
  readonly active: Signal<number>;
  readonly hidden?: boolean;
  readonly choose: (value: string) => void;
}

export const Listbox = ({ active, choose, hidden, id, look, name, options }: ListboxProps) => (
  <div id={`${id}-list`} role="listbox" aria-label={name} hidden={hidden} class={look}>
    {options.map(({ count, value }, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the input's keys choose; an option never has the focus
      <div
        key={value}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === active.value}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => choose(value)}
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
  prefix: string,
  signal: AbortSignal,
): Promise<Facets["values"]> {
  const known = knownValues(key)
    .filter((value) => value.toLowerCase().startsWith(prefix.toLowerCase()))
    .map((value) => ({ value }));
  if (!isFacetKey(key)) return known;
  try {
    const begin = prefix === "" ? {} : { prefix };
    const asked = { filters, mode: mode.value, key, ...begin, limit: OPTIONS };
    const found = await api<Facets>("POST", "/facets", asked, signal);
    return found.values.length > 0 ? found.values : known;
  } catch (error) {
    if (known.length > 0 && !signal.aborted) return known;
    throw error;
  }
}
