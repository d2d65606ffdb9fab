import type { AskedView, Output, Rendering, Written } from "../../engine/output/formats.ts";
import type { JoinView } from "../../engine/output/join.ts";
import type { StreamOptions } from "../../engine/output/output.ts";
import { placeOf } from "../../engine/output/paths.ts";
import { checkSink, openSink } from "../../engine/output/sinks/sink.ts";
import type { DrawTable } from "../../engine/output/table.ts";
import { requireFree } from "../../engine/purchase/places.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { Guard } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { checkFields, collectColumns, publishedFields } from "../../shared/rows/columns.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import { registerOf } from "./store.ts";

/** All pages; asked for again where a file has to be written again. */
export type Pages = () => AsyncIterable<Page>;

export interface PagesOutput extends Omit<StreamOptions, "interrupted"> {
  /** Absolute path; undefined: `stream`. */
  readonly output: string | undefined;
  readonly name: string;
  /** Puts something beside the rows on their way to what `open` gives. */
  readonly joined?: ((view: JoinWay) => Output) | undefined;
}

type JoinWay = Pick<JoinView, "open" | "rendering">;

export const REPLACING: Guard = { overwrite: true, allowEmpty: true };

/**
 * Writes rows that are owned already to a file, which appears once it is whole, or to a stream.
 * @returns `notices`: what is to be said of it
 * @throws CliError exit 2 where the file exists and is not to be replaced
 */
export async function writePages(
  pages: Pages,
  { output: target, stream, rendering, guard, name, joined }: PagesOutput,
  context: Context,
): Promise<{
  readonly rows: number;
  readonly file: Written | undefined;
  readonly notices: readonly string[];
}> {
  const { pid, interrupted } = context;
  const path = await placeOf(target);
  await requireFree({ overwrite: guard.overwrite, output: path });

  const disk = new Disk();
  const { kind, format, fields } = rendering;
  await checkSink({ ...guard, format, fields, output: path }, kind, disk);

  const place = { name: `${name}-${pid}`, by: name, disk, register: registerOf(context, disk) };
  const open = (view: Rendering): Promise<Output> =>
    openSink({ output: path, stream, rendering: view, guard, interrupted, place });
  const output = joined?.({ rendering, open }) ?? (await open(rendering));

  let rows = 0;
  try {
    for await (const page of pages()) {
      interrupted.throwIfAborted();
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
 * How rows that are owned already are to be written. Fields
 * that no published record has are checked against the rows.
 * @param table draws `format: "table"`, with all columns where that is asked for
 * @throws CliError exit 2 for a field that no row has
 */
export async function renderingOf(
  pages: Pages,
  kind: RecordKind,
  view: AskedView,
  table?: { readonly isWhole: boolean; readonly draw: () => Promise<DrawTable> },
): Promise<Rendering> {
  const drawn = view.format === "table" ? table : undefined;
  const columns = (): Promise<string[]> => collectColumns(pages(), kind);
  let { fields } = view;
  if (fields === undefined) fields = drawn?.isWhole === true ? await columns() : undefined;
  else {
    const published = new Set(publishedFields(kind));
    checkFields(
      fields,
      kind,
      fields.every((field) => published.has(field)) ? published : new Set(await columns()),
    );
  }

  return { ...view, kind, fields, table: await drawn?.draw() };
}
