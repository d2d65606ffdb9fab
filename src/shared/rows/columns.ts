import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import { aside, nearest } from "../contract/suggest.ts";
import { echo, harmlessLine } from "../contract/text.ts";
import { option, say, usageError } from "../errors.ts";
import type { Page } from "./page.ts";
import { type Cells, MOST_NESTED } from "./scan.ts";
import { OPEN_OBJECT } from "./tokens.ts";
import { isNested, type JsonRecord, type JsonValue, type RecordKind } from "./values.ts";

export const publishedFields = (kind: RecordKind): readonly string[] =>
  kind === "person" ? PERSON_FIELDS : COMPANY_FIELDS;

export function eachCell(
  record: JsonRecord,
  visit: (column: string, value: JsonValue) => void,
  depth = 0,
): void {
  for (const key of Object.keys(record)) {
    const value = record[key] ?? null;
    if (isNested(value) && depth < MOST_NESTED) {
      eachCell(value, (column, inner) => visit(`${key}.${column}`, inner), depth + 1);
    } else visit(key, value);
  }
}

function noteKeys(cells: Cells, row: number, present: Uint8Array): boolean {
  if (!cells.knows(row)) return false;

  const width = cells.keys.length;
  for (let key = 0; key < width; key++) {
    const start = cells.start(row, key);
    if (start !== 0 && cells.bytes[start] === OPEN_OBJECT) return false;
    if (start !== 0) present[key] = 1;
  }

  return true;
}

/**
 * Published fields first and in their order, then the
 * others by code points: no locale changes a file.
 */
function sortColumns(columns: ReadonlySet<string>, kind: RecordKind): string[] {
  const published = publishedFields(kind);
  const first = published.filter((field) => columns.has(field));
  const knownSet = new Set(published);
  return [...first, ...[...columns].filter((column) => !knownSet.has(column)).sort()];
}

export class ColumnUnion {
  readonly #columns = new Set<string>();

  add(page: Page): void {
    const cells = page.cells?.leaves();
    // The first row has each of these keys.
    if (cells?.isFlat === true && page.isWhole) {
      for (const key of cells.keys) this.#columns.add(key);
      return;
    }

    const present = new Uint8Array(cells?.keys.length ?? 0);
    for (const index of page.indexes) {
      if (cells !== undefined && noteKeys(cells, page.position(index), present)) continue;
      eachCell(page.row(index), (column) => this.#columns.add(column));
    }
    cells?.keys.forEach((key, column) => {
      if (present[column] === 1) this.#columns.add(key);
    });
  }

  has(column: string): boolean {
    return this.#columns.has(column);
  }

  columns(kind: RecordKind): string[] {
    return sortColumns(this.#columns, kind);
  }
}

/**
 * The columns of a file: the union over all pages of
 * the run. An empty run has the published fields.
 */
export async function collectColumns(
  pages: AsyncIterable<Page> | Iterable<Page>,
  kind: RecordKind,
): Promise<string[]> {
  const union = new ColumnUnion();
  for await (const page of pages) union.add(page);
  const columns = union.columns(kind);
  return columns.length === 0 ? [...publishedFields(kind)] : columns;
}

/**
 * Fields that were asked for and that no row had so far: a column of them is empty, which is said.
 */
export function askedFields(fields: readonly string[] = []) {
  let [missing, rows] = [fields, 0];
  return {
    rows: () => rows,
    notices: (): readonly string[] =>
      rows === 0 ? [] : missing.map((field) => `notice: no row has ${harmlessLine(field)}`),
    look(page: Page): void {
      rows += page.length;
      if (missing.length > 0) missing = missing.filter((field) => !page.has(field));
    },
  };
}

export function parseFields(text: string): string[] {
  const fields = text.split(",").map((field) => field.trim());
  if (fields.some((field) => field === "")) {
    throw usageError(
      say`${option("fields")} has an empty name: "${echo(text)}"`,
      say`for example ${option("fields", "name,title,company_name")}`,
    );
  }
  const repeated = fields.find((field, index) => fields.indexOf(field) !== index);
  if (repeated !== undefined) throw usageError(say`${option("fields")} names ${repeated} twice`);
  return fields;
}

/**
 * @throws CliError (exit 2) for a field that is
 * neither published nor a path (`a.b`) nor in the data
 */
export function checkFields(
  fields: readonly string[],
  kind: RecordKind,
  data?: { has(field: string): boolean },
): void {
  const published = publishedFields(kind);
  for (const field of fields) {
    if (published.includes(field) || field.includes(".") || data?.has(field)) continue;

    const near = nearest(field, published);
    // A service may have fields of its own: what no row has is said once they came.
    const isOthers = publishedFields(kind === "person" ? "company" : "person").includes(field);
    if (data === undefined && near === undefined && !isOthers) continue;

    throw usageError(
      `unknown field: ${field}${aside(near)}; fields of a ${kind}: ${published.join(", ")}`,
      data === undefined
        ? "every field that was bought is kept: others can be chosen afterwards " +
            "with `headcount runs export RUN --fields FIELDS`, at 0 credits"
        : undefined,
      "unknown_field",
    );
  }
}
