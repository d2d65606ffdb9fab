import { nearest } from "../../shared/contract/suggest.ts";
import { usageError } from "../../shared/errors.ts";
import { CsvView } from "../../shared/rows/csv.ts";
import { JsonView, NdjsonView } from "../../shared/rows/json.ts";
import type { View } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import { PACKING_NAMES, type Packing, packedName } from "./packing.ts";
import { type DrawTable, TableView } from "./table.ts";
import { type RowTemplate, TemplateView } from "./template.ts";

export const FORMATS = ["csv", "tsv", "ndjson", "json", "xlsx", "parquet", "template", "table"] as const;
/** `duckdb` and `postgres`: rows of a table, which `--output` alone names. */
export type Format = (typeof FORMATS)[number] | "duckdb" | "postgres";

export interface Form {
  readonly format: Format;
  readonly packing?: Packing | undefined;
}

export interface Rendering extends Form {
  readonly kind: RecordKind;
  /** `--fields`: columns and members are exactly these. Without it what the records carry; NDJSON and JSON pass them on as they came. */
  readonly fields?: readonly string[] | undefined;
  readonly excel?: boolean;
  readonly raw?: boolean;
  readonly table?: DrawTable | undefined;
  readonly template?: RowTemplate | undefined;
}

/** The view of a format that is written page by page. @param extra whether columns that come too late get one of their own (CSV) */
export function createView({ format, kind, fields, excel, raw, table, template }: Rendering, extra = false): View {
  switch (format) {
    case "csv":
    case "tsv":
      return new CsvView({ kind, columns: fields, extra, excel, raw, separator: format === "tsv" ? "\t" : "," });
    case "ndjson":
      return new NdjsonView(fields);
    case "json":
      return new JsonView(fields);
    case "template":
      if (template === undefined) throw new TypeError("a view of a template needs one");
      return new TemplateView(template);
    case "table":
      if (table === undefined) throw new TypeError("a table view needs something that draws it");
      return new TableView(kind, fields, table);
    default:
      throw new TypeError(`${format} is written whole`);
  }
}

/** Formats that need all rows before the first byte: made from the run once it is there. */
export const isWhole = (format: Format): format is "parquet" | "xlsx" => format === "parquet" || format === "xlsx";

const FORMAT_OF_ENDING: Readonly<Record<string, Format>> = {
  csv: "csv",
  tsv: "tsv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  xlsx: "xlsx",
  parquet: "parquet",
};
const PACKED = PACKING_NAMES.map((name) => `.${name}`).join(" or ");
const ENDINGS = `.csv, .tsv, .ndjson, .jsonl, .json, .xlsx and .parquet, the first five also with ${PACKED}`;
const OTHER_ENDINGS: Readonly<Record<string, string>> = {
  zip: "name it .csv.gz, or .xlsx, which is small",
  xls: "name it .xlsx",
  duckdb: "a table of a DuckDB file is -o duckdb:people.duckdb#people",
  db: "a table of a DuckDB file is -o duckdb:people.duckdb#people",
};
const IN_ITSELF: readonly Format[] = ["xlsx", "parquet", "table"];

/** The name of a form as `--format` takes it and runs keep it: `csv`, `csv.gz`. */
export const formName = ({ format, packing }: Form): string =>
  packing === undefined ? format : `${format}.${packing}`;

/** What a file's name, or a name of a form, says: `x.csv.gz` is CSV, packed. */
function read(name: string): { readonly packing: Packing | undefined; readonly ending: string | undefined } {
  const { inner, packing } = packedName(name);
  return { packing, ending: /(?:^|\.)([^./\\]+)$/.exec(inner)?.[1]?.toLowerCase() };
}

function formOf(name: string): Form | undefined {
  const { packing, ending } = read(name);
  const format = FORMATS.find((known) => known === ending);
  const whole = format !== undefined && name.toLowerCase() === formName({ format, packing });
  return whole ? { format, packing } : undefined;
}

export const savedForm = (name: string): Form => {
  if (name === "duckdb" || name === "postgres") return { format: name };
  return formOf(name) ?? { format: "ndjson" };
};

/** As named, else by the file's ending, else NDJSON to a pipe and a table to a terminal. @throws CliError (exit 2) */
export function chooseForm(named: string | undefined, file: string | undefined, terminal: boolean): Form {
  const path = file === undefined ? undefined : read(file.replace(/^.*[/\\]/, ""));
  let form: Form;
  if (named !== undefined) {
    const own = formOf(named);
    if (own === undefined) {
      const near = nearest(named, FORMATS);
      throw usageError(
        `unknown format: ${named}${near === undefined ? "" : ` (did you mean ${near}?)`}; formats: ${FORMATS.join(", ")}; csv.gz and the like are compressed`,
      );
    }
    const ending = FORMAT_OF_ENDING[path?.ending ?? ""];
    if (own.format === "template" && ending !== undefined && ending !== own.format) {
      throw usageError(
        `--template writes text of its own, and the name ${file} says ${ending}`,
        "name it .txt, or leave --template out",
      );
    }
    form = { format: own.format, packing: own.packing ?? path?.packing };
  } else if (path === undefined) {
    form = { format: terminal ? "table" : "ndjson" };
  } else {
    const { ending, packing } = path;
    const format = ending === undefined ? undefined : FORMAT_OF_ENDING[ending];
    if (format === undefined || !/\./.test(file ?? "")) {
      throw usageError(
        `the name ${file} does not tell the format: endings are ${ENDINGS}`,
        OTHER_ENDINGS[ending ?? ""] ?? "add --format csv (or tsv, ndjson, json, xlsx, parquet)",
      );
    }
    form = { format, packing };
  }
  checkForm(form, file, terminal);
  return form;
}

function checkForm({ format, packing }: Form, file: string | undefined, terminal: boolean): void {
  const name = format === "xlsx" ? "A spreadsheet (.xlsx)" : "Parquet";
  if (isWhole(format) && file === undefined) {
    throw usageError(`${name} needs a file: it cannot be written to a pipe or a terminal`, `add -o people.${format}`);
  }
  if (packing === undefined) return;
  if (IN_ITSELF.includes(format)) {
    const why = format === "table" ? "a table is for a person to look at" : `${name} is compressed in itself`;
    throw usageError(`there is no ${formName({ format, packing })}: ${why}`, `leave .${packing} out`);
  }
  if (file === undefined && terminal) {
    throw usageError(
      `${formName({ format, packing })} is compressed: nothing for a terminal`,
      `add -o people.${formName({ format, packing })}, or pipe it to a program`,
    );
  }
}
