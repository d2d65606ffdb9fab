import { nearest } from "../contract/suggest.ts";
import { usageError } from "../errors.ts";
import { CsvView } from "../render/csv.ts";
import { JsonView, NdjsonView } from "../render/json.ts";
import type { View } from "../render/page.ts";
import type { RecordKind } from "../render/values.ts";
import { type DrawTable, TableView } from "./table.ts";

export const FORMATS = ["csv", "ndjson", "json", "parquet", "table"] as const;
export type Format = (typeof FORMATS)[number];

export interface Rendering {
  readonly format: Format;
  readonly kind: RecordKind;
  /** `--fields`: columns and members are exactly these. Without it what the records carry; NDJSON and JSON pass them on as they came. */
  readonly fields?: readonly string[] | undefined;
  readonly excel?: boolean;
  readonly raw?: boolean;
  readonly table?: DrawTable | undefined;
}

/** The view of a format that is written page by page. @param extra whether columns that come too late get one of their own (CSV) */
export function createView({ format, kind, fields, excel, raw, table }: Rendering, extra = false): View {
  switch (format) {
    case "csv":
      return new CsvView({ kind, columns: fields, extra, excel, raw });
    case "ndjson":
      return new NdjsonView(fields);
    case "json":
      return new JsonView(fields);
    case "table":
      if (table === undefined) throw new TypeError("a table view needs something that draws it");
      return new TableView(kind, fields, table);
    case "parquet":
      throw new TypeError("Parquet is written whole");
  }
}

const FORMAT_OF_ENDING: Readonly<Record<string, Format>> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  parquet: "parquet",
};

const COMPRESS =
  "nothing is compressed here: name it .csv, .ndjson or .parquet (which is small), and compress it afterwards";

const OTHER_ENDINGS: Readonly<Record<string, string>> = {
  gz: COMPRESS,
  zst: COMPRESS,
  zip: COMPRESS,
  xls: "a .csv written with --excel opens in Excel",
  xlsx: "a .csv written with --excel opens in Excel",
};

/** As named, else by the file's ending, else NDJSON to a pipe and a table to a terminal. @throws CliError (exit 2) */
export function chooseFormat(named: string | undefined, file: string | undefined, terminal: boolean): Format {
  if (named !== undefined) {
    const format = FORMATS.find((known) => known === named.toLowerCase());
    if (format === undefined) {
      const near = nearest(named, FORMATS);
      throw usageError(
        `unknown format: ${named}${near === undefined ? "" : ` (did you mean ${near}?)`}; formats: ${FORMATS.join(", ")}`,
      );
    }
    if (format === "parquet" && file === undefined) {
      throw usageError("Parquet needs a file: it cannot be written to a pipe or a terminal", "add -o people.parquet");
    }
    return format;
  }
  if (file === undefined) return terminal ? "table" : "ndjson";
  const ending = /\.([^./\\]+)$/.exec(file)?.[1]?.toLowerCase();
  const format = ending === undefined ? undefined : FORMAT_OF_ENDING[ending];
  if (format === undefined) {
    throw usageError(
      `the name ${file} does not tell the format: endings are .csv, .ndjson, .jsonl, .json and .parquet`,
      OTHER_ENDINGS[ending ?? ""] ?? "add --format csv (or ndjson, json, parquet)",
    );
  }
  return format;
}
