import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { countCommand, curlCommand, fragmentOf, searchCommand } from "../segment.ts";
import { chosenFilters, count, me, place } from "../state.ts";
import { Tabs } from "./parts.tsx";

const TABS = ["Command", "Count", "curl", "Filter file", "Link"] as const;

/** @returns undefined while the price of the segment is not known */
function textOf(tab: (typeof TABS)[number]): string | undefined {
  const origin = me.value?.origin ?? location.origin;
  switch (tab) {
    case "Command":
      return count.value && searchCommand(chosenFilters.value, Math.ceil(count.value.credits));
    case "Count":
      return countCommand(chosenFilters.value);
    case "curl":
      return curlCommand(chosenFilters.value, origin);
    case "Filter file":
      return JSON.stringify(chosenFilters.value, null, 2);
    case "Link":
      return new URL(fragmentOf(place.value), location.href).href;
  }
}

/** The very segment on the screen, as a command, a request, a file or an address. */
export function Copy() {
  const tab = useSignal<(typeof TABS)[number]>("Command");
  const said = useSignal("");
  const shown = useRef<HTMLPreElement>(null);
  const text = textOf(tab.value);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text ?? "");
      said.value = "Copied";
    } catch {
      // Without the right to the clipboard the text is selected, for Ctrl-C.
      if (shown.current !== null) getSelection()?.selectAllChildren(shown.current);
      said.value = "Selected: press Ctrl-C";
    }
    setTimeout(() => (said.value = ""), 2_000);
  };
  return (
    <section class="card" aria-labelledby="copy">
      <div class="head">
        <h2 id="copy">Copy</h2>
        <span role="status" class="soft">
          {said.value}
        </span>
        <button type="button" class="quiet" disabled={text === undefined} onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <Tabs name="Copy as" all={TABS} chosen={tab.value} onChoose={(each) => (tab.value = each)} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard too */}
      <pre ref={shown} tabIndex={0} data-testid="copy">
        {text ?? "The segment has no price yet: it is not counted."}
      </pre>
    </section>
  );
}
