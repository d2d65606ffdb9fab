// Tested by test/cli/output-packed.test.ts.

import { open, readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { grouped, isFormula } from "../../../shared/contract/text.ts";
import { clauses, failed, option, say } from "../../../shared/errors.ts";
import { optional } from "../../../shared/packages.ts";
import { cellOf, type JsonRecord, type JsonValue } from "../../../shared/rows/values.ts";
import { textIn } from "../../../shared/tables/workbook.ts";
import { zipParts } from "../../../shared/tables/zip.ts";
import type { Chosen, StoredFile, WholeFormat, WholeRows } from "../stored.ts";
import { days, micros, type TypedColumn, valueIn } from "./cells.ts";

const MOST_ROWS = 1_048_575;
const MOST_COLUMNS = 16_384;
const MOST_CHARACTERS = 32_767;
/** Spreadsheets keep this many digits of a number. */
const DIGITS = 15;

const TOO_MANY = "too_many_rows";

function checkSheet(rows: number, category: "usage" | "incomplete", said = ""): void {
  if (rows <= MOST_ROWS) return;
  throw failed[category](
    `a spreadsheet holds ${grouped(MOST_ROWS)} rows below its header, ` +
      `and these are up to ${grouped(rows)}${said}`,
    clauses(
      "a file people.csv.gz or people.parquet has room for all",
      say`${option("limit")} or another filter makes them fewer`,
    ),
    TOO_MANY,
  );
}

const loadZip = () =>
  optional(
    "yazl",
    "A spreadsheet (.xlsx)",
    import("yazl"),
    "write text for it (-o people.csv --csv excel)",
  );

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const PLAIN = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/** By their place in `cellXfs`. `AS_TEXT` keeps an edited text from becoming a formula. */
const HEADER = 1;
const INSTANT = 2;
const DATE = 3;
const AS_TEXT = 4;

const PARTS: Readonly<Record<string, string>> = {
  "[Content_Types].xml":
    `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ` +
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default ' +
    'Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ' +
    `ContentType="${PLAIN}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ` +
    `ContentType="${PLAIN}.worksheet+xml"/><Override PartName="/xl/styles.xml" ` +
    `ContentType="${PLAIN}.styles+xml"/></Types>`,
  "_rels/.rels":
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" ` +
    `Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  "xl/workbook.xml":
    `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="headcount" ` +
    'sheetId="1" r:id="rId1"/></sheets></workbook>',
  "xl/_rels/workbook.xml.rels":
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" ` +
    `Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" ` +
    `Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
  "xl/styles.xml":
    `<styleSheet xmlns="${MAIN}"><numFmts count="2"><numFmt numFmtId="164" ` +
    'formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/><numFmt numFmtId="165" ' +
    'formatCode="yyyy\\-mm\\-dd"/></numFmts><fonts count="2"><font><sz val="11"/><name ' +
    'val="Calibri"/></font><font><b/><sz val="11"/><name ' +
    'val="Calibri"/></font></fonts><fills count="2"><fill><patternFill ' +
    'patternType="none"/></fill><fill><patternFill ' +
    'patternType="gray125"/></fill></fills><borders ' +
    'count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs ' +
    'count="5"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/><xf xfId="0" ' +
    'numFmtId="164" applyNumberFormat="1"/><xf xfId="0" numFmtId="165" ' +
    'applyNumberFormat="1"/><xf xfId="0" quotePrefix="1"/></cellXfs><cellStyles count="1">' +
    // Without the style that all others are made of, readers warn that there is no default.
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
};

function letters(index: number): string {
  const before = Math.floor(index / 26);
  return (before > 0 ? letters(before - 1) : "") + String.fromCharCode(65 + (index % 26));
}

/**
 * A carriage return is what all readers take: some keep `_x000D_` as text
 * (findings/README.md).
 */
const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\r": "&#13;",
};
const SPECIAL = /[&<>\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=[xX][0-9A-Fa-f]{4}_)/g;

/** What else XML cannot hold, and its escape itself, is `_xHHHH_` as spreadsheets write it. */
const escaped = (text: string): string =>
  text.replace(
    SPECIAL,
    (character) =>
      ESCAPES[character] ??
      `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
  );

/** As spreadsheets count days; undefined before 1900-03-01, where they disagree. */
const serial = (sinceEpoch: number): number | undefined =>
  sinceEpoch + 25_569 < 61 ? undefined : sinceEpoch + 25_569;

async function* sheetOf(rows: WholeRows): AsyncGenerator<Buffer> {
  checkSheet(rows.rows, "incomplete");
  if (rows.columns.length > MOST_COLUMNS)
    throw failed.incomplete(
      `a spreadsheet holds ${grouped(MOST_COLUMNS)} columns, ` +
        `and these are ${grouped(rows.columns.length)}`,
      say`${option("fields")} chooses some`,
      TOO_MANY,
    );
  yield* await workbook(Readable.from(sheetXml(rows), { objectMode: false }), rows.rows);
}

/** The last bytes say how many rows there are. */
async function workbook(sheet: Readable, rows: number): Promise<AsyncIterable<Buffer>> {
  const { ZipFile } = await loadZip();
  const zip = new ZipFile();
  // The same rows are the same bytes.
  const entry = { mtime: new Date(2000, 0, 1), mode: 0o100_600 };
  for (const [name, text] of Object.entries(PARTS))
    zip.addBuffer(Buffer.from(XML + text), name, entry);

  const out = zip.outputStream as Readable;
  (zip as unknown as NodeJS.EventEmitter).on("error", (error: Error) => void out.destroy(error));
  zip.addReadStream(sheet, "xl/worksheets/sheet1.xml", entry);
  zip.end({ comment: `headcount: ${rows} rows`, forceZip64Format: false });

  return out as AsyncIterable<Buffer>;
}

async function* sheetXml({ columns, pages, rows, onCut }: WholeRows): AsyncGenerator<string> {
  const names = columns.map((_, index) => letters(index));
  const header = columns
    .map(({ name }, index) => textCell(name, `${names[index]}1`, HEADER, onCut))
    .join("");
  const pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  yield `${XML}<worksheet xmlns="${MAIN}"><dimension ` +
    `ref="A1:${names.at(-1) ?? "A"}${rows + 1}"/><sheetViews><sheetView ` +
    `workbookViewId="0">${pane}</sheetView></sheetViews><sheetData><row r="1">${header}</row>`;

  let at = 1;
  for await (const page of pages()) {
    let text = "";
    for (const row of page.rows()) {
      at++;
      text += `<row r="${at}">`;
      for (const [index, column] of columns.entries()) {
        const value = valueIn(row, column);
        if (value !== null) text += cellXml(value, column, `${names[index]}${at}`, onCut);
      }
      text += "</row>";
    }

    if (text !== "") yield text;
  }

  yield "</sheetData></worksheet>";
}

function cellXml(
  value: NonNullable<JsonValue>,
  { type }: TypedColumn,
  place: string,
  onCut: () => void,
): string {
  if (typeof value === "boolean") return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`;
  if (typeof value === "number" || typeof value === "bigint") {
    const number = String(value);
    return /\d{16}/.test(number) &&
      number.replace(/\D/g, "").length > DIGITS &&
      Number.isInteger(Number(value))
      ? textCell(number, place, 0, onCut)
      : `<c r="${place}"><v>${number}</v></c>`;
  }

  if (type === "instant" || type === "date") {
    const day = serial(
      type === "date" ? days(value as string) : Number(micros(value as string)) / 86_400_000_000,
    );
    if (day !== undefined)
      return `<c r="${place}" s="${type === "date" ? DATE : INSTANT}"><v>${day}</v></c>`;
  }

  const text = String(cellOf(value)).toWellFormed();
  return textCell(text, place, isFormula(text) ? AS_TEXT : 0, onCut);
}

/** Typed: never a formula, whatever it begins with. */
function textCell(text: string, place: string, style: number, onCut: () => void): string {
  let shown = text;
  if (text.length > MOST_CHARACTERS) {
    onCut();
    shown = text.slice(0, MOST_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
  }

  if (shown === "") return "";

  const styled = style === 0 ? "" : ` s="${style}"`;
  return (
    `<c r="${place}"${styled} t="inlineStr"><is><t ` +
    `xml:space="preserve">${escaped(shown)}</t></is></c>`
  );
}

const COUNTED = /headcount: (\d{1,7}) rows$/;

/** The last bytes say so; undefined where another program saved it. */
async function countSheet({ path }: Pick<StoredFile, "path">): Promise<number | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, 64);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const digits = COUNTED.exec(buffer.toString("latin1"))?.[1];
    return digits === undefined ? undefined : Number(digits);
  } finally {
    await file.close();
  }
}

const ROW = /<row r="(\d+)">(.*?)<\/row>/gs;
const CELL = /<c r="([A-Z]+)\d+"[^>]*>(?:<is><t[^>]*>(.*?)<\/t><\/is>|<v>(.*?)<\/v>)<\/c>/gs;
const SHEET = "xl/worksheets/sheet1.xml";

/** The rows below move up. @throws where another program saved it */
async function* sheetWithout({ path }: StoredFile, chosen: Chosen): AsyncGenerator<Uint8Array> {
  const rows = await countSheet({ path });
  const sheet = zipParts(path, await readFile(path))
    .find(({ name }) => name === SHEET)
    ?.bytes();
  if (rows === undefined || sheet === undefined)
    throw new Error("a spreadsheet of another program");

  const cellsIn = (text: string) =>
    [...text.matchAll(CELL)].map(
      ([, column = "", said, value]) => [column, textIn(said ?? value ?? "")] as const,
    );

  let names = new Map<string, string>();
  let count = 0;
  /** Of each column: a sheet leaves empty cells out. */
  const read = (text: string): JsonRecord => {
    const cells = new Map(cellsIn(text));
    return Object.fromEntries([...names].map(([at, name]) => [name, cells.get(at) ?? null]));
  };
  const row = (all: string, number: string, text: string): string => {
    if (number === "1") names = new Map(cellsIn(text));
    else if (chosen(textIn(text), () => read(text))) {
      count++;
      return "";
    }

    const place = `${Number(number) - count}"`;
    return count === 0 ? all : all.replace(/^(<row r=")\d+"|(<c r="[A-Z]+)\d+"/g, `$1$2${place}`);
  };

  const before = sheet.toString();
  const after = before
    .replace(ROW, row)
    .replace(/(<dimension ref="A1:[A-Z]+)\d+"/, `$1${rows - count + 1}"`);
  yield* await workbook(Readable.from([after], { objectMode: false }), rows - count);
}

async function* partsIn(path: string): AsyncGenerator<Buffer> {
  for (const part of zipParts(path, await readFile(path))) yield part.bytes();
}

export const xlsx: WholeFormat = {
  load: loadZip,
  checkRoom: checkSheet,
  bytes: sheetOf,
  count: countSheet,
  without: sheetWithout,
  text: partsIn,
};
