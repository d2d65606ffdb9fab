import type { Command } from "commander";
import type { Context } from "../../context.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../contract/records.ts";
import { counted } from "../../contract/text.ts";
import { CliError, EXIT } from "../../errors.ts";
import { checkFields, collectColumns, noRowHas, publishedFields } from "../../output/columns.ts";
import { distinctPages, kindOf } from "../../output/distinct.ts";
import type { Rendering } from "../../output/formats.ts";
import type { RunReader } from "../../runs/run.ts";
import { Printer } from "../../terminal/printer.ts";
import { addGuardOptions, addViewOptions, type GuardFlags, readView, type ViewFlags } from "../export-options.ts";
import { writePages } from "../write-pages.ts";
import { openStore } from "./store.ts";

interface ExportRunOptions extends ViewFlags, GuardFlags {
  readonly requireComplete?: boolean;
}

export function register(runs: Command, context: Context): void {
  const command = runs
    .command("export <run>")
    .description("Write a run again, in another format or with other fields. Offline, 0 credits.");
  addGuardOptions(addViewOptions(command, [...new Set([...PERSON_FIELDS, ...COMPANY_FIELDS])]))
    .option("--require-complete", "exit 5 and write nothing where the run is not finished")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount runs export last --format csv --fields id,name,location | head -3
  $ headcount runs export last -o again.csv --excel --overwrite
  $ headcount runs export last --json | jq length

A run that is not finished gives what it has so far, and says so.`,
    )
    .action(async (run: string, _: unknown, self: Command) => {
      await exportRun(run, self.optsWithGlobals<ExportRunOptions>(), context);
    });
}

/** The run's rows, every one once, in another form. Reads what was kept; asks no service. */
async function exportRun(name: string, options: ExportRunOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const view = readView(context, options);
  const store = openStore(context);
  const run = await store.open(await store.resolve(name));
  const finished = run.state.done !== undefined;
  if (!finished && options.requireComplete === true) throw notFinished(run);
  const rendering: Rendering = {
    ...view,
    kind: kindOf(run),
    fields: await fieldsOf(run, view.fields, options.allFields === true && view.format === "table"),
    table: view.format === "table" ? await printer.rowsTable() : undefined,
  };
  const { rows, file, missing } = await writePages(
    () => distinctPages(run),
    view.output,
    rendering,
    options,
    `${run.id}-export`,
    context,
  );
  for (const field of missing) printer.note(noRowHas(field));
  if (!finished) {
    const { ended } = run.state;
    printer.say(
      ended?.how === "stale"
        ? `run ${run.id} is stale: this is all that it has; ${ended.why}`
        : `run ${run.id} is unfinished: this is what it has so far; headcount resume ${run.id} goes on`,
    );
  }
  if (file === undefined) return;
  if (printer.json) {
    const { path, bytes, sha256 } = file;
    printer.document({
      run: run.id,
      finished,
      rows,
      credits: 0,
      output: { file: path, format: view.format, bytes, sha256 },
    });
  }
  const what = rendering.kind === "person" ? counted(rows, "profile") : counted(rows, "company", "companies");
  printer.note(`Wrote ${what} of run ${run.id} to ${options.output} at 0 credits`);
}

/** The pinned columns, checked against what was bought where they are no published ones. */
async function fieldsOf(
  run: RunReader,
  fields: readonly string[] | undefined,
  all: boolean,
): Promise<readonly string[] | undefined> {
  const kind = kindOf(run);
  const columns = (): Promise<string[]> => collectColumns(distinctPages(run), kind);
  if (fields === undefined) return all ? await columns() : undefined;
  const published = new Set(publishedFields(kind));
  checkFields(fields, kind, fields.every((field) => published.has(field)) ? published : new Set(await columns()));
  return fields;
}

const notFinished = ({ id, state }: RunReader): CliError =>
  new CliError({
    code: "incomplete",
    category: "incomplete",
    exitCode: EXIT.incomplete,
    message: `run ${id} is not finished: it has ${counted(state.rows, "row")}${state.ended === undefined ? "" : `; ${state.ended.why}`}`,
    hint: state.ended?.how === "stale" ? "the same command again begins anew" : `headcount resume ${id} goes on`,
  });
