import type { Command, Option } from "commander";
import { flagOf } from "../../shared/contract/command-line.ts";
import { FILTER_KEYS } from "../../shared/contract/filters.ts";
import { ENVIRONMENT, EXIT_CODES, TOPICS, topicText } from "../topics.ts";
import { GENERATED } from "./tree.ts";

const FILTER_FLAGS: ReadonlySet<string> = new Set(FILTER_KEYS.map(flagOf));

/** Text as roff: backslashes, leading dots and quotes, and hyphens that must stay ASCII. */
const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/gm, "\\&$1");
const bold = (text: string): string => `\\fB${roff(text)}\\fR`;
const quoted = (text: string): string => `"${roff(text).replaceAll('"', "\\(dq")}"`;

const example = (text: string): string => `.PP\n.nf\n.RS 4\n${roff(text)}\n.RE\n.fi`;

/** A command's help as it would be printed, for the parts that commander keeps to itself: the examples. */
function helpText(command: Command): string {
  let text = "";
  const before = command.configureOutput();
  command.configureOutput({ ...before, writeOut: (part) => (text += part), getOutHelpWidth: () => 10_000 });
  command.outputHelp();
  command.configureOutput(before);
  return text;
}

function examplesOf(command: Command): readonly string[] {
  const block = /^Examples:\n((?: .*\n?)+)/m.exec(helpText(command))?.[1] ?? "";
  return block
    .split("\n")
    .map((line) => line.replace(/^ +/, ""))
    .filter((line) => line !== "");
}

function optionLines(option: Option): string {
  const flags = option.flags.replace(/[<[][^>\]]+[>\]]/g, (label) => `\\fI${roff(label)}\\fR`);
  const parts = flags.split(/(\\fI.*?\\fR)/).map((part) => (part.startsWith("\\fI") ? part : bold(part)));
  const notes = [
    option.argChoices === undefined ? "" : `one of ${option.argChoices.join(", ")}`,
    option.defaultValue === undefined || option.defaultValue === false ? "" : `default ${String(option.defaultValue)}`,
    option.envVar === undefined ? "" : `environment ${option.envVar}`,
  ].filter((note) => note !== "");
  const note = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
  return `.TP\n${parts.join("")}\n${roff(option.description + note)}`;
}

function commandLines(command: Command, path: string): readonly string[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== "help");
  const words = command.registeredArguments.map((argument) => {
    const label = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${label}>` : `[${label}]`;
  });
  const lines = [`.SS ${quoted([path, ...words].join(" "))}`, roff(command.description() || command.summary())];
  for (const argument of command.registeredArguments) {
    if (argument.description) lines.push(`.TP\n\\fI${roff(argument.name())}\\fR\n${roff(argument.description)}`);
  }
  const options = help.visibleOptions(command).filter((option) => option.long !== "--help");
  // Some commands have a --name of another meaning: only where all of them are there are they the filters.
  const given = new Set(options.map((option) => option.long ?? ""));
  const isSegment = [...FILTER_FLAGS].every((flag) => given.has(flag));
  const own = options.filter((option) => !(isSegment && FILTER_FLAGS.has(option.long ?? "")));
  if (isSegment) lines.push(".TP", "\\fIfilters\\fR", roff("every flag of the section FILTERS"));
  lines.push(...own.map(optionLines));
  const examples = examplesOf(command);
  if (examples.length > 0) lines.push(".PP", "Examples:", example(examples.join("\n")));
  return [...lines, ...children.flatMap((child) => commandLines(child, `${path} ${child.name()}`))];
}

const topic = (name: string): string => (topicText(name) ?? "").replace(/^.*\n\n/, "").trimEnd();

export function manPage(program: Command): string {
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((child) => child.name() !== "help");
  const options = help.visibleOptions(program);
  const pages = TOPICS.filter(({ name }) => name === "filters" || name === "cron");
  return `${[
    `.\\" ${GENERATED}`,
    '.TH HEADCOUNT 1 "" "headcount" "User Commands"',
    ".SH NAME",
    `headcount \\- ${roff("count, quote and buy people and company profiles")}`,
    ".SH SYNOPSIS",
    `.B headcount\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]`,
    ".SH DESCRIPTION",
    roff(program.description()),
    ".PP",
    roff("Standard output carries data only; everything for a person goes to standard error."),
    ".SH OPTIONS",
    roff("These go before or after the command."),
    ...options.map(optionLines),
    ".SH COMMANDS",
    ...commands.flatMap((command) => commandLines(command, `headcount ${command.name()}`)),
    ...pages.flatMap(({ name }) => [
      `.SH ${name === "cron" ? quoted("UNATTENDED EXPORTS") : name.toUpperCase()}`,
      example(topic(name)),
    ]),
    ".SH EXIT STATUS",
    ...EXIT_CODES.map(({ code, meaning }) => `.TP\n${bold(String(code))}\n${roff(meaning)}`),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.map(({ name, meaning }) => `.TP\n${bold(name)}\n${roff(meaning)}`),
  ].join("\n")}\n`;
}
