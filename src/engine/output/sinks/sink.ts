// Tested by test/unit/output-formats.test.ts.
import type { RecordKind } from "../../../shared/rows/values.ts";
import type { Disk } from "../../runs/disk.ts";
import type { Guard, SavedView } from "../../runs/plan.ts";
import {
  type AskedView,
  type Form,
  formName,
  lateFormat,
  type Output,
  type Rendering,
} from "../formats.ts";
import { FileOutput, openStream, type StreamOptions } from "../output.ts";
import type { OutputPlace } from "../register.ts";
import { engineOf } from "../tables/target.ts";

export interface Sink extends StreamOptions {
  /** Absolute path, or a table (`../tables/target.ts`); undefined: the stream. */
  readonly output: string | undefined;
  readonly place: OutputPlace;
}

export const openSink = async (sink: Sink): Promise<Output> => {
  const { output, rendering, guard, place } = sink;
  if (output === undefined) return openStream(sink);
  if (engineOf(output) === undefined) return FileOutput.open(output, rendering, guard, place);
  return (await tables()).openTable(output, rendering, guard, place);
};

const tables = () => import("../tables/table-output.ts");

export const savedView = (view: AskedView): SavedView => ({
  format: formName(view),
  fields: view.fields ?? null,
  excel: view.excel,
  raw: view.raw,
});

type Wanted = Form & Guard & Pick<Rendering, "fields"> & { readonly output?: string | undefined };

/** Asked before anything is bought. @throws CliError exit 2 or 9 */
export async function checkSink(wanted: Wanted, kind: RecordKind, disk: Disk): Promise<void> {
  const { format, output, fields } = wanted;
  await (await lateFormat(format))?.load();
  if (output !== undefined && engineOf(output) !== undefined)
    await (await tables()).checkTable(output, { kind, fields }, wanted, { name: "check", disk });
}

export async function checkRoom({ format }: Form, rows: number): Promise<void> {
  (await lateFormat(format))?.checkRoom(rows, "usage", "; nothing was spent");
}
