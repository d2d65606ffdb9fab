import { useEffect, useId, useRef } from "preact/hooks";
import { FILTER_KEYS, type FilterKey, type Filters } from "../../contract/filters.ts";
import { FOLDS, labelOf, specOf, valuesOf, withValues } from "../segment.ts";
import { filters, mode, problems, setFilters } from "../state.ts";
import { Combobox, Problem } from "./combobox.tsx";

const PAUSE_MS = 120;

/** All 24 filters in five folds, each with how many of its filters are set. `/` goes to the first. */
export function FilterForm() {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
        return;
      event.preventDefault();
      form.current?.querySelector<HTMLInputElement>("details[open] input")?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const set = FILTER_KEYS.filter((key) => filters.value[key] !== undefined).length;
  return (
    <form ref={form} class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {FOLDS.map(({ keys, name }, index) => {
        const used = keys.filter((key) => filters.value[key] !== undefined).length;
        return (
          <details key={name} open={index < 2 || used > 0}>
            <summary>
              {name}
              {used === 0 ? null : <span class="badge">{used} set</span>}
            </summary>
            {keys.map((key) => (
              <Field key={key} filterKey={key} />
            ))}
          </details>
        );
      })}
      <button type="button" class="quiet" disabled={set === 0} onClick={() => setFilters({})}>
        Clear all filters
      </button>
    </form>
  );
}

function Field({ filterKey }: { readonly filterKey: FilterKey }) {
  const problem = problems.value.find(({ key }) => key === filterKey)?.message;
  if (specOf(filterKey).list) {
    return (
      <Combobox
        filterKey={filterKey}
        filters={filters.value}
        mode={mode.value}
        problem={problem}
        onChange={(next: Filters) => setFilters(next)}
      />
    );
  }
  return <TextField filterKey={filterKey} problem={problem} />;
}

function TextField({ filterKey, problem }: { readonly filterKey: FilterKey; readonly problem: string | undefined }) {
  const id = useId();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isNumber = specOf(filterKey).match === "range";
  const onInput = (text: string): void => {
    clearTimeout(timer.current);
    const value = text.trim();
    if (isNumber && value !== "" && !/^\d{1,15}$/.test(value)) return;
    timer.current = setTimeout(
      () => setFilters(withValues(filters.value, filterKey, value === "" ? [] : [text]), true),
      PAUSE_MS,
    );
  };
  return (
    <div class="field">
      <label for={id}>{labelOf(filterKey)}</label>
      <input
        id={id}
        type="text"
        inputMode={isNumber ? "numeric" : "text"}
        autocomplete="off"
        spellcheck={false}
        class={problem === undefined ? "" : "wrong"}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        value={valuesOf(filters.value, filterKey)[0] ?? ""}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <Problem id={`${id}-problem`} text={problem} />
    </div>
  );
}
