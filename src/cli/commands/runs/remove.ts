import { keptRuns, runsOlderThan } from "../../../app/keep/retention.ts";
import { openRuns } from "../../../app/keep/store.ts";
import { stateDir } from "../../../engine/connections/paths.ts";
import { openLibrary, shelfOfPlan } from "../../../engine/library/take-in.ts";
import type { RunSummary } from "../../../engine/runs/reader.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import { type Context, canPrompt } from "../../../shared/context.ts";
import { counted, echo, spanMs } from "../../../shared/contract/text.ts";
import { CliError, declined, usageError } from "../../../shared/errors.ts";
import { sameCommand } from "../../arguments/export-options.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";

type RemoveOptions = GlobalOptions & {
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
};

const addRemoving = (command: Command): Command =>
  command
    .option("--dry-run", "only say which")
    .option("--force", "also unfinished ones")
    .option("-y, --yes", "do not ask");

export function registerRemove(runs: Command, context: Context): void {
  addRemoving(runs.command("remove <run...>"))
    .description(
      "Remove runs with everything that they keep. Files that were written " +
        "from them stay, and their people stay owned.",
    )
    .examples(`
  $ headcount runs remove last --dry-run
  $ headcount runs remove last --yes
  $ headcount runs remove last --force --yes --json`)
    .does(
      `reads runs library suppression
      writes runs library
      exits 5 9 10`,
      atDesk(context, remove),
    );
}

async function remove(desk: Desk<RemoveOptions>, names: readonly string[]) {
  const store = openRuns(desk.context);
  const runs = new Map<string, RunSummary>();
  for (const name of names) {
    const run = await store.find(name);
    runs.set(run.id, run);
  }
  await removeAll(store, [...runs.values()], desk);
}

export function registerPrune(runs: Command, context: Context): void {
  addRemoving(
    runs
      .command("prune")
      .argument("[age]", "such as 90d, 12h, 8w (default: what headcount data set runs=90d says)")
      .description("Remove runs that are over and that nothing happened to for a while."),
  )
    .examples(`
  $ headcount runs prune 90d --dry-run
  $ headcount runs prune 26w --yes
  $ headcount data set runs=90d && headcount runs prune --yes    by policy

What was spent stays known, and the people stay owned. See also: headcount data`)
    .does(
      `reads runs library suppression
      writes runs library
      exits 5 9 10`,
      atDesk(context, prune),
    );
}

async function prune(desk: Desk<RemoveOptions>, age: string | undefined) {
  const { context, options } = desk;
  const span = age ?? keptRuns(context);
  if (span === undefined) {
    throw usageError(
      "nobody says how old runs have to be: no age is given, and there is no policy",
      "headcount runs prune 90d, or once headcount data set runs=90d",
    );
  }

  if (spanMs(span) === undefined) {
    throw usageError(`prune takes an age such as 90d, 12h or 8w, not "${echo(span)}"`);
  }

  const store = openRuns(context);
  await removeAll(store, await runsOlderThan(span, store, context, options.force), desk);
}

/**
 * What the policy says, after jobs, which nobody looks
 * at. Never asks; what cannot go now goes another time.
 */
export async function applyRetention(context: Context, printer: Printer): Promise<void> {
  const span = keptRuns(context);
  if (span === undefined) return;

  try {
    const store = openRuns(context);
    const old = await runsOlderThan(span, store, context);
    await removeKeeping(store, old, {}, context);
    if (old.length > 0)
      printer.note(
        `removed ${counted(old.length, "run")} older than ${span}, as headcount data says`,
      );
  } catch (error) {
    printer.say(`warning: runs older than ${span} stay for now: ${(error as Error).message}`);
  }
}

async function removeAll(store: RunStore, runs: readonly RunSummary[], desk: Desk<RemoveOptions>) {
  const { context, options, printer } = desk;
  const isAsked = options.yes === true || canPrompt(context);
  const byForce = sameCommand(context, "--force", ...(isAsked ? [] : ["--yes"]));
  for (const run of runs) store.requireRemovable(run, options.force ? undefined : byForce);

  const isDry = options.dryRun === true;
  if (!isDry) {
    if (runs.length > 0 && options.yes !== true) await agree(runs, context);
    await removeKeeping(store, runs, options, context);
  }

  const removed = runs.map(({ id }) => id);
  if (printer.json)
    return printer.document<"runs prune">(isDry ? { would_remove: removed } : { removed });
  printer.text(removed.map((id) => `${id}\n`).join(""));
  printer.note(`${isDry ? "would remove" : "removed"} ${counted(removed.length, "run")}`);
}

/**
 * Who was bought stays owned: the library takes it in.
 * @throws CliError where it cannot and no `--force` is given
 */
async function removeKeeping(
  store: RunStore,
  runs: readonly RunSummary[],
  options: Pick<RemoveOptions, "force">,
  context: Context,
) {
  const ids = new Set(runs.map(({ id }) => id));
  const shelves = runs
    .map(({ plan }) => shelfOfPlan(stateDir(context), plan))
    .filter((shelf) => shelf !== undefined);

  try {
    for (const shelf of new Map(shelves.map((one) => [one.path, one])).values()) {
      const opened = await openLibrary(shelf, store);
      opened?.library.close();
      const loss = opened?.taken.unread.find(({ run }) => ids.has(run));
      if (loss !== undefined)
        throw usageError(`the people of run ${loss.run} cannot be kept: ${loss.why}`);
    }
  } catch (error) {
    const failure = error instanceof CliError ? error : usageError((error as Error).message);
    if (options.force !== true)
      throw failure.with({ hint: "with --force they go with the run; nothing was removed yet" });
  }

  for (const run of runs) await store.remove(run, context);
  await store.sweep();
}

/** Rows go with a run: a person is asked, a script has to say that it means it. */
async function agree(runs: readonly RunSummary[], context: Context) {
  const rows = runs.reduce((sum, run) => sum + run.rows, 0);
  const what =
    `${runs.length === 1 ? `run ${runs[0]?.id}` : counted(runs.length, "run")} ` +
    `with ${counted(rows, "row")}`;

  if (!canPrompt(context)) {
    throw usageError(
      `removing ${what} needs --yes where nobody can be asked`,
      sameCommand(context, "--yes"),
    );
  }
  if (await context.confirm(`Remove ${what}? [y/N]`)) return;

  throw declined("nothing was removed");
}
