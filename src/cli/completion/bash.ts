import type { OfferedValues } from "../options.ts";
import { fill } from "./template.ts";
import { allCommands, type CommandSpec, type FlagSpec } from "./tree.ts";

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

/** The completion script for bash 3.2 and newer, with or without the package bash-completion. */
export const bashScript = (program: CommandSpec): string =>
  fill("headcount.bash", {
    TREE: allCommands(program)
      .map((command) => arm(command, program))
      .join("\n"),
    VALUES: valueArms(program),
  });
