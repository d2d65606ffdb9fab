import { nearest } from "../contract/suggest.ts";
import { usageError } from "../errors.ts";
import { CsvView } from "./csv.ts";
import { JsonView, NdjsonView } from "./json.ts";
import { MAIN_COLUMNS, TableView } from "./table.ts";
import { FORMATS, type Format, type View, type ViewOptions } from "./types.ts";

export { ColumnUnion, checkFields, collectColumns, parseFields, publishedFields } from "./columns.ts";
export { Page } from "./page.ts";
export { loadParquet, type ParquetOptions, writeParquet } from "./parquet.ts";
export * from "./types.ts";

/** The view of a run in a format, as bytes page by page. Parquet: `writeParquet` of parquet.ts. */
export function createView(options: ViewOptions): View {
  switch (options.format) {
    case "csv":
      return new CsvView(options);
    case "ndjson":
      return new NdjsonView(options.columns);
    case "json":
      return new JsonView(options.columns);
    case "table":
      if (options.table === undefined) throw new TypeError("a table view needs something that draws it");
      return new TableView(options.columns ?? MAIN_COLUMNS[options.kind], options.table);
  }
}

const FORMAT_OF_ENDING: Readonly<Record<string, Format>> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  parquet: "parquet",
};

/**
 * The format of an export: as named, else by the file's ending, else NDJSON to a pipe and a table to a terminal.
 * @throws CliError (exit 2) for an unknown format, an ending that tells nothing, or Parquet to stdout
 */
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
      "add --format csv (or ndjson, json, parquet)",
    );
  }
  return format;
}
