import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { type JsonValue, parseExact } from "../../shared/rows/values.ts";
import type { Form } from "./formats.ts";
import { unpacked } from "./packing.ts";
import { partsOf, plainTextOf } from "./text-of.ts";

export interface RowChoice {
  /** Whether a row with this text may be one: asked before it is read. */
  readonly mayBeIn: (text: string) => boolean;
  readonly isRow: (row: JsonValue) => boolean;
}

/** Bytes of a file without some rows, before they are packed, and how many are gone by the time that they end. */
export interface Without {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly gone: () => number;
}

/**
 * A file that was written here without some of its rows; every other byte of a text is as it was.
 * @returns undefined for a form whose rows cannot be told apart; Parquet is written by {@link parquetWithout}
 */
export function rowsWithout(path: string, { format, packing }: Form, choice: RowChoice): Without | undefined {
  let gone = 0;
  const chosen = (text: string, read: () => JsonValue): boolean => {
    const goes = choice.mayBeIn(text) && choice.isRow(read());
    if (goes) gone++;
    return goes;
  };
  const bytes = (): AsyncIterable<Uint8Array> => unpacked(path, packing);
  const by = {
    csv: () => cellsWithout(bytes(), ",", chosen),
    tsv: () => cellsWithout(bytes(), "\t", chosen),
    ndjson: () => linesWithout(bytes(), chosen),
    json: () => arrayWithout(bytes(), chosen),
    xlsx: () => sheetWithout(path, chosen),
  }[format as string];
  return by && { bytes: by(), gone: () => gone };
}

type Chosen = (text: string, read: () => JsonValue) => boolean;

/** Lines with their ends. @param quotes whether a line break inside quotes ends none */
async function* linesOf(bytes: AsyncIterable<Uint8Array>, quotes = false): AsyncGenerator<Buffer> {
  let rest: Uint8Array[] = [];
  let isQuoted = false;
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      if (quotes && chunk[at] === 0x22) isQuoted = !isQuoted;
      if (chunk[at] !== 0x0a || isQuoted) continue;
      yield Buffer.concat([...rest, chunk.subarray(from, at + 1)]);
      rest = [];
      from = at + 1;
    }
    // A chunk may be used again by whoever gave it.
    if (from < chunk.length) rest.push(Buffer.from(chunk.subarray(from)));
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

/** A line that is no JSON is nobody's row. */
function recordIn(text: string): JsonValue {
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}

async function* linesWithout(bytes: AsyncIterable<Uint8Array>, chosen: Chosen): AsyncGenerator<Uint8Array> {
  for await (const line of linesOf(bytes)) {
    const text = line.toString();
    if (!chosen(text, () => recordIn(text))) yield line;
  }
}

/** An array as it is written here, a record a line. @throws where another program wrote it otherwise */
async function* arrayWithout(bytes: AsyncIterable<Uint8Array>, chosen: Chosen): AsyncGenerator<Uint8Array> {
  let before = "[\n";
  let at = 0;
  for await (const line of linesOf(bytes)) {
    const text = line.toString();
    const isFirst = at++ === 0;
    if (isFirst && text === "[]\n") return yield line;
    if (isFirst !== (text === "[\n") || !/^(\[|\]|\{.*\},?)\n$/.test(text))
      throw new Error("an array of another program");
    if (text === "[\n" || text === "]\n") continue;
    const record = text.replace(/,?\n$/, "");
    if (chosen(record, () => parseExact(record))) continue;
    yield Buffer.from(before + record);
    before = ",\n";
  }
  yield Buffer.from(before === "[\n" ? "[]\n" : "\n]\n");
}

const CELLS = { ",": /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g, "\t": /("(?:[^"]|"")*"|[^\t\r\n]*)(\t|\r?\n|$)/g };

function cellsOf(record: string, separator: keyof typeof CELLS): string[] {
  const cells: string[] = [];
  for (const [, cell = "", end = ""] of record.matchAll(CELLS[separator])) {
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end !== separator) break;
  }
  return cells;
}

async function* cellsWithout(bytes: AsyncIterable<Uint8Array>, separator: keyof typeof CELLS, chosen: Chosen) {
  let names: readonly string[] | undefined;
  for await (const line of linesOf(bytes, true)) {
    const text = line.toString();
    const header = names;
    names ??= cellsOf(text.replace(/^\ufeff/, ""), separator);
    if (header === undefined || !chosen(text, () => rowOf(header, cellsOf(text, separator)))) yield line;
  }
}

/** A cell that a spreadsheet could take for a formula has an apostrophe before it. */
const rowOf = (names: readonly string[], cells: readonly string[]): JsonValue =>
  Object.fromEntries(names.map((name, index) => [name, cells[index]?.replace(/^'(?=[=+\-@\t\r])/, "") ?? null]));

const ROW = /<row r="(\d+)">(.*?)<\/row>/gs;
const CELL = /<c r="([A-Z]+)\d+"[^>]*>(?:<is><t[^>]*>(.*?)<\/t><\/is>|<v>(.*?)<\/v>)<\/c>/gs;
const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
const SHEET = "xl/worksheets/sheet1.xml";

/** A spreadsheet as it is written here: the rows below move up. @throws where another program saved it */
async function* sheetWithout(path: string, chosen: Chosen): AsyncGenerator<Uint8Array> {
  const { countSheet, workbook } = await import("./whole/xlsx.ts");
  const rows = await countSheet(path);
  let sheet: Buffer | undefined;
  for (const { name, bytes } of partsOf(await readFile(path))) if (name === SHEET) sheet = bytes;
  if (rows === undefined || sheet === undefined) throw new Error("a spreadsheet of another program");
  const cellsIn = (text: string) =>
    [...text.matchAll(CELL)].map(([, column = "", said, value]) => [column, textIn(said ?? value ?? "")] as const);
  let names = new Map<string, string>();
  let gone = 0;
  const row = (all: string, number: string, text: string): string => {
    if (number === "1") names = new Map(cellsIn(text));
    else if (chosen(textIn(text), () => Object.fromEntries(cellsIn(text).map(([at, cell]) => [names.get(at), cell])))) {
      gone++;
      return "";
    }
    const place = `${Number(number) - gone}"`;
    return gone === 0 ? all : all.replace(/^(<row r=")\d+"|(<c r="[A-Z]+)\d+"/g, `$1$2${place}`);
  };
  const before = sheet.toString();
  const after = before.replace(ROW, row).replace(/(<dimension ref="A1:[A-Z]+)\d+"/, `$1${rows - gone + 1}"`);
  yield* await workbook(Readable.from([after], { objectMode: false }), rows - gone);
}

const textIn = (xml: string): string =>
  xml
    .replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/_x([0-9A-F]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Writes a Parquet file anew without some rows. @param to undefined: nothing is written @returns how many go */
export async function parquetWithout(path: string, to: string | undefined, choice: RowChoice): Promise<number> {
  const gone: number[] = [];
  let at = 0;
  for await (const line of linesOf(plainTextOf(path, { format: "parquet" }))) {
    const text = line.toString();
    if (choice.mayBeIn(text) && choice.isRow(parseExact(text))) gone.push(at);
    at++;
  }
  if (gone.length === 0 || to === undefined) return gone.length;
  const { copyParquet } = await import("./whole/parquet.ts");
  await copyParquet(path, to, gone);
  return gone.length;
}
