import {
  type Condition,
  FILTER_COLUMNS,
  NORMAL_COLUMNS,
  NUMBER_COLUMNS,
} from "../../shared/contract/conditions.ts";
import { departmentOf } from "../../shared/contract/filters.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";

/** Matched whole or by their last segment (docs/reference/contract.md, Filters). */
const ADDRESS_COLUMNS = ["network_url", "company_network_url"] as const;

export const PERSON_COLUMNS: readonly string[] = [
  ...FILTER_COLUMNS,
  ...ADDRESS_COLUMNS.flatMap((column) => [`${column}_slug`, `${column}_address`]),
];

type Value = string | number | null;

/** docs/reference/contract.md, Filters: one for each of {@link PERSON_COLUMNS}. */
export function normalValues(record: Readonly<Record<string, unknown>>): Value[] {
  const values: Value[] = NORMAL_COLUMNS.map((column) => normalText(record[column]));
  const { department } = record;
  values.push(typeof department === "string" ? (departmentOf(department) ?? department) : null);

  for (const column of NUMBER_COLUMNS) {
    const value = record[column];
    values.push(typeof value === "number" && Number.isSafeInteger(value) ? value : null);
  }

  for (const column of ADDRESS_COLUMNS) {
    const address = addressOf(record[column]);
    values.push(address === undefined ? null : slugOf(address), address ?? null);
  }

  return values;
}

/** As the library's own queries would find it. */
export function meets(values: readonly Value[], conditions: readonly Condition[]): boolean {
  const cell = (column: string): Value => values[PERSON_COLUMNS.indexOf(column)] ?? null;

  return conditions.every((condition) => {
    const { column } = condition;
    if (condition.kind === "address") {
      const [slug, address] = [cell(`${column}_slug`), cell(`${column}_address`)];
      return condition.values.some((one) =>
        one.address === undefined ? one.slug === slug : one.address === address,
      );
    }

    const value = cell(column);
    if (value === null) return false;
    if (condition.kind === "in") return condition.values.includes(String(value));
    if (condition.kind === "prefix") return String(value).startsWith(condition.from);

    const { min = 0, max = Number.POSITIVE_INFINITY } = condition;
    return typeof value === "number" && value >= min && value <= max;
  });
}

const normalText = (value: unknown): string | null =>
  typeof value === "string"
    ? normalForm(value) || null
    : typeof value === "number"
      ? String(value)
      : null;

const addressOf = (value: unknown): string | undefined =>
  typeof value === "string" ? canonicalAddress(value) : undefined;
