import type { Command } from "commander";
import { didYouMean } from "../shared/contract/suggest.ts";
import { echo, shellWord } from "../shared/contract/text.ts";
import { type CliError, usageError } from "../shared/errors.ts";
import { pathOf } from "./reading.ts";

/** Flags that name the file which a command is about. */
const INPUTS = /^--(filters|input|people|companies|suggest)$/;

/**
 * A word that the command has no place for: what it
 * was probably meant to be, and how that is written.
 */
export function excessWord(command: Command, argv: readonly string[]): CliError {
  const path = pathOf(command);
  const [first = ""] = command.args;

  // A key that was pasted in the wrong place is not shown.
  const word = (command.args[command.registeredArguments.length] ?? "").replace(
    /(_(?:live|test)_).*/is,
    "$1…",
  );

  // `runs exprot`: read as an argument of the command that `runs` alone stands for.
  const group = command.parent?.parent == null ? undefined : command.parent;
  if (group !== undefined && !argv.includes(command.name())) {
    // The nearest word would be remove.
    if (first === "resume")
      return usageError('runs has no command "resume"', "headcount resume", "unknown_command");

    const names = group.commands.map((child) => child.name());
    const hint = didYouMean(first, names, (name) => `headcount ${pathOf(group)} ${name}`);
    const all = `headcount help ${pathOf(group)} lists its commands`;
    return usageError(
      `${pathOf(group)} has no command "${echo(first)}"`,
      hint ?? all,
      "unknown_command",
    );
  }

  const message = `"${echo(word)}" is one word too many for headcount ${path}`;
  const at = argv.lastIndexOf(word);
  const flag = argv.slice(0, at).findLast((before) => before.startsWith("-"));
  const option = command.options.find(
    ({ long, short }) => flag !== undefined && (flag === long || flag === short),
  );

  const value = argv[at - 1] ?? "";
  if (option?.required && value !== flag) {
    const again = [value, word].map((each) => `${flag} ${shellWord(each)}`).join(" ");
    return usageError(
      `${message}: ${flag} takes one value`,
      `give it again (${again}), or quote a value with spaces ` +
        `(${flag} ${shellWord(`${value} ${word}`)})`,
    );
  }

  const flags = command.options.map(({ long }) => long ?? "");
  const likely = /[./]/.test(word)
    ? flags.filter((long) => INPUTS.test(long))
    : flags.filter((long) => long === "--country" || long === "--title");

  return usageError(
    message,
    likely.length === 0
      ? `headcount help ${path} shows how it is called`
      : `values have flags: ${likely
          .slice(0, 2)
          .map((long) => `${long} ${shellWord(word)}`)
          .join(" or ")}; headcount help ${path} lists them`,
  );
}
