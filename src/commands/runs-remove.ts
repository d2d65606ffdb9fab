import { type Context, canPrompt } from "../context.ts";
import { grouped, spanMs } from "../contract/text.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import { isOver, type RunSummary } from "../runs/run-store.ts";
import { openStore } from "./open-runs.ts";

export interface RemoveOptions extends GlobalOptions {
  readonly force?: boolean;
  readonly yes?: boolean;
}

export interface PruneOptions extends RemoveOptions {
  readonly olderThan: string;
  readonly dryRun?: boolean;
}

/** `runs remove RUN...`: asks, or wants `--yes` where nobody can be asked. */
export async function removeRuns(names: readonly string[], options: RemoveOptions, context: Context): Promise<void> {
  const store = await openStore(context);
  const summaries: RunSummary[] = [];
  for (const id of new Set(await Promise.all(names.map((name) => store.resolve(name))))) {
    const summary = await store.summary(id);
    if (summary !== undefined) summaries.push(summary);
  }
  await agree(summaries, options, context);
  for (const { id } of summaries) await store.remove(id, { force: options.force === true });
  await store.sweep();
  report("removed", summaries, options, context);
}

/** `runs prune --older-than SPAN`. */
export async function pruneRuns(options: PruneOptions, context: Context): Promise<void> {
  const olderThanMs = spanMs(options.olderThan);
  if (olderThanMs === undefined) {
    throw usageError(`--older-than takes a span such as 90d, 12h or 8w, not "${options.olderThan}"`);
  }
  const store = await openStore(context);
  const now = context.now();
  const old = (await store.list()).filter(
    (run) => run.status !== "running" && now - run.lastAt >= olderThanMs && (isOver(run) || options.force === true),
  );
  if (options.dryRun === true) return report("would remove", old, options, context);
  if (old.length > 0) await agree(old, options, context);
  for (const { id } of old) await store.remove(id, { force: true });
  await store.sweep();
  report("removed", old, options, context);
}

/** Paid rows go with a run: a person is asked, a script has to say that it means it. */
async function agree(summaries: readonly RunSummary[], options: RemoveOptions, context: Context): Promise<void> {
  if (options.yes === true) return;
  const rows = summaries.reduce((sum, { rows }) => sum + rows, 0);
  const what = `${summaries.length === 1 ? `run ${summaries[0]?.id}` : `${summaries.length} runs`} with ${grouped(rows)} paid rows`;
  if (!canPrompt(context)) {
    throw usageError(
      `removing ${what} needs --yes where nobody can be asked`,
      `headcount ${context.argv.join(" ")} --yes`,
    );
  }
  if (await context.confirm(`Remove ${what}? [y/N]`)) return;
  throw new CliError({
    code: "declined",
    category: "declined",
    exitCode: EXIT.declined,
    message: "nothing was removed",
  });
}

function report(verb: string, summaries: readonly RunSummary[], options: GlobalOptions, context: Context): void {
  const ids = summaries.map(({ id }) => id);
  if (options.json === true) {
    context.stdout.write(`${JSON.stringify({ [verb.replaceAll(" ", "_")]: ids })}\n`);
    return;
  }
  for (const id of ids) context.stdout.write(`${id}\n`);
  if (options.quiet !== true) context.stderr.write(`${verb} ${ids.length} ${ids.length === 1 ? "run" : "runs"}\n`);
}
