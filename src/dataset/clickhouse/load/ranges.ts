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

/**
 * Bounds that an index on the keys is read by: of neighbours, so that nobody else is between the
 * first value and the last, and a statement is short however many values there are.
 * @param all every group there is, in its order
 */
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
      else conditions.push(`${key} = ${bound(value)} AND ${level(same, depth + 1, bound)}`);
    }

    if (whole.length > 0) conditions.unshift(withinSql(key, whole, bound));

    return anyOf(conditions);
  };

  return (groups) => {
    const params: Record<string, Param> = {};
    const bound: Bound = (value) => {
      const name = `r${Object.keys(params).length}`;
      params[name] = value;
      return `{${name}:String}`;
    };
    return { sql: level(groups, 0, bound), params };
  };
}

type Bound = (value: string) => string;

/** @param values neighbours in public order, in which a missing one is the last */
function withinSql(key: string, values: readonly string[], bound: Bound): string {
  const isMissing = values.at(-1) === "";
  const present = isMissing ? values.slice(0, -1) : values;
  const [first, last] = [present[0], present.at(-1)];
  if (first === undefined || last === undefined) return `${key} = ''`;

  const within =
    first === last
      ? `${key} = ${bound(first)}`
      : `${key} >= ${bound(first)} AND ${key} <= ${bound(last)}`;
  return isMissing ? anyOf([within, `${key} = ''`]) : within;
}

const anyOf = (conditions: readonly string[]): string => `((${conditions.join(") OR (")}))`;

function pieceSql({ from, before }: NonNullable<Group["piece"]>, bound: Bound): string {
  if (from[0] === before?.[0]) {
    return `title = ${bound(from[0])} AND id >= ${bound(from[1])} AND id < ${bound(before[1])}`;
  }
  const place = ([title, id]: TitleAndId): string =>
    `(${title === "" ? 1 : 0}, ${bound(title)}, ${bound(id)})`;
  const end = before === undefined ? "" : ` AND (title = '', title, id) < ${place(before)}`;
  return `(title = '', title, id) >= ${place(from)}${end}`;
}
