import type { Command } from "commander";
import { filterFor } from "../shared/contract/aliases.ts";
import { flagOf } from "../shared/contract/command-line.ts";
import { read } from "../shared/contract/naming/read.ts";
import { didYouMean } from "../shared/contract/suggest.ts";
import { echo } from "../shared/contract/text.ts";
import { type CliError, shellWord, usageError } from "../shared/errors.ts";
import { pathOf } from "./reading.ts";

/** What editors and web pages make of the two dashes of an option. */
const LONG_DASH = /^-*[\u2012-\u2015\u2212][-\u2012-\u2015\u2212]*/;

/** Flags that name the file which a command is about. */
const INPUTS = /^--(filters|input|people|companies|suggest)$/;

/**
 * A word that the command has no place for: what it
 * was probably meant to be, and how that is written.
 */
export function excessWord(command: Command, argv: readonly string[]): CliError {
  const path = pathOf(command);
  const word = command.args[command.registeredArguments.length] ?? "";

  // `runs exprot`: read as an argument of the command that `runs` alone stands for.
  const group = command.parent?.parent == null ? undefined : command.parent;
  if (group !== undefined && !argv.includes(command.name())) {
    return noCommand(command.args[0] ?? "", group);
  }

  const flags = command.options.map(({ long }) => long ?? "");
  if (LONG_DASH.test(word)) {
    const meant = word.replace(LONG_DASH, "--");
    return usageError(
      `"${echo(word)}" begins with a long dash: options begin with two short ones`,
      flags.includes(meant.replace(/=.*/s, "")) ? `write ${meant}` : didYouMean(meant, flags),
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

  const said = flagsFor(word, flags);
  return usageError(
    message,
    said === ""
      ? `headcount help ${path} shows how it is called`
      : `values have flags: ${said}; headcount help ${path} lists them`,
  );
}

function noCommand(word: string, group: Command): CliError {
  // The nearest word would be remove.
  if (word === "resume")
    return usageError('runs has no command "resume"', "headcount resume", "unknown_command");

  const path = pathOf(group);
  const names = group.commands.map((child) => child.name());
  return usageError(
    `${path} has no command "${echo(word)}"`,
    didYouMean(word, names, (name) => `headcount ${path} ${name}`) ??
      `headcount help ${path} lists its commands`,
    "unknown_command",
  );
}

/** The word with the flags of the command that may have been meant; "" where there is none. */
function flagsFor(word: string, flags: readonly string[]): string {
  if ("isFile" in read(word)) {
    const inputs = flags.filter((long) => INPUTS.test(long)).slice(0, 2);
    return inputs.map((long) => `${long} ${shellWord(word)}`).join(" or ");
  }
  return likelyFlags(word)
    .filter(([long]) => flags.includes(long))
    .map((pair) => pair.map(shellWord).join(" "))
    .join(" ");
}

/** The flags whose values stand in a text, as far as that can be told without asking anybody. */
function likelyFlags(text: string): readonly (readonly [flag: string, value: string])[] {
  const words = text.trim().split(/\s+/);
  const found = new Map<string, string>();
  for (const from of words.keys()) {
    for (let to = words.length; to > from; to--) {
      const [key, value = ""] = filterFor(words.slice(from, to).join(" ")) ?? [];
      if (key !== undefined && !found.has(flagOf(key))) found.set(flagOf(key), value);
    }
  }
  return [...found];
}
