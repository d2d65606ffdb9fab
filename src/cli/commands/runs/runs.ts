import type { Context } from "../../../shared/context.ts";
import type { Command } from "../../options.ts";
import { register as registerResume } from "../resume.ts";
import { register as registerExport } from "./export.ts";
import { register as registerList } from "./list.ts";
import { registerPrune, registerRemove } from "./remove.ts";
import { register as registerShow } from "./show.ts";

export function register(program: Command, context: Context): void {
  const runs = program
    .command("runs")
    .summary("list, show, resume, export or remove paid exports")
    .description(
      "Every paid export is a run that keeps what was bought: continue it, or write it again in another form at 0 credits.\nRUN is an id of `runs list`, its beginning or its end, or `last`.",
    )
    .examples(`
  $ headcount runs                                   every run, the newest first
  $ headcount runs show last
  $ headcount runs export last --fields name,location -o people.parquet
  $ headcount runs prune --older-than 90d --dry-run`);
  registerList(runs, context);
  registerShow(runs, context);
  registerRemove(runs, context);
  registerPrune(runs, context);
  registerResume(runs, context);
  registerExport(runs, context);
}
