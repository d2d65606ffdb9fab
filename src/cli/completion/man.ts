import type { Command } from "commander";
import { pathOf } from "../reading.ts";
import { TOPICS, topicText } from "../topics.ts";

/** Text as roff: backslashes, leading dots and quotes, and hyphens that must stay ASCII. */
const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/gm, "\\&$1");

const asPrinted = (text: string): string => `.nf\n${roff(text.trim())}\n.fi`;

function helpOf(command: Command): string {
  let text = "";
  const before = command.configureOutput();
  command.configureOutput({ ...before, writeOut: (part) => (text += part), getOutHelpWidth: () => 78 });
  command.outputHelp();
  command.configureOutput(before);
  return asPrinted(text);
}

const childrenOf = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help");

const within = (command: Command): readonly string[] =>
  childrenOf(command).flatMap((child) => [`.SH "headcount ${pathOf(child)}"`, helpOf(child), ...within(child)]);

function page(name: string, command: Command, more: readonly string[]): readonly [path: string, text: string] {
  const lines = [
    '.\\" Generated from the program by `npm run completions`; do not edit.',
    `.TH ${name.toUpperCase()} 1 "" "headcount" "User Commands"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(command.summary())}`,
    ".SH DESCRIPTION",
    helpOf(command),
    ...more,
  ];
  return [`docs/man/${name}.1`, `${lines.join("\n")}\n`];
}

/** A short page that names the others, and one for each command, as help prints them: by their places. */
export function manPages(program: Command): readonly (readonly [path: string, text: string])[] {
  const topics = TOPICS.flatMap(({ name }) => [
    `.SH "${name.replace("-", " ").toUpperCase()}"`,
    asPrinted((topicText(name) ?? "").replace(/^.*\n/, "")),
  ]);
  const commands = childrenOf(program);
  return [
    page("headcount", program, topics),
    ...commands.map((command) => page(`headcount-${command.name()}`, command, within(command))),
  ];
}
