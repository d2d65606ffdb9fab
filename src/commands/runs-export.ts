import { resolve } from "node:path";
import type { Context } from "../context.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import { checkFields, collectColumns, parseFields, publishedFields } from "../output/columns.ts";
import { distinctPages, kindOf } from "../output/distinct.ts";
import { chooseFormat } from "../output/formats.ts";
import { checkOutput, exists, FileOutput, type Output, StreamOutput } from "../output/output.ts";
import { Disk } from "../runs/disk.ts";
import type { RunReader } from "../runs/run.ts";
import { counted } from "../terminal/numbers.ts";
import { hasColor, styleFor, widthOfStream } from "../terminal/style.ts";
import { type GuardFlags, readGuard } from "./export-options.ts";
import { openStore } from "./open-runs.ts";

export interface ExportRunOptions extends GlobalOptions, GuardFlags {
  readonly output?: string;
  readonly format?: string;
  readonly fields?: string;
  readonly allFields?: boolean;
  readonly excel?: boolean;
  readonly raw?: boolean;
}

/** `runs export RUN`: the run's rows, every one once, in another form. Reads what was kept; asks no service. */
export async function exportRun(name: string, options: ExportRunOptions, context: Context): Promise<void> {
  if (options.fields !== undefined && options.allFields === true) {
    throw usageError("--fields and --all-fields exclude each other");
  }
  const target = options.output === "-" ? undefined : options.output;
  const named = options.format ?? (options.json === true && target === undefined ? "json" : undefined);
  const format = chooseFormat(named, target, context.stdout.isTTY === true);
  if (format !== "csv" && (options.excel === true || options.raw === true)) {
    throw usageError(`--${options.excel === true ? "excel" : "raw"} is for CSV, not ${format}`, "add --format csv");
  }
  const store = await openStore(context);
  const run = await store.open(await store.resolve(name));
  const kind = kindOf(run);
  const rendering = {
    format,
    kind,
    fields: await fieldsOf(run, options, format === "table"),
    excel: options.excel === true,
    raw: options.raw === true,
    table: format === "table" ? await tableOf(options, context) : undefined,
  };
  const guard = readGuard(options);
  let output: Output;
  let file: string | undefined;
  if (target === undefined) output = new StreamOutput(context.stdout, rendering, guard, context.interrupted);
  else {
    file = await checkOutput(resolve(context.cwd, target));
    if (options.overwrite !== true && (await exists(file))) {
      throw usageError(`${target} exists`, "add --overwrite, or choose another name with -o", "file_exists");
    }
    output = await FileOutput.open(file, `${run.id}-export-${context.pid}`, rendering, guard, new Disk());
  }
  let rows = 0;
  try {
    for await (const page of distinctPages(run)) {
      context.interrupted.throwIfAborted();
      rows += page.length;
      await output.write(page);
    }
    await output.prepare(() => distinctPages(run));
    await output.publish();
  } catch (error) {
    await output.abort();
    throw error;
  }
  if (options.quiet === true) return;
  const what = counted(rows, kind === "person" ? "profile" : "company", kind === "person" ? "profiles" : "companies");
  if (run.state.done === undefined) {
    context.stderr.write(
      `run ${run.id} is unfinished: this is what it has so far; headcount resume ${run.id} goes on\n`,
    );
  }
  if (file !== undefined) context.stderr.write(`Wrote ${what} of run ${run.id} to ${target} at 0 credits\n`);
}

/** The pinned columns, checked against what was bought where they are no published ones. */
async function fieldsOf(
  run: RunReader,
  options: ExportRunOptions,
  table: boolean,
): Promise<readonly string[] | undefined> {
  const kind = kindOf(run);
  const columns = (): Promise<string[]> => collectColumns(distinctPages(run), kind);
  if (options.fields !== undefined) {
    const fields = parseFields(options.fields);
    const published = new Set(publishedFields(kind));
    const seen = fields.every((field) => published.has(field)) ? published : new Set(await columns());
    checkFields(fields, kind, seen);
    return fields;
  }
  return table && options.allFields === true ? await columns() : undefined;
}

async function tableOf(options: GlobalOptions, context: Context) {
  const { createRowsTable } = await import("../terminal/table.ts");
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  const width = widthOfStream(context.stdout);
  return (columns: readonly string[]) => createRowsTable(columns, { width, style });
}
