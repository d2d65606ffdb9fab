import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { packageRoot } from "../../shared/paths.ts";
import type { OfferedValues } from "../options.ts";
import { manPages } from "./man.ts";
import { allCommands, type CommandSpec, type FlagSpec, GENERATED, programTree } from "./tree.ts";

export function generatedFiles(program: Command): ReadonlyMap<string, string> {
  const tree = programTree(program);
  return new Map([
    ["completions/headcount.bash", bashScript(tree)],
    ["completions/_headcount", zshScript(tree)],
    ["completions/headcount.fish", fishScript(tree)],
    ["completions/headcount.ps1", powershellScript(tree)],
    ...manPages(program),
  ]);
}

/** A script of `templates/`, each `@NAME@` in it replaced. */
function fill(template: string, values: Readonly<Record<string, string>>): string {
  const text = readFileSync(new URL(`src/cli/completion/templates/${template}`, packageRoot()), "utf8");
  return text.replace(/@([A-Z]+)@/g, (mark, name: string) =>
    name === "GENERATED" ? GENERATED : (values[name] ?? mark),
  );
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const names = (flags: readonly FlagSpec[]): string => flags.flatMap((flag) => flag.names).join(" ");

function arm(command: CommandSpec, program: CommandSpec): string {
  const flags = command === program ? program.flags : [...command.flags, ...program.flags];
  const distinct = flags.filter((flag, index) => flags.findIndex(({ long }) => long === flag.long) === index);
  const valued = distinct.filter((flag) => flag.value !== undefined);
  return `  ${quote(command.path.join(" "))})
    commands=${quote(command.commands.map(({ path }) => path.at(-1)).join(" "))}
    flags=${quote(names(distinct))}
    valued=${quote(names(valued))}
    many=${quote(names(valued.filter((flag) => flag.value?.many)))} ;;`;
}

const source = (values: OfferedValues): string =>
  "values" in values
    ? `source='${values.kind}'; values=(${values.values.map(quote).join(" ")})`
    : `source='${values.kind}'`;

/** Arms of the case that says what a flag or an argument takes: equal ones share an arm. */
function valueArms(program: CommandSpec): string {
  const arms = new Map<string, string[]>();
  const add = (values: OfferedValues, pattern: string): void => {
    const key = source(values);
    arms.set(key, [...(arms.get(key) ?? []), pattern]);
  };
  for (const command of allCommands(program)) {
    const path = command.path.join(" ");
    for (const flag of command.flags) {
      const { value } = flag;
      if (value === undefined || value.values.kind === "text") continue;
      for (const name of flag.names)
        add(value.values, command === program ? `*${quote(` ${name}`)}` : quote(`${path} ${name}`));
    }
    for (const [index, argument] of command.arguments.entries()) {
      if (argument.values.kind === "text") continue;
      add(argument.values, argument.many ? `${quote(`${path} #`)}*` : quote(`${path} #${index + 1}`));
    }
  }
  return [...arms].map(([key, patterns]) => `  ${patterns.join(" | ")})\n    ${key} ;;`).join("\n");
}

const bashScript = (program: CommandSpec): string =>
  fill("headcount.bash", {
    TREE: allCommands(program)
      .map((command) => arm(command, program))
      .join("\n"),
    VALUES: valueArms(program),
  });

/** Text within `[...]` and between the colons of an _arguments specification. */
const escaped = (text: string): string => text.replace(/[\\[\]:]/g, "\\$&");
const functionName = (path: readonly string[]): string =>
  path.length === 0 ? "_headcount" : ["_headcount_command", ...path].join("_").replaceAll("-", "_");

/** Functions that offer a list, one for each distinct list; specifications name them. */
class Lists {
  readonly #names = new Map<string, string>();

  name(values: OfferedValues & { readonly values: readonly string[] }): string {
    const key = `${values.kind} ${values.values.map(quote).join(" ")}`;
    const name = this.#names.get(key) ?? `_headcount_values_${this.#names.size + 1}`;
    this.#names.set(key, name);
    return name;
  }

  functions(): string {
    return [...this.#names]
      .map(([key, name]) => {
        const [kind = "", words = ""] = [key.slice(0, key.indexOf(" ")), key.slice(key.indexOf(" ") + 1)];
        const offer =
          kind === "commas"
            ? `compset -P '*,'\n  compadd "$@" -S, -q -a values`
            : `compadd "$@" -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -a values`;
        return `${name}() {\n  local -a values\n  values=(${words})\n  ${offer}\n}\n`;
      })
      .join("\n");
  }
}

function action(values: OfferedValues, lists: Lists): string {
  switch (values.kind) {
    case "list":
    case "commas":
      return lists.name(values);
    case "connections":
    case "runs":
    case "segments":
    case "jobs":
      return `_headcount_known_${values.kind}`;
    case "listed":
      // With a space before it _arguments adds no words of its own.
      return ` _headcount_ask ${values.values[0]}`;
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "text":
      return " ";
  }
}

function flagLines(flag: FlagSpec, lists: Lists): readonly string[] {
  const description = `[${escaped(flag.description)}]`;
  const { value } = flag;
  if (value === undefined) {
    const others = flag.names.length > 1 ? `(${flag.names.join(" ")})` : `(${flag.long})`;
    return flag.names.map((name) => quote(`${others}${name}${description}`));
  }
  const rest = `:${escaped(value.label)}:${action(value.values, lists)}`;
  return flag.names.map((name) => quote(`*${name}${name.startsWith("--") ? "=" : ""}${description}${rest}`));
}

function argumentLines(command: CommandSpec, lists: Lists): readonly string[] {
  return command.arguments.map(({ label, many, values }) =>
    quote(`${many ? "*" : ""}:${escaped(label)}:${action(values, lists)}`),
  );
}

function commandFunction(command: CommandSpec, program: CommandSpec, lists: Lists): string {
  const name = functionName(command.path);
  const own =
    command === program ? [] : command.flags.filter(({ long }) => !program.flags.some((flag) => flag.long === long));
  const flags = own.flatMap((flag) => flagLines(flag, lists));
  const shared = `"\${headcount_flags[@]}"`;
  if (command.commands.length === 0) {
    const lines = [shared, ...flags, ...argumentLines(command, lists)].join(" \\\n    ");
    return `${name}() {\n  _arguments -s -S \\\n    ${lines}\n}\n`;
  }
  const children = command.commands.map(({ path, summary }) => quote(`${path.at(-1)}:${escaped(summary)}`));
  const arms = command.commands.map(({ path }) => `  ${path.at(-1)}) ${functionName(path)} ;;`);
  const prelude =
    command === program
      ? `  local headcount_program=\${words[1]}\n  local -a headcount_flags\n  headcount_flags=(\n    ${program.flags
          .flatMap((flag) => flagLines(flag, lists))
          .join("\n    ")}\n  )\n`
      : "";
  return `${name}_commands() {
  local -a commands
  commands=(
    ${children.join("\n    ")}
  )
  _describe -t commands command commands
}

${name}() {
  local curcontext="$curcontext" state
  local -a line
${prelude}  _arguments -s -S -C \\
    ${[shared, ...flags, quote(`1:command:${name}_commands`), quote("*:: :->rest")].join(" \\\n    ")} && return
  [[ $state == rest ]] || return 1
  case $line[1] in
${arms.join("\n")}
  *) return 1 ;;
  esac
}
`;
}

function zshScript(program: CommandSpec): string {
  const lists = new Lists();
  const functions = [...allCommands(program)].reverse().map((command) => commandFunction(command, program, lists));
  return fill("_headcount", {
    LISTS: lists.functions(),
    FUNCTIONS: functions.join("\n"),
  });
}

const fishQuote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

/** `-x`: a value must follow and is no file; `-r -F`: a file must follow. */
function valueWords(values: OfferedValues): string {
  switch (values.kind) {
    case "list":
      return `-x -a ${fishQuote(values.values.map(fishQuote).join(" "))}`;
    case "commas":
      return `-x -a ${fishQuote(`(__headcount_commas ${values.values.join(" ")})`)}`;
    case "connections":
    case "runs":
    case "segments":
      return `-x -k -a ${fishQuote(`(__headcount_list ${values.kind})`)}`;
    case "jobs":
      return `-x -k -a ${fishQuote("(__headcount_jobs)")}`;
    case "listed":
      return `-x -k -a ${fishQuote(`(__headcount_list ${values.values[0]} --prefix (commandline -ct | string replace -r '^(--[^=]*=)?[\\'"]?' ''))`)}`;
    case "file":
      return "-r -F";
    case "directory":
      return `-x -a ${fishQuote("(__fish_complete_directories)")}`;
    case "text":
      return "-x";
  }
}

function flagLine(flag: FlagSpec, condition: string): string {
  const words = flag.names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = flag.value === undefined ? "" : ` ${valueWords(flag.value.values)}`;
  return `complete -c headcount${condition} ${words.join(" ")}${value} -d ${fishQuote(flag.description)}`;
}

function fishCommand(command: CommandSpec, program: CommandSpec): readonly string[] {
  const path = command.path.join(" ");
  const at = ` -n ${fishQuote(`__headcount_at ${fishQuote(path)}`)}`;
  const lines: string[] = [];
  for (const child of command.commands) {
    const first = ` -n ${fishQuote(`__headcount_at ${fishQuote(path)} 0`)}`;
    lines.push(`complete -c headcount${first} -a ${child.path.at(-1)} -d ${fishQuote(child.summary)}`);
  }
  if (command === program) lines.push(...program.flags.map((flag) => flagLine(flag, "")));
  else {
    const own = command.flags.filter(({ long }) => !program.flags.some((flag) => flag.long === long));
    lines.push(...own.map((flag) => flagLine(flag, at)));
  }
  for (const [index, { values, many }] of command.arguments.entries()) {
    if (values.kind === "text") continue;
    const here = many ? at : ` -n ${fishQuote(`__headcount_at ${fishQuote(path)} ${index}`)}`;
    lines.push(
      `complete -c headcount${here} ${valueWords(values)
        .replace(/^-x|^-r /, "")
        .trim()}`,
    );
  }
  return lines;
}

/** `path flag` of every flag that takes a value, so that the value is not read as a command. */
function valuedArm(program: CommandSpec): string {
  const patterns = allCommands(program).flatMap((command) =>
    command.flags
      .filter((flag) => flag.value !== undefined)
      .flatMap((flag) =>
        flag.names.map((name) => fishQuote(`${command === program ? "*" : command.path.join(" ")}|${name}`)),
      ),
  );
  return [...new Set(patterns)].join(" ");
}

function fishScript(program: CommandSpec): string {
  const paths = allCommands(program)
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => fishQuote(path.join(" ")));
  return fill("headcount.fish", {
    VALUED: valuedArm(program),
    PATHS: paths.join(" "),
    LINES: allCommands(program)
      .flatMap((command) => fishCommand(command, program))
      .join("\n"),
  });
}

const powershellQuote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const valuesEntry = (values: OfferedValues): string => {
  if ("values" in values)
    return `@{ Kind = '${values.kind}'; Values = @(${values.values.map(powershellQuote).join(", ")}) }`;
  return `@{ Kind = '${values.kind}' }`;
};

const flagEntry = (flag: FlagSpec): readonly string[] =>
  flag.names.map((name) => {
    const value = flag.value === undefined ? "$null" : valuesEntry(flag.value.values);
    return `      ${powershellQuote(name)} = @{ Text = ${powershellQuote(flag.description)}; Value = ${value} }`;
  });

function commandEntry(command: CommandSpec): string {
  const children = command.commands.map(
    ({ path, summary }) => `      ${powershellQuote(path.at(-1) ?? "")} = ${powershellQuote(summary)}`,
  );
  const given = command.arguments.map(({ values }) => valuesEntry(values));
  return `  ${powershellQuote(command.path.join(" "))} = @{
    Commands = [ordered]@{
${children.join("\n")}
    }
    Flags = [ordered]@{
${command.flags.flatMap(flagEntry).join("\n")}
    }
    Arguments = @(${given.join(", ")})
    Many = ${command.arguments.at(-1)?.many ? "$true" : "$false"}
  }`;
}

const powershellScript = (program: CommandSpec): string =>
  fill("headcount.ps1", {
    TREE: allCommands(program).map(commandEntry).join("\n"),
  });
