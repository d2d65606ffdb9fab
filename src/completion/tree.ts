import type { Argument, Command, Option } from "commander";
import { DEPARTMENTS, SENIORITY_LEVELS } from "../contract/departments.ts";
import { FILTER_KEYS } from "../contract/filters.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import { TOPICS } from "../topics.ts";

/** Where the values of a flag or an argument come from. */
export type Values =
  | { readonly kind: "list"; readonly values: readonly string[] }
  /** Several values of the list in one word, parted by commas. */
  | { readonly kind: "commas"; readonly values: readonly string[] }
  /** Asked of `headcount completion --list KIND`. */
  | { readonly kind: "connections" | "runs" }
  | { readonly kind: "file" | "directory" }
  /** Nothing to offer. */
  | { readonly kind: "text" };

export interface FlagSpec {
  /** `-c` and `--connection`: short first, where there is one. */
  readonly names: readonly string[];
  readonly long: string;
  readonly description: string;
  /** Absent where the flag takes no value. */
  readonly value?: { readonly label: string; readonly values: Values; readonly many: boolean };
}

export interface ArgumentSpec {
  readonly label: string;
  readonly many: boolean;
  readonly values: Values;
}

export interface CommandSpec {
  /** The words after `headcount`; empty for the program itself. */
  readonly path: readonly string[];
  readonly summary: string;
  /** The flags of its own. Those of the program hold everywhere. */
  readonly flags: readonly FlagSpec[];
  readonly arguments: readonly ArgumentSpec[];
  readonly commands: readonly CommandSpec[];
}

export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

const list = (values: readonly string[]): Values => ({ kind: "list", values });

/** Flags whose values the command itself does not declare as choices. */
const FLAG_VALUES: Readonly<Record<string, Values>> = {
  "--connection": { kind: "connections" },
  "--department": list(DEPARTMENTS),
  "--seniority-level": list(SENIORITY_LEVELS),
  "--by": list(FILTER_KEYS),
  "--format": list(["csv", "ndjson", "json", "parquet", "table"]),
  "--mode": list(["live", "test"]),
  "--kind": list(["people", "companies"]),
};

const ARGUMENT_VALUES: Readonly<Record<string, Values>> = {
  run: { kind: "runs" },
  "run-id": { kind: "runs" },
  "filters key": list(FILTER_KEYS),
  "completion shell": list(SHELLS),
  "login name": { kind: "connections" },
  "logout name": { kind: "connections" },
  "connections use name": { kind: "connections" },
  "connections remove name": { kind: "connections" },
};

/** By the placeholder: `<file>`, `<dir>`, `<map.json>`. */
function byLabel(label: string): Values {
  if (/(^|[-_.])(files?|path)$/i.test(label) || /\.[a-z]+$/i.test(label)) return { kind: "file" };
  return /^(dir|directory|folder)$/i.test(label) ? { kind: "directory" } : { kind: "text" };
}

function flagValues(path: readonly string[], option: Option, label: string): Values {
  if (option.argChoices !== undefined) return list(option.argChoices);
  if (option.long === "--fields") {
    const fields = path[0] === "enrich" ? COMPANY_FIELDS : PERSON_FIELDS;
    const both = path[0] === "runs" ? [...new Set<string>([...PERSON_FIELDS, ...COMPANY_FIELDS])] : fields;
    return { kind: "commas", values: both };
  }
  return FLAG_VALUES[option.long ?? ""] ?? byLabel(label);
}

function flagSpec(path: readonly string[], option: Option): FlagSpec {
  const long = option.long ?? option.short ?? "";
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const spec = { names, long, description: option.description };
  if (!option.required && !option.optional) return spec;
  const label = /[<[]([^>\].]+(?:\.[a-z]+)?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1] ?? "value";
  return { ...spec, value: { label, values: flagValues(path, option, label), many: option.variadic } };
}

function argumentSpec(path: readonly string[], argument: Argument): ArgumentSpec {
  const label = argument.name();
  const values =
    argument.argChoices !== undefined
      ? list(argument.argChoices)
      : (ARGUMENT_VALUES[`${path.join(" ")} ${label}`] ?? ARGUMENT_VALUES[label] ?? byLabel(label));
  return { label, many: argument.variadic, values };
}

function commandSpec(command: Command, path: readonly string[]): CommandSpec {
  const help = command.createHelp();
  const visible = help.visibleCommands(command).filter((child) => child.name() !== "help");
  return {
    path,
    summary: command.summary() || command.description(),
    flags: help.visibleOptions(command).map((option) => flagSpec(path, option)),
    arguments: command.registeredArguments.map((argument) => argumentSpec(path, argument)),
    commands: visible.map((child) => commandSpec(child, [...path, child.name()])),
  };
}

/** The program as the completion scripts and the man page need it: what a person may type, and nothing hidden. */
export function programTree(program: Command): CommandSpec {
  const tree = commandSpec(program, []);
  const topics = [...tree.commands.map(({ path }) => path.join(" ")), ...TOPICS.map(({ name }) => name)];
  const help: CommandSpec = {
    path: ["help"],
    summary: "help for a command or a topic",
    flags: [],
    arguments: [{ label: "command or topic", many: false, values: list([...new Set(topics)]) }],
    commands: [],
  };
  return { ...tree, commands: [...tree.commands, help] };
}

/** A command and all below it, parents first. */
export const allCommands = (command: CommandSpec): readonly CommandSpec[] => [
  command,
  ...command.commands.flatMap(allCommands),
];

/** The first lines of every generated file. */
export const GENERATED = "Generated from the program by `npm run completions`; do not edit.";
