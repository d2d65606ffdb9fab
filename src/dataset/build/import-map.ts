import { departmentOf } from "../../shared/contract/filters.ts";
import { COMPANY_FIELDS, NUMBER_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { isObject, someOf } from "../../shared/contract/text.ts";
import { DEPARTMENTS } from "../../shared/contract/vocabulary.ts";
import { groupsBy } from "../../shared/groups.ts";
import { OTHER_NAMES, squeezed } from "../../shared/tables/headings.ts";
import { InputError } from "../../shared/tables/input-file.ts";

export type ImportKind = "people" | "companies";

const otherNamesOf = (kind: ImportKind, field: string): readonly string[] =>
  OTHER_NAMES[field] ?? OTHER_NAMES[`${field} of ${kind}`] ?? [];

/**
 * Our field -> the column; null leaves it out. A field
 * that is not named takes the column of its own name.
 */
export type ColumnMap = Readonly<Record<string, string | null>>;

/** How numbers with separators are written: `1,234.0` (en) or `1.234,0` (de). */
export type NumberStyle = "en" | "de";

export interface ImportMap {
  readonly people: ColumnMap;
  readonly companies: ColumnMap;
  /** By field: a value, in any case and spacing, and what it stands for; null for nothing. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
  readonly numbers?: NumberStyle;
}

export const NO_MAP: ImportMap = { people: {}, companies: {}, values: {} };

export const mappedFields = (kind: ImportKind): readonly string[] =>
  kind === "people" ? PERSON_FIELDS : COMPANY_FIELDS;

export const fileIdentity = (kind: ImportKind): readonly string[] =>
  kind === "people"
    ? ["id", "network_url", "name", "first_name", "last_name"]
    : ["id", "company_network_url", "domain", "name"];

export const INTEGERS: Readonly<Record<ImportKind, readonly string[]>> = {
  people: PERSON_FIELDS.filter((field) => NUMBER_FIELDS.has(field)),
  companies: COMPANY_FIELDS.filter((field) => NUMBER_FIELDS.has(field)),
};
export const ADDRESSES: Readonly<
  Record<ImportKind, Readonly<Record<string, "address_form" | "domain_form">>>
> = {
  people: {
    network_url: "address_form",
    company_network_url: "address_form",
    company_domain: "domain_form",
  },
  companies: { company_network_url: "address_form", domain: "domain_form" },
};

/** Fields of which a value that cannot be used is left out, rather than its row. */
export const lenientFields = (kind: ImportKind): readonly string[] => [
  "updated_at",
  ...Object.keys(ADDRESSES[kind]),
  ...INTEGERS[kind],
];

/**
 * The column of a raw table with what of a lenient field
 * can be used: a canonical address, a number, a time.
 */
export const usableOf = (field: string): string => `usable_${field}`;

/** Also for people alone. @throws InputError */
export function parseMap(value: unknown, source: string): ImportMap {
  if (!isObject(value))
    throw new InputError(
      `${source} must hold a JSON object`,
      'for example {"people": {"title": "Job Title"}}',
    );

  const { values, numbers, ...parts } = value;
  const further = { values: parseValues(values ?? {}, source), ...parseNumbers(numbers, source) };
  const { people, companies, ...others } = parts;
  if (!isObject(people) && !isObject(companies))
    return { people: parseColumns("people", parts, source), companies: {}, ...further };

  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new InputError(
      `${source}: unknown part "${unknown}"`,
      'a map has the parts "people", "companies", "values" and "numbers"',
    );

  return {
    people: parseColumns("people", people ?? {}, source),
    companies: parseColumns("companies", companies ?? {}, source),
    ...further,
  };
}

function parseNumbers(value: unknown, source: string): Pick<ImportMap, "numbers"> {
  if (value === undefined) return {};
  if (value === "en" || value === "de") return { numbers: value };
  throw new InputError(
    `${source}: "numbers" must be "en" or "de", not ${JSON.stringify(value)}`,
    '"en" reads 1,234 as 1234, "de" reads 1.234 as 1234',
  );
}

function parseValues(value: unknown, source: string): ImportMap["values"] {
  const form = '{"values": {"department": {"Engineering": "Engineering and Technical"}}}';
  if (!isObject(value))
    throw new InputError(`${source}: "values" must be an object of field: {value: value}`, form);

  const all = [...mappedFields("people"), ...mappedFields("companies")];

  for (const [field, values] of Object.entries(value)) {
    if (!all.includes(field)) throw unknownField(source, field, "people or companies", all);
    if (!isObject(values))
      throw new InputError(`${source}: the values of "${field}" must be an object`, form);

    for (const [from, to] of Object.entries(values)) {
      if (to !== null && typeof to !== "string") {
        throw new InputError(
          `${source}: "${from}" of ${field} must become a text or null, not ${JSON.stringify(to)}`,
        );
      }
      if (field === "department" && to !== null && departmentOf(to) === undefined) {
        throw new InputError(
          `${source}: "${to}" is none of the 20 departments`,
          didYouMean(to, DEPARTMENTS, asText) ?? `departments: ${DEPARTMENTS.join(", ")}`,
        );
      }
    }
  }

  return value as ImportMap["values"];
}

function unknownField(
  source: string,
  field: string,
  kind: string,
  fields: readonly string[],
): InputError {
  return new InputError(
    `${source}: "${field}" is no field of ${kind}`,
    didYouMean(field, fields, asText) ?? `fields: ${[...new Set(fields)].join(", ")}`,
  );
}

function parseColumns(kind: ImportKind, value: unknown, source: string): ColumnMap {
  if (!isObject(value))
    throw new InputError(`${source}: "${kind}" must be an object of field: column`);

  const fields = mappedFields(kind);
  const columns: Record<string, string | null> = {};
  for (const [field, column] of Object.entries(value)) {
    if (!fields.includes(field)) throw unknownField(source, field, kind, fields);
    if (column !== null && (typeof column !== "string" || column === "")) {
      throw new InputError(
        `${source}: the column for "${field}" must be a text ` +
          `or null, not ${JSON.stringify(column)}`,
      );
    }
    columns[field] = column;
  }

  return columns;
}

const asText = (name: string): string => `"${name}"`;

export function columnNames(kind: ImportKind, map: ColumnMap): (name: string) => boolean {
  const mapped = Object.values(map).filter((column) => column !== null);
  const others = mappedFields(kind).flatMap((field) => otherNamesOf(kind, field));
  const known = new Set([...mappedFields(kind), ...others, ...mapped].map(squeezed));
  return (name) => known.has(squeezed(name));
}

export type MappedColumns = ReadonlyMap<string, string>;

export interface MappedHeader {
  readonly file: string;
  readonly names: readonly string[];
  readonly copies?: ReadonlyMap<string, string> | undefined;
  /**
   * Whether rows are objects (NDJSON): of which `names`
   * are those of some rows, and values lie within values.
   */
  readonly nested: boolean;
}

/**
 * @throws InputError where a column is missing, several are one field, or nothing identifies a row
 */
export function findColumns(
  kind: ImportKind,
  map: ColumnMap,
  { file, names, copies, nested }: MappedHeader,
): MappedColumns {
  const bySqueezed = groupsBy(names, (column) => squeezed(copies?.get(column) ?? column));
  const columns = new Map<string, string>();
  for (const field of mappedFields(kind)) {
    const wanted = map[field];
    if (wanted === null) continue;

    if (wanted === undefined) {
      const [column, ...others] = bySqueezed.get(squeezed(field)) ?? [];
      if (others.length > 0) {
        throw new InputError(
          `${file} has several columns that are ${field} of ${kind}: ` +
            `${[column, ...others].join(", ")}`,
          `say which with --map: ${JSON.stringify({ [kind]: { [field]: column } })}`,
        );
      }
      if (column !== undefined) columns.set(field, column);
    } else {
      const path = nested && names.includes(wanted.split(".", 1)[0] ?? "");
      if (!names.includes(wanted) && !path) {
        throw new InputError(
          `${file} has no column "${wanted}" (mapped to ${field})`,
          didYouMean(wanted, names, asText) ?? `its columns: ${shortList(names)}`,
        );
      }
      columns.set(field, wanted);
    }
  }

  if (!fileIdentity(kind).some((field) => columns.has(field))) {
    const proposed = proposedMap(kind, map, names);
    const isEnough = fileIdentity(kind).some((field) => proposed[field] !== undefined);
    const example = isEnough ? proposed : { ...proposed, name: "COLUMN" };
    throw new InputError(
      `${file} has no usable column: one of ${fileIdentity(kind).join(", ")} ` +
        `is needed, it has ${shortList(names)}`,
      `say which is which in a JSON file, --map FILE: ${JSON.stringify({ [kind]: example })}`,
    );
  }

  for (const field of nested ? mappedFields(kind) : []) {
    if (map[field] === undefined && !columns.has(field)) columns.set(field, field);
  }

  return columns;
}

/** Columns of other names for fields that no column is named for: what a map may say. */
export function proposedMap(kind: ImportKind, map: ColumnMap, names: readonly string[]): ColumnMap {
  const bySqueezed = new Map(names.map((column) => [squeezed(column), column]));
  const fields = mappedFields(kind).filter(
    (field) => map[field] === undefined && !bySqueezed.has(squeezed(field)),
  );
  const columns = new Set([
    ...Object.values(map),
    ...mappedFields(kind).map((field) => bySqueezed.get(squeezed(field))),
  ]);

  const proposed: Record<string, string> = {};
  for (const field of fields) {
    const others = otherNamesOf(kind, field).map((name) => bySqueezed.get(squeezed(name)));
    const column = others.find((other) => other !== undefined && !columns.has(other));
    if (column !== undefined) proposed[field] = column;
    columns.add(column);
  }

  return proposed;
}

const shortList = (names: readonly string[]): string => someOf(names, 30) || "no columns";
