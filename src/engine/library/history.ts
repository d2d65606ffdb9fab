import {
  cellOf,
  isNested,
  type JsonRecord,
  type JsonValue,
  parseExact,
  stringifyExact,
} from "../../shared/rows/values.ts";

export interface PastPurchase {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly run: string;
  readonly unit: number;
  readonly position: number;
  /** Credits, in millionths. */
  readonly price: bigint;
  /** The record as JSON text, as it came. */
  readonly record: string;
}

/** What the name of a run begins with that is a file which was taken in. */
export const TAKEN_IN = "import-";

/**
 * Valid from, last confirmed (epoch milliseconds), and the purchase that said it last. What a file
 * does not say of somebody stays, and one that says nothing new is not heard.
 * @param purchases oldest first
 */
export function recordStatesOf(purchases: readonly PastPurchase[]) {
  const states: { readonly from: number; newest: PastPurchase; readonly record: string }[] = [];
  for (const newest of purchases) {
    const last = states.at(-1);
    const isFile = last !== undefined && newest.run.startsWith(TAKEN_IN);
    const record = isFile ? laidOver(last.record, newest.record) : newest.record;

    if (last?.record !== record) states.push({ from: newest.at, newest, record });
    else if (!isFile) last.newest = newest;
  }
  return states;
}

/** The same text where nothing else is said: a cell of CSV has numbers and lists as texts. */
function laidOver(known: string, record: string): string {
  const before = fieldsOf(known);
  const said = Object.entries(fieldsOf(record)).filter(
    ([name, value]) =>
      value !== null && String(cellOf(before[name] ?? null)) !== String(cellOf(value)),
  );
  return said.length === 0 ? known : stringifyExact({ ...before, ...Object.fromEntries(said) });
}

/** In the order of the newer one's and then of those that are gone. */
export function changedFields(older: JsonRecord, newer: JsonRecord): string[] {
  const names = new Set([...Object.keys(newer), ...Object.keys(older)]);
  const text = (value: JsonValue | undefined): string =>
    value === undefined ? "" : stringifyExact(value);
  return [...names].filter((name) => text(older[name]) !== text(newer[name]));
}

export function fieldsOf(record: string): JsonRecord {
  const value = parseExact(record);
  return isNested(value) ? value : { value };
}
