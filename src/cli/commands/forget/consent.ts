import { type Context, canPrompt } from "../../../shared/context.ts";
import { declined, usageError } from "../../../shared/errors.ts";
import { sameCommand } from "../../arguments/export-options.ts";
import type { Documents } from "../../schemas/all.ts";
import type { Printer } from "../../terminal/printer.ts";

/** @throws CliError exit 2 where nobody can be asked, exit 10 where the answer is no */
export async function agreeToForget(
  lines: readonly string[],
  printer: Printer,
  context: Context,
): Promise<void> {
  if (!canPrompt(context)) {
    throw usageError(
      "forgetting somebody needs --yes where nobody can be asked",
      sameCommand(context, "--yes"),
    );
  }
  for (const line of lines) printer.say(line);
  if (await context.confirm("Delete the person from all of this? It cannot be taken back [y/N]"))
    return;
  throw declined("nothing was deleted");
}

/** What was deleted, or would be: a line each, or one document. */
export function reportForgotten(
  document: Documents["forget"] | Documents["service forget"],
  lines: readonly string[],
  printer: Printer,
): void {
  if (printer.json) printer.document<"forget" | "service forget">(document);
  else printer.text(lines.map((line) => `${line}\n`).join(""));
}
