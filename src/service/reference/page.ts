import { readFileSync } from "node:fs";
import { openApiDocument } from "../../shared/openapi/document.ts";
import { packageRoot } from "../../shared/paths.ts";
import { BASE, referenceText } from "./text.ts";

interface ReferenceFile {
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** What the files need and nothing else: they load from this service alone and run no script. */
export const REFERENCE_CSP =
  "default-src 'self'; script-src 'none'; frame-ancestors 'none'; " +
  "form-action 'none'; base-uri 'none'";

/** The headings, as links to where they are. */
function contentsOf(text: string): string {
  const headings = [...text.matchAll(/^#{2,3} .+$/gm)].map(([line]) => headingOf(line));
  const items = headings.map(({ id, level, text: words }) => {
    return `<li class="h${level}"><a href="#${escapeHtml(id)}">${inline(words)}</a></li>`;
  });
  return `<ul>${items.join("\n")}</ul>`;
}

function pageOf(text: string): string {
  const contents = contentsOf(text);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(headingOf(text.split("\n", 1)[0] ?? "").text)}</title>
<link rel="icon" type="image/svg+xml" href="docs/icon.svg">
<link rel="stylesheet" href="docs/reference.css">
</head>
<body>
<nav class="wide" aria-label="Contents">${contents}</nav>
<main>
<details class="narrow"><summary>Contents</summary>
<nav aria-label="Contents">${contents}</nav></details>
${markdown(text)}
</main>
</body>
</html>
`;
}

const fileText = (name: string): string =>
  readFileSync(new URL(`docs/served/${name}`, packageRoot()), "utf8");

export function referencePage(): readonly ReferenceFile[] {
  const text = referenceText(openApiDocument());
  // The file names the address of a service that was started without options.
  const collection = fileText("collection.json").replace("http://127.0.0.1:8787", BASE);
  const [css, icon] = [fileText("reference.css"), fileText("icon.svg")];

  return [
    { path: "/docs", contentType: "text/html; charset=utf-8", body: pageOf(text) },
    { path: "/docs/reference.css", contentType: "text/css; charset=utf-8", body: css },
    { path: "/docs/icon.svg", contentType: "image/svg+xml", body: icon },
    { path: "/favicon.ico", contentType: "image/svg+xml", body: icon },
    // What a program that writes programs reads first (llmstxt.org).
    { path: "/llms.txt", contentType: "text/markdown; charset=utf-8", body: text },
    {
      path: "/docs/collection.json",
      contentType: "application/json; charset=utf-8",
      body: collection,
    },
  ];
}

let files: ReadonlyMap<string, ReferenceFile> | undefined;

/**
 * One file of the reference, naming `base` as the service's address; undefined where there is none.
 */
export function referenceFile(path: string, base: string): ReferenceFile | undefined {
  files ??= new Map(referencePage().map((file) => [file.path, file]));
  const file = files.get(path);
  return (
    file && {
      ...file,
      body: file.body.replaceAll(BASE, path === "/docs" ? escapeHtml(base) : base),
    }
  );
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** A heading, and what it is found by: `{#name}` behind it, or its own words. */
function headingOf(line: string) {
  const [, marks = "", text = "", name] = /^(#{1,4}) (.+?)(?: \{#(.+)\})?$/.exec(line) ?? [];
  return { level: marks.length, text, id: name ?? text.toLowerCase().replace(/[^a-z0-9]+/g, "-") };
}

/** A line in which code, emphasis and links are marked up. Everything else is escaped. */
const inline = (text: string): string =>
  escapeHtml(text)
    .replace(/\[([^\]]+)\]\(([\w#./-]+)\)/g, '<a href="$2">$1</a>')
    .split(/(`[^`]+`)/)
    .map((part) =>
      part.startsWith("`")
        ? `<code>${part.slice(1, -1)}</code>`
        : part
            .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
            .replace(/\*([^*]+)\*/g, "<em>$1</em>"),
    )
    .join("");

function table([head = "", , ...rows]: readonly string[]): string {
  const row = (line: string, tag: string): string => {
    const cells = line.slice(1, -1).split(/(?<!\\)\|/);
    const marked = cells.map(
      (cell) => `<${tag}>${inline(cell.trim().replaceAll("\\|", "|"))}</${tag}>`,
    );
    return `<tr>${marked.join("")}</tr>`;
  };

  const body = rows.map((line) => row(line, "td")).join("\n");
  return (
    '<div class="scroll" ' +
    `tabindex="0"><table><thead>${row(head, "th")}</thead><tbody>${body}</tbody></table></div>`
  );
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
  if (first.startsWith("- "))
    return `<ul>${text
      .split(/\n(?=- )/)
      .map((item) => `<li>${inline(item.slice(2).replaceAll("\n  ", " "))}</li>`)
      .join("")}</ul>`;

  return `<p>${inline(lines.join(" "))}</p>`;
}

/** The Markdown that this service writes itself, as HTML. */
export const markdown = (text: string): string =>
  text
    .trim()
    .split(/\n{2,}/)
    .map(block)
    .join("\n");
