import {
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

/** Valid from, last confirmed (epoch milliseconds). @param purchases oldest first */
export function recordStatesOf(purchases: readonly PastPurchase[]) {
  const states: { readonly from: number; to: number; readonly record: string }[] = [];
  for (const { at, record } of purchases) {
    const last = states.at(-1);
    if (last?.record === record) last.to = at;
    else states.push({ from: at, to: at, record });
  }
  return states;
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
