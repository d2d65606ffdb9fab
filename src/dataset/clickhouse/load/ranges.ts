import type { Param, Statement } from "../dialect.ts";

/** Rows that are alike in the keys they are ordered by, in that order. */
export interface Group {
  readonly values: readonly string[];
  readonly count: number;
}

/** Neighbouring groups that are put in order together: `[from, before)` are their positions among all rows. */
export interface RowRange {
  readonly groups: readonly Group[];
  readonly from: number;
  readonly before: number;
}

/** Cuts all groups into ranges of at most `most` rows, a group that has more by itself. */
export function rangesOf(groups: readonly Group[], most: number): RowRange[] {
  const ranges: RowRange[] = [];
  let start = 0;
  let from = 0;
  let before = 0;
  for (const [index, { count }] of groups.entries()) {
    if (index > start && before - from + count > most) {
      ranges.push({ groups: groups.slice(start, index), from, before });
      start = index;
      from = before;
    }
    before += count;
  }
  if (before > from) ranges.push({ groups: groups.slice(start), from, before });
  return ranges;
}

/** In lists of values that an index on the keys is read by. @param all every group there is */
export class RangeConditions {
  readonly #keys: readonly string[];
  readonly #sizes = new Map<string, number>();

  constructor(keys: readonly string[], all: readonly Group[]) {
    this.#keys = keys;
    for (const { values } of all) {
      for (let depth = 1; depth <= values.length; depth++) {
        const key = JSON.stringify(values.slice(0, depth));
        this.#sizes.set(key, (this.#sizes.get(key) ?? 0) + 1);
      }
    }
  }

  of(groups: readonly Group[]): Statement {
    const params: Record<string, Param> = {};
    return { sql: this.#level(groups, 0, params), params };
  }

  #level(groups: readonly Group[], depth: number, params: Record<string, Param>): string {
    const key = this.#keys[depth];
    const byValue = new Map<string, Group[]>();
    for (const group of groups) {
      const value = group.values[depth] ?? "";
      const same = byValue.get(value);
      if (same) same.push(group);
      else byValue.set(value, [group]);
    }
    const whole: string[] = [];
    const conditions: string[] = [];
    const bound = (value: Param, type: string): string => {
      const name = `r${Object.keys(params).length}`;
      params[name] = value;
      return `{${name}:${type}}`;
    };
    for (const [value, same] of byValue) {
      const path = JSON.stringify(same[0]?.values.slice(0, depth + 1));
      if (same.length === this.#sizes.get(path)) whole.push(value);
      else conditions.push(`${key} = ${bound(value, "String")} AND ${this.#level(same, depth + 1, params)}`);
    }
    if (whole.length > 0) conditions.unshift(`${key} IN ${bound(whole, "Array(String)")}`);
    return conditions.length === 1 ? `(${conditions[0]})` : `((${conditions.join(") OR (")}))`;
  }
}
