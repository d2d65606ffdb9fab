import type { Context } from "./context.ts";
import { CliError, EXIT, usageError } from "./errors.ts";
import { safeText } from "./terminal/safe.ts";

/** Turns whatever a command threw into one message on stderr and an exit code. Nothing else maps errors to codes. */
export function report(error: unknown, argv: readonly string[], context: Context): number {
  const failure = asCliError(error);
  if (failure.exitCode === EXIT.pipeClosed) return EXIT.pipeClosed;
  if (argv.includes("--json")) context.stderr.write(`${JSON.stringify({ error: errorObject(failure) })}\n`);
  else context.stderr.write(errorText(failure));
  if (failure.exitCode === EXIT.bug && context.env.HEADCOUNT_DEBUG && error instanceof Error) {
    context.stderr.write(`${error.stack ?? ""}\n`);
  }
  return failure.exitCode;
}

/** The documented shape of an error under `--json`; absent values are null so that every key is always there. */
export function errorObject(error: CliError): Record<string, unknown> {
  return {
    code: error.code,
    message: [error.message, ...error.details].join("\n"),
    exit_code: error.exitCode,
    status: error.status ?? null,
    request_id: error.requestId ?? null,
    hint: error.hint ?? null,
  };
}

function errorText(error: CliError): string {
  const lines = [`error: ${safeText(error.message)}`, ...error.details.map((line) => `  ${safeText(line)}`)];
  if (error.requestId !== undefined) lines.push(`  request id: ${safeText(error.requestId)}`);
  if (error.hint !== undefined) lines.push(`hint: ${safeText(error.hint)}`);
  return `${lines.join("\n")}\n`;
}

interface CommanderLike {
  readonly code: string;
  readonly exitCode: number;
  readonly message: string;
}

const isCommanderError = (error: unknown): error is CommanderLike =>
  error instanceof Error && "code" in error && String(error.code).startsWith("commander.");

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (isCommanderError(error)) return commanderError(error);
  const failure = error as NodeJS.ErrnoException;
  if (failure?.code === "SIGINT" || failure?.code === "SIGTERM") {
    return new CliError({
      code: "interrupted",
      category: "interrupted",
      exitCode: EXIT.interrupted,
      message: "interrupted",
    });
  }
  if (failure?.code === "EPIPE") {
    return new CliError({
      code: "pipe_closed",
      category: "pipe_closed",
      exitCode: EXIT.pipeClosed,
      message: "closed pipe",
    });
  }
  const message = failure instanceof Error ? failure.message : String(error);
  if (failure instanceof Error && isSystemError(failure)) {
    return new CliError({
      code: "filesystem",
      category: "filesystem",
      exitCode: EXIT.usage,
      message,
      hint: "check that the path exists, that it may be read and written, and that the disk has room",
      cause: error,
    });
  }
  return new CliError({
    code: "internal",
    category: "internal",
    exitCode: EXIT.bug,
    message: `this is a bug in headcount: ${message}`,
    hint: "run it again with HEADCOUNT_DEBUG=1 and report what it prints; nothing paid is lost (headcount runs)",
    cause: error,
  });
}

const isSystemError = (error: NodeJS.ErrnoException): boolean =>
  typeof error.code === "string" && typeof error.syscall === "string";

function commanderError(error: CommanderLike): CliError {
  if (error.code === "commander.help") {
    return usageError(
      "no command given",
      "headcount --help lists the commands, headcount help COMMAND one command's own",
    );
  }
  const [first = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more.join(" ").trim();
  const hints: Record<string, string> = {
    "commander.unknownCommand": "headcount --help lists the commands",
    "commander.unknownOption": "headcount help COMMAND lists its options",
  };
  const hint =
    suggestion !== ""
      ? suggestion.replace(/^\(|\)$/g, "")
      : (hints[error.code] ?? "headcount help COMMAND shows how it is called");
  const code = error.code.replace(/^commander\./, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return new CliError({ code, category: "usage", exitCode: EXIT.usage, message: first, hint });
}
