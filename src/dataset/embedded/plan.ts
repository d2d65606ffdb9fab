import {
  type Address,
  type Condition,
  joinSql,
  type Sql,
  type SqlDialect,
  whereSql,
} from "../../contract/conditions.ts";
import { normalForm } from "../../contract/normalise.ts";
import { COMPANY_COLUMNS, TEXT_INDEXES, type TextIndex } from "../columns.ts";

export const DIALECT: SqlDialect = {
  // A JavaScript number is bound as a DOUBLE: compared with that, the column would be cast, and nothing could be skipped.
  placeholder: (type) => (type === "integer" ? "?::BIGINT" : "?"),
  addressColumns: () => ({ slug: "key", address: "address" }),
};

/** Where candidates come from, and what of the filters is still to be checked on the filter table. */
export interface Plan {
  readonly lookups: readonly Sql[];
  readonly rest: readonly Condition[];
}

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

export const isIndexed = (
  condition: Condition,
): condition is Extract<Condition, { kind: "in" | "prefix" }> & { column: TextIndex } =>
  (condition.kind === "in" || condition.kind === "prefix") &&
  (TEXT_INDEXES as readonly string[]).includes(condition.column);

/** Which table answers fastest; the crossing points were measured (docs/dataset.md). */
export function planOf(given: readonly Condition[]): Plan {
  const conditions = given.toSorted((a, b) => SCAN_ORDER.indexOf(a.column) - SCAN_ORDER.indexOf(b.column));
  const company = conditions.find(({ column }) => column === "company_network_url");
  const ofCompany = company ? conditions.filter(({ column }) => COMPANY_COLUMNS.includes(column)) : [];
  const lookups: Sql[] = [];
  const rest: Condition[] = [];
  // The filter table is sorted by these: with one of them a scan reads little.
  const narrow = conditions.some(({ column }) => column === "country" || column === "department");
  for (const condition of conditions) {
    if (ofCompany.includes(condition)) continue;
    const table = lookupTable(condition, narrow);
    if (table === undefined) rest.push(condition);
    else {
      const lookUp = (own: Condition): Sql => {
        const where = whereSql([own, ...(condition === company ? ofCompany : [])], DIALECT);
        return { text: `SELECT rid FROM lookups.${table}${where.text}`, values: where.values };
      };
      if (condition.kind !== "address") lookups.push(lookUp({ ...condition, column: "key" }));
      else {
        // Whole addresses and bare slugs by a look-up each: joined by OR they would be a scan.
        const isBare = ({ address }: Address): boolean => address === undefined;
        const parts = [condition.values.filter(isBare), condition.values.filter((value) => !isBare(value))];
        const found = parts.filter((values) => values.length > 0).map((values) => lookUp({ ...condition, values }));
        const union = joinSql(found, " UNION ");
        lookups.push(found.length > 1 ? { text: `SELECT rid FROM (${union.text})`, values: union.values } : union);
      }
    }
  }
  return { lookups, rest };
}

function lookupTable(condition: Condition, narrow: boolean): string | undefined {
  if (condition.kind === "address") return condition.column === "network_url" ? "by_address" : "by_company";
  if (condition.column === "name" && !narrow) return "by_name";
  if (condition.column === "headline" && !narrow) return "by_headline";
  return undefined;
}

export function scan(conditions: readonly Condition[]): Sql {
  const where = whereSql(conditions, DIALECT);
  return { text: `SELECT rid FROM filters.people${where.text}`, values: where.values };
}

export const intersect = (lookups: readonly Sql[]): Sql => joinSql(lookups, " INTERSECT ");

/** Whether a record meets conditions on its own fields, as the filter table would: on the normal form. */
export function meets(record: string, conditions: readonly Condition[]): boolean {
  const fields = JSON.parse(record) as Readonly<Record<string, unknown>>;
  return conditions.every((condition) => {
    const own = fields[condition.column];
    if (condition.kind === "range") {
      if (typeof own !== "number") return false;
      return own >= (condition.min ?? 0) && own <= (condition.max ?? Number.POSITIVE_INFINITY);
    }
    if (typeof own !== "string" || condition.kind === "address") return false;
    const plain = condition.column === "department" ? own : normalForm(own);
    return condition.kind === "in" ? condition.values.includes(plain) : plain.startsWith(condition.from);
  });
}
