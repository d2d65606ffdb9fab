import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import type { Context } from "../../../shared/context.ts";
import { creditsOrNull } from "../../../shared/contract/money.ts";
import type { GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { creditsColumn, iso, type Listed, ServiceList } from "../service/list.ts";

/** `jobs list`: what the file says of each. */
export async function listJobs({ jobs }: JobsFile, options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await new ServiceList(LISTED, printer).print(jobs, context, "The file has no jobs.");
  if (!printer.terminal || printer.json) return;
  for (const { name, problem } of jobs) if (problem !== undefined) printer.note(`${name}: ${problem.message}`);
}

const LISTED: readonly Listed<Job>[] = [
  { name: "job", title: "job", long: true, value: ({ name }) => name },
  {
    ...{ name: "schedule", title: "schedule", value: ({ schedule }) => schedule?.cron ?? null },
    json: ({ schedule }) => schedule?.text ?? null,
    show: ({ schedule }) => schedule?.text ?? "by hand",
  },
  creditsColumn("max_credits", "cap", ({ values }) => values.max_credits ?? null),
  { name: "output", title: "output", long: true, value: ({ output = null }) => output },
  { name: "problem", value: ({ problem }) => problem?.message ?? null },
];

/** `jobs show NAME`: what it does, and when it comes. */
export async function showJob(job: Job, { folder }: JobsFile, options: GlobalOptions, context: Context): Promise<void> {
  if (job.problem !== undefined) throw job.problem;
  const printer = new Printer(context, options);
  const { name, command, schedule, values, output, log, notify, notifyFailure } = job;
  const { nextTime } = await import("../../../app/jobs/schedule.ts");
  const next = schedule === undefined ? undefined : await nextTime(schedule, context.now());
  const entries = {
    job: name,
    command,
    filters: values.filters ?? null,
    segment: values.segment ?? null,
    list: values.list ?? null,
    folder,
    schedule: schedule?.text ?? null,
    cron: schedule?.cron ?? null,
    on_calendar: schedule?.calendar ?? null,
    next: iso(next ?? null),
    max_credits: creditsOrNull(values.max_credits),
    output: output ?? null,
    log: log ?? null,
    notify: notify ?? null,
    notify_failure: notifyFailure ?? null,
  };
  if (printer.json) return printer.document<"jobs show">(entries);
  const shown = Object.entries(entries).map(
    ([key, value]) => [key, value !== null && typeof value === "object" ? JSON.stringify(value) : value] as const,
  );
  if (!printer.terminal) return printer.leaves(Object.fromEntries(shown));
  await printer.card(
    shown.map(([key, value]) => [key.replaceAll("_", " "), value === null ? undefined : String(value)]),
  );
}
