/** Markup that needs no more escaping. Only {@link html} and {@link rawHtml} make it. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | readonly Part[] | undefined;

export const rawHtml = (markup: string): Html => ({ markup });

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function render(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string" || typeof part === "number") return escapeHtml(String(part));
  return "markup" in part ? part.markup : part.map(render).join("");
}

/** A template whose values are escaped unless they are markup already. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  rawHtml(strings.map((text, index) => text + render(parts[index])).join(""));

/** JSON laid out and coloured: names, texts, and everything else each in a span of their own class. */
export function jsonCode(value: unknown): Html {
  const text = JSON.stringify(value, null, 2);
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g;
  let out = "";
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [all, quoted, colon] = match;
    const kind = quoted === undefined ? "literal" : colon === undefined ? "text" : "name";
    out += escapeHtml(text.slice(end, match.index));
    out += `<span class="${kind}">${escapeHtml(quoted ?? all)}</span>${colon ?? ""}`;
    end = match.index + all.length;
  }
  return rawHtml(`<pre tabindex="0"><code>${out}${escapeHtml(text.slice(end))}</code></pre>`);
}
