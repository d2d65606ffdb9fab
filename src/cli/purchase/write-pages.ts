import { formName, type Rendering } from "../../engine/output/formats.ts";
import { exists, type Facts } from "../../engine/output/output.ts";
import { checkSink, openSink, placeOf, templateOf } from "../../engine/output/sinks/sink.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { Context } from "../../shared/context.ts";
import { usageError } from "../../shared/errors.ts";
import { checkFields, collectColumns, publishedFields } from "../../shared/rows/columns.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import { type GuardFlags, readGuard, type readView, type ViewFlags } from "../arguments/export-options.ts";
import { Printer } from "../terminal/printer.ts";

/**
 * Writes rows that are owned already to a file, which appears once it is whole, or to stdout.
 * @param pages all of them; asked for again where a file has to be written again
 * @param target absolute path; undefined: stdout
 * @param name keeps two unfinished files apart
 * @returns `notices`: what is to be said of it
 * @throws CliError exit 2 where the file exists and is not to be replaced
 */
export async function writePages(
  pages: () => AsyncIterable<Page>,
  target: string | undefined,
  rendering: Rendering,
  flags: GuardFlags,
  name: string,
  context: Context,
): Promise<{ readonly rows: number; readonly file: Facts | undefined; readonly notices: readonly string[] }> {
  const guard = readGuard(flags);
  const path = await placeOf(target);
  if (path !== undefined && flags.overwrite !== true && (await exists(path))) {
    throw usageError(`${target} exists`, "add --overwrite, or choose another name with -o", "file_exists");
  }
  const disk = new Disk();
  const { kind, format, packing, fields } = rendering;
  await checkSink({ ...guard, format, packing, fields, output: path, excel: false, raw: false }, kind, disk);
  const output = await openSink({
    output: path,
    stream: new Printer(context, {}).dataStream(formName(rendering)),
    name: `${name}-${context.pid}`,
    rendering,
    guard,
    disk,
    interrupted: context.interrupted,
  });
  let rows = 0;
  try {
    for await (const page of pages()) {
      context.interrupted.throwIfAborted();
      rows += page.length;
      await output.write(page);
    }
    const file = await output.prepare(pages);
    await output.publish();
    return { rows, file, notices: output.notices };
  } catch (error) {
    await output.abort();
    throw error;
  }
}

/**
 * How rows that are owned already are to be written. Fields that no published record has are checked against the rows.
 * @throws CliError exit 2 for a field that no row has
 */
export async function renderingOf(
  pages: () => AsyncIterable<Page>,
  kind: RecordKind,
  view: ReturnType<typeof readView>,
  flags: ViewFlags,
  printer: Printer,
): Promise<Rendering> {
  const table = view.format === "table";
  const columns = (): Promise<string[]> => collectColumns(pages(), kind);
  let { fields } = view;
  const template = await templateOf(view);
  if (template !== undefined) fields = [...template.fields];
  if (fields === undefined) fields = table && flags.allFields === true ? await columns() : undefined;
  else {
    const published = new Set(publishedFields(kind));
    checkFields(fields, kind, fields.every((field) => published.has(field)) ? published : new Set(await columns()));
  }
  return { ...view, kind, fields, template, table: table ? await printer.rowsTable() : undefined };
}
