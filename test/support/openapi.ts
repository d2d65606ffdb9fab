import { createRequire } from "node:module";
import { afterAll, expect } from "vitest";
import type { ApiResponse, Header } from "../../src/shared/openapi/components.ts";
import type { OpenApiSchema, Ref } from "../../src/shared/openapi/convert.ts";
import { openApiDocument } from "../../src/shared/openapi/document.ts";
import type { Operation } from "../../src/shared/openapi/operations.ts";
import type { ObservedAnswer } from "./service.ts";

/** An answer of the service as it went over the wire. */
export interface ValidatedAnswer {
  /** Of the request. One that the path does not have is checked against the path's 405. */
  readonly method: string;
  /** Of the request; a query is ignored. */
  readonly path: string;
  readonly status: number;
  /** Names in any case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body's text, or what it parsed to. */
  readonly body: unknown;
}

interface BodyValidator {
  validateResponse(
    status: number,
    body: unknown,
  ):
    | { readonly errors: readonly { readonly message: string; readonly path?: string }[] }
    | undefined;
}
type ValidatorClass = new (options: object) => BodyValidator;

const loaded = createRequire(import.meta.url)("openapi-response-validator") as {
  default: ValidatorClass;
};
const document = openApiDocument();

const named = <T>(value: T | Ref, table: Readonly<Record<string, T>>): T => {
  if (typeof value !== "object" || value === null || !("$ref" in value)) return value as T;
  const found = table[value.$ref.slice(value.$ref.lastIndexOf("/") + 1)];
  if (found === undefined) throw new Error(`dangling reference ${value.$ref}`);
  return found;
};

interface Route {
  readonly path: string;
  readonly method: string;
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly bodies: BodyValidator;
}

function route(path: string, method: string, operation: Operation): Route {
  const responses = Object.fromEntries(
    Object.entries(operation.responses).map(([status, entry]) => [
      status,
      named(entry, document.components.responses),
    ]),
  );
  const bodies = new loaded.default({
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, { content, description }]) => [
        status,
        { description, content: structuredClone(content) },
      ]),
    ),
    components: { schemas: structuredClone(document.components.schemas) },
  });
  return { path, method, responses, bodies };
}

const ROUTES: readonly Route[] = Object.entries(document.paths).flatMap(([path, item]) =>
  (Object.entries(item) as ["get" | "post", Operation][]).map(([method, operation]) =>
    route(path, method.toUpperCase(), operation),
  ),
);

/** Every (path, status) of the document, as `GET /v1/account 200`. */
export const documentedAnswers: readonly string[] = ROUTES.flatMap(({ method, path, responses }) =>
  Object.keys(responses).map((status) => `${method} ${path} ${status}`),
);

const seen = new Set<string>();
/** The (path, status) of the document that no answer was checked against yet. */
export const unseenAnswers = (): readonly string[] =>
  documentedAnswers.filter((answer) => !seen.has(answer));

/** Headers that any answer may carry beside the documented ones. */
const PLAIN =
  /^(content-(type|length)|date|connection|keep-alive|cache-control|x-content-type-options|accept-encoding|transfer-encoding|content-encoding|vary|idempotent-replayed)$/;

function headerProblem(
  name: string,
  header: Header,
  value: string | undefined,
): string | undefined {
  if (value === undefined) return header.required ? `header ${name} is missing` : undefined;
  const {
    enum: values,
    maximum,
    minimum,
    minLength,
    maxLength,
    type,
  }: OpenApiSchema = header.schema;
  const number = type === "integer" ? Number(value) : 0;
  const wrong =
    (type === "integer" && !/^\d+$/.test(value)) ||
    (minimum !== undefined && number < minimum) ||
    (maximum !== undefined && number > maximum) ||
    (values !== undefined && !values.includes(value)) ||
    value.length < (minLength ?? 0) ||
    value.length > (maxLength ?? Number.POSITIVE_INFINITY);
  return wrong ? `header ${name} is not as documented: ${JSON.stringify(value)}` : undefined;
}

function headerProblems(
  response: ApiResponse,
  headers: ReadonlyMap<string, string>,
): readonly string[] {
  const documented = new Map(
    Object.entries(response.headers).map(([name, header]) => [
      name.toLowerCase(),
      { name, header },
    ]),
  );
  const problems = [...documented].map(([key, { header, name }]) =>
    headerProblem(name, named(header, document.components.headers), headers.get(key)),
  );
  for (const name of headers.keys()) {
    if (!documented.has(name) && !PLAIN.test(name))
      problems.push(`header ${name} is not documented here`);
  }
  const type = headers.get("content-type");
  if (!/^application\/json\b/.test(type ?? ""))
    problems.push(`the content type is ${type}, not application/json`);
  return problems.filter((problem) => problem !== undefined);
}

const parsed = (body: unknown): unknown => {
  if (typeof body !== "string") return body;
  try {
    return JSON.parse(body);
  } catch {
    return { "not JSON": body.slice(0, 200) };
  }
};

/**
 * Holds one `/v1` answer against the published document: status, body (no field more or less) and headers. An answer on a path
 * that is no route must be a 404 like the documented errors.
 * @returns what is wrong, one sentence each; empty where the answer is as published
 */
export function responseProblems(answer: ValidatedAnswer): readonly string[] {
  const path = answer.path.split(/[?#]/, 1)[0] ?? "";
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined) headers.set(name.toLowerCase(), [value].flat().join(", "));
  }
  const onPath = ROUTES.filter((candidate) => candidate.path === path);
  const exact = onPath.find(({ method }) => method === answer.method.toUpperCase());
  const found = exact ?? onPath[0] ?? ROUTES[0];
  if (found === undefined) throw new Error("the document has no path");
  const where = `${answer.method} ${path} ${answer.status}`;
  const isUnknown = onPath.length === 0;
  if (isUnknown && ![400, 401, 404, 408, 429, 431, 500].includes(answer.status))
    return [`${where}: no such path`];
  // Of a path that is no route only the 404 stands nowhere in the document: it is an error like any other.
  const key = isUnknown && answer.status === 404 ? "400" : String(answer.status);
  const response = found.responses[key];
  if (response === undefined) return [`${where}: the document does not list this status`];
  if (!isUnknown) seen.add(`${found.method} ${found.path} ${key}`);
  const body = parsed(answer.body);
  const errors = found.bodies.validateResponse(Number(key), body)?.errors ?? [];
  // An enum of one boolean would say it in the schema, and there are generators that cannot read one.
  const says = (body as { readonly status?: unknown } | null)?.status;
  return [
    ...(says === (answer.status === 200) ? [] : [`${where}: the envelope's status is ${says}`]),
    ...errors.map(({ message, path: at }) => `${where}: ${at ?? "body"} ${message}`),
    ...headerProblems(response, headers).map((problem) => `${where}: ${problem}`),
  ];
}

/** As {@link responseProblems}, but throws. */
export function validateResponse(answer: ValidatedAnswer): void {
  const problems = responseProblems(answer);
  if (problems.length > 0) throw new Error(`not as published:\n${problems.join("\n")}`);
}

/**
 * Holds every `/v1` answer that passes the hooks against the document and fails the test file at its end where one deviates.
 * Call once, while the file is collected, with the hooks of `service.ts`.
 */
export function watchResponses(hooks: ((answer: ObservedAnswer) => void)[]): void {
  const problems = new Set<string>();
  hooks.push(({ body, headers, method, status, url }) => {
    if (!/^\/v1(\/|\?|$)/.test(url)) return;
    for (const problem of responseProblems({ method, path: url, status, headers, body }))
      problems.add(problem);
  });
  afterAll(() => expect([...problems].slice(0, 20)).toEqual([]));
}
