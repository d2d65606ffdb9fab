/** What people are sorted by, before their ids: the public order. */
export const SORT_KEYS = ["country", "department", "seniority", "industry", "title"] as const;

/**
 * Long texts, in normal form: a person's code is their place
 * in the order of these, so that a beginning is a range.
 */
export const PLACED_COLUMNS = ["name", "headline"] as const;
export type PlacedColumn = (typeof PLACED_COLUMNS)[number];
export const isPlaced = (column: string): column is PlacedColumn =>
  (PLACED_COLUMNS as readonly string[]).includes(column);

/**
 * What there is an index of people by: what one person is looked up by, and their company.
 */
export const ADDRESS_INDEXES = ["address", "employer"] as const;
export const ROW_INDEXES = [...PLACED_COLUMNS, ...ADDRESS_INDEXES] as const;
export type RowIndex = (typeof ROW_INDEXES)[number];

const COMPANY_INDEXES = [
  "company_id",
  "company_domain",
  "company_name",
  "company_address",
] as const;
export const KEY_INDEXES = [...ROW_INDEXES, ...COMPANY_INDEXES] as const;
export type KeyIndex = (typeof KEY_INDEXES)[number];
/** Of an index of long texts the columns say whose they are. */
export type ListedIndex = Exclude<KeyIndex, PlacedColumn>;
