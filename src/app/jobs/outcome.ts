import { spawn } from "node:child_process";
import { join } from "node:path";
import { kill } from "node:process";
import { stateDir } from "../../engine/connections/paths.ts";
import { sha256Of } from "../../engine/output/paths.ts";
import { netOf, type RunSpend, readSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Credits,
  creditsToNumber,
  formatCreditsGrouped,
  maxCredits,
  parseCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { harmlessLine } from "../../shared/contract/text.ts";
import { type CliError, EXIT } from "../../shared/errors.ts";
import { failureOf } from "../failures.ts";
import { enterOwn } from "../keep/store.ts";
import { isNear } from "./budget.ts";
import type { Job } from "./file.ts";
import { appendLine, openJobLog, type RunOutcome } from "./history.ts";
import { heartbeatOf } from "./ping.ts";

export interface Ended {
  readonly rows?: number;
  readonly run?: string | undefined;
  /** What was written; of a table there is no digest, but how many rows are new in it. */
  readonly written?: { readonly sha256: string | null; readonly added: number | null } | null;
  readonly receipt?: RunOutcome["receipt"];
  /** What went wrong after all was written. */
  readonly failure?: CliError | undefined;
}

interface Telling {
  readonly job: Job;
  /** Of its folder. */
  readonly key: string;
  readonly rowsBefore: number | null;
  readonly isMine: (spend: RunSpend) => Promise<boolean>;
  /** What the work found nearly spent, once it is over. */
  readonly warnings: readonly Warning[];
}

type Warning = RunOutcome["warnings"][number];

export const nearing = (of: Warning["of"], spent: Credits, cap: Credits): Warning => ({
  of,
  spent: creditsToNumber(spent),
  cap: creditsToNumber(cap),
});

/** What of a cap is spent, or may have been by requests without a reply. */
export function nearText({ of, spent, cap }: Warning): string {
  const [used, most] = [spent, cap].map((one) => formatCreditsGrouped(parseCredits(one) ?? ZERO));
  const what = of === "budget" ? "the month's budget" : '"max_credits"';
  return `${used} of ${most} credits of ${what} are spent or at risk`;
}

/** A run that goes on counts from its beginning; one that cost nothing now warns of nothing. */
function nearCap(
  { values: { max_credits: cap }, warnAt }: Job,
  receipt: Ended["receipt"],
  now: Credits,
): Warning[] {
  const spent = now === 0n ? now : maxCredits(now, parseCredits(receipt?.credits) ?? ZERO);
  return cap !== undefined && isNear(spent, cap, warnAt)
    ? [nearing("max_credits", spent, cap)]
    : [];
}

/**
 * Does a job and tells how it went.
 * @param work is to say when it begins: one that finds the job at work has begun nothing
 * @returns the failure too, which is the caller's to report, and what
 * a monitor is still being told, to be awaited before the process ends
 */
export async function tellOutcome(
  { job, key, rowsBefore, isMine, warnings }: Telling,
  context: Context,
  work: (begin: () => void) => Promise<Ended>,
) {
  const { command, name, output, log } = job;
  const started = context.now();
  const before = output && (await sha256Of(output).catch(() => undefined));
  let ended: Ended = {};
  let failure: CliError | undefined;
  let begun = false;
  const beat = heartbeatOf(job, key, context);
  const begin = (): void => {
    begun = true;
    beat?.tell("start", "");
  };

  try {
    // Before anything is bought: a log that cannot be written is a mistake of the command.
    if (log !== undefined) {
      await openJobLog(log).then((file) => file.close());
      await enterOwn("log", log, context);
    }
    ended = await work(begin);
    failure = ended.failure;
  } catch (error) {
    failure = failureOf(error);
  }

  const { receipt = null, rows = null } = ended;
  const mine = await spentSince(started, isMine, context);
  const outcome: RunOutcome = {
    job: name,
    command,
    status: failure === undefined ? "done" : "failed",
    exit_code: failure?.exitCode ?? EXIT.ok,
    started: new Date(started).toISOString(),
    finished: new Date(context.now()).toISOString(),
    rows,
    rows_before: rowsBefore,
    changed: changeOf(ended, before),
    credits: creditsToNumber(mine.credits),
    output: output ?? null,
    run: ended.run ?? mine.run ?? null,
    warnings: [...warnings, ...nearCap(job, receipt, mine.credits)],
    error: failure === undefined ? null : errorOf(failure),
    receipt,
  };
  await tell(outcome, job, context);
  if (begun || outcome.exit_code !== EXIT.locked) beat?.end(outcome);

  return { outcome, failure, told: beat?.told() };
}

function errorOf(failure: CliError): RunOutcome["error"] {
  const { code, message, details, hint, resumable, next } = failure;
  return {
    code,
    message: [message, ...details].join("; "),
    hint: hint?.toString() ?? null,
    resumable,
    next: next?.toString() ?? null,
  };
}

/** A table does not tell what it held before: new rows are a change of it. */
function changeOf({ written }: Ended, before: string | undefined): boolean | null {
  if (written == null) return null;
  const { sha256, added } = written;
  return sha256 === null ? (added ?? 0) > 0 : sha256 !== before;
}

async function spentSince(since: number, isMine: Telling["isMine"], context: Context) {
  const { runs } = await readSpend(join(stateDir(context), "runs"), since);
  const mine: RunSpend[] = [];
  for (const run of runs) if (run.days.length > 0 && (await isMine(run))) mine.push(run);
  return { credits: netOf(mine), run: mine.at(0)?.run };
}

/**
 * Log and notice come last: what fails here is said,
 * and changes nothing of what was bought and written.
 */
async function tell(
  outcome: RunOutcome,
  { log, notify, notifyFailure }: Job,
  context: Context,
): Promise<void> {
  const line = `${JSON.stringify(outcome)}\n`;
  const warn = (text: string): void => void context.stderr.write(`warning: ${text}\n`);

  if (log !== undefined) {
    await appendLine(log, line).catch((error: Error) =>
      warn(`no line was added to ${log}: ${error.message}`),
    );
  }

  for (const warning of outcome.warnings) warn(nearText(warning));

  const failed = outcome.status === "failed" && outcome.exit_code !== EXIT.interrupted;
  const isNews = outcome.changed === true || outcome.warnings.length > 0;
  const commands = {
    notify: failed || isNews ? notify : undefined,
    notify_failure: failed ? notifyFailure : undefined,
  };

  for (const [key, command] of Object.entries(commands)) {
    const problem = command === undefined ? undefined : await notified(command, line, context);
    if (problem !== undefined) warn(`${key} ${problem}: ${harmlessLine(command ?? "", 80)}`);
  }
}

const NOTIFY_MS = 60_000;

const SECRETS = new Set([
  "HEADCOUNT_API_KEY",
  "HEADCOUNT_MCP_TOKEN",
  "HEADCOUNT_CLICKHOUSE_PASSWORD",
  "PGPASSWORD",
]);

/**
 * Runs a shell command with a text on its stdin and without secrets; what it prints goes to stderr.
 * @returns what went wrong, in words
 */
export function notified(
  command: string,
  text: string,
  context: Pick<Context, "env" | "cwd" | "stderr" | "platform">,
  most = NOTIFY_MS,
): Promise<string | undefined> {
  const env = Object.fromEntries(
    Object.entries(context.env).filter(([name]) => !SECRETS.has(name)),
  );
  const group = context.platform !== "win32";

  return new Promise((done) => {
    // A group of its own: what the shell started ends with it.
    const child = spawn(command, {
      shell: true,
      cwd: context.cwd,
      env,
      detached: group,
      stdio: ["pipe", "pipe", "pipe"],
    });

    let late = false;
    const timer = setTimeout(() => {
      late = true;
      try {
        if (group && child.pid !== undefined) kill(-child.pid, "SIGKILL");
        else child.kill("SIGKILL");
      } catch {
        // It ended meanwhile.
      }
    }, most);

    const end = (problem: string | undefined): void => {
      clearTimeout(timer);
      done(late ? `took longer than ${most / 1000} s and was ended` : problem);
    };

    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => context.stderr.write(data));

    // It need not read.
    child.stdin.on("error", () => undefined).end(text);
    child.on("error", (error) => end(`could not be run: ${error.message}`));
    child.on("close", (code, signal) =>
      end(code === 0 ? undefined : `ended with ${signal ?? code}`),
    );
  });
}
