import { EXIT } from "../../shared/errors.ts";
import {
  DIALECT,
  type JsonSchema,
  maybe,
  type Of,
  object,
  raw,
  said,
  text,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { BUYING } from "./buying.ts";
import { KEEPING } from "./keeping.ts";
import { LOOKING } from "./looking.ts";
import { SERVING } from "./serving.ts";

interface Described {
  readonly document: JsonSchema;
  readonly line?: JsonSchema;
}

const ALL = { ...LOOKING, ...BUYING, ...KEEPING, ...SERVING };

/** What each command prints with `--json`: the contract that docs/output.md tells and tests hold. */
export const DESCRIBED: ReadonlyMap<string, Described> = new Map(
  Object.entries(ALL as unknown as Readonly<Record<string, Described>>).sort(([a], [b]) => (a < b ? -1 : 1)),
);

/** The same as types: the compiler holds what is printed against what is described. */
export type Documents = { readonly [Path in keyof typeof ALL]: Of<(typeof ALL)[Path]["document"]> };

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

const ERROR = object({
  error: object({
    code: text,
    message: text,
    exit_code: raw<number>({ enum: Object.values(EXIT).filter((code) => code !== EXIT.ok) }),
    status: said(maybe(wholeNumberShape), "of HTTP, where a service answered"),
    request_id: maybe(text),
    hint: maybe(text),
  }),
});

/** A group alone stands for the command that runs then. @returns undefined where none is described */
export function describedPath(path: string): string | undefined {
  const named = USUAL[path] === undefined ? path : `${path} ${USUAL[path]}`;
  return named === "errors" || DESCRIBED.has(named) ? named : undefined;
}

/** @param line of NDJSON instead @returns JSON Schema (2020-12); undefined where there is nothing to describe */
export function schemaOf(path: string, line = false): JsonSchema | undefined {
  const described: Described | undefined = path === "errors" ? { document: { ...ERROR } } : DESCRIBED.get(path);
  const schema = line ? described?.line : described?.document;
  if (schema === undefined) return undefined;
  const what =
    path === "errors"
      ? "a failure with --json, on stderr"
      : `headcount ${path} ${line ? "--format ndjson, a line" : "--json"}`;
  return { $schema: DIALECT, ...schema, title: what };
}
