import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { packageRoot } from "../../shared/paths.ts";

/** This program by absolute paths: what systemd and cron start has no PATH of this shell. */
export const program = (): readonly string[] => [execPath, fileURLToPath(new URL("bin/headcount.js", packageRoot()))];

/** A value that stays on its line of a unit or crontab. @throws CliError exit 2 for a newline and the like */
export function oneLine(text: string): string {
  if (!/\p{Cc}/u.test(text)) return text;
  throw usageError(
    `"${echo(text)}" holds a control character, which a unit or a crontab would read as the end of a line`,
    "rename the folder or the file, or set the variable anew",
    "control_character",
  );
}

/** A percent sign of a unit is a specifier. */
export const percentEscaped = (text: string): string => oneLine(text).replaceAll("%", "%%");

export const unitQuoted = (text: string): string =>
  /^[\w@+=:,./%$-]+$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** The words of ExecStart=, in which percent and dollar mean something. */
export const execWords = (words: readonly string[]): string =>
  words.map((word) => percentEscaped(unitQuoted(word)).replaceAll("$", "$$$$")).join(" ");
