import type { OfferedValues } from "../options.ts";
import { fill } from "./template.ts";
import { allCommands, type CommandSpec, type FlagSpec } from "./tree.ts";

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const valuesEntry = (values: OfferedValues): string => {
  if ("values" in values) return `@{ Kind = '${values.kind}'; Values = @(${values.values.map(quote).join(", ")}) }`;
  return `@{ Kind = '${values.kind}' }`;
};

const flagEntry = (flag: FlagSpec): readonly string[] =>
  flag.names.map((name) => {
    const value = flag.value === undefined ? "$null" : valuesEntry(flag.value.values);
    return `      ${quote(name)} = @{ Text = ${quote(flag.description)}; Value = ${value} }`;
  });

function commandEntry(command: CommandSpec): string {
  const children = command.commands.map(({ path, summary }) => `      ${quote(path.at(-1) ?? "")} = ${quote(summary)}`);
  const given = command.arguments.map(({ values }) => valuesEntry(values));
  return `  ${quote(command.path.join(" "))} = @{
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

export const powershellScript = (program: CommandSpec): string =>
  fill("headcount.ps1", {
    TREE: allCommands(program).map(commandEntry).join("\n"),
  });
