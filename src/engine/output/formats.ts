// Tested by test/unit/output-formats.test.ts and test/unit/output-csv-bytes.test.ts.

import { stat } from "node:fs/promises";
import { aside, nearest } from "../../shared/contract/suggest.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import {
  type CliError,
  failed,
  option,
  type Sentence,
  say,
  usageError,
} from "../../shared/errors.ts";
import type { Page, View } from "../../shared/rows/page.ts";
import type { JsonValue, RecordKind } from "../../shared/rows/values.ts";
import type { Of } from "../../shared/schema/build.ts";
import type { writtenShape } from "../../shared/schema/purchase.ts";
import type { Guard } from "../runs/plan.ts";
import { requireFile } from "./named.ts";
import { PACKING_NAMES, type Packing, packedName, unpacked } from "./packing.ts";
import { TOO_FEW } from "./publish.ts";
import type { Chosen, StoredFile, StoredRows, WholeFormat } from "./stored.ts";
import type { DrawTable } from "./table.ts";

/** `duckdb` and `postgres`: rows of a table, which `--output` alone names. */
export type Format = keyof typeof TABLE | "duckdb" | "postgres";

export interface Form {
  readonly format: Format;
  readonly packing?: Packing | undefined;
}

export interface AskedView extends Form {
  /** `--fields`: columns and members are exactly these. Without it what the records carry. */
  readonly fields?: readonly string[] | undefined;
  readonly excel: boolean;
  readonly raw: boolean;
}

export interface Rendering extends Form, Partial<Omit<AskedView, keyof Form>> {
  readonly kind: RecordKind;
  readonly table?: DrawTable | undefined;
}

export interface Output {
  write(page: Page): Promise<void>;
  readonly notices: readonly string[];
  /** @param pages all of the run's pages once more, where a file has to be written again */
  prepare(pages: () => AsyncIterable<Page>): Promise<Written | undefined>;
  publish(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * As receipts and `--json` tell it: of a file its size
 * and digest, of a table how many rows are new in it.
 */
export type Written = Of<typeof writtenShape>;

interface FormatSpec {
  readonly endings: readonly string[];
  /** Undefined: it may be packed. */
  readonly unpacked?: string;
}

/** What a format is written and read by is loaded where it is. */
interface PagedFormat extends FormatSpec {
  readonly view: () => Promise<MakeView>;
  /** Undefined: its rows cannot be told apart. */
  readonly rows?: () => Promise<StoredRows>;
}

/** @param extra whether columns that come too late get one of their own (CSV) */
type MakeView = (rendering: Rendering, extra: boolean) => View;

type LateFormat = FormatSpec & { readonly whole: () => Promise<WholeFormat> };

const storedForms = () => import("./stored.ts");

const separated = (separator: "," | "\t"): Omit<PagedFormat, "endings"> => ({
  view: async () => {
    const { CsvView } = await import("../../shared/rows/csv.ts");
    return ({ kind, fields, excel, raw }, extra) =>
      new CsvView({ kind, columns: fields, extra, excel, raw, separator });
  },

  rows: async () => (await storedForms()).cellRows(separator),
});

const json = (
  view: "ndjsonView" | "jsonView",
  rows: "lineRows" | "jsonRows",
): Omit<PagedFormat, "endings"> => ({
  view: async () => {
    const views = await import("../../shared/rows/json.ts");
    return ({ fields }) => views[view](fields);
  },
  rows: async () => (await storedForms())[rows],
});

/** Every format, by the name that `--format` takes: all that there is to say of it. */
const TABLE = {
  csv: { endings: ["csv"], ...separated(",") },
  tsv: { endings: ["tsv"], ...separated("\t") },
  ndjson: { endings: ["ndjson", "jsonl"], ...json("ndjsonView", "lineRows") },
  json: { endings: ["json"], ...json("jsonView", "jsonRows") },
  xlsx: {
    endings: ["xlsx"],
    unpacked: "A spreadsheet (.xlsx) is compressed in itself",
    whole: async () => (await import("./whole/xlsx.ts")).xlsx,
  },
  parquet: {
    endings: ["parquet"],
    unpacked: "Parquet is compressed in itself",
    whole: async () => (await import("./whole/parquet.ts")).parquet,
  },
  table: {
    endings: [],
    unpacked: "a table is for a person to look at",

    view: async () => {
      const { tableView } = await import("./table.ts");
      return ({ kind, fields, table }) => {
        if (table === undefined) throw new TypeError("a table view needs something that draws it");
        return tableView(kind, fields, table);
      };
    },
  },
} satisfies Readonly<Record<string, PagedFormat | LateFormat>>;
/** CSV that a spreadsheet opens rightly, and CSV without the guard against formulas. */
export const CSV_STYLES = ["excel", "raw"] as const;

export const FORMATS = Object.keys(TABLE) as readonly (keyof typeof TABLE)[];

const specOf = (format: Format): (FormatSpec & Partial<PagedFormat & LateFormat>) | undefined =>
  format === "duckdb" || format === "postgres" ? undefined : TABLE[format];

export async function viewMaker(format: Format): Promise<MakeView> {
  const view = specOf(format)?.view;
  if (view === undefined) throw new TypeError(`${format} is written whole`);
  return view();
}

export const isWhole = (format: Format): boolean => specOf(format)?.whole !== undefined;

export const lateFormat = async (format: Format): Promise<WholeFormat | undefined> =>
  specOf(format)?.whole?.();

const storedRows = async (format: Format | undefined): Promise<StoredRows | undefined> =>
  format === undefined
    ? undefined
    : ((await lateFormat(format)) ?? (await specOf(format)?.rows?.()));

const storedFile = (path: string, packing: Packing | undefined): StoredFile => ({
  path,
  bytes: () => unpacked(path, packing),
});

/** Undefined where that cannot be told, 0 where there is no file. */
async function rowsIn(path: string): Promise<number | undefined> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size === 0) return 0;
  const { ending, packing } = read(path);
  try {
    return await (await storedRows(formatOfEnding(ending)))?.count(storedFile(path, packing));
  } catch {
    return undefined;
  }
}

/** @throws where another program changed what the file is */
export async function* plainTextOf(
  path: string,
  form: Form | undefined,
): AsyncGenerator<Uint8Array> {
  const rows = await storedRows(form?.format);
  yield* rows?.text?.(path) ?? unpacked(path, form?.packing);
}

export interface RowChoice {
  /** Whether a row with this text may be one: asked before it is read. */
  readonly mayBeIn: (text: string) => boolean;
  readonly isRow: (row: JsonValue) => boolean;
}

/**
 * The bytes of a file without some rows, before they are
 * packed, and how many are gone by the time that they end.
 * @param scratch see {@link StoredRows} @returns
 * undefined for a form whose rows cannot be told apart
 */
export async function rowsWithout(
  path: string,
  form: Form,
  choice: RowChoice,
  scratch: string | undefined,
) {
  let count = 0;
  const chosen: Chosen = (text, row) => {
    const goes = choice.mayBeIn(text) && choice.isRow(row());
    if (goes) count++;
    return goes;
  };

  const rows = await storedRows(form.format);
  return (
    rows && {
      bytes: rows.without(storedFile(path, form.packing), chosen, scratch),
      gone: () => count,
    }
  );
}

const formatOfEnding = (ending: string | undefined): Format | undefined =>
  FORMATS.find((format) => TABLE[format].endings.some((each) => each === ending));

const PACKED = PACKING_NAMES.map((name) => `.${name}`).join(" or ");
const NAMED = ".csv, .tsv, .ndjson, .jsonl, .json, .xlsx and .parquet";
const ENDINGS = `${NAMED}, the first five also with ${PACKED}`;
const OTHER_ENDINGS: Readonly<Record<string, string>> = {
  zip: "name it .csv.gz, or .xlsx, which is small",
  xls: "name it .xlsx",
  duckdb: "a table of a DuckDB file is -o duckdb:people.duckdb#people",
  db: "a table of a DuckDB file is -o duckdb:people.duckdb#people",
};

/** As `--format` takes it and runs keep it: `csv`, `csv.gz`. */
export const formName = ({ format, packing }: Form): string =>
  packing === undefined ? format : `${format}.${packing}`;

/** Of a file's name, or the name of a form: `x.csv.gz` is CSV, packed. */
function read(name: string): {
  readonly packing: Packing | undefined;
  readonly ending: string | undefined;
} {
  const { inner, packing } = packedName(name);
  return { packing, ending: /(?:^|\.)([^./\\]+)$/.exec(inner)?.[1]?.toLowerCase() };
}

function formOf(name: string): Form | undefined {
  const { packing, ending } = read(name);
  const format = FORMATS.find((each) => each === ending);
  const whole = format !== undefined && name.toLowerCase() === formName({ format, packing });
  return whole ? { format, packing } : undefined;
}

export const savedForm = (name: string): Form => {
  if (name === "duckdb" || name === "postgres") return { format: name };
  return formOf(name) ?? { format: "ndjson" };
};

/**
 * As named, else by the file's ending, else NDJSON to a pipe and a table to a terminal.
 * @throws CliError (exit 2)
 */
export function chooseForm(
  word: string | undefined,
  file: string | undefined,
  terminal: boolean,
): Form {
  const path = file === undefined ? undefined : read(file.replace(/^.*[/\\]/, ""));
  let form: Form;
  if (word !== undefined) {
    const own = formOf(word);
    if (own === undefined) {
      throw usageError(
        `unknown format: ${word}${aside(nearest(word, FORMATS))}; formats: ` +
          `${FORMATS.join(", ")}; csv.gz and the like are compressed`,
      );
    }
    form = { format: own.format, packing: own.packing ?? path?.packing };
  } else if (path === undefined) {
    form = { format: terminal ? "table" : "ndjson" };
  } else {
    const { ending, packing } = path;
    const format = formatOfEnding(ending);
    if (format === undefined || !/\./.test(file ?? "")) {
      requireFile(file ?? "");
      throw usageError(
        `the name ${file} does not tell the format: endings are ${ENDINGS}`,
        OTHER_ENDINGS[ending ?? ""] ??
          say`add ${option("format", "csv")} (or tsv, ndjson, json, xlsx, parquet)`,
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
    throw usageError(
      `${name} needs a file: it cannot be written to a pipe or a terminal`,
      `add -o people.${format}`,
    );
  }
  if (packing === undefined) return;

  const why = specOf(format)?.unpacked;
  if (why !== undefined) {
    throw usageError(
      `there is no ${formName({ format, packing })}: ${why}`,
      `leave .${packing} out`,
    );
  }

  if (file === undefined && terminal) {
    throw usageError(
      `${formName({ format, packing })} is compressed: nothing for a terminal`,
      `add -o people.${formName({ format, packing })}, or pipe it to a program`,
    );
  }
}

const tooFew = (message: Sentence, hint: Sentence): CliError =>
  failed.incomplete(message, hint, TOO_FEW);

/**
 * Asked before anything is bought, and before a file (undefined: a stream) is replaced.
 * @throws CliError exit 5
 */
export async function checkRows(
  rows: number,
  path: string | undefined,
  guard: Guard,
  said = "",
): Promise<void> {
  const { allowEmpty, minRows, maxShrink } = guard;
  const came = counted(rows, "row");

  if (minRows !== undefined && rows < minRows) {
    throw tooFew(
      say`${came}: fewer than ${option("min_rows", minRows)}${said}`,
      say`a smaller ${option("min_rows")} takes them`,
    );
  }
  if (path === undefined || (rows === 0 ? allowEmpty : maxShrink === undefined)) return;

  const before = await rowsIn(path);
  if (before === 0) return;

  const place =
    before === undefined
      ? "a file whose rows cannot be counted"
      : `the ${grouped(before)} in ${path}`;

  if (rows === 0) {
    throw tooFew(
      `0 rows would take the place of ${place}: it stays as it is${said}`,
      say`${option("min_rows", 0)} replaces it`,
    );
  }

  if (before === undefined || rows < before * (1 - (maxShrink ?? 1))) {
    const percent = Math.round((maxShrink ?? 1) * 100);
    throw tooFew(
      say`${came} instead of ${place}: more than ${option("max_shrink", `${percent}%`)} fewer, so it
        stays as it is${said}`,
      say`a larger ${option("max_shrink")}, or none, replaces it`,
    );
  }
}
