import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, PartialInputHTMLAttributes } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { api } from "../api.ts";
import { figure } from "../segment.ts";
import { fail, me } from "../state.ts";

/** What a GET answers: asked for when the page is shown, and again by `load`. */
export function useLoaded<Answer>(path: string): { readonly found: Answer | undefined; readonly load: () => void } {
  const found = useSignal<Answer | undefined>(undefined);
  const load = (): void => {
    api<Answer>("GET", path)
      .then((answer) => (found.value = answer))
      .catch(fail);
  };
  useEffect(load, []);
  return { found: found.value, load };
}

/** Where rows would be: that there are none is said only where they were asked for and none came. */
export const Absent = ({ isAsked, isThere }: { readonly isAsked: boolean; readonly isThere: boolean }) =>
  isThere ? null : <p class="soft">{isAsked ? "Nothing yet." : "Not loaded."}</p>;

/** What may be wider than the window: it scrolls by itself, by keyboard too. */
export const Scroll = ({ children, name }: { readonly children: ComponentChildren; readonly name: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
  <section class="scroll" aria-label={name} tabIndex={0}>
    {children}
  </section>
);

export const Shown = ({ children, testId }: { readonly children: string; readonly testId?: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
  <pre tabIndex={0} data-testid={testId}>
    {children}
  </pre>
);

/** The head of a table: columns of text, and then those of numbers. */
export function Heads({
  names,
  numbers = [],
}: {
  readonly names: readonly string[];
  readonly numbers?: readonly string[];
}) {
  const head = (name: string, isNumber: boolean) => (
    <th key={name} scope="col" class={isNumber ? "n" : undefined}>
      {name}
    </th>
  );
  return (
    <thead>
      <tr>
        {names.map((name) => head(name, false))}
        {numbers.map((name) => head(name, true))}
      </tr>
    </thead>
  );
}

export const Alert = ({ text }: { readonly text: string }) => (
  <p class="problem" role="alert">
    {text}
  </p>
);

interface TextProps
  extends Pick<PartialInputHTMLAttributes<HTMLInputElement>, "autocomplete" | "id" | "inputMode" | "maxLength"> {
  readonly text: Signal<string>;
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly "aria-label"?: string;
  readonly label?: string;
}

/** Digits, or nothing at all. What is no number is refused with words: to drop its letters would make another number of it. */
export const isWholeNumber = (text: string): boolean => /^\s*(\d{1,15}\s*)?$/.test(text);

/** An input whose text is a signal. */
export function Text({ label, text, ...rest }: TextProps) {
  const input = (
    <input type="text" {...rest} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
  );
  if (label === undefined) return input;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the input is in it
    <label>
      {label} {input}
    </label>
  );
}

interface ChoiceProps<Word extends string> {
  readonly name: string;
  readonly value: Word;
  /** Each with what it is called. */
  readonly options: Iterable<readonly [value: Word, text: string]>;
  readonly onChange: (value: Word) => void;
}

/** One of several, from a list that opens. */
export const Choice = <Word extends string>({ name, onChange, options, value }: ChoiceProps<Word>) => (
  <label>
    {name}{" "}
    <select value={value} onChange={(event) => onChange(event.currentTarget.value as Word)}>
      {[...options].map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

interface TabsProps<Word> {
  readonly name: string;
  readonly all: readonly Word[];
  readonly chosen: Word;
  readonly text?: (word: Word) => string;
  readonly onChoose: (word: Word) => void;
}

/** One of a few, all of them to be seen. */
export const Tabs = <Word extends string | number>({ all, chosen, name, onChoose, text = String }: TabsProps<Word>) => (
  <fieldset class="tabs" aria-label={name}>
    {all.map((each) => (
      <button key={each} type="button" aria-pressed={chosen === each} onClick={() => onChoose(each)}>
        {text(each)}
      </button>
    ))}
  </fieldset>
);

export const Fact = ({ name, value }: { readonly name: string; readonly value: ComponentChildren }) => (
  <tr>
    <th scope="row">{name}</th>
    <td class="n">{value}</td>
  </tr>
);

/** What the dataset says of itself. */
export const DatasetFacts = ({ before = "" }: { readonly before?: string }) =>
  Object.entries(me.value?.dataset ?? {}).map(([key, value]) => (
    <Fact
      key={key}
      name={`${before}${key.replaceAll("_", " ")}`}
      value={typeof value === "number" ? figure(value) : (value ?? "")}
    />
  ));

interface DialogProps {
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly title: string;
}

/** A modal dialog of the browser: it keeps the focus, and Escape closes it. */
export function Dialog({ children, onClose, title }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: what is typed into a dialog that was opened by a key must not go to the field below it.
  useLayoutEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    if (dialog.current?.open === false) dialog.current.showModal();
    // Taken away, and not closed, it would leave the focus nowhere; what follows may take it on.
    return () => setTimeout(() => document.activeElement === document.body && opener?.focus(), 0);
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** Lets the browser save what an address gives. @param name of the file; empty: as the answer says */
export function download(href: string, name = ""): void {
  Object.assign(document.createElement("a"), { href, download: name }).click();
}
