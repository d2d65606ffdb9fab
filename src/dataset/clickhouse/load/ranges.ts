import { groupsBy } from "../../../shared/groups.ts";
import type { Param, Statement } from "../dialect.ts";

/**
 * Rows that are alike in the keys they are ordered by,
 * in that order; a piece of them where they are many.
 */
export interface Group {
  readonly values: readonly string[];
  readonly count: number;
  readonly piece?: { readonly from: TitleAndId; readonly before: TitleAndId | undefined };
}

export type TitleAndId = readonly [title: string, id: string];

/**
 * Neighbouring groups that are put in order together:
 * `[from, before)` are their positions among all rows.
 */
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
export function rangeConditions(
  keys: readonly string[],
  all: readonly Group[],
): (groups: readonly Group[]) => Statement {
  const sizes = new Map<string, number>();
  for (const { values } of all) {
    for (let depth = 1; depth <= values.length; depth++) {
      const key = JSON.stringify(values.slice(0, depth));
      sizes.set(key, (sizes.get(key) ?? 0) + 1);
    }
  }

  const level = (groups: readonly Group[], depth: number, bound: Bound): string => {
    const key = keys[depth];
    if (key === undefined)
      return anyOf(groups.flatMap(({ piece }) => (piece ? [pieceSql(piece, bound)] : [])));

    const whole: string[] = [];
    const conditions: string[] = [];
    for (const [value, same] of groupsBy(groups, ({ values }) => values[depth] ?? "")) {
      const path = JSON.stringify(same[0]?.values.slice(0, depth + 1));
      if (same.length === sizes.get(path)) whole.push(value);
      else
        conditions.push(`${key} = ${bound(value, "String")} AND ${level(same, depth + 1, bound)}`);
    }

    if (whole.length > 0) conditions.unshift(`${key} IN ${bound(whole, "Array(String)")}`);

    return anyOf(conditions);
  };

  return (groups) => {
    const params: Record<string, Param> = {};
    const bound: Bound = (value, type) => {
      const name = `r${Object.keys(params).length}`;
      params[name] = value;
      return `{${name}:${type}}`;
    };
    return { sql: level(groups, 0, bound), params };
  };
}

type Bound = (value: Param, type: string) => string;

const anyOf = (conditions: readonly string[]): string => `((${conditions.join(") OR (")}))`;

function pieceSql({ from, before }: NonNullable<Group["piece"]>, bound: Bound): string {
  const text = (value: string): string => bound(value, "String");
  if (from[0] === before?.[0]) {
    return `title = ${text(from[0])} AND id >= ${text(from[1])} AND id < ${text(before[1])}`;
  }
  const place = ([title, id]: TitleAndId): string =>
    `(${title === "" ? 1 : 0}, ${text(title)}, ${text(id)})`;
  const end = before === undefined ? "" : ` AND (title = '', title, id) < ${place(before)}`;
  return `(title = '', title, id) >= ${place(from)}${end}`;
}
