import type { Command } from "commander";
import { type Context, canPrompt } from "../context.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import type { RunSummary } from "../export/run-store.ts";
import type { GlobalOptions } from "../program.ts";
import { openStore } from "./open-runs.ts";
import { register as registerResume } from "./resume.ts";

interface RemoveOptions extends GlobalOptions {
  readonly force?: boolean;
  readonly yes?: boolean;
}

interface PruneOptions extends RemoveOptions {
  readonly olderThan: string;
  readonly dryRun?: boolean;
}

const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 24 * 7 };

export function register(program: Command, context: Context): void {
  const runs = program
    .command("runs")
    .summary("list, show, resume, export or remove paid exports")
    .description(
      "Every paid export is a run that keeps what was bought: continue it, or write it again in another form at 0 credits.\nRUN is an id of `runs list`, its beginning or its end, or `last`.",
    )
    .addHelpText(
      "after",
      `
Examples:
  $ headcount runs                                        every run, the newest first
  $ headcount runs show last
  $ headcount runs export last --fields name,title -o people.parquet
  $ headcount runs prune --older-than 90d --dry-run`,
    );
  runs
    .command("list", { isDefault: true })
    .description("List every run, the newest first.")
    .action(async (_: unknown, self: Command) => {
      const { printList } = await import("./runs-show.ts");
      await printList(await (await openStore(context)).list(), self.optsWithGlobals<GlobalOptions>(), context);
    });
  runs
    .command("show <run>")
    .description("Show one run: what it buys, what it cost, where it stands.")
    .action(async (run: string, _: unknown, self: Command) => {
      const { printRun } = await import("./runs-show.ts");
      const store = await openStore(context);
      await printRun(store, await store.resolve(run), self.optsWithGlobals<GlobalOptions>(), context);
    });
  runs
    .command("remove <run...>")
    .description("Remove runs with everything that they keep. Files that were written from them stay.")
    .option("--force", "also unfinished ones")
    .option("-y, --yes", "do not ask")
    .action(async (ids: readonly string[], _: unknown, self: Command) => {
      await remove(ids, self.optsWithGlobals<RemoveOptions>(), context);
    });
  runs
    .command("prune")
    .description("Remove finished runs that nothing happened to for a while.")
    .requiredOption("--older-than <span>", "such as 90d, 12h, 8w")
    .option("--dry-run", "only say which")
    .option("--force", "also unfinished ones")
    .option("-y, --yes", "do not ask")
    .action(async (_: unknown, self: Command) => {
      await prune(self.optsWithGlobals<PruneOptions>(), context);
    });
  registerResume(runs, context);
  addExport(runs, context);
}

function addExport(runs: Command, context: Context): void {
  runs
    .command("export <run>")
    .description("Write a run again, in another format or with other fields. Offline, 0 credits.")
    .option("-o, --output <file>", "where to (default: stdout)")
    .option("--format <format>", "csv, ndjson, json, parquet or table (default: by the file's ending)")
    .option("--fields <fields>", "only these, in this order: name,title,company_name")
    .option("--all-fields", "every field, also in a table")
    .option("--excel", "CSV with BOM and CRLF")
    .option("--raw", "CSV without the formula guard")
    .option("--overwrite", "replace the file where it exists")
    .action(async (run: string, _: unknown, self: Command) => {
      await (await import("./runs-export.ts")).exportRun(run, self.optsWithGlobals(), context);
    });
}

async function remove(names: readonly string[], options: RemoveOptions, context: Context): Promise<void> {
  const store = await openStore(context);
  const summaries: RunSummary[] = [];
  for (const id of new Set(await Promise.all(names.map((name) => store.resolve(name))))) {
    const summary = await store.summary(id);
    if (summary !== undefined) summaries.push(summary);
  }
  await agree(summaries, options, context);
  for (const { id } of summaries) await store.remove(id, { force: options.force === true });
  report("removed", summaries, options, context);
}

async function prune(options: PruneOptions, context: Context): Promise<void> {
  const span = /^(\d{1,5})([hdw])$/.exec(options.olderThan);
  if (!span) {
    throw usageError(`--older-than takes a span such as 90d, 12h or 8w, not "${options.olderThan}"`);
  }
  const olderThanMs = Number(span[1]) * (HOURS[span[2] ?? ""] ?? 0) * 3_600_000;
  const store = await openStore(context);
  const now = context.now();
  const old = (await store.list()).filter(
    ({ status, lastAt }) =>
      status !== "running" && now - lastAt >= olderThanMs && (status === "finished" || options.force === true),
  );
  if (options.dryRun === true) return report("would remove", old, options, context);
  if (old.length > 0) await agree(old, options, context);
  report("removed", await store.prune(now, olderThanMs, { force: options.force === true }), options, context);
}

/** Paid rows go with a run: a person is asked, a script has to say that it means it. */
async function agree(summaries: readonly RunSummary[], options: RemoveOptions, context: Context): Promise<void> {
  if (options.yes === true) return;
  const rows = summaries.reduce((sum, { rows }) => sum + rows, 0);
  const what = `${summaries.length === 1 ? `run ${summaries[0]?.id}` : `${summaries.length} runs`} with ${rows.toLocaleString("en-US")} paid rows`;
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
