import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { countCommand, curlCommand, fragmentOf, searchCommand } from "../segment.ts";
import { chosenFilters, count, me, place } from "../state.ts";
import { Button, Card, Choice } from "./parts.tsx";

/** The texts that there are; undefined while the price of the segment is not known. */
const TEXTS = {
  Command: () => count.value && searchCommand(chosenFilters.value, Math.ceil(count.value.credits)),
  Count: () => countCommand(chosenFilters.value),
  curl: () => curlCommand(chosenFilters.value, me.value?.origin ?? location.origin),
  "Filter file": () => JSON.stringify(chosenFilters.value, null, 2),
  Link: () => new URL(fragmentOf(place.value), location.href).href,
};
const FORMS = (Object.keys(TEXTS) as readonly (keyof typeof TEXTS)[]).map(
  (each) => [each, each] as const,
);

export function Copy() {
  const tab = useSignal<keyof typeof TEXTS>("Command");
  const said = useSignal("");
  const shown = useRef<HTMLPreElement>(null);
  const text = TEXTS[tab.value]();

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

  const controls = (
    <>
      <Choice name="as" chosen={tab} options={FORMS} />
      <span role="status" class="soft">
        {said.value}
      </span>
      <Button look="quiet" disabled={text === undefined} act={() => copy()} text="Copy" />
    </>
  );

  return (
    <Card id="copy" title="Copy" beside={controls}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard has to reach what scrolls */}
      <pre ref={shown} tabIndex={0} data-testid="copy">
        {text ?? "The segment has no price yet: it is not counted."}
      </pre>
    </Card>
  );
}
