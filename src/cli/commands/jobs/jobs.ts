import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type JobsFile, jobsNamed, readJobs } from "../../../app/jobs/file.ts";
import type { Context } from "../../../shared/context.ts";
import { harmlessLine } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import type { RunOptions } from "./run.ts";
import { cronLines, keyFileOf, systemdUnits, type Timed } from "./units.ts";

type JobsOptions = GlobalOptions & { readonly file?: string };

type UnitOptions = JobsOptions & { readonly keys?: string; readonly output?: string };

export function register(program: Command, context: Context): void {
  const jobs = program
    .command("jobs")
    .description(
      "Exports that run by themselves: one file says which, when, and what they may spend; systemd or cron starts them. A job keeps a list up to date and pays for who is new, or buys a segment each time.",
    )
    .examples(EXAMPLE);
  const read = ({ file }: JobsOptions): Promise<JobsFile> => readJobs(context, file);
  registerRun(jobs, context, read);
  registerLooking(jobs, context, read);
  registerUnits(jobs, context, read);
}

const EXAMPLE = `
  $ headcount schema jobs-file > jobs.schema.json
  $ headcount jobs check jobs.jsonc
  $ headcount -c sample jobs run legal --file jobs.jsonc
  $ headcount jobs status --file jobs.jsonc

A file of jobs is JSON; comments and trailing commas are allowed:

  {
    "$schema": "./jobs.schema.json",
    "budget": "2000/month",            // of all jobs; a month of UTC
    "log": "jobs.ndjson",              // one JSON line a run
    "jobs": {
      "legal": {
        "schedule": "0 6 * * 1",       // Mondays at six, in this machine's zone
        "connection": "sample",
        "filters": { "department": "Legal", "country": ["germany", "france"] },
        "max_credits": 100,            // each time; the consent to spend
        "output": "legal.csv",         // beside this file
        "max_shrink": "50%"            // else the old file stays, with exit 5
      }
    }
  }

Nobody is asked: "max_credits" is the consent. A file is replaced by a whole one only. A job that stops early (5, 7, 8) keeps what was paid for, and its next run buys what is missing.

cron and systemd have no session bus, so a desktop's keychain is out of reach: HEADCOUNT_API_KEY=... on a line of ~/.headcount.env (chmod 600, without export), which their lines name; or headcount login --insecure-storage.`;

type Read = (options: JobsOptions) => Promise<JobsFile>;

const withFile = (command: Command): Command =>
  command.option("--file <file>", "the file of jobs (default: jobs.jsonc in the config folder)");

const JOBS = { kind: "jobs" } as const;

function registerRun(jobs: Command, context: Context, read: Read): void {
  withFile(jobs.command("run").takes("[job...]", "names of jobs (default: all that are due)", JOBS))
    .description(
      "Run jobs one after another; the failure of one does not stop the others. The exit code is the first failure's. A job that is at work already ends with 9; under a budget jobs wait for each other.",
    )
    .option("--dry-run", "show what each would do and cost, and buy nothing")
    .examples(`
  $ headcount -c sample jobs run --file jobs.jsonc --dry-run
  $ headcount -c sample jobs run legal --file jobs.jsonc --json

Due is a job whose time has come since it was last done, and one that never was.
An unfinished run of a job goes on where it stopped and buys nothing twice.`)
    .does(async (options: RunOptions, names: readonly string[]) => {
      const { runJobs } = await import("./run.ts");
      await runJobs(names, await read(options), options, context);
    });
}

function registerLooking(jobs: Command, context: Context, read: Read): void {
  withFile(jobs.command("status").takes("[job...]", "names of jobs (default: all)", JOBS))
    .description(
      "How each job went, what it changed and cost, when it comes next, and what the month has cost. Exit 0 whatever they say: `jobs check` tells by its exit code.",
    )
    .examples(`
  $ headcount jobs status --file jobs.jsonc
  $ headcount jobs status --file jobs.jsonc --json | jq '.jobs[] | select(.status == "failed")'`)
    .does(async (options: JobsOptions, names: readonly string[]) => {
      const file = await read(options);
      const { showStatus } = await import("./list.ts");
      await showStatus(file, await jobsNamed(file, names), options, context);
    });
  jobs
    .command("check")
    .argument("[file]", "the file of jobs (default: jobs.jsonc in the config folder)")
    .description(
      "Say which jobs break a rule, failed last, were killed, or should have run by now. Exit 2 where one breaks a rule, 5 where another one needs a look, else 0: for a monitor. Offline.",
    )
    .examples("\n  $ headcount jobs check jobs.jsonc --json | jq -r '.[] | [.job, .finding] | @tsv'")
    .does(async (options: GlobalOptions, file: string | undefined) => {
      const { checkJobs } = await import("./list.ts");
      await checkJobs(await readJobs(context, file), options, context);
    });
}

const withKeys = (command: Command): Command =>
  command.offers("--keys <file>", "file with HEADCOUNT_API_KEY=... in it (default: ~/.headcount.env)", {
    kind: "file",
  });

/** Jobs that have a time. @throws CliError exit 2 for one that breaks a rule, and where there is none */
async function timedJobs(file: JobsFile, names: readonly string[]): Promise<readonly Timed[]> {
  const timed: Timed[] = [];
  for (const job of await jobsNamed(file, names)) {
    if (job.problem !== undefined) throw job.problem;
    if (job.schedule !== undefined) timed.push({ job, schedule: job.schedule });
    else if (names.length > 0) throw usageError(`${job.name} has no "schedule"`, 'for example "schedule": "0 6 * * 1"');
  }
  if (timed.length > 0) return timed;
  throw usageError(`no job of ${file.path} has a "schedule"`, 'for example "schedule": "0 6 * * 1"');
}

/** @throws CliError exit 2 where a unit of that name starts something else: the job of another file */
function requireOwnUnit(path: string, text: string): void {
  const starts = (unit: string): string | undefined => /^ExecStart=.*$/m.exec(unit)?.[0];
  const before = existsSync(path) ? starts(readFileSync(path, "utf8")) : undefined;
  if (before === undefined || before === starts(text)) return;
  throw usageError(
    `${path} is there and starts something else: ${harmlessLine(before, 160)}`,
    "remove it, write into another folder with -o, or give the job another name",
    "file_exists",
  );
}

function registerUnits(jobs: Command, context: Context, read: Read): void {
  const systemd = jobs.command("systemd").takes("[job...]", "names of jobs (default: all with a schedule)", JOBS);
  withKeys(withFile(systemd))
    .description("Print a service and a timer of systemd for each job: absolute paths, no key in them.")
    .offers("-o, --output <dir>", "write them as files, into ~/.config/systemd/user for one", {
      kind: "directory",
    })
    .examples(`
  $ headcount jobs systemd --file jobs.jsonc
  $ headcount jobs systemd --file jobs.jsonc -o units`)
    .does(async (options: UnitOptions, names: readonly string[]) => {
      const file = await read(options);
      const units = systemdUnits(await timedJobs(file, names), file, keyFileOf(options.keys, context), context);
      const printer = new Printer(context, options);
      if (options.output === undefined) {
        return printer.text(units.map(({ name, text }) => `# ${name}\n${text}`).join("\n"));
      }
      const { Disk } = await import("../../../engine/runs/disk.ts");
      const folder = resolve(context.cwd, options.output);
      for (const { name, text } of units) requireOwnUnit(join(folder, name), text);
      await mkdir(folder, { recursive: true });
      for (const { name, text } of units) await new Disk().replaceFile(join(folder, name), text, "unit");
      const timers = units.map(({ name }) => name).filter((name) => name.endsWith(".timer"));
      printer.note(`systemctl --user daemon-reload && systemctl --user enable --now ${timers.join(" ")}`);
    });
  const cron = jobs.command("cron").takes("[job...]", "names of jobs (default: all with a schedule)", JOBS);
  withKeys(withFile(cron))
    .description("Print a line of a crontab for each job: absolute paths, no key in them.")
    .examples("\n  $ headcount jobs cron --file jobs.jsonc")
    .does(async (options: UnitOptions, names: readonly string[]) => {
      const file = await read(options);
      const timed = await timedJobs(file, names);
      new Printer(context, options).text(cronLines(timed, file, keyFileOf(options.keys, context), context));
    });
}
