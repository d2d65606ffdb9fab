/** What people are sorted by, before their ids: the public order. */
export const SORT_KEYS = ["country", "department", "seniority", "industry", "title"] as const;

/** What is asked of the people of a company: with these beside the address, no other table is looked at. */
export const COMPANY_COLUMNS: readonly string[] = [
  ...["country", "state", "city", "department", "functional_area", "seniority", "seniority_level", "title"],
];

/** Long texts, in normal form. The filter table also holds each one's place in the order of all, so that a beginning is a range of numbers. */
export const PLACED_COLUMNS = ["name", "headline"] as const;
export type PlacedColumn = (typeof PLACED_COLUMNS)[number];

/** What the row store has an index of: what people look up to find one person. */
export const ROW_INDEXES = [...PLACED_COLUMNS, "address"] as const;
export type RowIndex = (typeof ROW_INDEXES)[number];

/** Those, and what companies are looked up by. */
export const COMPANY_INDEXES = ["company_id", "company_domain", "company_name", "company_address"] as const;
export const KEY_INDEXES = [...ROW_INDEXES, ...COMPANY_INDEXES] as const;
export type KeyIndex = (typeof KEY_INDEXES)[number];

/** The column of the filter table with the places of a text. */
export const placeOf = (column: PlacedColumn): string => `${column}_place`;
