import type { JsonValue } from "./types.ts";

// Sixteen digits in a row after a token's beginning: only then can an integer be beyond 2^53.
const MAY_HOLD_BIG = /[:[,]\s*-?\d{16}/;
const STRINGS_AND_INTEGERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d{16,}(?![\d.eE])/gs;

/**
 * `JSON.parse`, but integers beyond 2^53 come as bigints instead of losing their last digits.
 * @throws SyntaxError as `JSON.parse`
 */
export function parseExact(text: string): JsonValue {
  if (!MAY_HOLD_BIG.test(text)) return JSON.parse(text) as JsonValue;
  let mark = "\ue000bigint:";
  while (text.includes(mark)) mark += ":";
  const marked = text.replace(STRINGS_AND_INTEGERS, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${mark}${token}"`,
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  ) as JsonValue;
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
  let mark = "\ue000bigint:";
  while (plain.includes(mark)) mark += ":";
  const marked = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? `${mark}${item}` : item));
  return marked.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
