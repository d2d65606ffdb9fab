import { departmentOf } from "../../shared/contract/filters.ts";
import { canonicalDomain } from "../../shared/contract/normalise.ts";
import { nearest } from "../../shared/contract/suggest.ts";
import { DEPARTMENTS } from "../../shared/contract/vocabulary.ts";
import { machineResources, startDuckDb } from "../duckdb.ts";
import { InputError, type InputFile } from "../text/input-file.ts";
import { firstRows, openTextFile, type TextOptions } from "../text/rows.ts";
import { fieldSql, findFiles, parquetColumns, parquetSql } from "./import-files.ts";
import { columnNames, type ImportKind, mappedFields, OTHER_NAMES, plainName } from "./import-map.ts";

export interface Suggestion {
  readonly file: string;
  readonly kind: ImportKind;
  readonly map: Readonly<Record<string, string | null>>;
  readonly values: { readonly department?: Readonly<Record<string, string>> };
  readonly unused: readonly string[];
  readonly rows: readonly Readonly<Record<string, string | null>>[];
}

const ROWS = 5;
const LONGEST = 200;
const LOOKED_AT = 500;

/** From a file's header and first values, with its first five rows. @throws InputError */
export async function suggestFor(
  name: string,
  cwd: string,
  kind?: ImportKind,
  text: TextOptions = {},
): Promise<Suggestion> {
  const { file, header, rows } = await sampleOf(name, cwd, text);
  const columnOf = (column: string): string[] =>
    rows.map((row) => textOf(row[header.indexOf(column)]) ?? "").filter((value) => value !== "");
  const ofPeople = header.some((column) => most(columnOf(column), isPersonsAddress));
  const guessed = kind ?? (ofPeople ? "people" : guessKind(header));
  const map = { ...suggestMap(guessed, header) };
  for (const column of header.filter((other) => !Object.values(map).includes(other))) {
    const field = fieldByValues(guessed, columnOf(column));
    if (field !== undefined && map[field] === null) map[field] = column;
  }
  const taken = header.filter((column) => Object.values(map).includes(column));
  return {
    file: file.name,
    kind: guessed,
    map,
    values: guessed === "people" && map.department ? departmentValues(columnOf(map.department)) : {},
    unused: header.filter((column) => !taken.includes(column)),
    rows: rows.slice(0, ROWS).map((row) => rowOf(map, header, row)),
  };
}

interface Sample {
  readonly file: InputFile;
  readonly header: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

async function sampleOf(name: string, cwd: string, text: TextOptions): Promise<Sample> {
  const instance = await startDuckDb(machineResources());
  try {
    const connection = await instance.connect();
    const [file] = await findFiles(connection, [name], cwd);
    if (!file) throw new InputError(`no file matches ${name}`);
    if (file.format !== "parquet") {
      const [people, companies] = [columnNames("people", {}), columnNames("companies", {})];
      const opened = await openTextFile(file, (column) => people(column) || companies(column), text, {});
      return { file, header: opened.header, rows: firstRows(opened, LOOKED_AT) };
    }
    const columns = await parquetColumns(connection, file);
    const cells = columns.map((column) => fieldSql(column.name, column.type)).join(", ");
    const reader = await connection.runAndReadAll(`SELECT ${cells} FROM ${parquetSql(file)} LIMIT ${LOOKED_AT}`);
    return { file, header: columns.map((column) => column.name), rows: reader.getRowsJS() };
  } finally {
    instance.closeSync();
  }
}

const textOf = (value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST);
};

const rowOf = (map: Readonly<Record<string, string | null>>, header: readonly string[], row: readonly unknown[]) =>
  Object.fromEntries(
    Object.entries(map)
      .filter(([, column]) => column !== null)
      .map(([field, column]) => [field, textOf(row[header.indexOf(column ?? "")])]),
  );

/** Proposes a column for each field by name; every column is used once. Fields without a likely column are null. */
function suggestMap(kind: ImportKind, header: readonly string[]): Record<string, string | null> {
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
  for (const field of mappedFields(kind)) settle(field, [field]);
  for (const field of mappedFields(kind)) settle(field, OTHER_NAMES[field] ?? []);
  return Object.fromEntries(mappedFields(kind).map((field) => [field, map[field] ?? null]));
}

function guessKind(header: readonly string[]): ImportKind {
  const score = (kind: ImportKind): number =>
    Object.values(suggestMap(kind, header)).filter((column) => column !== null).length / mappedFields(kind).length;
  return score("companies") > score("people") ? "companies" : "people";
}

const most = (values: readonly string[], test: (value: string) => boolean): boolean =>
  values.length > 0 && values.filter(test).length > values.length * 0.6;

const isPersonsAddress = (value: string): boolean => /^\S+\/in\/[^/\s]+\/?/i.test(value);

function fieldByValues(kind: ImportKind, values: readonly string[]): string | undefined {
  if (kind === "people" && most(values, isPersonsAddress)) return "network_url";
  if (most(values, (value) => /^\S+\/(company|organization)\/[^/\s]+\/?/i.test(value))) return "company_network_url";
  if (kind === "people" && most(values, (value) => departmentOf(value) !== undefined)) return "department";
  const isDomain = (value: string): boolean =>
    !/[@\s]/.test(value) && /\.[a-z]{2,}$/.test(canonicalDomain(value) ?? "");
  if (most(values, isDomain)) return kind === "people" ? "company_domain" : "domain";
  return undefined;
}

function departmentValues(values: readonly string[]): Suggestion["values"] {
  const found: Record<string, string> = {};
  for (const value of new Set(values)) {
    if (departmentOf(value) !== undefined) continue;
    const near = SHORT_DEPARTMENTS[value.trim().toLowerCase()] ?? beginning(value) ?? nearest(value, DEPARTMENTS);
    if (near !== undefined) found[value] = near;
  }
  return Object.keys(found).length === 0 ? {} : { department: found };
}

const beginning = (value: string): string | undefined => {
  const plain = value.trim().toLowerCase();
  const named = DEPARTMENTS.filter((name) => plain.length > 3 && name.toLowerCase().split(" ").includes(plain));
  return named.length === 1 ? named[0] : undefined;
};

const SHORT_DEPARTMENTS: Readonly<Record<string, string>> = {
  hr: "Human Resources",
  people: "Human Resources",
  it: "Engineering and Technical",
  tech: "Engineering and Technical",
  "r&d": "Research",
  ops: "Operations",
  finance: "Finance & Accounting",
  accounting: "Finance & Accounting",
  support: "Customer Service",
  admin: "Administrative",
  executive: "C-Suite",
};
