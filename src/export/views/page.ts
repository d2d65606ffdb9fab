import { isAscii, isUtf8 } from "node:buffer";
import { parseExact } from "./exact.ts";
import { compact, type RowSpans, scanRows } from "./scan.ts";
import type { JsonRecord, JsonValue } from "./types.ts";

const LINE_BREAK = 0x0a;
const FIRST_ID = '{"id":"';

/**
 * The rows of one spooled reply, as bytes and as records. Both are made only where they are asked for: NDJSON never parses,
 * CSV parses once.
 */
export class Page {
  readonly #bytes: Buffer;
  readonly #spans: RowSpans;
  readonly #indexes: readonly number[] | undefined;
  #rows: readonly JsonRecord[] | undefined;

  private constructor(bytes: Buffer, spans: RowSpans, indexes?: readonly number[]) {
    this.#bytes = bytes;
    this.#spans = spans;
    this.#indexes = indexes;
  }

  /**
   * Reads the body of a reply (after decompression).
   * @throws Error where it is no JSON or holds no rows
   */
  static read(body: Buffer): Page {
    const bytes = isUtf8(body) ? body : Buffer.from(body.toString("utf8"));
    return new Page(bytes, scanRows(bytes));
  }

  get length(): number {
    return this.#indexes?.length ?? this.#spans.starts.length;
  }

  /** The same page with only these rows, in this order: for duplicates that are written once, and for a limit. */
  select(indexes: readonly number[]): Page {
    const own = this.#indexes;
    const chosen = indexes.map((index) => (own === undefined ? index : (own[index] ?? -1)));
    if (chosen.some((index) => index < 0 || index >= this.#spans.starts.length)) throw new RangeError("no such row");
    return new Page(this.#bytes, this.#spans, chosen);
  }

  /** One row as it came, without white space between its tokens. */
  text(index: number): string {
    return Buffer.from(this.#line(this.#at(index))).toString();
  }

  /** One row parsed. A row that is no object is held under `value`. */
  row(index: number): JsonRecord {
    return this.#rows?.[index] ?? asRecord(this.#value(this.text(index)));
  }

  /** Every row parsed, integers beyond 2^53 as bigints. */
  rows(): readonly JsonRecord[] {
    this.#rows ??= this.#parse();
    return this.#rows;
  }

  /**
   * The value of a row's own `id` (else of another of these keys) as text: what a row is told from others by. Reads the bytes
   * where a record begins with a plain `"id"`, so that NDJSON needs no parsing.
   * @returns undefined where the row has none of the keys
   */
  identity(index: number, keys: readonly string[] = ["id", "network_url"]): string | undefined {
    if (this.#rows === undefined && keys[0] === "id") {
      const start = this.#spans.starts[this.#at(index)] ?? 0;
      if (this.#bytes.toString("latin1", start, start + FIRST_ID.length) === FIRST_ID) {
        const from = start + FIRST_ID.length;
        const id = this.#bytes.toString("utf8", from, this.#bytes.indexOf('"', from));
        if (id !== "" && !id.includes("\\")) return id;
      }
    }
    const row = this.row(index);
    for (const key of keys) {
      const value = Object.hasOwn(row, key) ? row[key] : undefined;
      if (value !== undefined && value !== null && value !== "") {
        return typeof value === "object" ? JSON.stringify(value) : String(value);
      }
    }
    return undefined;
  }

  /** The rows as NDJSON: one compact object a line, each with its line break, every token as it came. */
  ndjson(): Buffer {
    const { starts, ends, tight } = this.#spans;
    if (this.length === 0) return Buffer.alloc(0);
    if (tight && this.#indexes === undefined) {
      const first = starts[0] ?? 0;
      const last = ends.at(-1) ?? 0;
      const out = Buffer.allocUnsafe(last - first + 1);
      this.#bytes.copy(out, 0, first, last);
      // In a tight list exactly one byte, the comma, stands between two rows.
      for (const end of ends) out[end - first] = LINE_BREAK;
      return out;
    }
    const lineBreak = Uint8Array.of(LINE_BREAK);
    const parts: Uint8Array[] = [];
    for (let index = 0; index < this.length; index++) parts.push(this.#line(this.#at(index)), lineBreak);
    return Buffer.concat(parts);
  }

  #at(index: number): number {
    const at = this.#indexes === undefined ? index : (this.#indexes[index] ?? -1);
    if (at < 0 || at >= this.#spans.starts.length) throw new RangeError(`no row ${index} in a page of ${this.length}`);
    return at;
  }

  #line(at: number): Uint8Array {
    const { starts, ends, tight } = this.#spans;
    const start = starts[at] ?? 0;
    const end = ends[at] ?? 0;
    return tight ? this.#bytes.subarray(start, end) : compact(this.#bytes, start, end);
  }

  #value(text: string): JsonValue {
    return this.#spans.long ? parseExact(text) : (JSON.parse(text) as JsonValue);
  }

  #parse(): readonly JsonRecord[] {
    const { starts, ends } = this.#spans;
    if (starts.length === 0) return [];
    if (this.#indexes === undefined && starts.length > 1) {
      const list = this.#bytes.subarray(starts[0] ?? 0, ends.at(-1) ?? 0);
      // Node decodes Latin-1 three times as fast as UTF-8, and for ASCII they are the same.
      const text = list.toString(isAscii(list) ? "latin1" : "utf8");
      return (this.#value(`[${text}]`) as readonly JsonValue[]).map(asRecord);
    }
    return Array.from({ length: this.length }, (_, index) => asRecord(this.#value(this.text(index))));
  }
}

const asRecord = (value: JsonValue): JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : { value };
