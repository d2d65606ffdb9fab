import type { View } from "./page.ts";
import { fieldValue, type JsonRecord, type JsonValue, stringifyExact } from "./values.ts";

function selected(row: JsonRecord, fields: readonly string[]): string {
  const out: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
  for (const field of fields) out[field] = fieldValue(row, field) ?? null;
  return stringifyExact(out);
}

/** NDJSON: one compact object a line. Without `columns` every token is as it came. */
export function ndjsonView(columns?: readonly string[]): View {
  let buffer = Buffer.alloc(0);
  const room = (size: number): Buffer => {
    if (buffer.length < size) buffer = Buffer.allocUnsafeSlow(Math.ceil(size * 1.1));
    return buffer;
  };

  return {
    unseen: new Set(),

    page(page) {
      if (columns === undefined) return page.ndjson(room);
      return page
        .rows()
        .map((row) => `${selected(row, columns)}\n`)
        .join("");
    },

    end: () => "",
  };
}

export function jsonView(columns?: readonly string[]): View {
  const lines = ndjsonView(columns);

  let started = false;
  return {
    unseen: lines.unseen,

    page(page) {
      if (page.length === 0) return "";
      // No token holds a raw line break, so every one here ends a record.
      const body = lines.page(page).toString().slice(0, -1).replaceAll("\n", ",\n");
      const before = started ? ",\n" : "[\n";
      started = true;
      return before + body;
    },

    end: () => (started ? "\n]\n" : "[]\n"),
  };
}
