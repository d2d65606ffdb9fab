import type { Command, CommanderError } from "commander";
import { nearest } from "../shared/contract/suggest.ts";
import { withoutSecrets } from "../shared/contract/text.ts";
import { type CliError, type CodeOf, shellWord, usageError } from "../shared/errors.ts";

export const pathOf = (command: Command): string =>
  command.parent === null ? "" : `${pathOf(command.parent)} ${command.name()}`.trim();

/** Words that people type, and the command that does it. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ["buy", "search (people of a segment), employees or enrich"],
  ["export", "search -o FILE; what is paid already: headcount runs export"],
  ["quote", "search --dry-run"],
  ["price", "search --dry-run; what a profile costs: headcount account"],
  ["import", "service import (into a service of your own)"],
  ["list", "runs, headcount owned or headcount segment list"],
]);

export function readingFailure({ code, message }: CommanderError, command: Command): CliError {
  const path = pathOf(command);
  const help = path === "" ? "headcount --help" : `headcount help ${path}`;

  if (code === "commander.help")
    return usageError("no command given", `${help} lists the commands`);

  const [first = "", ...more] = withoutSecrets(message.replace(/^error: /, "")).split("\n");
  const suggestion = more
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");

  // What commander cannot read it quotes.
  const [, word = ""] = /'(.*?)'/.exec(first) ?? [];
  if (code === "commander.unknownCommand" && path === "") {
    const meant = MEANT.get(word);
    // A slip is seldom in the first letter: whoever types "budget" does not mean "forget".
    const near = suggestion.includes(` ${word.charAt(0)}`) ? `${suggestion} ` : "";
    const found = `${near}headcount help ${shellWord(word)} looks in the docs`;
    return usageError(
      first,
      meant === undefined ? found : `that is headcount ${meant}`,
      "unknown_command",
    );
  }

  const isOption = code === "commander.unknownOption";
  if (path === "count" && isOption && word === "--all") {
    return usageError(
      first,
      "headcount count without any filter counts everybody",
      "unknown_option",
    );
  }

  const names = command.options.flatMap(({ long }) => long?.slice(2) ?? []);
  const near = isOption && word.startsWith("--") ? nearest(word.slice(2), names) : undefined;
  const shows =
    code === "commander.unknownCommand"
      ? `${help} lists the commands`
      : isOption
        ? `${help} lists the options`
        : `${help} shows how it is called`;

  return usageError(
    first,
    near === undefined ? suggestion || shows : `Did you mean --${near}?`,
    // All of commander's are among ours (test/unit/topics.test.ts).
    code
      .replace(/^commander\./, "")
      .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as CodeOf<"usage">,
  );
}
