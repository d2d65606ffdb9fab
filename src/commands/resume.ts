import type { Command } from "commander";
import type { Context } from "../context.ts";
import { usageError } from "../errors.ts";
import { addBuyingOptions, type ExportFlags } from "./export-options.ts";

export type ResumeOptions = ExportFlags;

export function register(program: Command, context: Context): void {
  const command = program
    .command("resume")
    .argument("[run]", "id of a run, or part of it (default: the one that is unfinished)")
    .summary("continue an unfinished export")
    .description(
      "Continue an export where it stopped. What it bought is read from its run and not bought again; the output is written as if nothing had happened. --limit and --max-credits count from the run's beginning.",
    );
  addBuyingOptions(command, "rows")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample resume
  $ headcount -c sample resume --max-credits 50 --yes

Where several runs are unfinished, name one: headcount runs lists them.`,
    )
    .action(async (run: string | undefined, _: unknown, self: Command) => {
      await resume(run, self.optsWithGlobals<ResumeOptions>(), context);
    });
}

async function resume(named: string | undefined, flags: ResumeOptions, context: Context): Promise<void> {
  const [{ RunStore }, { Disk }, { stateDir }] = await Promise.all([
    import("../runs/run-store.ts"),
    import("../runs/disk.ts"),
    import("../connections/paths.ts"),
  ]);
  const store = new RunStore(stateDir(context), new Disk());
  const id = named === undefined ? await theUnfinished(store) : await store.resolve(named);
  if (id === undefined) {
    context.stderr.write("Nothing to resume: every run is finished\n");
    return;
  }
  const plan = await store.readPlan(id);
  const { withSession } = await import("./session.ts");
  const [{ resumeExport }, { exportTerminal, COMPANIES, PROFILES, printResult }] = await Promise.all([
    import("../purchase/purchase.ts"),
    import("./export-run.ts"),
  ]);
  // "environment" is what a connection is called that variables alone make up.
  const saved = plan.connection === "environment" ? undefined : plan.connection;
  const connection = flags.connection ?? saved;
  const { connection: _, ...others } = flags;
  await withSession(context, { ...others, ...(connection === undefined ? {} : { connection }) }, async (session) => {
    const wording = plan.command === "enrich" ? COMPANIES : PROFILES;
    const terminal = await exportTerminal(session, context, flags, wording);
    try {
      const result = await resumeExport(
        id,
        {
          maxCredits: flags.maxCredits,
          limit: flags.limit,
          perPage: flags.perPage,
          concurrency: flags.concurrency,
          overwrite: flags.overwrite === true,
          requireComplete: flags.requireComplete === true,
          wait: flags.wait === true,
        },
        terminal.deps,
      );
      terminal.stop();
      const view = {
        output: plan.output ?? undefined,
        format: "ndjson" as const,
        fields: plan.view.fields ?? undefined,
      };
      await printResult(result, plan.target, view, flags, context, wording);
    } finally {
      terminal.stop();
    }
  });
}

/** The one unfinished run. @throws CliError exit 2 where there are several */
async function theUnfinished(store: import("../runs/run-store.ts").RunStore): Promise<string | undefined> {
  const open = (await store.list()).filter(({ status }) => status === "unfinished");
  if (open.length <= 1) return open[0]?.id;
  const lines = open.slice(0, 10).map(({ id, rows, plan }) => `${id}  ${rows} rows  ${plan.output ?? "stdout"}`);
  throw usageError(
    `${open.length} runs are unfinished: ${lines.join("; ")}`,
    `name one: headcount resume ${open[0]?.id}`,
  );
}
