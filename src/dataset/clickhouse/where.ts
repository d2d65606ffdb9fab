import { conditionsOf, type Sql, type SqlDialect, whereSql } from "../../shared/contract/conditions.ts";
import type { CanonicalFilters } from "../../shared/contract/filters.ts";
import type { Param, Statement } from "./dialect.ts";

const MARKS: SqlDialect = {
  placeholder: (type) => (type === "text" ? "{?:String}" : "{?:Int64}"),
  addressColumns: (column) =>
    column === "network_url"
      ? { slug: "network_slug", address: "network_address" }
      : { slug: "company_slug", address: "company_address" },
};

/** `WHERE ...` of a segment over the columns of a people table, with one typed parameter for each value. */
export const whereOf = (filters: CanonicalFilters): Statement => numbered(whereSql(conditionsOf(filters), MARKS));

/** The rows of a query of which a condition holds too. @param condition "" is always true */
export const and = ({ sql, params }: Statement, condition: string): Statement =>
  condition === "" ? { sql, params } : { sql: `${sql === "" ? " WHERE" : `${sql} AND`} ${condition}`, params };

/** Gives the placeholders names in order: values are never part of the text, so a mark is always a placeholder. */
function numbered(sql: Sql): Statement {
  const params: Record<string, Param> = {};
  let next = 0;
  const text = sql.text.replaceAll("{?:", () => {
    const name = `p${next}`;
    const value = sql.values[next++];
    if (value === undefined) throw new Error("a condition has more placeholders than values");
    params[name] = value;
    return `{${name}:`;
  });
  return { sql: text, params };
}
