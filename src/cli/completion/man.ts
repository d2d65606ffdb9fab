import type { Command, Option } from "commander";
import { flagOf } from "../../shared/contract/command-line.ts";
import { FILTER_KEYS } from "../../shared/contract/filters.ts";
import { ENVIRONMENT, EXIT_CODES, topicText } from "../topics.ts";

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

/** Arguments, options and examples of a command, without those of its commands. */
function ownLines(command: Command): readonly string[] {
  const lines: string[] = [];
  for (const argument of command.registeredArguments) {
    if (argument.description) lines.push(`.TP\n\\fI${roff(argument.name())}\\fR\n${roff(argument.description)}`);
  }
  const options = command.createHelp().visibleOptions(command);
  const shown = options.filter((option) => option.long !== "--help");
  // Some commands have a --name of another meaning: only where all of them are there are they the filters.
  const given = new Set(shown.map((option) => option.long ?? ""));
  const isSegment = [...FILTER_FLAGS].every((flag) => given.has(flag));
  const own = shown.filter((option) => !(isSegment && FILTER_FLAGS.has(option.long ?? "")));
  if (isSegment) lines.push(".TP", "\\fIfilters\\fR", roff("every flag of headcount-filters(1)"));
  lines.push(...own.map(optionLines));
  const examples = examplesOf(command);
  if (examples.length > 0) lines.push(".PP", "Examples:", example(examples.join("\n")));
  return lines;
}

const wordsOf = (command: Command, path: string): string =>
  [
    path,
    ...command.registeredArguments.map((argument) => {
      const label = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return argument.required ? `<${label}>` : `[${label}]`;
    }),
  ].join(" ");

const childrenOf = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help");

const within = (command: Command, path: string): readonly string[] =>
  childrenOf(command).flatMap((child) => {
    const inner = `${path} ${child.name()}`;
    const text = roff(child.description() || child.summary());
    return [`.SS ${quoted(wordsOf(child, inner))}`, text, ...ownLines(child), ...within(child, inner)];
  });

const topic = (name: string): string => example((topicText(name) ?? "").replace(/^.*\n\n/, "").trimEnd());

const titled = (name: string, says: string): readonly string[] => [
  '.\\" Generated from the program by `npm run completions`; do not edit.',
  `.TH ${name.toUpperCase()} 1 "" "headcount" "User Commands"`,
  ".SH NAME",
  `${roff(name)} \\- ${roff(says)}`,
  ".SH SYNOPSIS",
];

/** Texts of help that are of one command's page. */
const TOPIC_OF: Readonly<Record<string, readonly [heading: string, topic: string]>> = {
  filters: ["FILTERS", "filters"],
  jobs: ['"UNATTENDED EXPORTS"', "cron"],
};

function commandPage(command: Command): string {
  const path = `headcount ${command.name()}`;
  const [heading, name] = TOPIC_OF[command.name()] ?? [];
  const more = within(command, path);
  return `${[
    ...titled(`headcount-${command.name()}`, command.summary()),
    `.B ${roff(wordsOf(command, path))}`,
    "[\\fIoptions\\fR]",
    ".SH DESCRIPTION",
    roff(command.description()),
    ".SH OPTIONS",
    roff("Beside those of headcount(1)."),
    ...ownLines(command),
    ...(more.length === 0 ? [] : [".SH COMMANDS", ...more]),
    ...(heading === undefined || name === undefined ? [] : [`.SH ${heading}`, topic(name)]),
    ".SH SEE ALSO",
    "headcount(1)",
  ].join("\n")}\n`;
}

function firstPage(program: Command, commands: readonly Command[]): string {
  const named = commands.map((command) => [`.TP\n.B headcount\\-${command.name()}(1)`, roff(command.summary())]);
  return `${[
    ...titled("headcount", "count, quote and buy people and company profiles"),
    ".B headcount\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]",
    ".SH DESCRIPTION",
    roff(program.description()),
    ".PP",
    roff("Standard output carries data only; everything for a person goes to standard error."),
    ".SH OPTIONS",
    roff("These go before or after the command."),
    ...program.createHelp().visibleOptions(program).map(optionLines),
    ".SH COMMANDS",
    roff("Each has a page of its own."),
    ...named.flat(),
    ".SH EXIT STATUS",
    ...EXIT_CODES.map(({ code, meaning }) => `.TP\n${bold(String(code))}\n${roff(meaning)}`),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.map(({ name, meaning }) => `.TP\n${bold(name)}\n${roff(meaning)}`),
  ].join("\n")}\n`;
}

/** A short page that names the others, and one for each command, by their places. */
export function manPages(program: Command): readonly (readonly [path: string, text: string])[] {
  const commands = childrenOf(program);
  return [
    ["docs/man/headcount.1", firstPage(program, commands)],
    ...commands.map((command) => [`docs/man/headcount-${command.name()}.1`, commandPage(command)] as const),
  ];
}
