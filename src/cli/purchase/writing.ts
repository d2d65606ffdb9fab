import { outputGuard } from "../../app/buy/options.ts";
import { type Pages, type PagesOutput, renderingOf } from "../../app/keep/write-pages.ts";
import { formName } from "../../engine/output/formats.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import {
  ALL,
  type GuardFlags,
  type readView,
  type ViewFlags,
} from "../arguments/export-options.ts";
import type { Printer } from "../terminal/printer.ts";

/**
 * How owned rows are written, by the options of a command line.
 * @throws CliError exit 2 for a field that no row has
 */
export async function writingOf(
  pages: Pages,
  kind: RecordKind,
  view: ReturnType<typeof readView>,
  flags: ViewFlags & GuardFlags,
  printer: Printer,
): Promise<Omit<PagesOutput, "name">> {
  if (view.output === undefined) printer.requireOpen();

  const table = { isWhole: flags.fields === ALL, draw: () => printer.rowsTable() };
  const rendering = await renderingOf(pages, kind, view, table);
  return {
    output: view.output,
    stream: printer.dataStream(formName(rendering)),
    rendering,
    guard: outputGuard(flags),
  };
}
