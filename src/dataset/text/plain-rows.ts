import { isUtf8 } from "node:buffer";
import { writeFile } from "node:fs/promises";
import { CELL, type CsvScanner, LONGEST } from "./csv-scanner.ts";

// What DuckDB reads without guessing: a row a line, cells apart by U+0001, no quotes, U+0002 escapes.

const SEPARATOR = 1;
const ESCAPE = 2;
const LETTERS: Readonly<Record<number, number>> = { 10: 0x6e, 13: 0x72, 1: 0x73, 2: 0x74 };
const SHOWN = 2_000;

export class PlainRows {
  #out = Buffer.allocUnsafe(4 << 20);
  bytes = 0;
  hasEscapes = false;

  addRecord(scanner: CsvScanner, places: readonly number[], isValid: boolean): void {
    const { data, start, end } = scanner;
    const problem = scanner.problem ?? (isValid || isUtf8(data.subarray(start, end)) ? undefined : "not UTF-8");
    this.#begin(scanner.line, problem, data.subarray(start, end));
    for (const place of places) {
      this.#out[this.bytes++] = SEPARATOR;
      if (problem === undefined) {
        this.#copy(data, scanner.starts[place] ?? 0, scanner.ends[place] ?? 0, scanner.forms[place] === CELL.doubled);
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
