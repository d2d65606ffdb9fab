import { nearest } from "../../shared/contract/suggest.ts";
import { usageError } from "../../shared/errors.ts";
import { CsvView } from "../../shared/rows/csv.ts";
import { JsonView, NdjsonView } from "../../shared/rows/json.ts";
import type { View } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import { PACKING_NAMES, type Packing, packedName } from "./packing.ts";
import { type DrawTable, TableView } from "./table.ts";
import { type RowTemplate, TemplateView } from "./template.ts";

/** `duckdb` and `postgres`: rows of a table, which `--output` alone names. */
export type Format = keyof typeof TABLE | "duckdb" | "postgres";

export interface Form {
  readonly format: Format;
  readonly packing?: Packing | undefined;
}

export interface Rendering extends Form {
  readonly kind: RecordKind;
  /** `--fields`: columns and members are exactly these. Without it what the records carry. */
  readonly fields?: readonly string[] | undefined;
  readonly excel?: boolean;
  readonly raw?: boolean;
  readonly table?: DrawTable | undefined;
  readonly template?: RowTemplate | undefined;
}

interface FormatSpec {
  readonly endings: readonly string[];
  /** Makes what writes it page by page; undefined: it needs all rows before the first byte. */
  readonly view: ((rendering: Rendering, extra: boolean) => View) | undefined;
  /** Why it is not packed; undefined: it may be. */
  readonly unpacked?: string;
}

const separated =
  (separator: "," | "\t") =>
  ({ kind, fields, excel, raw }: Rendering, extra: boolean): View =>
    new CsvView({ kind, columns: fields, extra, excel, raw, separator });

/** Every format, by the name that `--format` takes. */
const TABLE = {
  csv: { endings: ["csv"], view: separated(",") },
  tsv: { endings: ["tsv"], view: separated("\t") },
  ndjson: { endings: ["ndjson", "jsonl"], view: ({ fields }) => new NdjsonView(fields) },
  json: { endings: ["json"], view: ({ fields }) => new JsonView(fields) },
  xlsx: { endings: ["xlsx"], view: undefined, unpacked: "A spreadsheet (.xlsx) is compressed in itself" },
  parquet: { endings: ["parquet"], view: undefined, unpacked: "Parquet is compressed in itself" },
  template: {
    endings: [],
    view({ template }) {
      if (template === undefined) throw new TypeError("a view of a template needs one");
      return new TemplateView(template);
    },
  },
  table: {
    endings: [],
    unpacked: "a table is for a person to look at",
    view({ kind, fields, table }) {
      if (table === undefined) throw new TypeError("a table view needs something that draws it");
      return new TableView(kind, fields, table);
    },
  },
} satisfies Readonly<Record<string, FormatSpec>>;
export const FORMATS = Object.keys(TABLE) as readonly (keyof typeof TABLE)[];

const specOf = (format: Format): FormatSpec | undefined =>
  format === "duckdb" || format === "postgres" ? undefined : TABLE[format];

/** What writes a format page by page. @param extra whether columns that come too late get one of their own (CSV) */
export function createView(rendering: Rendering, extra = false): View {
  const view = specOf(rendering.format)?.view;
  if (view === undefined) throw new TypeError(`${rendering.format} is written whole`);
  return view(rendering, extra);
}

/** Formats that need all rows before the first byte: made from the run once it is there. */
export const isWhole = (format: Format): boolean => specOf(format)?.view === undefined && specOf(format) !== undefined;

const formatOfEnding = (ending: string | undefined): Format | undefined =>
  FORMATS.find((format) => TABLE[format].endings.some((each) => each === ending));

const PACKED = PACKING_NAMES.map((name) => `.${name}`).join(" or ");
const ENDINGS = `.csv, .tsv, .ndjson, .jsonl, .json, .xlsx and .parquet, the first five also with ${PACKED}`;
const OTHER_ENDINGS: Readonly<Record<string, string>> = {
  zip: "name it .csv.gz, or .xlsx, which is small",
  xls: "name it .xlsx",
  duckdb: "a table of a DuckDB file is -o duckdb:people.duckdb#people",
  db: "a table of a DuckDB file is -o duckdb:people.duckdb#people",
};

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
    const ending = formatOfEnding(path?.ending);
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
    const format = formatOfEnding(ending);
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
  const why = specOf(format)?.unpacked;
  if (why !== undefined) {
    throw usageError(`there is no ${formName({ format, packing })}: ${why}`, `leave .${packing} out`);
  }
  if (file === undefined && terminal) {
    throw usageError(
      `${formName({ format, packing })} is compressed: nothing for a terminal`,
      `add -o people.${formName({ format, packing })}, or pipe it to a program`,
    );
  }
}
