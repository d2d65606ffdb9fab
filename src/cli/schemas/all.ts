import { EXIT } from "../../shared/errors.ts";
import { BUYING } from "./buying.ts";
import { type Described, type JsonSchema, maybe, object, text } from "./json.ts";
import { KEEPING } from "./keeping.ts";
import { LOOKING } from "./looking.ts";
import { SERVING } from "./serving.ts";

/** What every command with `--json` prints, by its words (`runs list`): the contract that docs/output.md tells and tests hold. */
export const DESCRIBED: ReadonlyMap<string, Described> = new Map(
  Object.entries({ ...LOOKING, ...BUYING, ...KEEPING, ...SERVING }).sort(([a], [b]) => (a < b ? -1 : 1)),
);

/** Groups of commands, and which of them runs where none is named. */
const USUAL: Readonly<Record<string, string>> = {
  connections: "list",
  data: "show",
  owned: "status",
  runs: "list",
  segment: "list",
  "service accounts": "list",
  "service credits": "show",
  "service keys": "list",
  "service plan": "show",
};

/** The error document that every command writes to stderr with `--json` or `HEADCOUNT_JSON=1`. */
const ERROR = object({
  error: object({
    code: text,
    message: text,
    exit_code: { enum: Object.values(EXIT).filter((code) => code !== EXIT.ok) },
    status: { ...maybe({ type: "integer" }), description: "of HTTP, where a service answered" },
    request_id: maybe(text),
    hint: maybe(text),
  }),
});

/** The words of a command that is described, with the one that runs where a group alone is named; undefined where none is. */
export function describedPath(path: string): string | undefined {
  const named = USUAL[path] === undefined ? path : `${path} ${USUAL[path]}`;
  return named === "errors" || DESCRIBED.has(named) ? named : undefined;
}

/** @param line a line of NDJSON instead of the document @returns a JSON Schema (2020-12); undefined where there is nothing to describe */
export function schemaOf(path: string, line = false): JsonSchema | undefined {
  const described = path === "errors" ? { document: ERROR } : DESCRIBED.get(path);
  const schema = line ? described?.line : described?.document;
  if (schema === undefined) return undefined;
  const what =
    path === "errors"
      ? "a failure with --json, on stderr"
      : `headcount ${path} ${line ? "--format ndjson, a line" : "--json"}`;
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema, title: what };
}
