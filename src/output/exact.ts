import type { JsonValue } from "./types.ts";

const STRINGS_AND_NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;
const LONG_INTEGER = /^-?\d{16,}$/;

/**
 * `JSON.parse`, but integers beyond 2^53 come as bigints instead of losing their last digits.
 * Several times slower: for texts in which a number has sixteen digits or more.
 * @throws SyntaxError as `JSON.parse`
 */
export function parseExact(text: string): JsonValue {
  const mark = unusedCharacter(text);
  const marked = text.replace(STRINGS_AND_NUMBERS, (token) =>
    LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  ) as JsonValue;
}

/** `parseExact` where a text is long enough to hold such an integer, else `JSON.parse`: for texts that are one cell. */
export const parseAny = (text: string): JsonValue =>
  text.length < 16 ? (JSON.parse(text) as JsonValue) : parseExact(text);

/** A private-use character that a JSON text holds neither as itself nor escaped: no string of it can begin with it. */
function unusedCharacter(text: string): string {
  const lower = text.toLowerCase();
  for (let code = 0xe000; code <= 0xf8ff; code++) {
    const character = String.fromCharCode(code);
    if (!text.includes(character) && !lower.includes(`\\u${code.toString(16)}`)) return character;
  }
  throw new RangeError("the text uses every private-use character there is");
}

/** `JSON.stringify` that writes bigints as plain JSON integers. */
export function stringifyExact(value: JsonValue): string {
  let big = false;
  const plain = JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== "bigint") return item;
    big = true;
    return null;
  });
  if (!big) return plain;
  const mark = unusedCharacter(plain);
  const marked = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? `${mark}${item}` : item));
  return marked.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
