export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** A heading, and what it is found by: `{#name}` behind it, or its own words. */
export function headingOf(line: string) {
  const [, marks = "", text = "", name] = /^(#{1,4}) (.+?)(?: \{#(.+)\})?$/.exec(line) ?? [];
  return { level: marks.length, text, id: name ?? text.toLowerCase().replace(/[^a-z0-9]+/g, "-") };
}

/** A line in which code, emphasis and links are marked up. Everything else is escaped. */
export const inline = (text: string): string =>
  escapeHtml(text)
    .replace(/\[([^\]]+)\]\(([\w#./-]+)\)/g, '<a href="$2">$1</a>')
    .split(/(`[^`]+`)/)
    .map((part) =>
      part.startsWith("`")
        ? `<code>${part.slice(1, -1)}</code>`
        : part.replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>").replace(/\*([^*]+)\*/g, "<em>$1</em>"),
    )
    .join("");

function table([head = "", , ...rows]: readonly string[]): string {
  const row = (line: string, tag: string): string => {
    const cells = line.slice(1, -1).split(/(?<!\\)\|/);
    const marked = cells.map((cell) => `<${tag}>${inline(cell.trim().replaceAll("\\|", "|"))}</${tag}>`);
    return `<tr>${marked.join("")}</tr>`;
  };
  const body = rows.map((line) => row(line, "td")).join("\n");
  return `<div class="scroll" tabindex="0"><table><thead>${row(head, "th")}</thead><tbody>${body}</tbody></table></div>`;
}

function block(text: string): string {
  const lines = text.split("\n");
  const [first = ""] = lines;
  if (first.startsWith("```")) {
    return `<pre tabindex="0"><code>${escapeHtml(lines.slice(1, -1).join("\n"))}</code></pre>`;
  }
  if (first.startsWith("#")) {
    const { id, level, text: words } = headingOf(first);
    // The smallest headings are the same in every section: they have no name.
    return `<h${level}${level === 4 ? "" : ` id="${escapeHtml(id)}"`}>${inline(words)}</h${level}>`;
  }
  if (first.startsWith("|")) return table(lines);
  if (first.startsWith("- ")) return `<ul>${lines.map((line) => `<li>${inline(line.slice(2))}</li>`).join("")}</ul>`;
  return `<p>${inline(lines.join(" "))}</p>`;
}

/** The Markdown that this service writes itself, as HTML. */
export const markdown = (text: string): string =>
  text
    .trim()
    .split(/\n{2,}/)
    .map(block)
    .join("\n");
