import type { Argument, Command, Option } from "commander";
import { type OfferedValues, offersOf } from "../options.ts";
import { pathOf } from "../reading.ts";
import { TOPICS, topicText } from "../topics.ts";

export interface FlagSpec {
  /** `-c` and `--connection`: short first, where there is one. */
  readonly names: readonly string[];
  readonly long: string;
  readonly description: string;
  readonly value?: {
    readonly label: string;
    readonly values: OfferedValues;
    readonly many: boolean;
  };
}

export interface CommandSpec {
  readonly path: readonly string[];
  readonly summary: string;
  readonly flags: readonly FlagSpec[];
  readonly arguments: readonly ReturnType<typeof argumentSpec>[];
  readonly commands: readonly CommandSpec[];
}

/** Names that only the program knows, by the placeholder of an argument. */
const KNOWN: Readonly<Record<string, OfferedValues>> = {
  run: { kind: "runs" },
  name: { kind: "connections" },
};

/** By the placeholder: `<file>`, `<dir>`, `<map.json>`. */
function byLabel(label: string): OfferedValues {
  if (/(^|[-_.])(files?|path)$/i.test(label) || /\.[a-z]+$/i.test(label)) return { kind: "file" };
  return /^(dir|directory|folder)$/i.test(label) ? { kind: "directory" } : { kind: "text" };
}

function flagSpec(option: Option): FlagSpec {
  const long = option.long ?? option.short ?? "";
  const every = long === "--help" ? "--help-all" : undefined;
  const names = [option.short, option.long, every].filter((name) => name !== undefined);
  const spec = { names, long, description: option.description };
  if (!option.required && !option.optional) return spec;
  const label = /[<[]([^>\].]+(?:\.[a-z]+)?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1] ?? "value";
  return {
    ...spec,
    value: { label, values: offersOf(option) ?? byLabel(label), many: option.variadic },
  };
}

function argumentSpec(argument: Argument) {
  const label = argument.name();
  return {
    label,
    many: argument.variadic,
    values: offersOf(argument) ?? KNOWN[label] ?? byLabel(label),
  };
}

function commandSpec(command: Command, path: readonly string[]): CommandSpec {
  return {
    path,
    summary: command.summary() || command.description(),
    flags: command.createHelp().visibleOptions(command).map(flagSpec),
    arguments: command.registeredArguments.map(argumentSpec),
    commands: childrenOf(command).map((child) => commandSpec(child, [...path, child.name()])),
  };
}

export function programTree(program: Command): CommandSpec {
  const tree = commandSpec(program, []);

  const topics = [...tree.commands.map(({ path }) => path.join(" ")), ...TOPICS];
  const help: CommandSpec = {
    path: ["help"],
    summary: "help for a command or a topic",
    flags: [],
    arguments: [
      {
        label: "command or topic",
        many: false,
        values: { kind: "list", values: [...new Set(topics)] },
      },
    ],
    commands: [],
  };
  return { ...tree, commands: [...tree.commands, help] };
}

export const allCommands = (command: CommandSpec): readonly CommandSpec[] => [
  command,
  ...command.commands.flatMap(allCommands),
];

/**
 * What `npm run completions` writes: the tree that
 * `completion --words` reads, so that a tab loads no command.
 */
export const generatedFiles = (program: Command): ReadonlyMap<string, string> =>
  new Map([
    ["completions/tree.json", `${JSON.stringify(programTree(program))}\n`],
    ...manPages(program),
  ]);

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
  command.configureOutput({
    ...before,
    writeOut: (part) => (text += part),
    getOutHelpWidth: () => 78,
  });
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
  childrenOf(command).flatMap((child) => [
    `.SH "headcount ${pathOf(child)}"`,
    helpOf(child),
    ...within(child),
  ]);

function page(
  name: string,
  command: Command,
  more: readonly string[],
): readonly [path: string, text: string] {
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

/** A topic that is longer is read where it is asked for: `headcount help TOPIC`. */
const MOST_LINES = 100;

/** A short page that names the others, and one for each command, as help prints them. */
export function manPages(program: Command): readonly (readonly [path: string, text: string])[] {
  const topics = TOPICS.flatMap((name) => {
    const [, ...lines] = (topicText(name) ?? "").split("\n");
    return lines.length > MOST_LINES
      ? []
      : [`.SH "${name.replace("-", " ").toUpperCase()}"`, asPrinted(lines.join("\n"))];
  });
  const commands = childrenOf(program);
  return [
    page("headcount", program, topics),
    ...commands.map((command) => page(`headcount-${command.name()}`, command, within(command))),
  ];
}
