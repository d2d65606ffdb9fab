/** The names under which services hold the array of a page (docs/contract.md, Search). */
const ARRAY_NAMES = ["profiles", "people", "persons", "results", "items", "data", "employees"] as const;

/**
 * The array of a page's `result`: `result` itself, or what it holds under one of the usual names.
 * @returns undefined where there is none; `null` counts as an empty page
 */
export function rowsOfResult(result: unknown): unknown[] | undefined {
  if (Array.isArray(result)) return result as unknown[];
  if (result === null) return [];
  if (typeof result !== "object") return undefined;
  for (const name of ARRAY_NAMES) {
    const value = (result as Readonly<Record<string, unknown>>)[name];
    if (Array.isArray(value)) return value as unknown[];
  }
  return undefined;
}

/**
 * The rows of a spooled page: a pure function of the reply's bytes (after decompression).
 * @throws Error where the bytes are no JSON or hold no array of rows
 */
export function rowsOf(body: Buffer | string): unknown[] {
  const envelope = JSON.parse(body.toString()) as { readonly result?: unknown } | null;
  // A service without an envelope is out of contract, but what was paid for is still read.
  const result = Array.isArray(envelope) ? envelope : envelope?.result;
  const rows = rowsOfResult(result);
  if (rows === undefined) throw new Error("the reply holds no list of profiles");
  return rows;
}

/**
 * The record of a look-up's reply: `result` itself, or the one object that it holds under `company`, or the first row.
 * @throws Error where the bytes are no JSON or hold no record
 */
export function recordOf(body: Buffer | string): Readonly<Record<string, unknown>> {
  const { result } = JSON.parse(body.toString()) as { readonly result?: unknown };
  const first = Array.isArray(result) ? (result[0] as unknown) : result;
  if (typeof first !== "object" || first === null) throw new Error("the reply holds no record");
  const record = first as Readonly<Record<string, unknown>>;
  const inner = Object.keys(record).length === 1 ? (record.company ?? record.data) : undefined;
  return typeof inner === "object" && inner !== null && !Array.isArray(inner)
    ? (inner as Readonly<Record<string, unknown>>)
    : record;
}
