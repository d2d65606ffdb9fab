import { isNested, type JsonRecord, type JsonValue, parseExact, stringifyExact } from "../../shared/rows/values.ts";

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

/** What a person's record said, from the purchase that first showed it to the last that showed the same with no other between. */
export interface RecordState {
  /** Epoch milliseconds: valid from, last confirmed. */
  readonly from: number;
  readonly to: number;
  readonly record: string;
}

/** The states of a person, oldest first. @param purchases of one person, oldest first */
export function recordStatesOf(purchases: readonly PastPurchase[]): RecordState[] {
  const states: RecordState[] = [];
  for (const { at, record } of purchases) {
    const last = states.at(-1);
    if (last?.record === record) states[states.length - 1] = { ...last, to: at };
    else states.push({ from: at, to: at, record });
  }
  return states;
}

/** The fields in which two records differ, in the order of the newer one's and then of those that are gone. */
export function changedFields(older: JsonRecord, newer: JsonRecord): string[] {
  const names = new Set([...Object.keys(newer), ...Object.keys(older)]);
  const text = (value: JsonValue | undefined): string => (value === undefined ? "" : stringifyExact(value));
  return [...names].filter((name) => text(older[name]) !== text(newer[name]));
}

/** A record's fields; a row that is no object is held under `value`, as outputs have it. */
export function fieldsOf(record: string): JsonRecord {
  const value = parseExact(record);
  return isNested(value) ? value : { value };
}
