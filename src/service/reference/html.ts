/** Markup that needs no more escaping. Only {@link html} and {@link rawHtml} make it. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | readonly Part[] | undefined;

const rawHtml = (markup: string): Html => ({ markup });

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

function inline(text: string): string {
  return escapeHtml(text)
    .split(/(`[^`]+`)/)
    .map((part) =>
      part.startsWith("`")
        ? `<code>${part.slice(1, -1)}</code>`
        : part.replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>").replace(/\*([^*]+)\*/g, "<em>$1</em>"),
    )
    .join("");
}

export const slug = (heading: string): string => heading.toLowerCase().replace(/[^a-z0-9]+/g, "-");

const cells = (line: string): readonly string[] =>
  line
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => inline(cell.trim()));

function table(lines: readonly string[]): string {
  const [head = "", , ...rows] = lines;
  const row = (line: string, tag: string): string =>
    `<tr>${cells(line)
      .map((cell) => `<${tag}>${cell}</${tag}>`)
      .join("")}</tr>`;
  return `<div class="scroll" tabindex="0"><table><thead>${row(head, "th")}</thead><tbody>${rows.map((line) => row(line, "td")).join("")}</tbody></table></div>`;
}

function block(text: string): string {
  const lines = text.split("\n");
  const [first = ""] = lines;
  if (first.startsWith("```"))
    return `<pre tabindex="0"><code>${escapeHtml(lines.slice(1, -1).join("\n"))}</code></pre>`;
  if (first.startsWith("## ")) return `<h2 id="${slug(first.slice(3))}">${inline(first.slice(3))}</h2>`;
  if (first.startsWith("|")) return table(lines);
  if (first.startsWith("- ")) return `<ul>${lines.map((line) => `<li>${inline(line.slice(2))}</li>`).join("")}</ul>`;
  return `<p>${inline(lines.join(" "))}</p>`;
}

/** The Markdown of the document's own descriptions, as HTML. Everything is escaped. */
export const markdown = (text: string): Html =>
  rawHtml(
    text
      .trim()
      .split(/\n{2,}/)
      .map(block)
      .join("\n"),
  );

export const headings = (text: string): readonly string[] =>
  [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1] ?? "");
