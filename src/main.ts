import type { Context, InputStream, OutputStream } from "./context.ts";

// Nothing is imported here before it is known to be needed: `--version` must cost no more than Node itself.

/** Commands that settle what they paid for at the first signal, or drain; every other ends at once. */
const GRACEFUL = new Set(["search", "employees", "enrich", "resume", "runs", "serve"]);
/** Commands that learn of a closed pipe from their own writes: what they bought is kept before they end. */
const EXPORTS = new Set(["search", "employees", "enrich", "resume"]);

/**
 * Runs one command line and returns its exit code (cli.md, "Exit codes"). The one place that turns errors into exit codes
 * and messages. Never throws and never ends the process: `run` does that.
 * @param argv the arguments after the program's name
 */
export async function main(argv: readonly string[], context: Context): Promise<number> {
  if (argv.length === 1 && argv[0] === "--version") {
    const { packageVersion } = await import("./version.ts");
    context.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  const { buildProgram, COMMANDS, commandName, unknownHelp } = await import("./program.ts");
  const name = commandName(argv) ?? "";
  const outside = watchOutside(context, name);
  try {
    await Promise.race([execute(), outside.ended]);
    return 0;
  } catch (error) {
    if (isHelp(error)) return 0;
    const { report } = await import("./report.ts");
    return report(error, argv, context);
  } finally {
    outside.release();
  }

  async function execute(): Promise<void> {
    if (name === "help") {
      const topic = commandName(argv.slice(argv.indexOf("help") + 1));
      const { topicText } = await import("./topics.ts");
      const text = topic === undefined ? undefined : topicText(topic);
      if (text === undefined && topic !== undefined && !COMMANDS.some((command) => command.name === topic)) {
        throw await unknownHelp(topic);
      }
      if (text !== undefined) return void context.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
    }
    const program = await buildProgram(context, argv);
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(argv, { from: "user" });
  }
}

/** Commander ends help and version with an exception of exit code 0. */
const isHelp = (error: unknown): boolean =>
  error instanceof Error && "exitCode" in error && error.exitCode === 0 && "code" in error;

/** A promise that rejects when the reader of stdout is gone or a signal came, for the commands that have nothing to settle. */
function watchOutside(
  context: Context,
  name: string,
): { readonly ended: Promise<never>; readonly release: () => void } {
  let onError: (error: NodeJS.ErrnoException) => void = () => undefined;
  let onSignal: () => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    onError = (error) => {
      if (error.code !== "EPIPE" || !EXPORTS.has(name)) reject(error);
    };
    onSignal = () => {
      if (!GRACEFUL.has(name)) reject(context.interrupted.reason);
    };
  });
  ended.catch(() => undefined);
  context.stdout.on("error", onError);
  context.interrupted.addEventListener("abort", onSignal, { once: true });
  const release = (): void => {
    // The stream may fail once more while it is flushed; without a listener that would end the process as a bug.
    context.stdout.on("error", () => undefined);
    context.stdout.off("error", onError);
    context.interrupted.removeEventListener("abort", onSignal);
  };
  return { ended, release };
}

/**
 * The real process as a context. The only code below `bin` that touches it.
 * @param onStderr called when stderr is wanted
 */
function processContext(argv: readonly string[], interrupted: AbortSignal, onStderr: () => void): Context {
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
    cwd: process.cwd(),
    platform: process.platform,
    pid: process.pid,
    now: () => Date.now(),
    sleep: async (ms, signal) => {
      const { setTimeout: sleep } = await import("node:timers/promises");
      await sleep(ms, undefined, signal === undefined ? {} : { signal });
    },
    random: () => Math.random(),
    confirm: async (question) =>
      (await import("./terminal/prompt.ts")).confirmOn(stdin(), stderr(), question, interrupted),
    prompt: async (question, options) =>
      (await import("./terminal/prompt.ts")).promptOn(stdin(), stderr(), question, {
        ...options,
        signal: interrupted,
      }),
    interrupted,
    argv,
  };
}

/** Runs this process's own command line and ends it: flushes stderr, then stdout, then exits with the code. */
export async function run(): Promise<void> {
  const argv = process.argv.slice(2);
  const interruption = new AbortController();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals++;
    if (signals > 1) process.exit(130);
    interruption.abort(Object.assign(new Error(signal), { name: "AbortError", code: signal }));
  };
  if (!(argv.length === 1 && argv[0] === "--version")) {
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  }
  let stderrOpened = false;
  const context = processContext(argv, interruption.signal, () => {
    stderrOpened = true;
  });
  let settled = false;
  process.on("exit", () => {
    if (!settled && process.exitCode === undefined) {
      process.exitCode = 1;
      process.stderr.write("error: the command ended before it was finished; this is a bug in headcount\n");
    }
  });
  const code = await main(argv, context);
  settled = true;
  if (stderrOpened) await flush(process.stderr);
  await flush(process.stdout);
  process.exit(code);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writable || stream.writableLength === 0) resolve();
    else {
      stream.once("error", () => resolve());
      stream.write("", () => resolve());
    }
  });
}
