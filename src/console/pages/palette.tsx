import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { FILTER_KEYS } from "../../shared/contract/filters.ts";
import { labelOf } from "../segment.ts";
import { go, place } from "../state.ts";
import { type KeyAct, Listbox, ListInput } from "./combobox.tsx";
import { Dialog } from "./parts.tsx";

interface Target {
  readonly name: string;
  readonly go: () => void;
}

const MOST = 8;

/** Ctrl-K or Cmd-K: any page or filter by its name, from every page; `/` goes to the filters. */
export function Palette({ pages }: { readonly pages: readonly { readonly id: string; readonly name: string }[] }) {
  const isOpen = useSignal(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as HTMLElement).tagName);
      const isCommand = event.ctrlKey || event.metaKey;
      // A dialog that is open keeps the keyboard.
      if (document.querySelector("dialog[open]") !== null) return;
      if (isCommand && event.key.toLowerCase() === "k") isOpen.value = true;
      else if (event.key === "/" && !isCommand && !isTyping) toFilter();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  if (!isOpen.value) return null;
  const targets: readonly Target[] = [
    ...pages.map(({ id, name }) => ({ name, go: () => go({ page: id }) })),
    ...FILTER_KEYS.map((key) => ({ name: `Filter: ${labelOf(key)}`, go: () => toFilter(key) })),
  ];
  return <Finder targets={targets} onClose={() => (isOpen.value = false)} />;
}

/** Goes to the segment, and to the field of a filter there; without a name to the first one. */
function toFilter(key?: string): void {
  const focus = (): void => {
    const named = key === undefined ? "details[open] [data-filter]" : `[data-filter="${key}"]`;
    const field = document.querySelector<HTMLInputElement>(named);
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
  };
  // On the page itself at once, so that no letter that follows is lost; another page takes the focus when it is there.
  if (place.value.page === "segment") focus();
  else setTimeout(focus, 50);
  go({ page: "segment" });
}

/** 0 where the name begins with it, 1 where a word of the name does, 2 within a word. */
function rank(name: string, wanted: string): number {
  const text = name.toLowerCase().replace("filter: ", "");
  return text.startsWith(wanted) ? 0 : text.includes(` ${wanted}`) ? 1 : 2;
}

function Finder({ onClose, targets }: { readonly onClose: () => void; readonly targets: readonly Target[] }) {
  const [id, input] = [useId(), useRef<HTMLInputElement>(null)];
  const [text, active] = [useSignal(""), useSignal(0)];
  useLayoutEffect(() => input.current?.focus(), []);
  const wanted = text.value.trim().toLowerCase();
  const found = targets
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .sort((one, other) => rank(one.name, wanted) - rank(other.name, wanted))
    .slice(0, MOST);
  const choose = (value: string | undefined): void => {
    const target = found.find(({ name }) => name === value);
    if (target === undefined) return;
    onClose();
    // After the dialog has given the focus back.
    setTimeout(target.go, 0);
  };
  const press = (act: KeyAct): void => {
    if (act.kind === "move") active.value = act.to;
    else if (act.kind === "choose") choose(found[active.value]?.name);
    else if (act.kind === "close") onClose();
  };
  const type = (typed: string): void => {
    [text.value, active.value] = [typed, 0];
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <ListInput
        {...{ id, text, active, press, type }}
        inputRef={input}
        aria-label="Page or filter"
        isShown={found.length > 0}
        length={found.length}
      />
      <Listbox
        {...{ id, active, choose }}
        name="Pages and filters"
        look="plain"
        options={found.map(({ name }) => ({ value: name }))}
      />
      <p class="problem" role="status">
        {found.length === 0 ? "Nothing is called that." : ""}
      </p>
    </Dialog>
  );
}
