import { openRuns } from "../../../app/keep/store.ts";
import { writePages } from "../../../app/keep/write-pages.ts";
import { distinctPages, kindOf } from "../../../engine/output/distinct.ts";
import { JOINED, JoinOutput } from "../../../engine/output/join.ts";
import type { Join } from "../../../engine/output/kept-rows.ts";
import { beginsAnew } from "../../../engine/purchase/failures.ts";
import { unreadRows } from "../../../engine/purchase/page-failures.ts";
import {
  isResumable,
  onwardOf,
  type RunReader,
  type RunSummary,
} from "../../../engine/runs/reader.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../../shared/contract/records.ts";
import { counted } from "../../../shared/contract/text.ts";
import {
  CliError,
  clauses,
  command,
  failed,
  option,
  type Sentence,
  say,
} from "../../../shared/errors.ts";
import type { Page } from "../../../shared/rows/page.ts";
import type { RecordKind } from "../../../shared/rows/values.ts";
import {
  addGuardOptions,
  addViewOptions,
  type GuardFlags,
  readView,
  type ViewFlags,
} from "../../arguments/export-options.ts";
import { keptJoin } from "../../arguments/kept-join.ts";
import type { Command } from "../../options.ts";
import { writingOf } from "../../purchase/writing.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";

type ExportRunOptions = ViewFlags &
  GuardFlags & { readonly requireComplete?: boolean; readonly force?: boolean };

export function register(runs: Command, context: Context): void {
  const command = runs
    .command("export <run>")
    .description("Write a run again, in another format or with other fields. Offline, 0 credits.");

  addGuardOptions(addViewOptions(command, [...new Set([...PERSON_FIELDS, ...COMPANY_FIELDS])]))
    .option(
      "--require-complete",
      "exit 5 and write nothing where the run is not finished, or rows of it cannot be read",
    )
    .option("--force", "leave out what was damaged on the disk, and say how much")
    .examples(`
  $ headcount runs export last --format csv --fields id,name,location | head -3
  $ headcount runs export last -o again.xlsx --overwrite
  $ headcount runs export last --format csv.gz > again.csv.gz
  $ headcount runs export last -o duckdb:crm.duckdb#people
  $ headcount runs export last --json | jq length

A run that is not finished gives what it has so far, and says so.`)
    .does(
      `reads runs suppression register
      writes output register
      exits 5 8 9 130`,
      atDesk(context, exportRun),
    );
}

/** The run's rows, every one once, in another form. Reads what was kept; asks no service. */
async function exportRun({ options, printer, context }: Desk<ExportRunOptions>, name: string) {
  const view = readView(context, options);
  const store = openRuns(context);
  const id = await store.resolve(name);
  const run =
    options.force === true ? await store.salvage(id) : await store.open(id).catch(orSalvage(id));
  const open = run.state.done === undefined ? await store.find(id) : undefined;
  if (open !== undefined && options.requireComplete === true) throw notFinished(open);

  const broken = run.state.unread > 0 ? await unreadRows(run) : undefined;
  if (broken !== undefined && options.requireComplete === true) throw broken;
  const pages = (): AsyncIterable<Page> => distinctPages(run);
  const writing = await writingOf(pages, kindOf(run), view, options, printer);
  const join = JOINED.includes(view.format) ? await tableOf(run, store, printer) : undefined;
  const { file, notices, ...came } = await writePages(
    pages,
    {
      ...writing,
      joined: join && ((way) => new JoinOutput(run, { ...way, join })),
      name: `${id}-export`,
    },
    context,
  ).catch(orSalvage(id));
  const rows = join?.rows.length ?? came.rows;

  for (const what of [...(run.damages ?? []), ...(broken ? [broken.message] : [])])
    printer.say(`warning: ${what}`);
  for (const notice of notices) printer.note(notice);
  if (open !== undefined) printer.say(openText(open));

  if (file === undefined) return;

  if (printer.json) {
    printer.document<"runs export">({
      run: run.id,
      finished: open === undefined,
      rows,
      unread: run.state.unread,
      credits: 0,
      output: file,
    });
  }

  const what = counted(rows, ...COUNTED[join === undefined ? kindOf(run) : "row"]);
  printer.note(`Wrote ${what} of run ${run.id} to ${options.output} at 0 credits`);
}

/** That it is not finished, and what goes on. */
function openText(run: RunSummary): string {
  const has = run.status === "stale" ? "all that it has" : "what it has so far";
  return [`run ${run.id} is ${run.status}: this is ${has}`, ...rest(run)].join("; ");
}

const COUNTED: Readonly<Record<RecordKind | "row", readonly [one: string, more: string]>> = {
  person: ["profile", "profiles"],
  company: ["company", "companies"],
  row: ["row", "rows"],
};

/**
 * The caller's own table, which the rows go beside. What is damaged cannot be put to a row, and a
 * table does not travel to other machines: then the rows are written by themselves.
 */
async function tableOf(
  run: RunReader,
  store: RunStore,
  printer: Printer,
): Promise<Join | undefined> {
  if (run.damages !== undefined) return undefined;
  return await keptJoin(store, run.id, run.plan.target).catch((error: Error) => {
    printer.say(`warning: ${error.message}: these are the rows alone`);
    return undefined;
  });
}

/** What is wrong with a page or a line says nothing of the others. */
const orSalvage =
  (id: string) =>
  (error: unknown): never => {
    const damaged = error instanceof CliError && error.code.startsWith("damaged_");
    const next = command("runs export", { arguments: [id], options: [option("force")] });
    throw damaged ? error.with({ hint: say`${next} writes what can still be read`, next }) : error;
  };

/** Why no more came, and what goes on. */
const rest = (run: RunSummary): Sentence[] => {
  const anew = run.status === "stale" ? beginsAnew(run.plan) : [];
  return [run.problem ?? [], isResumable(run) ? say`${onwardOf(run)} goes on` : anew].flat();
};

const notFinished = (run: RunSummary): CliError =>
  failed
    .incomplete(
      `run ${run.id} is not finished: it has ${counted(run.rows, "row")}`,
      clauses(...rest(run)),
    )
    .with({ next: isResumable(run) ? onwardOf(run) : undefined });
