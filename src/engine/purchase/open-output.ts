import { kindOf } from "../output/distinct.ts";
import type { Output, Rendering } from "../output/formats.ts";
import { JoinOutput } from "../output/join.ts";
import { Register } from "../output/register.ts";
import { openSink, templateOf } from "../output/sinks/sink.ts";
import type { Run } from "../runs/run.ts";
import type { ExportDeps, ExportOptions } from "./order.ts";

/** What the rows of a run go to. */
export async function openOutput(run: Run, options: ExportOptions, deps: ExportDeps): Promise<Output> {
  const { format, packing, excel, raw, output } = options;
  const { disk, interrupted, now, stateDir, stdout: stream } = deps;
  const place = { name: run.id, by: run.id, disk, register: new Register(stateDir, disk, now) };
  const table = format === "table" ? await deps.table?.() : undefined;
  const template = await templateOf(options);
  const rendering = {
    format,
    packing,
    kind: kindOf(run),
    fields: template?.fields ?? options.fields,
    excel,
    raw,
    table,
    template,
  };
  const open = (view: Rendering): Promise<Output> =>
    openSink({ output, stream, rendering: view, guard: options, place, interrupted });
  return options.join === undefined ? open(rendering) : new JoinOutput(run, { join: options.join, rendering, open });
}
