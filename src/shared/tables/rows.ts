import { isUtf8 } from "node:buffer";
import { writeFile } from "node:fs/promises";
import { isObject, jsonIn, unguarded } from "../contract/text.ts";
import {
  lookAt,
  type ReadingOptions,
  type TextLook,
  utf8Of,
  withoutByteOrderMark,
} from "./bytes.ts";
import { CELL, CsvScanner, cellTexts, LONGEST } from "./csv-scanner.ts";
import { afterLines, asideOf, type CsvDialect, dialectOf } from "./dialect.ts";
import { InputError, type InputFile } from "./input-file.ts";

const PART = 32 << 20;

export interface TextOptions {
  readonly encoding?: string | undefined;
  readonly skipLines?: number | undefined;
}

export interface TextFile {
  readonly file: InputFile;
  readonly look: TextLook;
  readonly dialect?: CsvDialect;
  readonly header: readonly string[];
}

/**
 * Looks at all of a CSV or NDJSON file.
 * @throws InputError where it cannot be read, or has no columns
 */
export async function openTextFile(
  file: InputFile,
  isKnown: (name: string) => boolean,
  text: TextOptions,
  options: ReadingOptions,
): Promise<TextFile> {
  const look = await lookAt(file, text.encoding, options);
  if (file.format === "ndjson") return { file, look, header: ndjsonHeader(file, look) };
  const dialect = dialectOf(look.pieces, isKnown, text.skipLines);
  if (dialect.header.some((name) => name.includes("\ufffd"))) {
    throw new InputError(
      `the header of ${file.name} is not ${look.encoding}`,
      "name its encoding: --encoding windows-1252",
    );
  }
  return { file, look, dialect, header: dialect.header };
}

function ndjsonHeader(file: InputFile, look: TextLook): string[] {
  const columns = new Map<string, number>();
  const lines = look.pieces.flatMap((piece) => piece.toString().split("\n"));
  for (const line of lines) {
    const value = jsonIn(line);
    for (const [place, key] of Object.keys(isObject(value) ? value : {}).entries()) {
      columns.set(key, Math.min(place, columns.get(key) ?? place));
    }
  }

  if (columns.size > 0) {
    return [...columns].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).map(([name]) => name);
  }

  throw new InputError(`${file.name} has no JSON object in its first lines`);
}

/**
 * `places` are the columns of CSV that are wanted.
 * @returns in how many lines a lone surrogate became U+FFFD
 */
export async function readTextRows(
  text: TextFile,
  places: readonly number[],
  options: ReadingOptions,
  take: (rows: PlainRows) => Promise<void>,
): Promise<number> {
  const rows = new PlainRows();
  const reader = text.dialect ? csvReader(text.dialect, places, rows) : new LineReader(rows);
  for await (const { bytes, last } of inChunks(utf8Of(text.file, text.look.encoding, options))) {
    options.signal?.throwIfAborted();
    reader.push(bytes, last);
    if (rows.bytes > PART || (last && rows.bytes > 0)) await take(rows);
  }
  return reader.repaired;
}

/**
 * The same bytes in chunks of a megabyte, and which is the last: what unpackers give may be tiny.
 */
async function* inChunks(
  source: AsyncIterable<Buffer>,
): AsyncGenerator<{ bytes: Buffer; last: boolean }> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const part of source) {
    parts.push(part);
    size += part.length;
    if (size < 1 << 20) continue;
    yield { bytes: Buffer.concat(parts), last: false };
    parts = [];
    size = 0;
  }

  yield { bytes: Buffer.concat(parts), last: true };
}

/** Whether a row may tell of nobody: rows are many, and each is looked at in no time. */
const mayBeAside = (record: Buffer): boolean =>
  record.length < 100 && !/[a-z]/i.test(record.toString("latin1", record.length - 1));

function csvReader(
  { delimiter, header, skippedLines }: CsvDialect,
  places: readonly number[],
  rows: PlainRows,
) {
  const scanner = new CsvScanner(delimiter, header.length, skippedLines + 1);
  let skip = skippedLines;
  /** Files that were put together have it more than once. */
  let first: Buffer | undefined;
  let judged: Buffer | undefined;
  let isValid = false;
  let next = 0;
  const take = (): boolean => {
    const { data, start, end } = scanner;
    const record = data.subarray(start, end);
    const isApart = scanner.line > next;
    next = scanner.line + scanner.lines;

    if (first === undefined) {
      first = Buffer.from(record);
      return true;
    }

    if (withoutByteOrderMark(record).equals(first)) scanner.problem ??= "the header again";
    if (header.length > 1 && mayBeAside(record))
      scanner.problem ??= asideOf(cellTexts(scanner), isApart);

    // Where all of what the scanner has is UTF-8 records need not be looked at one by one.
    if (judged !== data)
      isValid = isUtf8(data.subarray(0, data.lastIndexOf(0x0a) + 1 || data.length));
    judged = data;
    rows.addRecord(scanner, places, isValid);

    return true;
  };

  const push = (bytes: Buffer, last: boolean): void => {
    scanner.push(skip > 0 ? afterLines(bytes, skip) : bytes, last, take);
    skip = 0;
  };

  return { push, repaired: 0 };
}

class LineReader {
  repaired = 0;
  readonly #rows: PlainRows;
  #rest: Buffer = Buffer.alloc(0);
  #line = 0;
  #skipping = false;

  constructor(rows: PlainRows) {
    this.#rows = rows;
  }

  push(bytes: Buffer, last: boolean): void {
    const data = Buffer.concat([this.#rest, bytes]);
    let at = 0;
    for (;;) {
      const end = data.indexOf(0x0a, at);
      if (end < 0 && !(last && at < data.length)) break;
      this.#add(data.subarray(at, end < 0 ? data.length : end));
      at = end < 0 ? data.length : end + 1;
    }

    this.#rest = data.subarray(at);
    if (this.#rest.length <= LONGEST) return;

    if (!this.#skipping) this.#add(this.#rest);
    this.#skipping = true;
    this.#rest = Buffer.alloc(0);
  }

  #add(bytes: Buffer): void {
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }

    this.#line++;
    const line = bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
    if (line.length < 64 && line.toString("latin1").trim() === "") return;

    const problem =
      line.length > LONGEST ? "longer than 2 MB" : isUtf8(line) ? undefined : "not UTF-8";
    this.#rows.addLine(
      this.#line,
      problem === undefined ? this.#withoutLoneSurrogates(line) : line,
      problem,
    );
  }

  /** JSON may name half of a character, which no text can hold. */
  #withoutLoneSurrogates(line: Buffer): Buffer {
    if (!line.includes("\\ud") && !line.includes("\\uD")) return line;
    const text = line.toString();
    const repaired = text.replace(ESCAPES, (unit) =>
      isSurrogate(unit) && unit.length === 6 ? "\\ufffd" : unit,
    );
    if (repaired === text) return line;
    this.repaired++;
    return Buffer.from(repaired);
  }
}

/** Escapes of a JSON text; both halves of a character together. */
const ESCAPES = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)/g;
const isSurrogate = (unit: string): boolean => /^\\u[dD][89a-fA-F]/.test(unit);

// What DuckDB reads without guessing: a row a line,
// cells apart by U+0001, no quotes, U+0002 escapes.

const SEPARATOR = 1;
const ESCAPE = 2;
const LETTERS: Readonly<Record<number, number>> = { 10: 0x6e, 13: 0x72, 1: 0x73, 2: 0x74 };
const SHOWN = 2_000;

const APOSTROPHE = 0x27;
const EQUALS = 0x3d;

/**
 * How many bytes before a cell keep it a text in a spreadsheet: an apostrophe, or `="`, behind
 * which one less stands (`=""` and `""` where quotes are doubled).
 */
function guardBytes(data: Buffer, begin: number, end: number): number {
  if (data[begin] !== APOSTROPHE && data[begin] !== EQUALS) return 0;
  const cell = data.toString("utf8", begin, end);
  const text = cell.replaceAll('""', '"');
  const less = text.length - unguarded(text).length;
  return less === 3 && !cell.startsWith('=""') ? 2 : less;
}

class PlainRows {
  #out = Buffer.allocUnsafe(4 << 20);
  bytes = 0;
  hasEscapes = false;

  addRecord(scanner: CsvScanner, places: readonly number[], isValid: boolean): void {
    const { data, start, end } = scanner;
    const problem =
      scanner.problem ?? (isValid || isUtf8(data.subarray(start, end)) ? undefined : "not UTF-8");
    this.#begin(scanner.line, problem, data.subarray(start, end));

    for (const place of places) {
      this.#out[this.bytes++] = SEPARATOR;
      if (problem === undefined) {
        const begin = scanner.starts[place] ?? 0;
        const close = scanner.ends[place] ?? 0;
        const guard = guardBytes(data, begin, close);
        this.#copy(
          data,
          begin + guard,
          close - Math.max(guard - 1, 0),
          scanner.forms[place] === CELL.doubled,
        );
      }
    }

    this.#out[this.bytes++] = 0x0a;
  }

  addLine(line: number, text: Buffer, problem: string | undefined): void {
    this.#begin(line, problem, text);
    this.#out[this.bytes++] = SEPARATOR;
    if (problem === undefined) this.#copy(text, 0, text.length, false);
    this.#out[this.bytes++] = 0x0a;
  }

  #begin(line: number, problem: string | undefined, text: Buffer): void {
    const most = this.bytes + 2 * Math.min(text.length, LONGEST) + 16_384;
    if (most > this.#out.length) {
      const grown = Buffer.allocUnsafe(2 * most);
      this.#out.copy(grown, 0, 0, this.bytes);
      this.#out = grown;
    }

    this.bytes += this.#out.write(String(line), this.bytes, "latin1");
    this.#out[this.bytes++] = SEPARATOR;
    if (problem !== undefined) this.bytes += this.#out.write(problem, this.bytes);
    this.#out[this.bytes++] = SEPARATOR;
    if (problem === undefined) return;

    const shown = Buffer.from(text.toString("utf8", 0, SHOWN).toWellFormed());
    this.#copy(shown, 0, shown.length, false);
  }

  #copy(data: Buffer, start: number, end: number, doubled: boolean): void {
    const out = this.#out;
    let at = this.bytes;
    for (let index = start; index < end; index++) {
      const byte = data[index] ?? 0;
      if (byte > 13 || !(byte in LETTERS)) {
        out[at++] = byte;
        if (doubled && byte === 0x22) index++;
      } else {
        out[at++] = ESCAPE;
        out[at++] = LETTERS[byte] ?? 0;
        this.hasEscapes = true;
      }
    }

    this.bytes = at;
  }

  async flush(path: string): Promise<void> {
    await writeFile(path, this.#out.subarray(0, this.bytes), { flag: "wx", mode: 0o600 });
    this.bytes = 0;
    this.hasEscapes = false;
  }
}
