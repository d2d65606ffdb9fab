import type { Writable } from "node:stream";
import { EXIT } from "../../errors.ts";
import { checkFields } from "../../render/columns.ts";
import type { RecordKind } from "../../render/values.ts";
import type { Disk } from "../../runs/disk.ts";
import type { SavedView } from "../../runs/plan.ts";
import { type Form, formName, type Rendering } from "../formats.ts";
import { FileOutput, type Output, StreamOutput } from "../output.ts";
import { openPacker } from "../packing.ts";
import type { Guard } from "../publish.ts";
import { loadTemplate, type RowTemplate } from "../template.ts";

/** Where rows go. */
export interface Sink {
  /** Absolute path; undefined: the stream. */
  readonly output: string | undefined;
  readonly stream: Writable;
  /** Keeps two unfinished outputs apart. */
  readonly name: string;
  readonly rendering: Rendering;
  readonly guard: Guard;
  readonly disk: Disk;
  readonly interrupted: AbortSignal;
}

export const openSink = (sink: Sink): Promise<Output> => {
  const { output, stream, name, rendering, guard, disk, interrupted } = sink;
  return output === undefined
    ? StreamOutput.open(stream, rendering, guard, interrupted)
    : FileOutput.open(output, name, rendering, guard, disk);
};

/** How rows are asked for: what a run keeps, and what `resume` finds again. */
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

/** Whether a form can be written here, asked before anything is bought. @throws CliError (exit 2) naming the package or field that is missing */
export async function checkForm(
  { format, packing, template }: Form & Pick<AskedView, "template">,
  kind: RecordKind,
): Promise<void> {
  if (format === "parquet") await (await import("../whole/duck.ts")).loadDuckDb();
  if (format === "xlsx") await (await import("../whole/xlsx.ts")).loadZip();
  await openPacker(packing);
  const read = await templateOf({ template });
  if (read !== undefined) checkFields(read.fields, kind);
}

/** Whether a form has room for so many rows. @throws CliError exit 2 */
export async function checkRoom({ format }: Form, rows: number): Promise<void> {
  if (format === "xlsx") (await import("../whole/xlsx.ts")).checkSheet(rows, EXIT.usage, "; nothing was spent");
}
