import { type Signal, useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { nearest } from "../../shared/contract/suggest.ts";
import { type FilterKey, isFacetKey, knownValues } from "../../shared/contract/vocabulary.ts";
import type { FacetResult } from "../../shared/schema/api.ts";
import { figure, filterValues, labelOf, specOf, withValues } from "../segment.ts";
import { chosenFilters, mode, setFilters, useInquiry } from "../state.ts";

type Suggestions = readonly { readonly value: string; readonly count?: number }[];

const PAUSE_MS = 120;
const OPTIONS = 12;

export interface FieldProps {
  readonly filterKey: FilterKey;
  /** Why the service refuses its values. */
  readonly problem: string | undefined;
}

/** Said at its field and nowhere else, as short as it can be. */
export const FieldProblem = ({
  id,
  text,
}: {
  readonly id: string;
  readonly text?: string | undefined;
}) =>
  text === undefined ? null : (
    <p id={`${id}-problem`} class="problem" role="alert">
      {text}
    </p>
  );

interface Slip {
  /** Of a closed list it is known which value is none, and which may have been meant. */
  readonly none: string | undefined;
  readonly near: string | undefined;
}

function slipIn(chosen: readonly string[], known: readonly string[]): Slip {
  const lower = new Set(known.map((value) => value.toLowerCase()));
  const none =
    known.length === 0 ? undefined : chosen.find((value) => !lower.has(value.toLowerCase()));
  return { none, near: none === undefined ? undefined : nearest(none, known) };
}

/** How a key moves among so many options: round, and -1 where there is none. */
const MOVES: Readonly<Record<string, (at: number, length: number) => number>> = {
  ArrowDown: (at, length) => (length === 0 ? -1 : (at + 1) % length),
  ArrowUp: (at, length) => (at <= 0 ? length : at) - 1,
};

/** The values of a filter, what is typed beside them, and what its keys do. */
function useChoices(filterKey: FilterKey) {
  const [text, active, isOpen] = [useSignal(""), useSignal(-1), useSignal(false)];
  const input = useRef<HTMLInputElement>(null);
  const chosen = filterValues(chosenFilters.value, filterKey);
  const options = useSuggestions(filterKey, text.value, isOpen.value);

  const set = (values: readonly string[]): void => {
    if (values.join("\n") !== chosen.join("\n"))
      setFilters(withValues(chosenFilters.value, filterKey, values));
    input.current?.focus();
  };

  const choose = (value: string): void => {
    const clean = value.trim();
    [text.value, active.value] = ["", -1];
    set(clean === "" || chosen.includes(clean) ? chosen : [...chosen, clean]);
  };

  /** Of a closed list what stands first, where it begins with what was typed. */
  const meant = (): string => {
    const typed = text.value.trim().toLowerCase();
    const first = options.find(({ value }) => value.toLowerCase().startsWith(typed));
    const isClosed = specOf(filterKey).match === "department";
    return (isClosed && typed !== "" && first?.value) || text.value;
  };

  /** Arrows go round the options, Backspace takes the last chip away. */
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter and the arrows are the input method's while it composes.
    if (event.isComposing) return;
    const { key } = event;
    const move = MOVES[key];

    if (key === "Backspace" && text.value === "") set(chosen.slice(0, -1));
    if (move !== undefined)
      [isOpen.value, active.value] = [true, move(active.value, options.length)];
    else if (key === "Enter") choose(options[active.value]?.value ?? meant());
    else if (key === "Escape") isOpen.value = false;
    else return;

    event.preventDefault();
  };

  const onInput = (typed: string): void => {
    [text.value, active.value, isOpen.value] = [typed, -1, true];
  };

  return { active, choose, chosen, input, isOpen, onInput, onKeyDown, options, set, text };
}

/**
 * A filter that takes several values: chips (any of them
 * matches) and an input that suggests what the segment has.
 */
export function Combobox({ filterKey, problem }: FieldProps) {
  const id = useId();
  const { active, choose, chosen, input, isOpen, onInput, onKeyDown, options, set, text } =
    useChoices(filterKey);

  const isShown = isOpen.value && options.length > 0;
  const isWrong = problem !== undefined;
  const { near, none } = slipIn(isWrong ? chosen : [], knownValues(filterKey));
  return (
    <div class="field">
      <label for={id}>{labelOf(filterKey)}</label>
      <div class={isWrong ? "combo wrong" : "combo"}>
        <Chips values={chosen} remove={(value) => set(chosen.filter((each) => each !== value))} />
        <input
          id={id}
          ref={input}
          role="combobox"
          type="text"
          autocomplete="off"
          spellcheck={false}
          aria-autocomplete="list"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-activedescendant={isShown && active.value >= 0 ? `${id}-${active.value}` : undefined}
          value={text.value}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          aria-describedby={isWrong ? `${id}-problem` : undefined}
          aria-invalid={isWrong}
          data-filter={filterKey}
          onFocus={() => (isOpen.value = true)}
          onBlur={() => (isOpen.value = false)}
        />
      </div>
      <FieldProblem id={id} text={none === undefined ? problem : `no such value: “${none}”`} />
      {near === undefined ? null : (
        <button
          type="button"
          onClick={() => set(chosen.map((value) => (value === none ? near : value)))}
        >
          {near} instead
        </button>
      )}
      <Options
        id={id}
        active={active}
        choose={choose}
        options={options}
        name={labelOf(filterKey)}
        hidden={!isShown}
      />
    </div>
  );
}

interface ChipsProps {
  readonly values: readonly string[];
  readonly remove: (value: string) => void;
}

const Chips = ({ remove, values }: ChipsProps) =>
  values.map((value) => (
    <span class="chip" key={value}>
      <bdi>{value}</bdi>
      <button type="button" aria-label={`Remove ${value}`} onClick={() => remove(value)}>
        ×
      </button>
    </span>
  ));

interface OptionsProps {
  readonly id: string;
  readonly name: string;
  readonly options: Suggestions;
  /** Which of them is meant; -1: none. */
  readonly active: Signal<number>;
  readonly hidden: boolean;
  readonly choose: (value: string) => void;
}

const Options = ({ active, choose, hidden, id, name, options }: OptionsProps) => (
  <div
    id={`${id}-list`}
    role="listbox"
    aria-label={`${name}: suggestions`}
    hidden={hidden}
    class="options"
  >
    {options.map(({ count, value }, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the input's keys choose, options have none
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

function useSuggestions(key: FilterKey, text: string, isOpen: boolean): Suggestions {
  const prefix = text.trim();
  const filters = withValues(chosenFilters.value, key, []);
  const question = {
    filters,
    mode: mode.value,
    key,
    prefix: prefix || undefined,
    limit: OPTIONS,
  };
  const of = isOpen && isFacetKey(key) ? JSON.stringify(question) : undefined;
  const { value: facets } = useInquiry<FacetResult>("/facets", of, prefix === "" ? 0 : PAUSE_MS);

  // What was suggested stays until something else is.
  const last = useRef<Suggestions>([]);
  last.current = facets?.values ?? last.current;

  const vocabulary = knownValues(key)
    .filter((value) => value.toLowerCase().startsWith(prefix.toLowerCase()))
    .map((value) => ({ value }));
  const chosen = filterValues(chosenFilters.value, key);
  return (last.current.length > 0 ? last.current : vocabulary).filter(
    ({ value }) => !chosen.includes(value),
  );
}
