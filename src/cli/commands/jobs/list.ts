import { stat } from "node:fs/promises";
import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import { aheadText, historyOf, isDue, keyOf } from "../../../app/jobs/history.ts";
import { hindrance } from "../../../app/jobs/order.ts";
import { nearing, nearText } from "../../../app/jobs/outcome.ts";
import { unheard } from "../../../app/jobs/ping.ts";
import { lastTime, nextTime } from "../../../app/jobs/schedule.ts";
import type { Context } from "../../../shared/context.ts";
import {
  creditsOrNull,
  creditsToNumber,
  formatCreditsGrouped,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import { CliError, command, option, say, usageError } from "../../../shared/errors.ts";
import { ago, duration, timeText } from "../../../shared/numbers.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Documents } from "../../schemas/all.ts";
import { type ColumnOf, countColumn, iso, printList } from "../../terminal/list.ts";
import type { Desk } from "../../terminal/printer.ts";

interface Finding {
  /** Null: it is of the file. */
  readonly job: string | null;
  readonly finding: "invalid" | "failed" | "killed" | "overdue" | "clock" | "ping" | "near";
  readonly message: string;
}

const FINDING_COLUMNS: readonly ColumnOf<Finding>[] = [
  { name: "job" },
  { name: "finding" },
  { name: "message", long: true },
];

/**
 * What is due is looked for every hour, and one job
 * waits for another: so long nothing is said of it.
 */
const LATE_MS = 3_600_000;

/**
 * `jobs check`.
 * @throws CliError exit 2 where a job breaks a rule, 5 where another one needs a look
 */
export async function checkJobs(
  file: JobsFile,
  { context, printer }: Desk<GlobalOptions>,
): Promise<void> {
  const written = (await stat(file.path)).mtimeMs;
  const findings: Finding[] = [];
  for (const job of file.jobs) findings.push(...(await findingsOf(job, file, written, context)));
  findings.push(...(await nearBudget(file, context)));

  await printList(
    FINDING_COLUMNS,
    findings,
    printer,
    `${counted(file.jobs.length, "job")}: nothing to look at.`,
  );
  // What is nearly spent is said in time, and nothing is wrong yet.
  const wrong = findings.filter(({ finding }) => finding !== "near");
  if (wrong.length === 0) return;

  const jobs = [...new Set(wrong.map(({ job }) => job))];
  const need = jobs.length === 1 ? "needs" : "need";
  const of = counted(file.jobs.length, "job");
  const message = `${jobs.length} of ${of} ${need} a look: ${jobs.join(", ")}`;
  const next = command("jobs status", { options: [option("file", file.path)] });
  const hint = say`${next} says how each went`;

  if (findings.some(({ finding }) => finding === "invalid"))
    throw usageError(message, hint, "jobs_check");

  throw new CliError({ code: "jobs_check", category: "incomplete", message, hint, next });
}

async function nearBudget(
  { budget, warnAt }: JobsFile,
  context: Context,
): Promise<readonly Finding[]> {
  if (budget === undefined) return [];

  const { budgetUse, isNear, monthlyBudget, spentByJobs } = await import(
    "../../../app/jobs/budget.ts"
  );
  const findings: Finding[] = [];
  for (const till of await spentByJobs(context)) {
    const { spent } = await budgetUse(monthlyBudget(budget, till, context.now()), context);
    if (!isNear(spent, budget, warnAt)) continue;
    findings.push({
      job: null,
      finding: "near",
      message: `${nearText(nearing("budget", spent, budget))} at ${till.serviceId}`,
    });
  }
  return findings;
}

/**
 * @param written when the file of jobs was, epoch
 * milliseconds: a job that never ran is not late before that
 */
async function findingsOf(
  job: Job,
  file: JobsFile,
  written: number,
  context: Context,
): Promise<Finding[]> {
  const { name, schedule, values } = job;
  const wrong = await hindrance(job, file, context);
  if (wrong !== undefined) {
    return [
      { job: name, finding: "invalid", message: [wrong.message, ...wrong.details].join("; ") },
    ];
  }

  const { ahead, last, done, now } = await historyOf(context, keyOf(file, name));
  if (now === "running") return [];

  const findings: Finding[] = [];
  const add = (finding: Finding["finding"], message: string): void =>
    void findings.push({ job: name, finding, message });

  if (now === "killed")
    add("killed", "its process is gone without a word; the next run goes on where it stopped");
  else if (last?.status === "failed")
    add("failed", `exit ${last.exit_code}: ${last.error?.message ?? "no message"}`);

  if (ahead !== undefined) add("clock", aheadText(ahead));

  const silent = values.ping === undefined ? undefined : await unheard(context, keyOf(file, name));
  if (silent !== undefined) add("ping", silent);

  // Lines of a history that was begun before have none.
  for (const warning of last?.warnings ?? [])
    if (warning.of === "max_credits") add("near", `its last run: ${nearText(warning)}`);

  const due = schedule === undefined ? undefined : await lastTime(schedule, context.now());
  const since = done === undefined ? written : Date.parse(done.started);
  if (due !== undefined && since < due && context.now() - due > LATE_MS) {
    const before =
      done === undefined ? "never done" : `last done ${timeText(Date.parse(done.started))}`;
    add("overdue", `due since ${timeText(due)}, ${before}`);
  }

  return findings;
}

/** One job in `jobs status --json`. Every key is always there. */
type JobStatus = Documents["jobs status"]["jobs"][number];

/** @param isWide whether there is room for what the run before had, and for credits */
function statusColumns(now: number, isWide: boolean): readonly ColumnOf<JobStatus>[] {
  const change = ({ rows, rows_before }: JobStatus): string => {
    if (rows === null || rows_before === null) return "";
    return rows === rows_before
      ? "="
      : `${rows > rows_before ? "+" : "-"}${grouped(Math.abs(rows - rows_before))}`;
  };

  const next = ({ due, next: at }: JobStatus): string =>
    due ? "due" : at === null ? "by hand" : `in ${duration(Date.parse(at) - now)}`;

  return [
    { name: "job", long: true },
    { name: "command", title: null },
    {
      name: "status",
      show: ({ exit_code: code, status }) => (status === "failed" ? `failed (${code})` : status),
    },
    { name: "exit_code", title: null },
    {
      name: "last",
      show: ({ last }) => (last === null ? "never" : ago(now - Date.parse(last), Date.parse(last))),
    },
    countColumn("rows"),
    {
      name: "rows_before",
      title: isWide ? "change" : null,
      align: "right",
      show: change,
    },
    {
      name: "credits",
      title: isWide ? "credits" : null,
      align: "right",
      show: ({ credits }) => (credits === null ? "" : grouped(credits)),
    },
    { name: "next", show: next },
    { name: "due", title: null },
    { name: "output", title: null },
    { name: "ping", title: null },
    { name: "message", title: null },
  ];
}

async function statusOf(job: Job, file: JobsFile, context: Context): Promise<JobStatus> {
  const history = await historyOf(context, keyOf(file, job.name));
  const { ahead, last, wrote, now } = history;
  const at = context.now();

  return {
    job: job.name,
    command: job.command,
    status: job.problem === undefined ? (now ?? last?.status ?? "never") : "invalid",
    exit_code: last?.exit_code ?? null,
    last: last?.started ?? null,
    rows: wrote?.rows ?? null,
    rows_before: wrote?.rows_before ?? null,
    credits: last?.credits ?? null,
    next: iso((job.schedule === undefined ? undefined : await nextTime(job.schedule, at)) ?? null),
    due: job.problem === undefined && (await isDue(job.schedule, history, at)),
    output: job.output ?? null,
    ping: job.values.ping?.form ?? null,
    message:
      job.problem?.message ??
      last?.error?.message ??
      (ahead === undefined ? null : aheadText(ahead)),
  };
}

/** `jobs status`: how each job went, what it cost, and when it comes next. */
export async function showStatus(
  file: JobsFile,
  jobs: readonly Job[],
  desk: Desk<GlobalOptions>,
): Promise<void> {
  const { context, printer } = desk;
  const all: JobStatus[] = [];
  for (const job of jobs) all.push(await statusOf(job, file, context));

  const list = () =>
    printList(statusColumns(context.now(), printer.width >= 80), all, printer, "no jobs");
  if (!printer.json && !printer.terminal) return list();

  const { spentByJobs } = await import("../../../app/jobs/budget.ts");
  const services = await spentByJobs(context);
  const month = new Date(context.now()).toISOString().slice(0, 7);

  if (printer.json) {
    return printer.document<"jobs status">({
      file: file.path,
      month,
      budget: creditsOrNull(file.budget),
      services: services.map(({ serviceId, keyMode, spent }) => ({
        service: serviceId,
        key_mode: keyMode,
        spent: creditsToNumber(spent),
      })),
      jobs: all,
    });
  }

  await list();
  const of = file.budget === undefined ? "" : ` of ${formatCreditsGrouped(file.budget)}`;

  if (services.length === 0) printer.note(`no credits spent by jobs in ${month} (UTC)`);
  for (const { serviceId, keyMode, spent } of services) {
    const at = `${serviceId}${keyMode === "test" ? " (test key)" : ""}`;
    printer.note(
      `${formatCreditsGrouped(spent)}${of} credits spent by jobs in ${month} (UTC) at ${at}`,
    );
  }

  for (const { job, message } of all) if (message !== null) printer.note(`${job}: ${message}`);
}
