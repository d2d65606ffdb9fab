import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, HTMLAttributes, PartialInputHTMLAttributes } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { api, reasonOf } from "../api.ts";
import { fail, notice } from "../state.ts";

/**
 * What a GET answers: asked for when the page is shown,
 * again by `load`, and every so many milliseconds.
 */
export function useLoaded<Answer>(path: string, everyMs?: number) {
  const latest = useSignal<{ readonly of: string; readonly answer: Answer } | undefined>(undefined);
  const isAway = useRef(false);

  const load = (signal?: AbortSignal): void => {
    api<Answer>("GET", path, undefined, signal)
      .then((answer) => {
        latest.value = { of: path, answer };
        // Asked for by itself it also says by itself that the service is there again.
        if (isAway.current) notice.value = "";
        isAway.current = false;
      })
      .catch((error: unknown) => {
        isAway.current = signal?.aborted !== true;
        // What another path answered does not stay for this one.
        if (signal?.aborted !== true && latest.value?.of !== path) latest.value = undefined;
        fail(error);
      });
  };

  useEffect(() => {
    const turn = new AbortController();
    load(turn.signal);
    const timer = everyMs === undefined ? undefined : setInterval(() => load(turn.signal), everyMs);
    return () => {
      turn.abort();
      clearInterval(timer);
    };
  }, [path, everyMs]);

  return { answer: latest.value?.answer, load: () => load() };
}

/** What a form does, and why it did not: said until it works. */
export function useWork(done: () => void = () => undefined) {
  const problem = useSignal("");
  const act = (work: Promise<unknown>): void => {
    work
      .then(() => {
        problem.value = "";
        done();
      })
      .catch((error: unknown) => (problem.value = reasonOf(error)));
  };
  return { problem, act };
}

/**
 * Where rows would be: that there are none is said only where they were asked for and none came.
 */
export const Absent = ({
  isAsked,
  isThere,
}: {
  readonly isAsked: boolean;
  readonly isThere: boolean;
}) => (isThere ? null : <p class="soft">{isAsked ? "Nothing yet." : "Not loaded."}</p>);

interface CardProps {
  readonly id: string;
  readonly title: ComponentChildren;
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Card({ beside, children, id, title }: CardProps) {
  const heading = <h2 id={id}>{title}</h2>;
  return (
    <section class="card" aria-labelledby={id}>
      {beside === undefined ? heading : <Head title={heading} beside={beside} />}
      {children}
    </section>
  );
}

export const Head = ({
  beside,
  title,
}: {
  readonly title: ComponentChildren;
  readonly beside: ComponentChildren;
}) => (
  <div class="head">
    {title}
    {beside}
  </div>
);

interface ButtonProps extends Pick<HTMLAttributes, "aria-label" | "aria-pressed"> {
  readonly text: ComponentChildren;
  readonly look?: string;
  readonly disabled?: boolean;
  /** Without it the button submits its form. */
  readonly act?: () => unknown;
}

export const Button = ({ act, look, text, ...rest }: ButtonProps) => (
  <button type={act === undefined ? "submit" : "button"} class={look} onClick={act} {...rest}>
    {text}
  </button>
);

interface FormProps extends Pick<HTMLAttributes, "class" | "aria-label" | "aria-labelledby"> {
  readonly act: () => void;
  readonly children: ComponentChildren;
}

export function SubmitForm({ act, ...rest }: FormProps) {
  const submit = (event: Event): void => {
    event.preventDefault();
    act();
  };
  return <form onSubmit={submit} {...rest} />;
}

const Scroll = ({
  children,
  name,
}: {
  readonly children: ComponentChildren;
  readonly name: string;
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard has to reach what scrolls
  <section class="scroll" aria-label={name} tabIndex={0}>
    {children}
  </section>
);

export const Shown = ({
  children,
  testId,
}: {
  readonly children: string;
  readonly testId?: string;
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard has to reach what scrolls
  <pre tabIndex={0} data-testid={testId}>
    {children}
  </pre>
);

/**
 * What stands over a column, what of a row stands in it,
 * and how it looks: `n` is a number, `row` names the row.
 */
export type TableColumn<Row> = readonly [
  name: string,
  cell: (row: Row) => ComponentChildren,
  look?: string,
];

interface TableProps<Row> {
  readonly name: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly testId?: string;
}

export const Table = <Row,>({ columns, name, rows, testId }: TableProps<Row>) => (
  <Scroll name={name}>
    <table data-testid={testId} hidden={rows.length === 0}>
      <thead>
        <tr>
          {columns.map(([title, , look]) => (
            <th key={title} scope="col" class={look === "n" ? "n" : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {columns.map(([title, cell, look]) =>
              look === "row" ? (
                <th key={title} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td key={title} class={look}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
);

export const Alert = ({ text }: { readonly text: string }) => (
  <p class="problem" role="alert">
    {text}
  </p>
);

interface TextProps
  extends Pick<PartialInputHTMLAttributes<HTMLInputElement>, "inputMode" | "maxLength"> {
  readonly text: Signal<string>;
  readonly type?: "text" | "password";
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly "aria-label"?: string;
  readonly label?: string;
}

/** Digits, or nothing at all: to drop letters would make another number of it. */
export const isWholeNumber = (text: string): boolean => /^\s*(\d{1,15}\s*)?$/.test(text);

export function Text({ label, text, type = "text", ...rest }: TextProps) {
  const onInput = (event: { readonly currentTarget: HTMLInputElement }) =>
    (text.value = event.currentTarget.value);
  const input = (
    <input
      {...rest}
      type={type as "text"}
      autocomplete="off"
      value={text.value}
      onInput={onInput}
    />
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
  readonly chosen: Signal<Word>;
  /** Each with what it is called. */
  readonly options: Iterable<readonly [value: Word, text: string]>;
}

export const Choice = <Word extends string>({ chosen, name, options }: ChoiceProps<Word>) => (
  <label>
    {name}{" "}
    <select
      value={chosen.value}
      onChange={(event) => (chosen.value = event.currentTarget.value as Word)}
    >
      {[...options].map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

export const FactTable = ({
  rows,
}: {
  readonly rows: readonly (readonly [name: string, value: ComponentChildren])[];
}) => (
  <table class="facts">
    <tbody>
      {rows.map(([name, value]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="n">{value}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

interface DialogProps {
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly title: string;
}

/** A modal dialog of the browser: it keeps the focus, and Escape closes it. */
export function Dialog({ children, onClose, title }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: what is typed into a dialog that
  // was opened by a key must not go to the field below it.
  useLayoutEffect(() => {
    const own = dialog.current;
    if (own?.open === false) own.showModal();
    // Taken away, and not closed, it would leave the focus nowhere: closed, it gives it back.
    return () => own?.close();
  }, []);

  const cancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };

  return (
    <dialog ref={dialog} aria-label={title} onCancel={cancel}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

export const DialogButtons = ({ children, onClose }: Pick<DialogProps, "children" | "onClose">) => (
  <div class="head">
    <Button look="quiet" act={onClose} text="Cancel" />
    {children}
  </div>
);

export function saveFile(file: Blob, name: string): void {
  const href = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
