// Tested by test/cli/jobs.test.ts and test/unit/shared/dialect/read.test.ts.
import type { AnyNode, Location, ObjectNode } from "@humanwhocodes/momoa";
import { aside, nearest } from "./contract/suggest.ts";
import { echo } from "./contract/text.ts";
import { type CliError, type CodeOf, usageError } from "./errors.ts";

/** Where something stands in a file: both counted from 1. */
interface TextPlace {
  readonly line: number;
  readonly column: number;
}

export interface DocumentProblem extends TextPlace {
  readonly message: string;
}

export interface DocumentMember {
  readonly key: string;
  readonly at: TextPlace;
  readonly value: AnyNode;
}

/** What is said beside the problems of a file that people write. */
interface Refusing {
  readonly hint: string;
  readonly code: CodeOf<"usage">;
}

/**
 * JSON with comments, the place of every key, and what makes plain values of it.
 * @throws CliError exit 2, with both
 */
export async function readDocument(text: string, name: string, refusing: Refusing) {
  const { evaluate, parse } = await import("@humanwhocodes/momoa");
  try {
    const { body } = parse(text, { mode: "jsonc", allowTrailingCommas: true });
    // Of a number that no double holds the digits that stand there.
    const plainOf = (node: AnyNode): unknown =>
      node.type === "Number" && Math.abs(node.value) > Number.MAX_SAFE_INTEGER
        ? text.slice(node.loc.start.offset, node.loc.end.offset)
        : evaluate(node);
    return { body, plainOf };
  } catch (error) {
    const { line = 1, column = 1, offset } = error as Partial<Location>;
    const why =
      error instanceof RangeError
        ? "it is nested too deep"
        : text.trim() === ""
          ? "it is empty"
          : brokenAt(text.slice(offset));
    throw documentRefusal(name, [{ line, column, message: why }], refusing);
  }
}

/** What stands where a file stops being JSON, and how JSON is written. */
function brokenAt(text: string): string {
  const rest = text.replace(/[\r\n].*/s, "").trim();
  const found =
    rest === "" ? "it breaks off here" : `"${echo(rest.slice(0, 20))}" cannot stand here`;
  return (
    `${found}: names and texts are in double quotes, ` +
    "a comma is between members, and each bracket closes once"
  );
}

/** Problems of a file as the one error that is reported. */
export function documentRefusal(
  name: string,
  problems: readonly DocumentProblem[],
  { hint, code }: Refusing,
): CliError {
  const [first = "", ...details] = problems.map(
    ({ line, column, message }) => `${name}:${line}:${column}: ${message}`,
  );
  return usageError(first, hint, code).with({ details });
}

export const textPlaceOf = ({ loc }: Pick<AnyNode, "loc">): TextPlace => ({
  line: loc.start.line,
  column: loc.start.column,
});

export const isObjectNode = (node: AnyNode): node is ObjectNode => node.type === "Object";

/**
 * The members of an object. One that is there twice
 * is a problem, and one that is not among `known`.
 */
export function documentMembers(
  node: ObjectNode,
  what: string,
  problems: DocumentProblem[],
  keys?: readonly string[],
  others: Readonly<Record<string, string>> = {},
): readonly DocumentMember[] {
  const members = new Map<string, DocumentMember>();
  for (const member of node.members) {
    const key = member.name.type === "String" ? member.name.value : member.name.name;
    const at = textPlaceOf(member.name);
    if (members.has(key))
      problems.push({ ...at, message: `"${echo(key)}" stands twice in ${what}` });
    else if (keys !== undefined && !keys.includes(key)) {
      const near = aside(nearest(key.replaceAll("-", "_"), keys), '"');
      const meant = Object.hasOwn(others, key) ? `: ${others[key]}` : near;
      problems.push({ ...at, message: `${what} has no key "${echo(key)}"${meant}` });
    } else members.set(key, { key, at, value: member.value });
  }

  return [...members.values()];
}
