import {
  afterPrefix,
  type Condition,
  conditionSql,
  joinSql,
  type Sql,
  type SqlDialect,
  whereSql,
} from "../../contract/conditions.ts";
import type { FacetKey } from "../../contract/facets.ts";
import { canonicalAddress, normalForm, slugOf } from "../../contract/normalise.ts";
import { COMPANY_COLUMNS, PLACED_COLUMNS, type PlacedColumn, placeOf, type RowIndex, SORT_KEYS } from "../columns.ts";
import type { FacetQuestion } from "../engine.ts";
import { addressKeys, type FieldsOf, type KeyRange } from "./keys.ts";

/** Lists from here on are joined. */
const LONG_LIST = 30;
/** Lists of these are compared with what DuckDB knows of each block of rows, so that most blocks are not read. */
const LEADING: readonly string[] = SORT_KEYS.slice(0, 2);

const DIALECT: SqlDialect = {
  // A JavaScript number is bound as a DOUBLE: compared with that, the column would be cast, and nothing could be skipped.
  placeholder: (type) => (type === "integer" ? "?::BIGINT" : "?"),
  addressColumns: () => ({ slug: "key", address: "address" }),
  list: (column, values) => {
    const list = [JSON.stringify(values)];
    // As parameters of their own, many take longer to plan than to look for.
    if (values.length >= LONG_LIST)
      return { text: `${column} IN (SELECT unnest(from_json(?, '["VARCHAR"]')))`, values: list };
    // A function is computed once for each value of a block, IN for each row.
    if (LEADING.includes(column) || isPlaced(column)) return undefined;
    return { text: `list_contains(from_json(?, '["VARCHAR"]'), ${column})`, values: list };
  },
};

/** The order in which a scan checks columns: what leads the sort, then what is cheap to read and leaves few rows, long text last. */
const SCAN_ORDER = [
  "country",
  "department",
  "industry",
  "functional_area",
  "city",
  "state",
  "title",
  "seniority",
  "seniority_level",
  "location",
  "connections",
  "followers",
  "last_name",
  "first_name",
  "name",
  "headline",
];

/** A condition that the row store has an index for. */
type Indexed =
  | (Extract<Condition, { kind: "in" | "prefix" }> & { column: PlacedColumn })
  | Extract<Condition, { kind: "address" }>;

const isPlaced = (column: string): column is PlacedColumn => (PLACED_COLUMNS as readonly string[]).includes(column);

export const isIndexed = (condition: Condition): condition is Indexed =>
  condition.kind === "address" ? condition.column === "network_url" : isPlaced(condition.column);

export function keysOf(condition: Indexed): { readonly index: RowIndex; readonly wanted: readonly KeyRange[] } {
  if (condition.kind === "address") return { index: "address", wanted: addressKeys(condition.values) };
  return { index: condition.column, wanted: [condition] };
}

/** Of a long text that begins so: the range of its places, which is read in place of the text. */
export type Placed = Extract<Condition, { kind: "prefix" }> & { column: PlacedColumn };
export const hasPlaces = (condition: Condition): condition is Placed =>
  condition.kind === "prefix" && isPlaced(condition.column);

/** Where candidates come from, and what of the filters is still to be checked on the filter table. */
export function planOf(conditions: readonly Condition[]): {
  readonly lookups: readonly Sql[];
  readonly rest: readonly Condition[];
} {
  const company = conditions.find(({ column }) => column === "company_network_url");
  if (!company) return { lookups: [], rest: conditions };
  const beside = conditions.filter((other) => other === company || COMPANY_COLUMNS.includes(other.column));
  const where = whereSql(beside, DIALECT);
  return {
    lookups: [{ text: `SELECT rid FROM lookups.by_company${where.text}`, values: where.values }],
    rest: conditions.filter((other) => !beside.includes(other)),
  };
}

/** Positions that are known, as a table. */
export const listed = (rids: Uint32Array): Sql => ({
  text: "SELECT unnest(?::UINTEGER[]) AS rid",
  values: [`[${rids.join(",")}]`],
});

/**
 * People of the filter table who meet conditions, among candidates where there are some.
 * @param places of each {@link Placed} condition. @param column what is read of them
 */
export function scan(
  conditions: readonly Condition[],
  places: ReadonlyMap<Condition, readonly [from: number, before: number]>,
  lookups: readonly Sql[] = [],
  column = "rid",
): Sql {
  const sorted = conditions.toSorted((a, b) => SCAN_ORDER.indexOf(a.column) - SCAN_ORDER.indexOf(b.column));
  const parts = sorted.map((condition) => {
    const range = places.get(condition);
    if (!range || !isPlaced(condition.column)) return conditionSql(condition, DIALECT);
    const column = placeOf(condition.column);
    return { text: `${column} >= ?::UINTEGER AND ${column} < ?::UINTEGER`, values: range };
  });
  const found = intersect(lookups);
  if (lookups.length > 0) parts.push({ text: `rid IN (${found.text})`, values: found.values });
  const where = joinSql(parts, " AND ");
  const text = `SELECT ${column} FROM filters.people${parts.length > 0 ? " WHERE " : ""}${where.text}`;
  return { text, values: where.values };
}

export const intersect = (lookups: readonly Sql[]): Sql => joinSql(lookups, " INTERSECT ");

/** Departments are kept as their names, all else in the normal form that a prefix comes in. */
const matched = (key: FacetKey): string => (key === "department" ? "lower(value)" : "value");

/**
 * Of those who meet conditions, by their value of a column, rows of kind, value and number: 0 everybody, 1 who has none, 2 how many
 * different values, and then the values.
 * @param people a {@link scan} of the column
 */
export function grouped(people: Sql, { key, least, limit, prefix }: FacetQuestion): Sql {
  const from: Condition = { kind: "prefix", column: matched(key), from: prefix, before: afterPrefix(prefix) };
  const where = joinSql(
    [{ text: "value IS NOT NULL", values: [] }, ...(prefix === "" ? [] : [conditionSql(from, DIALECT)])],
    " AND ",
  );
  return {
    text: `WITH groups AS MATERIALIZED (SELECT ${key} AS value, count(*)::BIGINT AS n FROM (${people.text}) GROUP BY 1),
      wanted AS (SELECT value, n FROM groups WHERE ${where.text})
      SELECT kind, value, n FROM (SELECT 0 AS kind, NULL AS value, sum(n)::BIGINT AS n FROM groups
        UNION ALL SELECT 1, NULL, sum(n)::BIGINT FROM groups WHERE value IS NULL
        UNION ALL SELECT 2, NULL, count(*) FROM wanted
        UNION ALL (SELECT 3, value, n FROM wanted WHERE n >= ?::BIGINT ORDER BY n DESC, value LIMIT ?::BIGINT))
      ORDER BY kind, n DESC, value`,
    values: [...people.values, ...where.values, least, limit],
  };
}

/** Whether a record meets conditions on its own fields, as the filter table would: on the normal form. */
export function meets(fields: FieldsOf, conditions: readonly Condition[]): boolean {
  return conditions.every((condition) => {
    const own = fields(condition.column);
    if (condition.kind === "range") {
      if (typeof own !== "number") return false;
      return own >= (condition.min ?? 0) && own <= (condition.max ?? Number.POSITIVE_INFINITY);
    }
    if (typeof own !== "string") return false;
    if (condition.kind === "address") {
      const address = canonicalAddress(own);
      if (address === undefined) return false;
      return condition.values.some((one) =>
        one.address === undefined ? one.slug === slugOf(address) : one.address === address,
      );
    }
    const plain = condition.column === "department" ? own : normalForm(own);
    return condition.kind === "in" ? condition.values.includes(plain) : plain.startsWith(condition.from);
  });
}
