import { stat } from "node:fs/promises";
import { spentByJobs } from "../../../app/jobs/budget.ts";
import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import { historyOf, isDue, keyOf } from "../../../app/jobs/history.ts";
import { lastTime, nextTime } from "../../../app/jobs/schedule.ts";
import type { Context } from "../../../shared/context.ts";
import { creditsOrNull, creditsToNumber, formatCreditsGrouped } from "../../../shared/contract/money.ts";
import { counted, grouped, shellWord } from "../../../shared/contract/text.ts";
import { CliError, usageError } from "../../../shared/errors.ts";
import { ago, duration, timeText } from "../../../shared/numbers.ts";
import { csvDocument } from "../../../shared/rows/csv.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Documents } from "../../schemas/all.ts";
import { iso, type Listed, printList } from "../../terminal/list.ts";
import { Printer } from "../../terminal/printer.ts";

interface Finding {
  readonly job: string;
  readonly finding: "invalid" | "failed" | "killed" | "overdue";
  readonly message: string;
}

const FINDING_COLUMNS: readonly Listed<Finding>[] = [
  { name: "job", title: "job", value: ({ job }) => job },
  { name: "finding", title: "finding", value: ({ finding }) => finding },
  { name: "message", title: "message", long: true, value: ({ message }) => message },
];

/** What is due is looked for every hour, and one job waits for another: so long nothing is said of it. */
const LATE_MS = 3_600_000;

/** `jobs check`. @throws CliError exit 2 where a job breaks a rule, 5 where another one needs a look */
export async function checkJobs(file: JobsFile, options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const written = (await stat(file.path)).mtimeMs;
  const findings: Finding[] = [];
  for (const job of file.jobs) findings.push(...(await findingsOf(job, file, written, context)));
  await printList(FINDING_COLUMNS, findings, printer, `${counted(file.jobs.length, "job")}: nothing to look at.`);
  if (findings.length === 0) return;
  const jobs = [...new Set(findings.map(({ job }) => job))];
  const message = `${jobs.length} of ${counted(file.jobs.length, "job")} need a look: ${jobs.join(", ")}`;
  const hint = "headcount jobs status says how each went";
  if (findings.some(({ finding }) => finding === "invalid")) throw usageError(message, hint, "jobs_check");
  const next = `headcount jobs status --file ${shellWord(file.path)}`;
  throw new CliError({ code: "jobs_check", category: "incomplete", message, hint, next });
}

/** @param written when the file of jobs was, epoch milliseconds: a job that never ran is not late before that */
async function findingsOf(
  { name, problem, schedule }: Job,
  file: JobsFile,
  written: number,
  context: Context,
): Promise<Finding[]> {
  if (problem !== undefined) return [{ job: name, finding: "invalid", message: problem.message }];
  const { last, done, now } = await historyOf(context, keyOf(file, name));
  if (now === "running") return [];
  const findings: Finding[] = [];
  const add = (finding: Finding["finding"], message: string): void =>
    void findings.push({ job: name, finding, message });
  if (now === "killed") add("killed", "its process is gone without a word; the next run goes on where it stopped");
  else if (last?.status === "failed") add("failed", `exit ${last.exit_code}: ${last.error?.message ?? "no message"}`);
  const due = schedule === undefined ? undefined : await lastTime(schedule, context.now());
  const since = done === undefined ? written : Date.parse(done.started);
  if (due !== undefined && since < due && context.now() - due > LATE_MS) {
    const before = done === undefined ? "never done" : `last done ${timeText(Date.parse(done.started))}`;
    add("overdue", `due since ${timeText(due)}, ${before}`);
  }
  return findings;
}

/** One job in `jobs status --json`. Every key is always there. */
type JobStatus = Documents["jobs status"]["jobs"][number];

const STATUS_COLUMNS = [
  "job",
  "command",
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
    command: job.command,
    status: job.problem === undefined ? (now ?? last?.status ?? "never") : "invalid",
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
  options: GlobalOptions,
  context: Context,
): Promise<void> {
  const printer = new Printer(context, options);
  const all: JobStatus[] = [];
  for (const job of jobs) all.push(await statusOf(job, file, context));
  const { budget } = file;
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
        STATUS_COLUMNS,
        all.map((status) => STATUS_COLUMNS.map((name) => status[name])),
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
