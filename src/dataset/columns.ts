import { FILTER_SPECS, type MatchType } from "../contract/filters.ts";

const fieldsBy = (isWanted: (match: MatchType) => boolean): readonly string[] => [
  ...new Set(FILTER_SPECS.filter(({ match }) => isWanted(match)).map(({ field }) => field)),
];

/** Whole numbers that ranges look at. */
export const NUMBER_COLUMNS = fieldsBy((match) => match === "range");

/** Texts that are matched in normal form. Addresses have look-up tables instead. */
export const NORMAL_COLUMNS = fieldsBy((match) => match === "exact" || match === "prefix").filter(
  (field) => field !== "network_url",
);

/** Columns of the filter table after the position. */
export const FILTER_COLUMNS: readonly string[] = [...NORMAL_COLUMNS, "department", ...NUMBER_COLUMNS];

/** What people are sorted by, before their ids: the public order. */
export const SORT_KEYS = ["country", "department", "seniority", "industry", "title"] as const;

/** What is asked of the people of a company: with these beside the address, no other table is looked at. */
export const COMPANY_COLUMNS: readonly string[] = [
  ...["country", "state", "city", "department", "functional_area", "seniority", "seniority_level", "title"],
];

/** Columns with an index in the row store, in normal form: what people look up to find one person. */
export const TEXT_INDEXES = ["name", "headline"] as const;
export type TextIndex = (typeof TEXT_INDEXES)[number];
