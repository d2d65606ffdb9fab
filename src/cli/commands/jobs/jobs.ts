import { type JobsFile, jobsNamed, readJobs } from "../../../app/jobs/file.ts";
import type { Context } from "../../../shared/context.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";
import type { RunOptions } from "./run.ts";

type JobsOptions = GlobalOptions & { readonly file?: string };

export function register(program: Command, context: Context): void {
  const jobs = program
    .command("jobs")
    .description(
      "Exports that run by themselves: one file says which, when, and what they may spend. " +
        "`jobs run`, called every hour by cron, systemd or a task scheduler, " +
        "runs those that are due. A job keeps a list up to date and pays " +
        "for who is new, or buys a segment each time.",
    )
    .examples(EXAMPLE);
  const read = ({ file }: JobsOptions): Promise<JobsFile> => readJobs(context, file);

  registerRun(jobs, context, read);
  registerLooking(jobs, context, read);
}

const EXAMPLE = `
  $ headcount schema jobs-file > jobs.schema.json
  $ headcount jobs check --file jobs.jsonc
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

Nobody is asked: "max_credits" is the consent. A file is replaced by a whole one only. A job that \
stops early (5, 7, 8) keeps what was paid for, and its next run buys what is missing.

In a crontab, with HEADCOUNT_API_KEY=... and HEADCOUNT_BASE_URL=... in ~/.headcount.env (chmod \
600), because cron has no keychain:

  7 * * * *  set -a; . ~/.headcount.env; headcount jobs run --file ~/jobs.jsonc`;

type ReadJobs = (options: JobsOptions) => Promise<JobsFile>;

const withFile = (command: Command): Command =>
  command.option("--file <file>", "the file of jobs (default: jobs.jsonc in the config folder)");

const JOBS = { kind: "jobs" } as const;

function registerRun(jobs: Command, context: Context, read: ReadJobs): void {
  withFile(jobs.command("run").takes("[job...]", "names of jobs (default: all that are due)", JOBS))
    .description(
      "Run jobs one after another; the failure of one does not stop the others. " +
        "The exit code is the first failure's. A job that is at work already ends with 9; " +
        "under a budget jobs wait for each other.",
    )
    .option("--dry-run", "show what each would do and cost, and buy nothing")
    .examples(`
  $ headcount -c sample jobs run --file jobs.jsonc --dry-run
  $ headcount -c sample jobs run legal --file jobs.jsonc --json

Due is a job whose time has come since it was last done, and one that never was.
An unfinished run of a job goes on where it stopped and buys nothing twice.`)
    .does(
      `asks account key count search facets sketch people enrich employees counts
      reads connection given segments runs library suppression register jobs sync
      writes output runs library register pacing jobs sync connection
      exits 1 3 4 5 6 7 8 9 10 130`,
      async (options: RunOptions, names: readonly string[]) => {
        const { runJobs } = await import("./run.ts");
        const { betweenSyncs } = await import("./sync.ts");
        const file = await read(options);
        await betweenSyncs(file, options, context, () => runJobs(names, file, options, context));
      },
    );
}

function registerLooking(jobs: Command, context: Context, read: ReadJobs): void {
  withFile(jobs.command("status").takes("[job...]", "names of jobs (default: all)", JOBS))
    .description(
      "How each job went, what it changed and cost, when it comes next, and what the month " +
        "has cost. Exit 0 whatever they say: `jobs check` tells by its exit code.",
    )
    .examples(`
  $ headcount jobs status --file jobs.jsonc
  $ headcount jobs status --file jobs.jsonc --json | jq '.jobs[] | select(.status == "failed")'`)
    .does(
      "reads given connection jobs runs",
      atDesk(context, async (desk: Desk<JobsOptions>, names: readonly string[]) => {
        const file = await read(desk.options);
        const { showStatus } = await import("./list.ts");
        await showStatus(file, await jobsNamed(file, names), desk);
      }),
    );

  withFile(jobs.command("check"))
    .description(
      "Say which jobs break a rule, failed last, were killed, or should have run by now. " +
        "Exit 2 where one breaks a rule, 5 where another one needs a look, " +
        "else 0: for a monitor. Offline.",
    )
    .examples(
      "\n  $ headcount jobs check --file jobs.jsonc --json | jq -r '.[] | [.job, .finding] | @tsv'",
    )
    .does(
      `reads given connection jobs runs
      exits 5`,
      atDesk(context, async (desk: Desk<JobsOptions>) => {
        const { checkJobs } = await import("./list.ts");
        await checkJobs(await read(desk.options), desk);
      }),
    );
}
