import { readFileSync } from "node:fs";
import { COMPANY } from "../../shared/contract/records.ts";
import type { ApiResponse, Header, Parameter } from "../../shared/openapi/components.ts";
import type { OpenApiSchema, Ref } from "../../shared/openapi/convert.ts";
import { type OpenApiDocument, openApiDocument } from "../../shared/openapi/document.ts";
import type { HttpMethod, Operation } from "../../shared/openapi/operations.ts";
import { packageRoot } from "../../shared/paths.ts";
import { escapeHtml, type Html, headings, html, jsonCode, markdown, slug } from "./html.ts";

interface ReferenceFile {
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** What the files need and nothing else: they load from this service alone and run no script. */
export const REFERENCE_CSP =
  "default-src 'self'; script-src 'none'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'";

export const BASE = "$HEADCOUNT_BASE_URL";

const COLLECTION_PATH = "/docs/collection.json";
const STYLE_PATH = "/docs/reference.css";
const ICON_PATH = "/docs/icon.svg";
const GUIDE_PATH = "/llms.txt";

type Schemas = OpenApiDocument["components"]["schemas"];

interface Call {
  readonly method: HttpMethod;
  readonly path: string;
  readonly operation: Operation;
}

const calls = (document: OpenApiDocument): readonly Call[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    (Object.entries(item) as [HttpMethod, Operation][]).map(([method, operation]) => ({ method, path, operation })),
  );

const isRef = (value: object): value is Ref => "$ref" in value;
const nameOf = (ref: Ref): string => ref.$ref.slice(ref.$ref.lastIndexOf("/") + 1);

function resolve<Part extends "parameters" | "headers" | "responses">(
  document: OpenApiDocument,
  part: Part,
  value: Ref | OpenApiDocument["components"][Part][string],
): OpenApiDocument["components"][Part][string] {
  if (!isRef(value)) return value;
  const found = document.components[part][nameOf(value)];
  if (found === undefined) throw new Error(`the OpenAPI document has no ${value.$ref}`);
  return found as OpenApiDocument["components"][Part][string];
}

const schemaLink = (name: string): Html => html`<a href="#schema-${name}">${name}</a>`;

function typeText(schema: OpenApiSchema | Ref): Html {
  if (isRef(schema)) return schemaLink(nameOf(schema));
  const orNull = schema.nullable ? " or null" : "";
  if (schema.anyOf !== undefined) {
    const [first, ...more] = schema.anyOf.map(typeText);
    return html`${first}${more.map((part) => html` or ${part}`)}${orNull}`;
  }
  if (schema.type === "array") return html`array of ${schema.items === undefined ? "values" : typeText(schema.items)}`;
  if (schema.enum !== undefined && schema.enum.length <= 3) {
    return html`${schema.enum.map((value, index) => html`${index > 0 ? " or " : ""}<code>${JSON.stringify(value)}</code>`)}`;
  }
  return html`${schema.format ?? schema.type ?? "value"}${orNull}`;
}

function bounds(schema: OpenApiSchema): string {
  const { minimum, maximum, maxLength, maxItems } = schema;
  const top = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  return [
    minimum !== undefined && top !== undefined ? `${minimum} to ${top}` : minimum ? `at least ${minimum}` : "",
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
    maxItems === undefined ? "" : `at most ${maxItems}`,
  ]
    .filter((text) => text !== "")
    .join(", ");
}

const exampleText = (value: unknown): Html | undefined =>
  value === undefined ? undefined : html` <span class="example">e.g. <code>${JSON.stringify(value)}</code></span>`;

function fields(schema: OpenApiSchema, schemas: Schemas, prefix = ""): Html {
  const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const path = `${prefix}${name}`;
    const inner = isRef(property) ? undefined : property;
    const required = schema.required?.includes(name) ? "" : html`<span class="optional">, optional</span>`;
    const limits = inner === undefined ? "" : bounds(inner);
    const row = html`<tr>
<td><code>${path}</code></td><td>${typeText(property)}${required}</td>
<td>${inlineMarkdown(inner?.description ?? (isRef(property) ? (schemas[nameOf(property)]?.description ?? "") : ""))}${limits === "" ? "" : html` <span class="bounds">${limits}</span>`}${inner?.properties === undefined && inner?.type !== "array" ? exampleText(inner?.example) : undefined}</td>
</tr>`;
    return html`${row}${inner?.properties === undefined ? "" : fields(inner, schemas, `${path}.`)}`;
  });
  return html`${rows}`;
}

const fieldTable = (schema: OpenApiSchema, schemas: Schemas): Html =>
  html`<div class="scroll" tabindex="0"><table class="fields"><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${fields(schema, schemas)}</tbody></table></div>`;

function inlineMarkdown(text: string): Html {
  return { markup: markdown(text).markup.replace(/^<p>|<\/p>$/g, "") };
}

function parameterTable(document: OpenApiDocument, operation: Operation): Html | undefined {
  const all: readonly Parameter[] = operation.parameters.map((entry) => resolve(document, "parameters", entry));
  if (all.length === 0) return undefined;
  const rows = all.map(
    (
      parameter,
    ) => html`<tr><td><code>${parameter.name}</code></td><td>${parameter.in}, ${typeText(parameter.schema)}</td>
<td>${inlineMarkdown(parameter.description)} <span class="bounds">${bounds(parameter.schema)}</span>${exampleText(parameter.example)}</td></tr>`,
  );
  return html`<h4>Parameters</h4><div class="scroll" tabindex="0"><table class="fields"><thead><tr><th>Name</th><th>Where</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function bodyTable(document: OpenApiDocument, operation: Operation): Html | undefined {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (schema === undefined || !isRef(schema)) return undefined;
  const found = document.components.schemas[nameOf(schema)];
  return found === undefined
    ? undefined
    : html`<h4>Body: ${schemaLink(nameOf(schema))}</h4>${fieldTable(found, document.components.schemas)}`;
}

const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function curl({ method, path, operation }: Call): string {
  const lines = ['-H "Authorization: Bearer $HEADCOUNT_API_KEY"'];
  const query = path.endsWith("/enrich") || path.endsWith("/employees") ? `domain=${COMPANY.domain[0]}` : "";
  if (operation["x-cost"] !== "free") lines.push('-H "Idempotency-Key: $(uuidgen)"');
  const [example] = Object.values(operation.requestBody?.content["application/json"]?.examples ?? {});
  if (example !== undefined) {
    lines.push('-H "Content-Type: application/json"', `-d ${shellQuote(JSON.stringify(example.value))}`);
  }
  const verb = method === "get" || example !== undefined ? "" : `-X ${method.toUpperCase()} `;
  const target = query === "" ? `${BASE}${path}` : shellQuote(`${BASE}${path}?${query}`);
  return [`curl -s ${verb}${target}`, ...lines].join(" \\\n  ");
}

const statusClass = (status: string): string =>
  status.startsWith("2") ? "ok" : status.startsWith("5") ? "fault" : "refused";

function responseBlock(document: OpenApiDocument, status: string, entry: ApiResponse | Ref, open: boolean): Html {
  const response = resolve(document, "responses", entry);
  const media = response.content["application/json"];
  const names = Object.keys(response.headers);
  const examples = Object.values(media?.examples ?? {}).map(
    ({ summary, value }) => html`<figure><figcaption>${summary}</figcaption>${jsonCode(value)}</figure>`,
  );
  return html`<details class="response"${open ? html` open` : ""}><summary><span class="status ${statusClass(status)}">${status}</span> <span>${inlineMarkdown(response.description)}</span></summary>
<p class="meta">${media !== undefined && isRef(media.schema) ? html`Body: ${schemaLink(nameOf(media.schema))}. ` : ""}Headers: ${names.map((name, index) => html`${index > 0 ? ", " : ""}<a href="#header-${name}"><code>${name}</code></a>`)}.</p>
${examples}</details>`;
}

const cost = (text: string): Html =>
  html`<span class="cost ${text === "free" ? "free" : "paid"}">${text === "free" ? "free" : `credits ${text}`}</span>`;

function operationSection(document: OpenApiDocument, call: Call): Html {
  const { method, path, operation } = call;
  return html`<section class="operation" id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code> ${cost(operation["x-cost"])}</p>
${markdown(operation.description)}
<pre class="curl" tabindex="0"><code>${curl(call)}</code></pre>
${parameterTable(document, operation)}
${bodyTable(document, operation)}
<h4>Answers</h4>
${Object.entries(operation.responses).map(([status, response]) => responseBlock(document, status, response, status === "200"))}
</section>`;
}

function schemaSection(name: string, schema: OpenApiSchema, schemas: Schemas): Html {
  const values =
    schema.enum === undefined
      ? ""
      : html`<ul class="values">${schema.enum.map((value) => html`<li><code>${String(value)}</code></li>`)}</ul>`;
  const example =
    schema.properties === undefined || schema.example === undefined
      ? ""
      : html`<details class="response"><summary>Example</summary>${jsonCode(schema.example)}</details>`;
  return html`<section class="schema" id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>
${markdown(schema.description ?? "")}${schema.properties === undefined ? "" : fieldTable(schema, schemas)}${values}${example}</section>`;
}

function headerRow([name, header]: readonly [string, Header]): Html {
  return html`<tr id="header-${name}"><td><code>${name}</code></td><td>${typeText(header.schema)}</td><td>${inlineMarkdown(header.description)}${exampleText(header.example)}</td></tr>`;
}

function navigation(document: OpenApiDocument): Html {
  const link = (target: string, text: Html | string): Html => html`<li><a href="#${target}">${text}</a></li>`;
  return html`<p class="group">Guide</p><ul>${headings(document.info.description).map((heading) => link(slug(heading), heading))}</ul>
${document.tags.map(
  (tag) =>
    html`<p class="group">${tag.name}</p><ul>${calls(document)
      .filter(({ operation }) => operation.tags.includes(tag.name))
      .map(({ method, path, operation }) =>
        link(
          operation.operationId,
          html`<span class="method ${method}">${method.toUpperCase()}</span> ${path.replace("/v1", "")}`,
        ),
      )}</ul>`,
)}
<p class="group">Reference</p><ul>${link("headers", "Headers")}${Object.keys(document.components.schemas).map((name) => link(`schema-${name}`, name))}</ul>`;
}

function pageHtml(document: OpenApiDocument): string {
  const { info, tags, components } = document;
  const tagSections = tags.map(
    (tag) => html`<h2 id="${slug(tag.name)}">${tag.name}</h2><p>${tag.description}</p>
${calls(document)
  .filter(({ operation }) => operation.tags.includes(tag.name))
  .map((call) => operationSection(document, call))}`,
  );
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_PATH.slice(1)}">
<link rel="stylesheet" href="${STYLE_PATH.slice(1)}">
</head>
<body>
<nav class="wide" aria-label="Contents">${navigation(document)}</nav>
<main>
<header><h1>${info.title}</h1>
<p class="meta">Version ${info.version} · base address <code>${BASE}</code> · <a href="openapi.json">openapi.json</a> (OpenAPI ${document.openapi}) · <a href="${COLLECTION_PATH.slice(1)}">collection.json</a> (requests for an API client)</p></header>
<details class="narrow"><summary>Contents</summary><nav aria-label="Contents">${navigation(document)}</nav></details>
${markdown(info.description)}
${tagSections}
<h2 id="headers">Headers of answers</h2>
<div class="scroll" tabindex="0"><table class="fields"><thead><tr><th>Header</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${Object.entries(components.headers).map(headerRow)}</tbody></table></div>
<h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema, components.schemas))}
</main>
</body>
</html>
`;
  return page.markup;
}

export function referencePage(): readonly ReferenceFile[] {
  return [
    { path: "/docs", contentType: "text/html; charset=utf-8", body: pageHtml(openApiDocument()) },
    { path: STYLE_PATH, contentType: "text/css; charset=utf-8", body: fileText("reference.css") },
    { path: ICON_PATH, contentType: "image/svg+xml", body: fileText("icon.svg") },
    { path: "/favicon.ico", contentType: "image/svg+xml", body: fileText("icon.svg") },
    { path: GUIDE_PATH, contentType: "text/markdown; charset=utf-8", body: guideText() },
    { path: COLLECTION_PATH, contentType: "application/json; charset=utf-8", body: collectionText() },
  ];
}

let files: ReadonlyMap<string, ReferenceFile> | undefined;

/** One file of the reference, naming `base` as the service's address; undefined where there is none. */
export function referenceFile(path: string, base: string): ReferenceFile | undefined {
  files ??= new Map(referencePage().map((file) => [file.path, file]));
  const file = files.get(path);
  if (file === undefined || ![GUIDE_PATH, "/docs", COLLECTION_PATH].includes(path)) return file;
  return { ...file, body: file.body.replaceAll(BASE, path === "/docs" ? escapeHtml(base) : base) };
}

const fileText = (name: string): string => readFileSync(new URL(`docs/reference/${name}`, packageRoot()), "utf8");

/** What a program that writes programs reads first (llmstxt.org). */
function guideText(): string {
  const { description, title } = openApiDocument().info;
  return `# ${title}\n\n${description}\n\n## Docs\n\n- [Every call, with examples](${BASE}/docs)\n- [OpenAPI](${BASE}/openapi.json)\n`;
}

/** The file names the address of a service that was started without options. */
const collectionText = (): string => fileText("collection.json").replace("http://127.0.0.1:8787", BASE);
