// Tested by test/unit/shared/tables.test.ts.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { counted, echo, isObject, jsonIn } from "../contract/text.ts";
import { type CodeOf, usageError } from "../errors.ts";
import { optional } from "../packages.ts";
import { type JsonRecord, parseExact } from "../rows/values.ts";
import { elementLines, withoutByteOrderMark } from "./bytes.ts";
import { CsvScanner, cellTexts } from "./csv-scanner.ts";
import {
  type CsvDialect,
  dialectOf,
  headerAt,
  isProse,
  mostCommon,
  uniqueNames,
} from "./dialect.ts";
import { decoderOf, encodingJudge, markOf } from "./encoding.ts";
import { isHeading } from "./headings.ts";
import { type FileKind, InputError } from "./input-file.ts";
import { fileKind } from "./kinds.ts";
import { readWorkbook, type Sheet, sheetText } from "./workbook.ts";

export interface TableRow {
  /** From 1; of a list in JSON the number of the element. */
  readonly line: number;
  /** One for each column: as written, of JSON the words of a value. */
  readonly cells: readonly string[];
  /** Of JSON: the object as it was written, and its members. */
  readonly object?: { readonly text: string; readonly fields: JsonRecord };
}

export interface InputTable {
  /** No two are the same. */
  readonly columns: readonly string[];
  /** As they are written. */
  readonly headings: readonly string[];
  /** Of a list with no heading, which is all values. */
  readonly isList: boolean;
  readonly rows: readonly TableRow[];
  /** Whether its rows are objects. */
  readonly json: boolean;
  /** The same table as text: in UTF-8, unpacked, of a workbook the sheet that was read. */
  readonly text: string;
  /** What a person should know of how it was read. */
  readonly notes: readonly string[];
}

interface Plain {
  readonly kind: Exclude<FileKind, "gzip">;
  readonly bytes: Buffer;
}

const MOST_UNPACKED = 1 << 29;

/** @throws InputError for what can be read as no table */
export function plainOf(name: string, bytes: Buffer): Plain {
  const kind = fileKind(name, bytes);
  if (kind !== "gzip") return { kind, bytes };
  try {
    return plainOf(name, gunzipSync(bytes, { maxOutputLength: MOST_UNPACKED }));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${name} is cut off or damaged`, "fetch or pack it again");
  }
}

/**
 * Text by its mark, its zero bytes or its lines.
 * @returns `note`: where it is not UTF-8 and has no mark
 * @throws InputError where it is neither that nor Windows-1252
 */
export function decoded(name: string, bytes: Buffer): { text: string; note?: string } {
  const judge = encodingJudge();
  judge.take(bytes);
  const label = markOf(bytes) ?? judge.verdict();

  if (label === "windows-1252")
    return { text: decoderOf(label)(bytes), note: `${name} is not UTF-8: read as Windows-1252` };

  try {
    return { text: new TextDecoder(label, { fatal: true }).decode(bytes) };
  } catch {
    if (label !== "utf-8") throw new InputError(`${name} is not UTF-16 text`, "save it as UTF-8");
    const line = lineOfBadByte(bytes);
    throw new InputError(`line ${line} of ${name} is not UTF-8 text`, "save it as UTF-8");
  }
}

function lineOfBadByte(bytes: Buffer): number {
  const text = bytes.toString();
  return text.slice(0, text.indexOf("\ufffd")).split("\n").length;
}

/**
 * The one reader of tables and lists that people give: what kind of file it is by its first bytes,
 * how its text is coded, what is between cells, where the header is, which rows are empty, what
 * stands above and below.
 * @param name for messages
 * @throws CliError exit 2 where it is no table: says what it is, and what to do
 */
export async function readTable(name: string, bytes: Buffer): Promise<InputTable> {
  const { kind, bytes: plain } = worded(() => plainOf(name, bytes));
  if (kind === "workbook")
    return ofSheet(
      name,
      worded(() => readWorkbook(name, plain)),
    );
  if (kind === "parquet") return ofObjects(name, await parquetLines(plain), []);

  const { text, note } = worded(() => decoded(name, plain));
  const notes = note === undefined ? [] : [note];
  if (kind === "text") return ofCsv(name, text, notes);
  const lines = kind === "array" ? elementLines()(Buffer.from(text)).toString() : text;
  return ofObjects(name, lines, notes);
}

/** @throws CliError exit 2 for an InputError @param code of that error */
export function worded<Value>(read: () => Value, code: CodeOf<"usage"> = "no_table"): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof InputError) throw usageError(error.message, error.hint, code, error);
    throw error;
  }
}

/**
 * A list of texts, which may have commas in them: a line each, or the one column of a workbook or
 * of JSON. @throws CliError exit 2 where it is none
 */
export async function textsOfList(name: string, bytes: Buffer): Promise<readonly string[]> {
  const { kind, bytes: plain } = worded(() => plainOf(name, bytes));
  if (kind === "text") {
    const { text } = worded(() => decoded(name, plain));
    return text.split(/\r\n|\n|\r/).map((line) => line.trim());
  }

  const { columns, rows } = await readTable(name, bytes);
  if (columns.length === 1) return rows.map(({ cells }) => (cells[0] ?? "").trim());
  throw usageError(
    `${name} has ${counted(columns.length, "column")}: ${columns.map(echo).join(", ")}`,
    "a list of values has one; save that as text, one value a line",
    "no_list",
  );
}

/** DuckDB reads files: of bytes it gets one that nobody else may read. */
async function parquetLines(bytes: Buffer): Promise<string> {
  const { DuckDBInstance } = await optional(
    "@duckdb/node-api",
    "Parquet",
    import("@duckdb/node-api"),
    "give the table as CSV or NDJSON",
  );
  const folder = await mkdtemp(join(tmpdir(), "headcount-"));
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" });

  try {
    const path = join(folder, "rows.parquet");
    await writeFile(path, bytes, { mode: 0o600 });
    const connection = await instance.connect();
    const sql = "SELECT to_json(t)::VARCHAR FROM read_parquet($1) t";
    const reader = await connection.runAndReadAll(sql, [path]);
    connection.closeSync();
    return reader
      .getRows()
      .map(([row]) => `${String(row)}\n`)
      .join("");
  } finally {
    instance.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What may name something: ids may be numbers, as long as they are exact. */
const isWord = (value: unknown): value is string | number | bigint =>
  typeof value === "string" || typeof value === "bigint" || Number.isSafeInteger(value);

const TAKEN_OUT = "jq -c 'first(.. | arrays)[]' takes the rows out";

function ofObjects(name: string, text: string, notes: readonly string[]): InputTable {
  const objects: { line: number; text: string; fields: JsonRecord }[] = [];
  const values: TableRow[] = [];
  const plain = text.replace(/^\ufeff/, "");
  const only = jsonIn(plain);
  const isOne = isObject(only);
  // Of one object in several lines: between its texts a line's end is a space.
  const lines = isOne ? [plain.replace(/\s*\n\s*/g, " ")] : plain.split("\n");

  if (isOne && !Object.values(only).some(isWord))
    throw usageError(`${name} is one object, and no table`, TAKEN_OUT, "no_table");

  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    if (line === "") continue;

    const value = jsonIn(line, parseExact);
    if (isObject(value)) objects.push({ line: index + 1, text: line, fields: value as JsonRecord });
    else if (isWord(value)) values.push({ line: index + 1, cells: [String(value)] });
    else
      throw usageError(
        `line ${index + 1} of ${name} is not a JSON object`,
        "one object a line is read, or one list of them",
        "no_table",
      );
  }

  const columns = [...new Set(objects.flatMap(({ fields }) => Object.keys(fields)))];
  // A list names what its items name: one, or several.
  const rows = objects.map(({ line, text: whole, fields }) => ({
    line,
    cells: columns.map((column) => [fields[column]].flat().filter(isWord).join(", ")),
    object: { text: whole, fields },
  }));

  const isList = rows.length === 0;
  const headings = isList ? ["value"] : columns;
  return {
    columns: headings,
    headings,
    isList,
    rows: isList ? values : rows,
    json: !isList,
    text,
    notes: isOne && /\[\s*\{/.test(plain) ? [...notes, `${name} is one row: ${TAKEN_OUT}`] : notes,
  };
}

interface Line {
  readonly line: number;
  /** How many it has. */
  readonly lines: number;
  readonly cells: readonly string[];
}

function ofCsv(name: string, text: string, notes: readonly string[]): InputTable {
  const bytes = withoutByteOrderMark(Buffer.from(text));
  const dialect = dialectOf([bytes], isHeading);
  return assembled(name, recordsOf(name, bytes, dialect), { text, notes });
}

function recordsOf(name: string, bytes: Buffer, { delimiter, declaredLines }: CsvDialect): Line[] {
  const records: Line[] = [];
  const isNone = /^[\s,;|]*$/;
  const scanner = new CsvScanner(delimiter);
  scanner.push(bytes, true, () => {
    const { problem, line, lines } = scanner;
    if (problem !== undefined) {
      throw usageError(
        `line ${line} of ${name}: ${problem}`,
        "close the quote, or double the quotes inside a cell",
        "no_table",
      );
    }

    const cells = cellTexts(scanner);
    if (cells.length > 1 || cells[0] === "" || !isNone.test(cells[0] ?? ""))
      records.push({ line, lines, cells });
    return true;
  });

  return records.filter(({ line }) => line > declaredLines);
}

function ofSheet(name: string, { rows, notes }: Sheet): InputTable {
  const width = Math.max(...rows.map(({ cells }) => cells.length));
  const records = rows.map(({ line, cells }) => ({
    line,
    lines: 1,
    cells: padded(cells, width),
  }));
  return assembled(name, records, { text: `sep=,\n${sheetText(rows)}`, notes });
}

function assembled(
  name: string,
  records: readonly Line[],
  { text, notes }: Pick<InputTable, "text" | "notes">,
): InputTable {
  const head = records.slice(0, 1_000).map(({ cells }) => cells.map((cell) => cell.trim()));
  const top = headerAt(head, isHeading);
  const [first] = records.slice(top);
  if (first === undefined)
    throw usageError(`${name} is empty`, "a table has a line with the names of its columns");

  const width = Math.max(...records.map(({ cells }) => cells.length));
  const header = first.cells.map((cell) => cell.trim());
  const isList = header.length === 1 && !isHeading(header[0] ?? "");
  const below = isList ? records.length : footerFrom(records, top);
  // Pages that were put behind each other have each its header.
  const isHeader = ({ cells }: Line): boolean =>
    !isList &&
    cells.length === header.length &&
    cells.every((cell, at) => cell.trim() === header[at]);
  const data = records.slice(top, below).filter((record) => !isHeader(record));

  return {
    columns: uniqueNames(isList ? ["value"] : header, width),
    headings: isList ? ["value"] : header,
    isList,
    rows: data.map(({ line, cells }) => ({ line, cells: padded(cells, width) })),
    json: false,
    text,
    notes: [
      ...notes,
      ...leftOut(name, "above the header", records.slice(0, top)),
      ...leftOut(name, "below the table", records.slice(below)),
    ],
  };
}

const padded = (cells: readonly string[], width: number): readonly string[] =>
  cells.length === width ? cells : [...cells, ...Array<string>(width - cells.length).fill("")];

const leftOut = (name: string, where: string, records: readonly Line[]): string[] => {
  const [first] = records;
  if (first === undefined) return [];
  const said = echo(first.cells.find((cell) => cell.trim() !== "") ?? "");
  return [`${name}: ${counted(records.length, "line")} ${where} left out: ${said}`];
};

/** Where a table ends: lines of one cell that is prose, behind a blank one, below other rows. */
function footerFrom(records: readonly Line[], top: number): number {
  const { size } = mostCommon(records.slice(top).map(({ cells }) => cells.length));
  if (size <= 1) return records.length;

  let from = records.length;
  for (let at = records.length - 1; at > top; at--) {
    const { line, cells } = records[at] ?? { line: 0, cells: [] };
    const [said = "", ...others] = cells.filter((cell) => cell.trim() !== "");
    if (others.length > 0 || !isProse(said)) break;

    const before = records[at - 1];
    if (before !== undefined && before.line + before.lines < line) from = at;
  }

  return from;
}

/** A list whose first line is what somebody named as its column: that line is its header. */
export function headedBy(table: InputTable, column: string | null | undefined): InputTable {
  const [first] = table.rows[0]?.cells ?? [];
  const isHeader = column != null && first?.trim().toLowerCase() === column.trim().toLowerCase();
  if (!table.isList || !isHeader) return table;
  return {
    ...table,
    isList: false,
    columns: [column],
    headings: [column],
    rows: table.rows.slice(1),
  };
}
