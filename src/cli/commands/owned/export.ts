import { writePages } from "../../../app/keep/write-pages.ts";
import { recordPages } from "../../../engine/library/library.ts";
import type { Context } from "../../../shared/context.ts";
import { PERSON_FIELDS } from "../../../shared/contract/records.ts";
import { counted } from "../../../shared/contract/text.ts";
import type { CanonicalFilters } from "../../../shared/contract/vocabulary.ts";
import type { Page } from "../../../shared/rows/page.ts";
import {
  addGuardOptions,
  addViewOptions,
  type GuardFlags,
  readView,
  type ViewFlags,
} from "../../arguments/export-options.ts";
import {
  addFilterOptions,
  type FilterOptions,
  readFilters,
} from "../../arguments/filter-options.ts";
import type { Command } from "../../options.ts";
import { writingOf } from "../../purchase/writing.ts";
import { addShelfOption, atLibrary, type LibraryDesk, type ShelfOptions } from "./shelf.ts";

type ExportOwnedOptions = ShelfOptions & ViewFlags & GuardFlags;

export function register(owned: Command, context: Context): void {
  const command = owned
    .command("export")
    .description(
      "Write the newest record of everybody you own who matches, " +
        "in any format. Offline, 0 credits.",
    );

  addShelfOption(addGuardOptions(addViewOptions(addFilterOptions(command), PERSON_FIELDS)))
    .examples(`
  $ headcount -c sample owned export --department Legal -o legal.parquet --overwrite
  $ headcount -c sample owned export --fields name,title | head -3`)
    .does(
      `reads connection runs library suppression
      writes library output register
      exits 5 6 9 130`,
      async (options: ExportOwnedOptions & FilterOptions) =>
        atLibrary(context, exportOwned)(options, (await readFilters(context, options)).canonical),
    );
}

async function exportOwned(
  { context, library, options, printer }: LibraryDesk<ExportOwnedOptions>,
  filters: CanonicalFilters,
) {
  async function* pages(): AsyncGenerator<Page> {
    if (library !== undefined) yield* recordPages(library.records(filters));
  }
  const view = readView(context, options);
  const writing = await writingOf(pages, "person", view, options, printer);
  const { rows, file, notices } = await writePages(pages, { ...writing, name: "owned" }, context);
  for (const notice of notices) printer.note(notice);
  if (file === undefined) return;
  if (printer.json) printer.document<"owned export">({ rows, credits: 0, output: file });
  printer.note(`Wrote ${counted(rows, "profile")} that you own to ${options.output} at 0 credits`);
}
