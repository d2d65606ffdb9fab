import type { RecordKind } from "../../../shared/rows/values.ts";
import type { Disk } from "../../runs/disk.ts";
import type { SavedView } from "../../runs/plan.ts";
import { type Form, formName, lateFormat, type Output } from "../formats.ts";
import { FileOutput, openStream, type StreamOptions } from "../output.ts";
import { openPacker } from "../packing.ts";
import type { Guard } from "../publish.ts";
import type { OutputPlace } from "../register.ts";
import { checkTable, openTable } from "../tables/table-output.ts";
import { engineOf } from "../tables/target.ts";

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
  readonly fields?: readonly string[] | undefined;
  readonly excel: boolean;
  readonly raw: boolean;
}

export const savedView = (view: AskedView): SavedView => ({
  format: formName(view),
  fields: view.fields ?? null,
  excel: view.excel,
  raw: view.raw,
});

export interface Wanted extends AskedView, Guard {
  readonly output?: string | undefined;
}

/** Asked before anything is bought. @throws CliError exit 2 or 9 */
export async function checkSink(wanted: Wanted, kind: RecordKind, disk: Disk): Promise<void> {
  const { format, packing, output, fields } = wanted;
  await (await lateFormat(format))?.load();
  openPacker(packing);
  if (output !== undefined && engineOf(output) !== undefined)
    await checkTable(output, { kind, fields }, wanted, { name: "check", disk });
}

export async function checkRoom({ format }: Form, rows: number): Promise<void> {
  (await lateFormat(format))?.checkRoom(rows, "usage", "; nothing was spent");
}
