import { spentByJobs } from "../../../app/jobs/budget.ts";
import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import { historyOf, isDue, keyOf } from "../../../app/jobs/history.ts";
import { nextTime } from "../../../app/jobs/schedule.ts";
import type { Context } from "../../../shared/context.ts";
import { type Credits, creditsOrNull, creditsToNumber, formatCreditsGrouped } from "../../../shared/contract/money.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { ago, duration } from "../../../shared/numbers.ts";
import { csvDocument } from "../../../shared/rows/csv.ts";
import type { GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { iso } from "../service/list.ts";

/** One job in `jobs status --json`. Every key is always there. */
interface JobStatus {
  readonly job: string;
  readonly status: "never" | "done" | "skipped" | "failed" | "running" | "killed" | "invalid";
  readonly exit_code: number | null;
  readonly last: string | null;
  readonly rows: number | null;
  readonly rows_before: number | null;
  readonly credits: number | null;
  readonly next: string | null;
  readonly due: boolean;
  readonly output: string | null;
  readonly message: string | null;
}

const COLUMNS = [
  "job",
  "status",
  "exit_code",
  "last",
  "rows",
  "rows_before",
  "credits",
  "next",
  "due",
  "output",
  "message",
] as const;

async function statusOf(job: Job, file: JobsFile, context: Context): Promise<JobStatus> {
  const history = await historyOf(context, keyOf(file, job.name));
  const { last, done, now } = history;
  const at = context.now();
  return {
    job: job.name,
    status: job.problem !== undefined ? "invalid" : (now ?? last?.status ?? "never"),
    exit_code: last?.exit_code ?? null,
    last: last?.started ?? null,
    rows: done?.rows ?? null,
    rows_before: done?.rows_before ?? null,
    credits: last?.credits ?? null,
    next: iso((job.schedule === undefined ? undefined : await nextTime(job.schedule, at)) ?? null),
    due: job.problem === undefined && (await isDue(job.schedule, history, at)),
    output: job.output ?? null,
    message: job.problem?.message ?? last?.error?.message ?? null,
  };
}

/** `jobs status`: how each job went, what it cost, and when it comes next. */
export async function showStatus(
  file: JobsFile,
  jobs: readonly Job[],
  options: GlobalOptions & { readonly budget?: Credits },
  context: Context,
): Promise<void> {
  const printer = new Printer(context, options);
  const all: JobStatus[] = [];
  for (const job of jobs) all.push(await statusOf(job, file, context));
  const budget = options.budget ?? file.budget;
  const services = await spentByJobs(context);
  const month = new Date(context.now()).toISOString().slice(0, 7);
  if (printer.json) {
    return printer.document<"jobs status">({
      ...{ file: file.path, month, budget: creditsOrNull(budget) },
      services: services.map(({ serviceId, keyMode, spent }) => ({
        ...{ service: serviceId, key_mode: keyMode, spent: creditsToNumber(spent) },
      })),
      jobs: all,
    });
  }
  if (!printer.terminal) {
    return printer.text(
      csvDocument(
        COLUMNS,
        all.map((status) => COLUMNS.map((name) => status[name])),
      ),
    );
  }
  await printTable(all, printer, context);
  const of = budget === undefined ? "" : ` of ${formatCreditsGrouped(budget)}`;
  if (services.length === 0) printer.note(`no credits spent by jobs in ${month} (UTC)`);
  for (const { serviceId, keyMode, spent } of services) {
    const at = `${serviceId}${keyMode === "test" ? " (test key)" : ""}`;
    printer.note(`${formatCreditsGrouped(spent)}${of} credits spent by jobs in ${month} (UTC) at ${at}`);
  }
  for (const { job, message } of all) if (message !== null) printer.note(`${job}: ${message}`);
}

async function printTable(all: readonly JobStatus[], printer: Printer, context: Context): Promise<void> {
  const now = context.now();
  const change = ({ rows, rows_before }: JobStatus): string => {
    if (rows === null || rows_before === null) return "";
    return rows === rows_before ? "=" : `${rows > rows_before ? "+" : "-"}${grouped(Math.abs(rows - rows_before))}`;
  };
  // Where there is little room the name is worth more than what the run before had.
  const wide = printer.width >= 80;
  await printer.table(
    [
      { title: "job" },
      { title: "last", fixed: true },
      { title: "status", fixed: true },
      { title: "rows", align: "right", fixed: true },
      ...(wide ? [{ title: "change", align: "right" as const, fixed: true }] : []),
      ...(wide ? [{ title: "credits", align: "right" as const, fixed: true }] : []),
      { title: "next", fixed: true },
    ],
    all.map((one) => [
      one.job,
      one.last === null ? "never" : ago(now - Date.parse(one.last), Date.parse(one.last)),
      one.status === "failed" ? `failed (${one.exit_code})` : one.status,
      one.rows === null ? "" : grouped(one.rows),
      ...(wide ? [change(one), one.credits === null ? "" : grouped(one.credits)] : []),
      one.due ? "due" : one.next === null ? "by hand" : `in ${duration(Date.parse(one.next) - now)}`,
    ]),
  );
}
