// Tested by test/unit/shared/tables.test.ts.
import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import otherNames from "./column-names.json" with { type: "json" };

/** Other names that columns go by, in plain form. The first that a file has is proposed. */
export const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = otherNames;

/** `Job Title`, `jobTitle` and `job-title` are all `job_title`. */
export const plainName = (column: string): string =>
  column
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "");

/**
 * Columns that a company is looked up by, in plain form, best first. `company` may hold names, so
 * it is only asked where a table has none of the others.
 */
const COMPANY_COLUMNS = OTHER_NAMES["companies that are sought"] ?? [];

/** Columns that tell people, in plain form, best first. */
const PERSON_COLUMNS = {
  address: ["network_url"].concat(OTHER_NAMES.network_url ?? []),
  id: ["id"].concat(OTHER_NAMES["id of people"] ?? []),
  domain: ["domain"],
};
const PEOPLE = Object.values(PERSON_COLUMNS).flat();

/** `web_site`, `WebSite` and `Website` are one, and `LinkedIn URL` is `linkedin_url`. */
export const squeezed = (name: string): string => plainName(name).replaceAll("_", "");

const OTHERS =
  "account, account_name, companies, domains, person, people, name, email, mail, email_address, " +
  "phone, connected_on, linkedin";

const KNOWN = new Set(
  [PEOPLE, PERSON_FIELDS, COMPANY_FIELDS, Object.values(OTHER_NAMES), OTHERS.split(", ")]
    .flat(2)
    .map(squeezed),
);

/** Whether tables have a column that is called so. */
export const isHeading = (text: string): boolean =>
  KNOWN.has(squeezed(text)) && !text.trim().endsWith(":");

/** What a door looks for in a table. */
export type Sought = "company" | "person";

/**
 * The places of the columns that name what is sought, best first: of those a row takes the first
 * that has something. A name that is `wanted` is the only one.
 */
export function columnsFor(
  {
    columns,
    headings,
  }: { readonly columns: readonly string[]; readonly headings: readonly string[] },
  sought: Sought,
  wanted?: string | null,
): readonly number[] {
  if (wanted != null) {
    const exact = columns.indexOf(wanted);
    const place =
      exact < 0 ? columns.findIndex((each) => squeezed(each) === squeezed(wanted)) : exact;
    return place < 0 ? [] : [place];
  }

  // Of several columns of one name a program has numbered the others.
  const names = headings.map((name) => squeezed(name).replace(/(?<=\D)\d$/, ""));
  const placesOf = (usual: string): number[] =>
    names.flatMap((name, place) => (name === squeezed(usual) ? [place] : []));
  const best = (sought === "company" ? COMPANY_COLUMNS : PEOPLE).flatMap(placesOf);
  return best.length > 0 || sought === "person" ? best : placesOf("company");
}

/** What a column tells of people; undefined for an address, which its text tells as well. */
export const personKind = (heading: string): "id" | "domain" | undefined =>
  (["id", "domain"] as const).find((kind) =>
    PERSON_COLUMNS[kind].some((name) => squeezed(name) === squeezed(heading)),
  );
