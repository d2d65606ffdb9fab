// Tested by test/service/fuzz.test.ts.
import { isUtf8 } from "node:buffer";
import { parse } from "lossless-json";
import { echo } from "./text.ts";

/** Deep enough for every body of the API (three levels), far too shallow to hurt. */
const MAX_DEPTH = 32;
/** Of all objects together: forty times what any body of the API needs. */
const MAX_KEYS = 1_000;

export type StrictJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

const wrong = (message: string): StrictJson => ({ ok: false, message });

/**
 * Reads a request body as JSON. Refuses what two readers could understand differently:
 * invalid UTF-8, a byte order mark, duplicate keys, NUL, lone surrogates, numbers that
 * a double does not hold exactly. `__proto__` stays an ordinary key. Time is linear in
 * the body; nesting and the number of keys are bounded.
 * @param what as messages call it
 */
export function parseStrictJson(
  bytes: Uint8Array,
  what = "the body",
  mostKeys = MAX_KEYS,
): StrictJson {
  if (!isUtf8(bytes)) return wrong(`${what} is not valid UTF-8`);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (text.startsWith("\ufeff"))
    return wrong(`${what} begins with a byte order mark; send plain UTF-8`);
  const problem = scan(text, what, mostKeys);
  if (problem !== undefined) return wrong(problem);

  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return wrong(notJson(text, what));
  }
}

function notJson(text: string, what: string): string {
  if (text.trim() === "") return `${what} is not JSON: it is empty`;

  // What the engine says has no place, but for some slips.
  try {
    parse(text);
    return `${what} is not valid JSON`;
  } catch (error) {
    const [message = "", at] = (error as Error).message.split(" at position ");
    const before = text.slice(0, Number(at)).split("\n");
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    return `${what} is not valid JSON: ${place}: ${echo(message)}`;
  }
}

// A string (its end is missing where the group is
// empty), a number, and what opens, closes and parts.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*("?)|-?\d[\d.eE+-]*|[[\]{},]/gs;

/**
 * One pass over the tokens for what JSON.parse lets
 * through. On text that is no JSON it only has to end.
 */
function scan(text: string, what: string, mostKeys: number): string | undefined {
  const open: (Set<string> | null)[] = [];
  const path: (string | number)[] = [];
  let keys: Set<string> | null = null;
  let expectKey = false;
  let count = 0;
  for (const [token, end] of text.matchAll(TOKEN)) {
    const first = token[0];
    if (first === '"') {
      // Where it does not end JSON.parse says so.
      if (end === "") return undefined;

      const content = stringContent(token, what);
      if (typeof content !== "string") return content.problem;
      if (!expectKey || keys === null) continue;
      if (keys.has(content))
        return `duplicate key in ${what}: ${echo(content)}; send each key once`;

      keys.add(content);
      if (++count > mostKeys) return `${what} holds more than ${mostKeys} keys`;

      path[path.length - 1] = content;
      expectKey = false;
    } else if (first === "{" || first === "[") {
      expectKey = first === "{";
      keys = expectKey ? new Set() : null;
      open.push(keys);
      path.push(expectKey ? "" : 0);
      if (open.length > MAX_DEPTH) return `${what} is nested more than ${MAX_DEPTH} levels deep`;
    } else if (first === "}" || first === "]") {
      open.pop();
      path.pop();
      keys = open[open.length - 1] ?? null;
      expectKey = false;
    } else if (first === ",") {
      expectKey = keys !== null;
      const last = path[path.length - 1];
      if (typeof last === "number") path[path.length - 1] = last + 1;
    } else if (Math.abs(Number(token)) > Number.MAX_SAFE_INTEGER) {
      // What is no number is NaN here, and JSON.parse says so.
      const bound = `the largest is ${Number.MAX_SAFE_INTEGER}`;
      return `${placeOf(path)}the number ${echo(token)} is out of range: ${bound}`;
    }
  }

  return undefined;
}

/**
 * `filters.connections_min: `, `filters.country[2]: `; nothing where the number is the whole body.
 */
function placeOf(path: readonly (string | number)[]): string {
  const text = path
    .map((step, depth) =>
      typeof step === "number" ? `[${step}]` : depth === 0 ? step : `.${step}`,
    )
    .join("");
  return text === "" ? "" : `${echo(text)}: `;
}

function stringContent(token: string, what: string): string | { readonly problem: string } {
  // Without an escape there can be neither: the bytes are
  // valid UTF-8 and JSON.parse refuses raw control characters.
  if (!token.includes("\\")) return token.slice(1, -1);

  let content: string;
  try {
    content = JSON.parse(token) as string;
  } catch {
    // Of an escape that is none JSON.parse says where it stands.
    return token;
  }

  if (content.includes("\0")) return { problem: `${what} holds a NUL character (\\u0000)` };
  if (!content.isWellFormed())
    return { problem: `${what} holds a lone surrogate (half of a UTF-16 pair)` };

  return content;
}
