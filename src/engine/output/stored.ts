// Tested by test/unit/engine/output/stored.test.ts and test/cli/forget.test.ts.
import { unguarded, whenGiven } from "../../shared/contract/text.ts";
import type { Page } from "../../shared/rows/page.ts";
import { type JsonValue, parseExact } from "../../shared/rows/values.ts";
import type { TypedColumn } from "./whole/cells.ts";

export interface StoredFile {
  readonly path: string;
  /** Unpacked. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** Whether a row goes, told by its text; it is read only where that may be. */
export type Chosen = (text: string, read: () => JsonValue) => boolean;

/**
 * How the rows of a format are read back. All throw, or
 * tell nothing, where another program changed the file.
 */
export interface StoredRows {
  count(file: StoredFile): Promise<number | undefined>;
  /**
   * Every other byte of a text is as it was. @param scratch a
   * folder to work in; undefined: the rows are only looked at
   */
  without(file: StoredFile, chosen: Chosen, scratch: string | undefined): AsyncIterable<Uint8Array>;
  /** All that it says, where that is not its own bytes. */
  text?(path: string): AsyncIterable<Uint8Array>;
}

export interface WholeRows {
  readonly columns: readonly TypedColumn[];
  readonly rows: number;
  readonly pages: () => AsyncIterable<Page> | Iterable<Page>;
  /** A text was longer than there is room for. */
  readonly onCut: () => void;
}

/** A format that needs all rows before the first byte. */
export interface WholeFormat extends StoredRows {
  load(): Promise<unknown>;
  /**
   * @throws CliError where there are more rows than a file holds
   * @param category usage before anything is bought
   */
  checkRoom(rows: number, category: "usage" | "incomplete", said?: string): void;
  /** @param scratch a folder of its own to work in, gone at the end */
  bytes(rows: WholeRows, scratch: string): AsyncIterable<Buffer>;
}

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

async function countLines(file: StoredFile, quotes = false): Promise<number> {
  let lines = 0;
  for await (const line of linesOf(file.bytes(), quotes))
    if (line.some((byte) => byte !== 10 && byte !== 13)) lines++;
  return lines;
}

export const lineRows: StoredRows = { count: countLines, without: linesWithout };

async function* linesWithout(file: StoredFile, chosen: Chosen): AsyncGenerator<Uint8Array> {
  for await (const line of linesOf(file.bytes())) {
    const text = line.toString();
    if (!chosen(text, () => recordIn(text))) yield line;
  }
}

/** Our own arrays have a record a line; others are parsed. */
async function countRecords(file: StoredFile): Promise<number> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.bytes()) {
    const isOurs = chunks.length === 0 && Buffer.from(chunk.subarray(0, 3)).toString() === "[\n{";
    if (isOurs) return (await countLines(file)) - 2;
    chunks.push(chunk);
  }
  return (JSON.parse(Buffer.concat(chunks).toString()) as unknown[]).length;
}

export const jsonRows: StoredRows = { count: countRecords, without: arrayWithout };

async function* arrayWithout(file: StoredFile, chosen: Chosen): AsyncGenerator<Uint8Array> {
  let before = "[\n";
  let at = 0;
  for await (const line of linesOf(file.bytes())) {
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

const CELLS = {
  ",": /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g,
  "\t": /("(?:[^"]|"")*"|[^\t\r\n]*)(\t|\r?\n|$)/g,
};

function cellsOf(record: string, separator: keyof typeof CELLS): string[] {
  const cells: string[] = [];
  for (const [, cell = "", end = ""] of record.matchAll(CELLS[separator])) {
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end !== separator) break;
  }
  return cells;
}

export const cellRows = (separator: keyof typeof CELLS): StoredRows => ({
  count: async (file) => Math.max(0, (await countLines(file, true)) - 1),

  async *without(file, chosen) {
    let names: readonly string[] | undefined;
    for await (const line of linesOf(file.bytes(), true)) {
      const text = line.toString();
      const header = names;
      names ??= cellsOf(text.replace(/^\ufeff/, ""), separator);
      if (header === undefined || !chosen(text, () => rowOf(header, cellsOf(text, separator))))
        yield line;
    }
  },
});

const rowOf = (names: readonly string[], cells: readonly string[]): JsonValue =>
  Object.fromEntries(
    names.map((name, index) => [name, whenGiven(cells[index], unguarded) ?? null]),
  );
