import type { Command, CommanderError } from "commander";
import { type CliError, usageError } from "../shared/errors.ts";

export const pathOf = (command: Command): string =>
  command.parent === null ? "" : `${pathOf(command.parent)} ${command.name()}`.trim();

export function readingFailure({ code, message }: CommanderError, command: Command): CliError {
  const path = pathOf(command);
  const help = path === "" ? "headcount --help" : `headcount help ${path}`;
  if (code === "commander.help") return usageError("no command given", `${help} lists the commands`);
  const [first = "", ...more] = message.replace(/^error: /, "").split("\n");
  const suggestion = more
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");
  const shows =
    code === "commander.unknownCommand"
      ? `${help} lists the commands`
      : code === "commander.unknownOption"
        ? `${help} lists the options`
        : `${help} shows how it is called`;
  return usageError(
    first,
    suggestion || shows,
    code.replace(/^commander\./, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
}
