import type { Page, View } from "./page.ts";
import { fieldValue, type JsonRecord, type JsonValue, stringifyExact } from "./values.ts";

function selected(row: JsonRecord, fields: readonly string[]): string {
  const out: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
  for (const field of fields) out[field] = fieldValue(row, field) ?? null;
  return stringifyExact(out);
}

/** NDJSON: one compact object a line. Without `columns` every token is as it came. */
export class NdjsonView implements View {
  readonly unseen: ReadonlySet<string> = new Set();
  readonly #columns: readonly string[] | undefined;
  #kept = Buffer.alloc(0);
  readonly #room = (size: number): Buffer => {
    if (this.#kept.length < size) this.#kept = Buffer.allocUnsafeSlow(Math.ceil(size * 1.1));
    return this.#kept;
  };

  constructor(columns?: readonly string[]) {
    this.#columns = columns;
  }

  page(page: Page): string | Buffer {
    const fields = this.#columns;
    if (fields === undefined) return page.ndjson(this.#room);
    return page
      .rows()
      .map((row) => `${selected(row, fields)}\n`)
      .join("");
  }

  end(): string {
    return "";
  }
}

export class JsonView implements View {
  readonly unseen: ReadonlySet<string> = new Set();
  readonly #lines: NdjsonView;
  #started = false;

  constructor(columns?: readonly string[]) {
    this.#lines = new NdjsonView(columns);
  }

  page(page: Page): string {
    if (page.length === 0) return "";
    // No token holds a raw line break, so every one here ends a record.
    const body = this.#lines.page(page).toString().slice(0, -1).replaceAll("\n", ",\n");
    const before = this.#started ? ",\n" : "[\n";
    this.#started = true;
    return before + body;
  }

  end(): string {
    return this.#started ? "\n]\n" : "[]\n";
  }
}
