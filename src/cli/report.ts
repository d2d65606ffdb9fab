import { failureOf } from "../app/failures.ts";
import type { Context } from "../shared/context.ts";
import { harmless, harmlessJson } from "../shared/contract/text.ts";
import { type CliError, EXIT, withinBounds } from "../shared/errors.ts";

/** Nothing else maps errors to exit codes. */
export function report(error: unknown, isJson: boolean, context: Context): number {
  const failure = failureOf(error);
  if (failure.exitCode === EXIT.pipeClosed) return EXIT.pipeClosed;
  const json = `${JSON.stringify({ error: errorObject(failure) })}\n`;
  if (isJson) context.stderr.write(context.stderr.isTTY === true ? harmlessJson(json) : json);
  else context.stderr.write(errorText(failure));
  if (failure.exitCode === EXIT.bug && context.env.HEADCOUNT_DEBUG && error instanceof Error) {
    context.stderr.write(`${error.stack ?? ""}\n`);
  }
  return failure.exitCode;
}

/**
 * The documented shape of an error under `--json`; absent
 * values are null so that every key is always there.
 */
function errorObject(error: CliError): Record<string, unknown> {
  const { code, message, details, exitCode: exit_code, requestId: request_id = null } = error;
  const { status = null } = error;
  const { hint = null, resumable, next = null } = withinBounds(error);

  return {
    code,
    message: [message, ...details].join("\n"),
    exit_code,
    status,
    request_id,
    hint,
    resumable,
    next,
  };
}

function errorText(error: CliError): string {
  const lines = [
    `error: ${harmless(error.message)}`,
    ...error.details.map((line) => `  ${harmless(`${line}`)}`),
  ];
  if (error.requestId !== undefined) lines.push(`  request id: ${harmless(error.requestId)}`);
  if (error.hint !== undefined) lines.push(`hint: ${harmless(`${error.hint}`)}`);
  return `${lines.join("\n")}\n`;
}
