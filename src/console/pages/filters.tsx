import { useSignal } from "@preact/signals";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import type { FilterKey } from "../../shared/contract/vocabulary.ts";
import { FOLDS, filterValues, labelOf, specOf, withValues } from "../segment.ts";
import { chosenFilters, problems, setFilters } from "../state.ts";
import { Combobox, FieldProblem, type FieldProps } from "./combobox.tsx";
import { Button, isWholeNumber, SubmitForm } from "./parts.tsx";

const PAUSE_MS = 120;

export function FilterForm() {
  const set = Object.keys(chosenFilters.value).length;
  const folds = openFolds();
  /** Where something was wrong: put right, it stays open under the hand. */
  const amiss = useMemo(() => new Set<string>(), []);
  return (
    <SubmitForm class="filters" aria-label="Filters" act={() => undefined}>
      {FOLDS.map(({ keys, name }, index) => {
        const used = keys.filter((key) => chosenFilters.value[key] !== undefined).length;
        if (problems.value.some(({ key }) => keys.some((each) => each === key))) amiss.add(name);
        return (
          <details key={name} open={amiss.has(name) || index < folds || (folds > 0 && used > 0)}>
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
      <Button
        look="quiet"
        disabled={set === 0}
        act={() => setFilters({})}
        text="Clear all filters"
      />
    </SubmitForm>
  );
}

/** On a phone the number and the price come first, and all filters are folded. */
function openFolds(): number {
  const isWithin = (width: number) => matchMedia(`(max-width: ${width}px)`).matches;
  return isWithin(600) ? 0 : isWithin(900) ? 1 : 2;
}

function Field({ filterKey }: { readonly filterKey: FilterKey }) {
  const problem = problems.value.find(({ key }) => key === filterKey)?.message;
  const Input = specOf(filterKey).list ? Combobox : TextField;
  return <Input filterKey={filterKey} problem={problem} />;
}

function TextField({ filterKey, problem }: FieldProps) {
  const id = useId();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** What is typed and no filter yet: an answer that comes meanwhile must not take letters away. */
  const draft = useSignal<string | undefined>(undefined);
  const isNumber = specOf(filterKey).match === "range";
  const stored = filterValues(chosenFilters.value, filterKey)[0] ?? "";
  useEffect(() => {
    if (timer.current === undefined) draft.value = undefined;
  }, [stored]);

  const onInput = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
    draft.value = text;
    if (isNumber && !isWholeNumber(text)) return;

    timer.current = setTimeout(() => {
      timer.current = undefined;
      draft.value = undefined;
      setFilters(
        withValues(chosenFilters.value, filterKey, text.trim() === "" ? [] : [text]),
        true,
      );
    }, PAUSE_MS);
  };

  const isNone = isNumber && draft.value !== undefined && !isWholeNumber(draft.value);
  const said = isNone ? "a whole number of 0 or more; the count is still without it" : problem;
  const isWrong = said !== undefined;

  return (
    <div class="field">
      <label for={id}>{labelOf(filterKey)}</label>
      <input
        id={id}
        type="text"
        inputMode={isNumber ? "numeric" : "text"}
        autocomplete="off"
        spellcheck={false}
        class={isWrong ? "wrong" : ""}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? `${id}-problem` : undefined}
        data-filter={filterKey}
        value={draft.value ?? stored}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <FieldProblem id={id} text={said} />
    </div>
  );
}
