import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { parseCsv } from "../../../app/buy/companies.ts";
import { importRecords } from "../../../engine/library/take-in.ts";
import type { Context } from "../../../shared/context.ts";
import { NUMBER_COLUMNS } from "../../../shared/contract/conditions.ts";
import { counted, echo, grouped, whole } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { readInput } from "../../../shared/input.ts";
import { isNested, type JsonRecord, parseExact } from "../../../shared/rows/values.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addShelfOption, type ShelfOptions, withLibrary } from "./shelf.ts";

interface ImportOptions extends ShelfOptions {
  readonly at?: string;
}

export const MAX_BYTES = 1 << 29;

/** @param run what is done with the files: tests of parsing hand in another */
export function register(owned: Command, context: Context, run = importFiles): void {
  addShelfOption(owned.command("import <file...>"))
    .description(
      "Take in people that you own already: earlier exports as NDJSON, JSON or CSV with a column `id` or `network_url`. From then on they count as owned, at no price.",
    )
    .option("--at <date>", "when the records were true (default: when the file was last written)")
    .examples(`
  $ headcount owned import people.csv --at 2025-12-31
  $ headcount owned import people.ndjson people.csv`)
    .does((options: ImportOptions, files: readonly string[]) => run(files, options, context));
}

async function importFiles(files: readonly string[], options: ImportOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const given = options.at === undefined ? undefined : Date.parse(options.at);
  if (given !== undefined && !Number.isFinite(given)) {
    throw usageError(`--at takes a date such as 2025-12-31, not "${echo(options.at)}"`);
  }
  // Everything is read before anything is taken in: a file that is refused leaves the library as it was.
  const sources: { readonly name: string; readonly at: number; readonly records: readonly JsonRecord[] }[] = [];
  for (const file of files) {
    const records = await recordsOf(await readInput(context, file, "people", MAX_BYTES), file);
    const written = given ?? (file === "-" ? context.now() : (await stat(resolve(context.cwd, file))).mtimeMs);
    sources.push({ name: basename(file), at: Math.floor(written), records });
  }
  await withLibrary(
    options,
    context,
    printer,
    async (library) => {
      let [rows, fresh] = [0, 0];
      for (const source of sources) {
        rows += source.records.length;
        fresh += importRecords(library, source);
      }
      if (printer.json) printer.document({ files: files.length, rows, new: fresh });
      printer.note(`Took in ${counted(rows, "row")}: ${grouped(fresh)} people who were not owned before`);
    },
    "make",
  );
}

/** The records of a file: a JSON list, NDJSON, or CSV with a header. @throws CliError (exit 2) that names the line */
export async function recordsOf(text: string, file: string): Promise<JsonRecord[]> {
  const records = /^\s*[[{]/.test(text) ? jsonRecords(text, file) : await csvRecords(text, file);
  for (const [index, record] of records.entries()) {
    if (record.id != null || record.network_url != null) continue;
    throw usageError(
      `${file}: record ${index + 1} has neither id nor network_url, so nobody could tell it from others`,
      "give the file a column with one of these names",
      "no_identity",
    );
  }
  return records;
}

function jsonRecords(text: string, file: string): JsonRecord[] {
  const list = text.trimStart().startsWith("[");
  const values = list
    ? [parsed(text, `${file}`)].flat()
    : text
        .split("\n")
        .flatMap((line, index) => (line.trim() === "" ? [] : [parsed(line, `${file}, line ${index + 1}`)]));
  return values.map((value, index) => {
    if (isNested(value)) return value;
    throw usageError(`${file}: record ${index + 1} is no JSON object`);
  });
}

function parsed(text: string, where: string): ReturnType<typeof parseExact> {
  try {
    return parseExact(text);
  } catch (error) {
    throw usageError(`${where}: ${(error as Error).message}`, "one JSON object a line, or one list of them");
  }
}

async function csvRecords(text: string, file: string): Promise<JsonRecord[]> {
  const [header, ...rows] = await parseCsv(text);
  if (header === undefined) throw usageError(`${file} is empty`);
  const names = header.cells.map((cell) => cell.trim());
  return rows.map(({ cells }) =>
    Object.fromEntries(names.map((name, index) => [name, fieldOf(name, cells[index] ?? "")])),
  );
}

/** A cell as it was before it was written: numbers again numbers, and without the apostrophe that keeps a spreadsheet from running it. */
function fieldOf(name: string, cell: string): string | number | null {
  if (cell === "") return null;
  const number = NUMBER_COLUMNS.includes(name) && /^\d+$/.test(cell) ? whole(Number(cell)) : undefined;
  return number ?? cell.replace(/^'(?=[=+\-@\t\r\n])/, "");
}
