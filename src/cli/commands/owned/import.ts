import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { MAX_BYTES, recordsOf } from "../../../app/own/people-file.ts";
import { importRecords } from "../../../engine/library/take-in.ts";
import type { Context } from "../../../shared/context.ts";
import { counted, echo, grouped } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { readInput } from "../../../shared/input.ts";
import type { JsonRecord } from "../../../shared/rows/values.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addShelfOption, type ShelfOptions, withLibrary } from "./shelf.ts";

interface ImportOptions extends ShelfOptions {
  readonly at?: string;
}

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
      if (printer.json) printer.document<"owned import">({ files: files.length, rows, new: fresh });
      printer.note(`Took in ${counted(rows, "row")}: ${grouped(fresh)} people who were not owned before`);
    },
    "make",
  );
}
