import { checkFields } from "../../../shared/rows/columns.ts";
import type { RecordKind } from "../../../shared/rows/values.ts";
import type { Of } from "../../../shared/schema/build.ts";
import type { writtenShape } from "../../../shared/schema/purchase.ts";
import type { Disk } from "../../runs/disk.ts";
import type { SavedView } from "../../runs/plan.ts";
import { type Form, formName, lateFormat, type Output, type OutputFacts } from "../formats.ts";
import { checkOutput, FileOutput, type OutputPlace, openStream, type StreamOptions } from "../output.ts";
import { openPacker } from "../packing.ts";
import type { Guard } from "../publish.ts";
import { checkTable, openTable } from "../tables/table-output.ts";
import { engineOf } from "../tables/target.ts";
import { loadTemplate, type RowTemplate } from "../template.ts";

export interface Sink extends StreamOptions {
  /** Absolute path, or a table (`../tables/target.ts`); undefined: the stream. */
  readonly output: string | undefined;
  readonly place: OutputPlace;
}

export const openSink = async (sink: Sink): Promise<Output> => {
  const { output, rendering, guard, place } = sink;
  if (output === undefined) return openStream(sink);
  return engineOf(output) !== undefined
    ? openTable(output, rendering, guard, place)
    : FileOutput.open(output, rendering, guard, place);
};

export interface AskedView extends Form {
  readonly fields: readonly string[] | undefined;
  readonly excel: boolean;
  readonly raw: boolean;
  readonly template?: string | undefined;
}

export const savedView = (view: AskedView): SavedView => ({
  format: formName(view),
  fields: view.fields ?? null,
  excel: view.excel,
  raw: view.raw,
  ...(view.template === undefined ? {} : { template: view.template }),
});

export const templateOf = async ({ template }: Pick<AskedView, "template">): Promise<RowTemplate | undefined> =>
  template === undefined ? undefined : loadTemplate(template);

/** @returns what is written: the file behind a symbolic link @throws CliError exit 2 where it could not be */
export const placeOf = async (output: string | undefined): Promise<string | undefined> =>
  output === undefined || engineOf(output) !== undefined ? output : checkOutput(output);

export interface Wanted extends AskedView, Guard {
  readonly output: string | undefined;
}

/** Asked before anything is bought. @throws CliError exit 2 or 9 */
export async function checkSink(wanted: Wanted, kind: RecordKind, disk: Disk): Promise<void> {
  const { format, packing, template, output, fields } = wanted;
  await (await lateFormat(format))?.load();
  openPacker(packing);
  const read = await templateOf({ template });
  if (read !== undefined) checkFields(read.fields, kind);
  if (output !== undefined && engineOf(output) !== undefined)
    await checkTable(output, { kind, fields }, wanted, { name: "check", disk });
}

export async function checkRoom({ format }: Form, rows: number): Promise<void> {
  (await lateFormat(format))?.checkRoom(rows, "usage", "; nothing was spent");
}

/** As receipts and `--json` tell it; `added` counts the new rows of a table. */
export type Written = Of<typeof writtenShape>;

export const writtenAs = ({ path, bytes, sha256, added }: OutputFacts, form: Form): Written => ({
  file: path,
  format: formName(form),
  bytes,
  sha256,
  added,
});
