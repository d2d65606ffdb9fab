import { COMPANY_FIELDS, PERSON_FIELDS } from "../../contract/records.ts";
import { nearest } from "../../contract/suggest.ts";

export type ImportKind = "people" | "companies";

/** Our field -> the column that it is read from; null leaves the field out. Fields that are not named take the column of their own name. */
export type ColumnMap = Readonly<Record<string, string | null>>;

export interface ImportMap {
  readonly people: ColumnMap;
  readonly companies: ColumnMap;
}

/** Something is wrong with what the user gave: a file, a column, a map. Says what and how to fix it. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

export const fieldsOf = (kind: ImportKind): readonly string[] => (kind === "people" ? PERSON_FIELDS : COMPANY_FIELDS);

/** One of these has to be there, else a row cannot be told from another. */
export const identityOf = (kind: ImportKind): readonly string[] =>
  kind === "people"
    ? ["id", "network_url", "name", "first_name", "last_name"]
    : ["id", "company_network_url", "domain", "name"];

export const INTEGERS: Readonly<Record<ImportKind, readonly string[]>> = {
  people: ["connections", "followers"],
  companies: ["employee_count", "founded_year", "followers"],
};
export const ADDRESSES: Readonly<Record<ImportKind, Readonly<Record<string, "address_form" | "domain_form">>>> = {
  people: { network_url: "address_form", company_network_url: "address_form", company_domain: "domain_form" },
  companies: { company_network_url: "address_form", domain: "domain_form" },
};

/**
 * Reads a map: `{"people": {"title": "Job Title", ...}, "companies": {...}}`, or flat (people). The other way round
 * (`{"Job Title": "title"}`) is understood too.
 * @param source the file's name, for messages
 * @throws InputError
 */
export function parseMap(text: string, source: string): ImportMap {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(`${source} is not JSON: ${reason}`, 'a map looks like {"people": {"title": "Job Title"}}');
  }
  if (!isObject(value))
    throw new InputError(`${source} must hold a JSON object`, 'for example {"people": {"title": "Job Title"}}');
  const nested = Object.keys(value).some((key) => (key === "people" || key === "companies") && isObject(value[key]));
  if (!nested) return { people: parseColumns("people", value, source), companies: {} };
  for (const key of Object.keys(value)) {
    if (key !== "people" && key !== "companies") {
      throw new InputError(`${source}: unknown part "${key}"`, 'a map has the parts "people" and "companies"');
    }
  }
  return {
    people: parseColumns("people", value.people ?? {}, source),
    companies: parseColumns("companies", value.companies ?? {}, source),
  };
}

function parseColumns(kind: ImportKind, value: unknown, source: string): ColumnMap {
  if (!isObject(value)) throw new InputError(`${source}: "${kind}" must be an object of field: column`);
  const fields = fieldsOf(kind);
  const columns: Record<string, string | null> = {};
  for (const [field, column] of Object.entries(turned(value, fields))) {
    if (!fields.includes(field)) {
      const near = nearest(field, fields);
      const hint = near === undefined ? `fields: ${fields.join(", ")}` : `did you mean "${near}"?`;
      throw new InputError(`${source}: "${field}" is no field of ${kind}`, hint);
    }
    if (column !== null && (typeof column !== "string" || column === "")) {
      throw new InputError(
        `${source}: the column for "${field}" must be a text or null, not ${JSON.stringify(column)}`,
      );
    }
    columns[field] = column;
  }
  return columns;
}

/** A map that was written the other way round, column to field, is plain to see: all its values are fields, not all its names. */
function turned(value: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> {
  const entries = Object.entries(value);
  const named = new Set(entries.map(([, field]) => field));
  const isTurned =
    entries.some(([column]) => !fields.includes(column)) &&
    named.size === entries.length &&
    entries.every(([, field]) => typeof field === "string" && fields.includes(field));
  return isTurned ? Object.fromEntries(entries.map(([column, field]) => [String(field), column])) : value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `Job Title`, `jobTitle` and `job-title` are all `job_title`. */
export const plainName = (column: string): string =>
  column
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "");

/** Which column each field is read from; undefined where there is none. */
export type Columns = ReadonlyMap<string, string>;

/**
 * Finds the columns: what the map says, else the column of the field's name (case, spaces and hyphens do not matter).
 * @param nested whether `a.b` may name a part of an object (NDJSON)
 * @throws InputError where the map names a column that the file does not have, or nothing identifies a row
 */
export function findColumns(
  kind: ImportKind,
  map: ColumnMap,
  header: readonly string[],
  file: string,
  nested: boolean,
): Columns {
  const byPlainName = new Map<string, string>();
  for (const column of header) {
    const plain = plainName(column);
    if (!byPlainName.has(plain)) byPlainName.set(plain, column);
  }
  const columns = new Map<string, string>();
  for (const field of fieldsOf(kind)) {
    const wanted = map[field];
    if (wanted === null) continue;
    if (wanted === undefined) {
      const column = byPlainName.get(field);
      if (column !== undefined) columns.set(field, column);
    } else {
      const path = nested && header.includes(wanted.split(".", 1)[0] ?? "");
      if (!header.includes(wanted) && !path) {
        const near = nearest(wanted, header);
        const hint = near === undefined ? `its columns: ${shortList(header)}` : `did you mean "${near}"?`;
        throw new InputError(`${file} has no column "${wanted}" (mapped to ${field})`, hint);
      }
      columns.set(field, wanted);
    }
  }
  if (!identityOf(kind).some((field) => columns.has(field))) {
    throw new InputError(
      `${file} has no usable column: one of ${identityOf(kind).join(", ")} is needed, it has ${shortList(header)}`,
      `headcount service map --suggest ${file} proposes a map for --map`,
    );
  }
  return columns;
}

const shortList = (names: readonly string[]): string =>
  names.length === 0 ? "no columns" : `${names.slice(0, 30).join(", ")}${names.length > 30 ? ", ..." : ""}`;

/** Other names that columns go by, in plain form. The first that a file has is taken. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  id: ["person_id", "profile_id", "uuid", "uid", "user_id", "member_id", "company_id", "organization_id", "record_id"],
  network_url: [
    "profile_url",
    "profile",
    "profile_link",
    "public_profile_url",
    "person_url",
    "url",
    "link",
    "profile_address",
  ],
  name: [
    "full_name",
    "fullname",
    "display_name",
    "person_name",
    "contact_name",
    "company_name",
    "organization_name",
    "company",
  ],
  first_name: ["firstname", "given_name", "forename", "first"],
  last_name: ["lastname", "surname", "family_name", "last"],
  headline: ["tagline", "summary", "bio", "about"],
  title: ["job_title", "position", "role", "current_title", "occupation", "jobtitle"],
  seniority: ["seniority_label", "job_level", "level"],
  seniority_level: ["job_title_levels", "management_level", "level_name"],
  functional_area: ["function", "job_function", "area", "sub_department", "sub_role"],
  department: ["dept", "job_department", "departments", "job_title_role"],
  industry: ["sector", "company_industry", "industry_name", "vertical"],
  country: ["country_name", "location_country", "nation", "country_region", "hq_country"],
  state: ["region", "province", "location_region", "state_province", "state_name", "hq_state"],
  city: ["town", "locality", "location_locality", "city_name", "hq_city"],
  location: ["location_name", "geo", "area_name", "address", "place", "headquarters"],
  connections: ["connection_count", "connections_count", "num_connections", "number_of_connections"],
  followers: ["follower_count", "followers_count", "num_followers", "number_of_followers"],
  company_name: [
    "company",
    "employer",
    "current_company",
    "organization",
    "organisation",
    "job_company_name",
    "organization_name",
  ],
  company_domain: [
    "company_website",
    "employer_domain",
    "job_company_website",
    "organization_domain",
    "domain",
    "website",
  ],
  company_network_url: [
    "company_url",
    "company_profile_url",
    "company_profile",
    "company_link",
    "employer_url",
    "profile_url",
    "url",
  ],
  updated_at: [
    "updated",
    "last_updated",
    "modified",
    "modified_at",
    "last_modified",
    "scraped_at",
    "timestamp",
    "as_of",
    "date",
  ],
  domain: ["website", "company_domain", "web_site", "homepage", "site", "website_url"],
  type: ["company_type", "organization_type", "ownership"],
  size_range: ["company_size", "size", "employee_range", "headcount_range"],
  employee_count: ["employees", "headcount", "num_employees", "number_of_employees", "staff_count", "employees_count"],
  founded_year: ["founded", "year_founded", "founding_year", "foundation_year"],
  description: ["about", "summary", "overview", "company_description"],
  specialties: ["specialities", "tags", "keywords", "specialty"],
};

/** Proposes a column for each field; every column is used once. Fields without a likely column are null. */
export function suggestMap(kind: ImportKind, header: readonly string[]): Record<string, string | null> {
  const plain = new Map<string, string>();
  for (const column of header) if (!plain.has(plainName(column))) plain.set(plainName(column), column);
  const taken = new Set<string>();
  const map: Record<string, string | null> = {};
  const settle = (field: string, names: readonly string[]): void => {
    if (map[field]) return;
    const name = names.find((candidate) => plain.has(candidate) && !taken.has(candidate));
    if (name !== undefined) taken.add(name);
    map[field] = name === undefined ? null : (plain.get(name) ?? null);
  };
  // Exact names first, so that no other field's second choice takes them.
  for (const field of fieldsOf(kind)) settle(field, [field]);
  for (const field of fieldsOf(kind)) settle(field, OTHER_NAMES[field] ?? []);
  return Object.fromEntries(fieldsOf(kind).map((field) => [field, map[field] ?? null]));
}

/** Whether a header looks like people or like companies. */
export function guessKind(header: readonly string[]): ImportKind {
  const score = (kind: ImportKind): number =>
    Object.values(suggestMap(kind, header)).filter((column) => column !== null).length / fieldsOf(kind).length;
  return score("companies") > score("people") ? "companies" : "people";
}
