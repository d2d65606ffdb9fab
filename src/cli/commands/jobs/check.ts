import { stat } from "node:fs/promises";
import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import { historyOf, keyOf } from "../../../app/jobs/history.ts";
import { lastTime } from "../../../app/jobs/schedule.ts";
import type { Context } from "../../../shared/context.ts";
import { counted } from "../../../shared/contract/text.ts";
import { CliError, usageError } from "../../../shared/errors.ts";
import { timeText } from "../../../shared/numbers.ts";
import type { GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { type Listed, ServiceList } from "../service/list.ts";

interface Finding {
  readonly job: string;
  readonly finding: "invalid" | "failed" | "killed" | "overdue";
  readonly message: string;
}

const COLUMNS: readonly Listed<Finding>[] = [
  { name: "job", title: "job", value: ({ job }) => job },
  { name: "finding", title: "finding", value: ({ finding }) => finding },
  { name: "message", title: "message", long: true, value: ({ message }) => message },
];

/** systemd and cron start a job a little late, and one waits for another: so long nothing is said of it. */
const LATE_MS = 3_600_000;

/** `jobs check`. @throws CliError exit 2 where a job breaks a rule, 5 where another one needs a look */
export async function checkJobs(file: JobsFile, options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const written = (await stat(file.path)).mtimeMs;
  const findings: Finding[] = [];
  for (const job of file.jobs) findings.push(...(await findingsOf(job, file, written, context)));
  await new ServiceList(COLUMNS, printer).print(
    findings,
    context,
    `${counted(file.jobs.length, "job")}: nothing to look at.`,
  );
  if (findings.length === 0) return;
  const jobs = [...new Set(findings.map(({ job }) => job))];
  const message = `${jobs.length} of ${counted(file.jobs.length, "job")} need a look: ${jobs.join(", ")}`;
  const hint = "headcount jobs status says how each went";
  if (findings.some(({ finding }) => finding === "invalid")) throw usageError(message, hint, "jobs_check");
  throw new CliError({ code: "jobs_check", category: "incomplete", message, hint });
}

/** @param written when the file of jobs was, epoch milliseconds: a job that never ran is not late before that */
async function findingsOf(
  { name, problem, schedule }: Job,
  file: JobsFile,
  written: number,
  context: Context,
): Promise<Finding[]> {
  if (problem !== undefined) return [{ job: name, finding: "invalid", message: problem.message }];
  const { last, settled, now } = await historyOf(context, keyOf(file, name));
  if (now === "running") return [];
  const findings: Finding[] = [];
  const add = (finding: Finding["finding"], message: string): void =>
    void findings.push({ job: name, finding, message });
  if (now === "killed") add("killed", "its process is gone without a word; the next run goes on where it stopped");
  else if (last?.status === "failed") add("failed", `exit ${last.exit_code}: ${last.error?.message ?? "no message"}`);
  const due = schedule === undefined ? undefined : await lastTime(schedule, context.now());
  const since = settled === undefined ? written : Date.parse(settled.started);
  if (due !== undefined && since < due && context.now() - due > LATE_MS) {
    const before = settled === undefined ? "never done" : `last done ${timeText(Date.parse(settled.started))}`;
    add("overdue", `due since ${timeText(due)}, ${before}`);
  }
  return findings;
}
