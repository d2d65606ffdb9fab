import type { CanonicalFilters } from "../../contract/filters.ts";
import { isSlug } from "../../contract/normalise.ts";
import type { Param, Query } from "./dialect.ts";

/** The condition of a segment over the columns of a people table; `1` where there is no filter. */
export function whereOf(filters: CanonicalFilters): Query {
  const conditions: string[] = [];
  const params: Record<string, Param> = {};
  const bind = (type: string, value: Param): string => {
    const name = `p${Object.keys(params).length}`;
    params[name] = value;
    return `{${name}:${type}}`;
  };
  const among = (column: string, values: readonly string[]): string => `${column} IN ${bind("Array(String)", values)}`;

  for (const [key, values] of Object.entries(filters.exact)) {
    if (key === "network_url") conditions.push(address("network", values));
    else conditions.push(among(key, values));
  }
  for (const [key, value] of Object.entries(filters.prefix)) {
    conditions.push(`startsWith(${key.replace(/_prefix$/, "")}, ${bind("String", value)})`);
  }
  for (const name of ["connections", "followers"] as const) {
    const min = filters.range[`${name}_min`];
    const max = filters.range[`${name}_max`];
    if (min === undefined && max === undefined) continue;
    // A missing number is stored as -1 and never matches a range.
    conditions.push(`${name} >= ${bind("Int64", min ?? 0)}`);
    if (max !== undefined) conditions.push(`${name} <= ${bind("Int64", max)}`);
  }
  if (filters.company_network_url !== undefined) conditions.push(address("company", [filters.company_network_url]));
  if (filters.department !== undefined) conditions.push(among("department", filters.department));
  return { sql: conditions.length === 0 ? "1" : conditions.join(" AND "), params };

  function address(prefix: "network" | "company", values: readonly string[]): string {
    const slugs = values.filter(isSlug);
    const whole = values.filter((value) => !isSlug(value));
    const parts: string[] = [];
    if (whole.length > 0) parts.push(among(`${prefix}_address`, whole));
    if (slugs.length > 0) parts.push(among(`${prefix}_slug`, slugs));
    return parts.length === 1 ? (parts[0] ?? "0") : `(${parts.join(" OR ")})`;
  }
}
