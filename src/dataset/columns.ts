/** What people are sorted by, before their ids: the public order. */
export const SORT_KEYS = ["country", "department", "seniority", "industry", "title"] as const;

/** What is asked of the people of a company: with these beside the address, no other table is looked at. */
export const COMPANY_COLUMNS: readonly string[] = [
  ...["country", "state", "city", "department", "functional_area", "seniority", "seniority_level", "title"],
];

/** Columns with an index in the row store, in normal form: what people look up to find one person. */
export const TEXT_INDEXES = ["name", "headline"] as const;
export type TextIndex = (typeof TEXT_INDEXES)[number];
