import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../shared/paths.ts";

/** This program by absolute paths: what systemd and cron start has no PATH of this shell. */
export const program = (): readonly string[] => [execPath, fileURLToPath(new URL("bin/headcount.js", packageRoot()))];

/** A percent sign of a unit is a specifier. */
export const percent = (text: string): string => text.replaceAll("%", "%%");

export const quoted = (text: string): string =>
  /^[\w@+=:,./%$-]+$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** The words of ExecStart=, in which percent and dollar mean something. */
export const execWords = (words: readonly string[]): string =>
  words.map((word) => percent(quoted(word)).replaceAll("$", "$$$$")).join(" ");
