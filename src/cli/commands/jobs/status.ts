import { monthlyBudget } from "../../../app/jobs/budget.ts";
import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import { historyOf, isDue } from "../../../app/jobs/history.ts";
import { budgetUse } from "../../../app/jobs/named-budget.ts";
import { nextTime } from "../../../app/jobs/schedule.ts";
import type { Context } from "../../../shared/context.ts";
import { shellWord } from "../../../shared/contract/command-line.ts";
import {
  type Credits,
  creditsOrNull,
  creditsToNumber,
  formatCreditsGrouped,
  ZERO,
} from "../../../shared/contract/money.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { ago, duration } from "../../../shared/numbers.ts";
import { csvDocument } from "../../../shared/rows/csv.ts";
import type { GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { creditsColumn, List, type Listed } from "../service/list.ts";

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

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

async function statusOf(job: Job, context: Context): Promise<JobStatus> {
  const history = await historyOf(context, job.name);
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
    next: iso(job.schedule === undefined ? undefined : await nextTime(job.schedule, at)),
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
  for (const job of jobs) all.push(await statusOf(job, context));
  const budget = options.budget ?? file.budget;
  const { spent } = await budgetUse(monthlyBudget(budget ?? ZERO, context.now()), context, () => true);
  const month = new Date(context.now()).toISOString().slice(0, 7);
  if (printer.json) {
    return printer.document({
      ...{ file: file.path, month, spent: creditsToNumber(spent) },
      budget: creditsOrNull(budget),
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
  printer.note(`${formatCreditsGrouped(spent)}${of} credits spent by jobs in ${month} (UTC)`);
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

/** `jobs list`: what the file says of each. */
export async function listJobs({ jobs }: JobsFile, options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await new List(LISTED, printer).print(jobs, context, "The file has no jobs.");
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
  creditsColumn("max_credits", "cap", ({ cap = null }) => cap),
  { name: "output", title: "output", long: true, value: ({ output = null }) => output },
  { name: "problem", value: ({ problem }) => problem?.message ?? null },
];

/** `jobs show NAME`: the command line that it stands for, and when it comes. */
export async function showJob(job: Job, { folder }: JobsFile, options: GlobalOptions, context: Context): Promise<void> {
  if (job.problem !== undefined) throw job.problem;
  const printer = new Printer(context, options);
  const { schedule, argv, cap, output, log, notify } = job;
  const next = schedule === undefined ? undefined : await nextTime(schedule, context.now());
  const entries = {
    job: job.name,
    command: ["headcount", ...argv].map(shellWord).join(" "),
    folder,
    schedule: schedule?.text ?? null,
    cron: schedule?.cron ?? null,
    on_calendar: schedule?.calendar ?? null,
    next: iso(next),
    max_credits: creditsOrNull(cap),
    output: output ?? null,
    log: log ?? null,
    notify: notify ?? null,
  };
  if (printer.json) return printer.document(entries);
  if (!printer.terminal) return printer.leaves(entries);
  await printer.card(
    Object.entries(entries).map(([name, value]) => [
      name.replaceAll("_", " "),
      value === null ? undefined : String(value),
    ]),
  );
}
