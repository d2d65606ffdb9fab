import {
  type Context,
  type InputStream,
  type OutputStream,
  sleepFor,
  written,
} from "../shared/context.ts";

// Nothing is imported here before it is known to be
// needed: `--version` must cost no more than Node itself.

/**
 * Commands that settle what they paid for at the first signal, or drain; every other ends at once.
 */
const GRACEFUL = new Set([
  "search",
  "employees",
  "enrich",
  "refresh",
  "resume",
  "runs",
  "jobs",
  "serve",
  "mcp",
]);
/** What they write to stderr is a log of their own. */
const SERVERS = new Set(["serve", "mcp"]);

/**
 * Subcommands of `service` that build a dataset: what
 * DuckDB runs has to end before the process can.
 */
const BUILDS = new Set(["import", "generate"]);
const isBuild = (argv: readonly string[]): boolean =>
  argv.includes("service") && argv.some((word) => BUILDS.has(word));
const VERSION = new Set(["--version", "-V", "version"]);

/**
 * Runs one command line, never throws.
 * @returns its exit code (docs/reference/exit-codes.md, "Exit codes")
 */
export async function main(argv: readonly string[], context: Context): Promise<number> {
  const stopped = stopSignal(argv, context);
  const isJson = argv.includes("--json") || context.env.HEADCOUNT_JSON === "1";

  // Whoever writes learns of it from `written`; without
  // a listener it would end the process as a bug.
  context.stdout.on("error", () => undefined);

  try {
    await Promise.race([execute(argv, isJson, context, stopped.watch), stopped.signal]);
    // One place for all: what a command printed and nobody got is no success.
    await written(context.stdout);
    return 0;
  } catch (error) {
    const { report } = await import("./report.ts");
    return report(error, isJson, context);
  } finally {
    stopped.release();
  }
}

async function execute(
  argv: readonly string[],
  isJson: boolean,
  outside: Context,
  watch: (name: string) => void,
): Promise<void> {
  if (argv.length === 1 && VERSION.has(argv[0] ?? "")) {
    const { packageVersion } = await import("../shared/paths.ts");
    return void outside.stdout.write(`${packageVersion()}\n`);
  }

  const { buildProgram, commandName, printHelp } = await import("./program.ts");
  const name = commandName(argv) ?? "";
  watch(name);
  if (name === "help") return printHelp(argv, outside);

  const isRead = isJson && !SERVERS.has(name) && outside.stderr.isTTY !== true;
  const context = isRead ? (await import("./notices.ts")).withNotices(outside) : outside;

  const program = await buildProgram(context, argv);
  if (argv.length === 0) return program.outputHelp();

  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    // Commander ends help and version with an exception of exit code 0.
    if (!(error instanceof Error && "exitCode" in error && error.exitCode === 0 && "code" in error))
      throw error;
  }
}

function stopSignal(argv: readonly string[], context: Context) {
  let reject: (reason: unknown) => void = () => undefined;
  const signal = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  signal.catch(() => undefined);

  let command = "";
  const onSignal = (): void => {
    if (!GRACEFUL.has(command) && !isBuild(argv)) reject(context.interrupted.reason);
  };

  context.interrupted.addEventListener("abort", onSignal, { once: true });

  return {
    signal,
    watch: (name: string): void => {
      command = name;
    },
    release: () => context.interrupted.removeEventListener("abort", onSignal),
  };
}

function processContext(
  argv: readonly string[],
  interrupted: AbortSignal,
  onStderr: () => void,
): Context {
  // Opening a stream costs one or two milliseconds, and most commands need neither of these.
  const stdin = (): InputStream => process.stdin;

  const stderr = (): OutputStream => {
    onStderr();
    return process.stderr;
  };

  return {
    get stdin() {
      return stdin();
    },

    get stderr() {
      return stderr();
    },

    stdout: process.stdout as OutputStream,
    env: process.env,

    // Asked for where a path is: the folder may be gone, and most commands need none.
    get cwd() {
      return process.cwd();
    },

    platform: process.platform,
    pid: process.pid,
    now: () => Date.now(),

    sleep: sleepFor,
    random: () => Math.random(),
    confirm: async (question) =>
      (await import("./terminal/prompt.ts")).confirmOn(stdin(), stderr(), question, interrupted),

    prompt: async (question, options) =>
      (await import("./terminal/prompt.ts")).promptOn(stdin(), stderr(), question, {
        ...options,
        signal: interrupted,
      }),

    startSample: async (context, notice) =>
      (await import("../app/sample.ts")).startSample(context, notice),
    interrupted,
    argv,
  };
}

/**
 * Runs this process's own command line and ends it:
 * flushes stderr, then stdout, then exits with the code.
 */
const LAST_WORDS_MS = 2_000;

export async function run(): Promise<void> {
  const argv = process.argv.slice(2);
  const interruption = new AbortController();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals++;
    // Where DuckDB is at work an exit would wait for it, for ever where it waits for us.
    if (signals > 2 && isBuild(argv)) process.kill(process.pid, "SIGKILL");
    if (signals > 1 && !isBuild(argv)) process.exit(130);
    interruption.abort(Object.assign(new Error(signal), { name: "AbortError", code: signal }));
  };

  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);

  // A closed window: Windows gives ten seconds. Elsewhere
  // a listener would undo what nohup asked for.
  if (process.platform === "win32")
    for (const name of ["SIGHUP", "SIGBREAK"]) process.on(name, onSignal);

  let stderrOpened = false;
  const context = processContext(argv, interruption.signal, () => {
    // What nobody reads any more (`2>&1 | head`) is no reason to end in the middle of a purchase.
    if (!stderrOpened) process.stderr.on("error", () => undefined);
    stderrOpened = true;
  });

  let settled = false;
  process.on("exit", () => {
    if (!settled && process.exitCode === undefined) {
      process.exitCode = 1;
      process.stderr.write(
        "error: the command ended before it was finished; this is a bug in headcount\n",
      );
    }
  });

  const code = await main(argv, context);
  settled = true;

  // Who was told to end does not wait for the reader of a log.
  const patience = new Promise((resolve) => signals > 0 && setTimeout(resolve, LAST_WORDS_MS));
  if (stderrOpened) await Promise.race([written(process.stderr), patience]).catch(() => undefined);
  process.exit(code);
}
