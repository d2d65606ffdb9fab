// Tested by test/unit/shared/written-json.test.ts.
import { parseStrictJson, type StrictJson } from "./contract/strict-json.ts";
import { echo } from "./contract/text.ts";

/** As `line 2, column 5: ...`; undefined where it is JSON. */
async function syntaxError(text: string): Promise<string | undefined> {
  const { parse } = await import("lossless-json");
  try {
    parse(text, undefined, { onDuplicateKey: ({ newValue }) => newValue });
    return undefined;
  } catch (error) {
    // Nested too deep for its reader, which is told of as that.
    if (!(error instanceof SyntaxError)) return undefined;
    const [message = "", at] = error.message.split(" at position ");
    const before = text.slice(0, Number(at ?? 0)).split("\n");
    return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${echo(message)}`;
  }
}

/** With spaces where comments and trailing commas stand. */
async function withoutTrailing(text: string): Promise<string> {
  const { tokenize } = await import("@humanwhocodes/momoa");
  const blank = (part: string): string => part.replace(/[^\r\n]/g, " ");
  let plain = text;
  let comma: readonly [number, number] | undefined;
  for (const { type, range } of tokenize(text, { mode: "jsonc", ranges: true })) {
    const [from, to] = range ?? [0, 0];
    const isComment = type === "LineComment" || type === "BlockComment";
    const span = isComment
      ? ([from, to] as const)
      : type === "RBrace" || type === "RBracket"
        ? comma
        : undefined;
    if (span !== undefined)
      plain = plain.slice(0, span[0]) + blank(plain.slice(...span)) + plain.slice(span[1]);
    if (!isComment) comma = type === "Comma" ? [from, to] : undefined;
  }

  return plain;
}

/**
 * JSON of a file that people write: as strict as a body of the API, since a key that is there twice
 * says two things; comments and trailing commas are left out. A slip is told by line and column.
 */
export async function readWrittenJson(
  text: string,
  name: string,
  mostKeys?: number,
): Promise<StrictJson> {
  const first = parseStrictJson(Buffer.from(text), name, mostKeys);
  const plain = first.ok ? undefined : await withoutTrailing(text).catch(() => undefined);
  const strict = plain === undefined ? first : parseStrictJson(Buffer.from(plain), name, mostKeys);
  if (strict.ok) return strict;

  const why = text.trim() === "" ? "it is empty" : await syntaxError(plain ?? text);
  return why === undefined ? strict : { ok: false, message: `${name} is not JSON: ${why}` };
}
