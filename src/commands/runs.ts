import type { Command } from "commander";
import type { Context } from "../context.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import type { GlobalOptions } from "../options.ts";
import { addGuardOptions, addViewOptions } from "./export-options.ts";
import { openStore } from "./open-runs.ts";
import { register as registerResume } from "./resume.ts";

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
  $ headcount runs export last --fields name,location -o people.parquet
  $ headcount runs prune --older-than 90d --dry-run`,
    );
  runs
    .command("list", { isDefault: true })
    .description("List every run, the newest first.")
    .addHelpText(
      "after",
      examples("runs list", "runs list --json | jq -r '.[] | select(.status == \"unfinished\") | .id'"),
    )
    .action(async (_: unknown, self: Command) => {
      const { printList } = await import("./runs-show.ts");
      await printList(await (await openStore(context)).list(), self.optsWithGlobals<GlobalOptions>(), context);
    });
  runs
    .command("show <run>")
    .description("Show one run: what it buys, what it cost, where it stands.")
    .addHelpText("after", examples("runs show last", "runs show last --json | jq .receipt"))
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
    .addHelpText("after", examples("runs remove last --yes", "runs remove last --force --yes --json"))
    .action(async (ids: readonly string[], _: unknown, self: Command) => {
      await (await import("./runs-remove.ts")).removeRuns(ids, self.optsWithGlobals(), context);
    });
  runs
    .command("prune")
    .description("Remove finished runs that nothing happened to for a while.")
    .requiredOption("--older-than <span>", "such as 90d, 12h, 8w")
    .option("--dry-run", "only say which")
    .option("--force", "also unfinished ones")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", examples("runs prune --older-than 90d --dry-run", "runs prune --older-than 26w --yes"))
    .action(async (_: unknown, self: Command) => {
      await (await import("./runs-remove.ts")).pruneRuns(self.optsWithGlobals(), context);
    });
  registerResume(runs, context);
  addExport(runs, context);
}

const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ headcount ${line}`).join("\n")}`;

function addExport(runs: Command, context: Context): void {
  const command = runs
    .command("export <run>")
    .description("Write a run again, in another format or with other fields. Offline, 0 credits.");
  addGuardOptions(addViewOptions(command, [...new Set([...PERSON_FIELDS, ...COMPANY_FIELDS])]))
    .addHelpText(
      "after",
      examples(
        "runs export last --format csv --fields id,name,location | head -3",
        "runs export last -o again.csv --excel --overwrite",
        "runs export last --json | jq length",
      ),
    )
    .action(async (run: string, _: unknown, self: Command) => {
      await (await import("./runs-export.ts")).exportRun(run, self.optsWithGlobals(), context);
    });
}
