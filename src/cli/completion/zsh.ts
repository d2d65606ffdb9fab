import type { OfferedValues } from "../options.ts";
import { fill } from "./template.ts";
import { allCommands, type CommandSpec, type FlagSpec } from "./tree.ts";

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
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

/** The completion script for zsh: as `_headcount` in a folder of fpath, or sourced after compinit. */
export function zshScript(program: CommandSpec): string {
  const lists = new Lists();
  const functions = [...allCommands(program)].reverse().map((command) => commandFunction(command, program, lists));
  return fill("_headcount", {
    LISTS: lists.functions(),
    FUNCTIONS: functions.join("\n"),
  });
}
