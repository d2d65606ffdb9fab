import type { AnyNode, MemberNode, ObjectNode } from "@humanwhocodes/momoa";
import { nearest } from "../../shared/contract/suggest.ts";
import { echo, harmlessLine } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";

/** Where something stands in a file: both counted from 1. */
export interface TextPlace {
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

/** JSON with comments, the place of every key, and what makes plain values of it. @throws CliError exit 2, with both */
export async function readDocument(text: string, name: string) {
  const { evaluate: plainOf, parse } = await import("@humanwhocodes/momoa");
  try {
    return { body: parse(text, { mode: "jsonc", allowTrailingCommas: true }).body, plainOf };
  } catch (error) {
    const { message, line = 1, column = 1 } = error as Error & Partial<TextPlace>;
    const why = text.trim() === "" ? "it is empty" : harmlessLine(message.replace(/ ?\(\d+:\d+\)$/, ""));
    throw refusal(name, [{ line, column, message: why }]);
  }
}

/** Problems of a file as the one error that is reported. */
export function refusal(name: string, problems: readonly DocumentProblem[]): CliError {
  const [first = "", ...details] = problems.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`);
  return usageError(
    first,
    "headcount schema jobs-file has every key; headcount help jobs an example",
    "invalid_jobs_file",
  ).with({ details });
}

export const textPlaceOf = ({ loc }: Pick<AnyNode, "loc">): TextPlace => ({
  line: loc.start.line,
  column: loc.start.column,
});

export const isObjectNode = (node: AnyNode): node is ObjectNode => node.type === "Object";

const nameOf = ({ name }: MemberNode): string => (name.type === "String" ? name.value : name.name);

/** The members of an object. One that is there twice is a problem, and one that is not among `known`. */
export function documentMembers(
  node: ObjectNode,
  what: string,
  problems: DocumentProblem[],
  known?: readonly string[],
): readonly DocumentMember[] {
  const found = new Map<string, DocumentMember>();
  for (const member of node.members) {
    const key = nameOf(member);
    const at = textPlaceOf(member.name);
    if (found.has(key)) problems.push({ ...at, message: `"${echo(key)}" stands twice in ${what}` });
    else if (known !== undefined && !known.includes(key)) {
      const near = nearest(key.replaceAll("-", "_"), known);
      const meant = near === undefined ? "" : ` (did you mean "${near}"?)`;
      problems.push({ ...at, message: `${what} has no key "${echo(key)}"${meant}` });
    } else found.set(key, { key, at, value: member.value });
  }
  return [...found.values()];
}
