import { COMPANY } from "../../shared/contract/records.ts";
import type { Example } from "../../shared/openapi/components.ts";
import type { OpenApiSchema, Ref } from "../../shared/openapi/convert.ts";
import type { OpenApiDocument } from "../../shared/openapi/document.ts";
import type { Operation } from "../../shared/openapi/operations.ts";

export const BASE = "$HEADCOUNT_BASE_URL";

const isRef = (value: object): value is Ref => "$ref" in value;
const nameOf = ({ $ref }: Ref): string => $ref.slice($ref.lastIndexOf("/") + 1);

function typeOf(schema: OpenApiSchema | Ref): string {
  if (isRef(schema)) return `[${nameOf(schema)}](#schema-${nameOf(schema)})`;
  const orNull = schema.nullable ? " or null" : "";
  if (schema.anyOf !== undefined) return `${schema.anyOf.map(typeOf).join(" or ")}${orNull}`;
  if (schema.type === "array")
    return `array of ${schema.items === undefined ? "values" : typeOf(schema.items)}`;
  if (schema.enum !== undefined && schema.enum.length <= 3) {
    return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(" or ");
  }
  return `${schema.format ?? schema.type ?? "value"}${orNull}`;
}

/** What a value may be, and one that is: what stands behind its description. */
function boundsOf({
  example,
  items,
  maxItems,
  maxLength,
  maximum,
  minimum,
  properties,
}: OpenApiSchema): string {
  const top = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const isPlain = properties === undefined && items === undefined;

  const parts = [
    minimum !== undefined && top !== undefined
      ? `${minimum} to ${top}`
      : minimum
        ? `at least ${minimum}`
        : "",
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
    maxItems === undefined ? "" : `at most ${maxItems}`,
    isPlain && example !== undefined ? `e.g. \`${JSON.stringify(example)}\`` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

type Cells = readonly string[];

function table(head: Cells, rows: readonly Cells[]): string {
  const line = (cells: Cells): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function fieldsOf(schema: OpenApiSchema, document: OpenApiDocument, prefix = ""): readonly Cells[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    const inner = isRef(property) ? document.components.schemas[nameOf(property)] : property;
    const optional = schema.required?.includes(name) ? "" : ", optional";
    const bounds = isRef(property) ? "" : boundsOf(property);
    const row = [
      `\`${path}\``,
      `${typeOf(property)}${optional}`,
      `${inner?.description ?? ""}${bounds}`,
    ];
    return isRef(property) ? [row] : [row, ...fieldsOf(property, document, `${path}.`)];
  });
}

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

const examplesOf = (examples: Readonly<Record<string, Example>> = {}): readonly string[] =>
  Object.values(examples).flatMap(({ summary, value }) => [`${summary}:`, json(value)]);

const headersOf = (names: object): string =>
  Object.keys(names)
    .map((name) => `[\`${name}\`](#headers)`)
    .join(", ");

function curlOf(path: string, operation: Operation): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const query = /\/(enrich|employees)$/.test(path) ? `?domain=${COMPANY.domain[0]}` : "";
  const [example] = Object.values(
    operation.requestBody?.content["application/json"]?.examples ?? {},
  );

  return [
    `curl -s ${query === "" ? `${BASE}${path}` : quoted(`${BASE}${path}${query}`)}`,
    '-H "Authorization: Bearer $HEADCOUNT_API_KEY"',
    ...(operation["x-cost"] === "free" ? [] : ['-H "Idempotency-Key: $(uuidgen)"']),
    ...(example === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d ${quoted(JSON.stringify(example.value))}`]),
  ].join(" \\\n  ");
}

function operationText(
  document: OpenApiDocument,
  [path, method, operation]: readonly [string, string, Operation],
) {
  const { operationId, parameters, requestBody, responses, summary } = operation;
  const cost = operation["x-cost"] === "free" ? "free" : `credits ${operation["x-cost"]}`;
  const params = parameters.flatMap((ref) => document.components.parameters[nameOf(ref)] ?? []);
  const success = Object.values(responses).flatMap((response) =>
    isRef(response) ? [] : [response],
  );
  const [body] = Object.values(requestBody?.content ?? {});

  return [
    `### ${summary} {#${operationId}}`,
    `**${method.toUpperCase()}** \`${path}\` · ${cost}`,
    operation.description,
    `\`\`\`sh\n${curlOf(path, operation)}\n\`\`\``,
    ...(body === undefined
      ? []
      : [`Body: ${typeOf(body.schema)}. It is a JSON object of at most 1 MiB.`]),
    table(
      ["Parameter", "Where", "Meaning"],
      params.map(({ description, example, in: where, name, schema }) => {
        return [
          `\`${name}\``,
          `${where}, ${typeOf(schema)}`,
          `${description}${boundsOf({ ...schema, example })}`,
        ];
      }),
    ),
    table(
      ["Status", "Body", "Headers or why"],
      Object.entries(responses).map(([status, response]) =>
        isRef(response)
          ? [
              status,
              `[${nameOf(response)}](#error-${nameOf(response)})`,
              errorOf(document, response),
            ]
          : [
              status,
              Object.values(response.content).map(({ schema }) => typeOf(schema))[0] ?? "",
              headersOf(response.headers),
            ],
      ),
    ),
    ...success.flatMap(({ content }) => examplesOf(content["application/json"]?.examples)),
  ];
}

const errorOf = ({ components }: OpenApiDocument, ref: Ref): string =>
  components.responses[nameOf(ref)]?.description ?? "";

/**
 * All that the document says, for people and for programs that write programs: one Markdown text.
 */
export function referenceText(document: OpenApiDocument): string {
  const { components, info, paths, tags } = document;
  const calls = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [path, method, operation] as const),
  );

  return [
    `# ${info.title}`,
    `Version ${info.version} · base address \`${BASE}\` · [openapi.json](openapi.json) ` +
      `(OpenAPI ${document.openapi}) · [collection.json](docs/collection.json) ` +
      "(requests for an API client)",
    info.description.trim(),
    ...tags.flatMap(({ description, name }) => [
      `## ${name}`,
      description,
      ...calls
        .filter(([, , { tags: of }]) => of.includes(name))
        .flatMap((call) => operationText(document, call)),
    ]),
    "## Headers",
    table(
      ["Header", "Type", "Meaning"],
      Object.entries(components.headers).map(([name, { description, example, schema }]) => {
        return [`\`${name}\``, typeOf(schema), `${description}${boundsOf({ ...schema, example })}`];
      }),
    ),
    "## Errors",
    ...Object.entries(components.responses).flatMap(([name, { content, description, headers }]) => [
      `### ${name} {#error-${name}}`,
      description,
      `Headers: ${headersOf(headers)}.`,
      ...examplesOf(content["application/json"]?.examples),
    ]),
    "## Schemas",
    ...Object.entries(components.schemas).flatMap(([name, schema]) => [
      `### ${name} {#schema-${name}}`,
      ...(schema.description === undefined ? [] : [schema.description]),
      ...(schema.properties === undefined
        ? []
        : [table(["Field", "Type", "Meaning"], fieldsOf(schema, document))]),
      ...(schema.enum === undefined ? [] : [schema.enum.map((value) => `\`${value}\``).join(", ")]),
      ...(schema.properties === undefined || schema.example === undefined
        ? []
        : [json(schema.example)]),
    ]),
  ].join("\n\n");
}
