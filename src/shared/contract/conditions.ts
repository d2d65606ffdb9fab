// Tested by test/dataset/segment.test.ts.
import { isSlug, slugOf } from "./naming/slug.ts";
import { type CanonicalFilters, FILTER_SPECS, type MatchType } from "./vocabulary.ts";

const fieldsBy = (isWanted: (match: MatchType) => boolean): readonly string[] => [
  ...new Set(FILTER_SPECS.filter(({ match }) => isWanted(match)).map(({ field }) => field)),
];

export const NUMBER_COLUMNS = fieldsBy((match) => match === "range");

/** Texts that are matched in normal form. Addresses have look-up tables instead. */
export const NORMAL_COLUMNS = fieldsBy((match) => match === "exact" || match === "prefix").filter(
  (field) => field !== "network_url",
);

export const FILTER_COLUMNS: readonly string[] = [
  ...NORMAL_COLUMNS,
  "department",
  ...NUMBER_COLUMNS,
];

/**
 * What has to hold of one attribute. Conditions combine
 * with AND; they know nothing of a SQL dialect.
 */
export type Condition =
  | { readonly kind: "in"; readonly column: string; readonly values: readonly string[] }
  /** `from <= attribute < before`, by code points; no `before` means no upper bound. */
  | {
      readonly kind: "prefix";
      readonly column: string;
      readonly from: string;
      readonly before: string | undefined;
    }
  /** Both ends are included; a missing value never matches. */
  | {
      readonly kind: "range";
      readonly column: string;
      readonly min: number | undefined;
      readonly max: number | undefined;
    }
  /**
   * The attribute's address is one of these: a whole address, or for a bare slug its last segment.
   */
  | { readonly kind: "address"; readonly column: string; readonly values: readonly Address[] };

export interface Address {
  readonly slug: string;
  /** Undefined for a bare slug, which matches on any host. */
  readonly address: string | undefined;
}

export function conditionsOf(filters: CanonicalFilters): Condition[] {
  const conditions: Condition[] = [];
  for (const [column, values] of Object.entries(filters.exact)) {
    if (values === undefined) continue;
    if (column === "network_url")
      conditions.push({ kind: "address", column, values: values.map(addressOf) });
    else conditions.push({ kind: "in", column, values });
  }

  for (const [key, prefix] of Object.entries(filters.prefix)) {
    if (prefix === undefined) continue;
    const column = key.slice(0, -"_prefix".length);
    conditions.push({ kind: "prefix", column, from: prefix, before: afterPrefix(prefix) });
  }

  for (const column of ["connections", "followers"] as const) {
    const min = filters.range[`${column}_min`];
    const max = filters.range[`${column}_max`];
    if (min !== undefined || max !== undefined)
      conditions.push({ kind: "range", column, min, max });
  }

  if (filters.company_network_url !== undefined) {
    conditions.push({
      kind: "address",
      column: "company_network_url",
      values: [addressOf(filters.company_network_url)],
    });
  }

  if (filters.department !== undefined) {
    conditions.push({ kind: "in", column: "department", values: filters.department });
  }

  return conditions;
}

const addressOf = (value: string): Address => ({
  slug: slugOf(value),
  address: isSlug(value) ? undefined : value,
});

/**
 * The least text, by code points, that is greater
 * than every text with this prefix, if there is one.
 */
export function afterPrefix(prefix: string): string | undefined {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1;
    // Surrogates are no code points of a well-formed text.
    if (next <= 0x10ffff)
      return points.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
  }
  return undefined;
}

export interface Sql {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** How a dialect writes what conditions need. Values are always bound, never part of the text. */
export interface SqlDialect {
  readonly placeholder: (type: "text" | "integer") => string;
  readonly addressColumns: (column: string) => { readonly slug: string; readonly address: string };
}

function conditionSql(condition: Condition, dialect: SqlDialect): Sql {
  const text = dialect.placeholder("text");
  switch (condition.kind) {
    case "in": {
      const { column, values } = condition;
      if (values.length === 1) return { text: `${column} = ${text}`, values };
      return { text: `${column} IN (${values.map(() => text).join(", ")})`, values };
    }
    case "prefix": {
      const { column, from, before } = condition;
      if (before === undefined) return { text: `${column} >= ${text}`, values: [from] };
      return { text: `${column} >= ${text} AND ${column} < ${text}`, values: [from, before] };
    }
    case "range": {
      const { column, min, max } = condition;
      const bound = dialect.placeholder("integer");
      return joinSql(
        [
          ...(min === undefined ? [] : [{ text: `${column} >= ${bound}`, values: [min] }]),
          ...(max === undefined ? [] : [{ text: `${column} <= ${bound}`, values: [max] }]),
        ],
        " AND ",
      );
    }
    case "address": {
      const columns = dialect.addressColumns(condition.column);
      const whole = condition.values.filter((value) => value.address !== undefined);
      const slugs = condition.values.filter((value) => value.address === undefined);
      const parts: Sql[] = [];
      if (slugs.length > 0) {
        parts.push(
          conditionSql(
            { kind: "in", column: columns.slug, values: slugs.map(({ slug }) => slug) },
            dialect,
          ),
        );
      }

      if (whole.length > 0) {
        // The slug leads the sort of the table, the address alone would be a scan.
        const bySlug = [...new Set(whole.map(({ slug }) => slug))];
        const addresses = whole.map(({ address }) => address ?? "");
        parts.push(
          joinSql(
            [
              conditionSql({ kind: "in", column: columns.slug, values: bySlug }, dialect),
              conditionSql({ kind: "in", column: columns.address, values: addresses }, dialect),
            ],
            " AND ",
          ),
        );
      }

      const joined = joinSql(parts, ") OR (");
      return { text: `((${joined.text}))`, values: joined.values };
    }
  }
}

const joinSql = (parts: readonly Sql[], separator: string): Sql => ({
  text: parts.map((part) => part.text).join(separator),
  values: parts.flatMap((part) => part.values),
});

export function whereSql(conditions: readonly Condition[], dialect: SqlDialect): Sql {
  if (conditions.length === 0) return { text: "", values: [] };
  const joined = joinSql(
    conditions.map((condition) => conditionSql(condition, dialect)),
    " AND ",
  );
  return { text: ` WHERE ${joined.text}`, values: joined.values };
}
