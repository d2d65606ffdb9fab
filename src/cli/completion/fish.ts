import type { OfferedValues } from "../options.ts";
import { fill } from "./template.ts";
import { allCommands, type CommandSpec, type FlagSpec } from "./tree.ts";

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

/** What `complete` is told of the values. `-x`: a value must follow and is no file; `-r -F`: a file must follow. */
function valueWords(values: OfferedValues): string {
  switch (values.kind) {
    case "list":
      return `-x -a ${quote(values.values.map(quote).join(" "))}`;
    case "commas":
      return `-x -a ${quote(`(__headcount_commas ${values.values.join(" ")})`)}`;
    case "connections":
    case "runs":
    case "segments":
      return `-x -k -a ${quote(`(__headcount_list ${values.kind})`)}`;
    case "listed":
      return `-x -k -a ${quote(`(__headcount_list ${values.values[0]} --prefix (commandline -ct | string replace -r '^(--[^=]*=)?[\\'"]?' ''))`)}`;
    case "file":
      return "-r -F";
    case "directory":
      return `-x -a ${quote("(__fish_complete_directories)")}`;
    case "text":
      return "-x";
  }
}

function flagLine(flag: FlagSpec, condition: string): string {
  const words = flag.names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = flag.value === undefined ? "" : ` ${valueWords(flag.value.values)}`;
  return `complete -c headcount${condition} ${words.join(" ")}${value} -d ${quote(flag.description)}`;
}

function commandLines(command: CommandSpec, program: CommandSpec): readonly string[] {
  const path = command.path.join(" ");
  const at = ` -n ${quote(`__headcount_at ${quote(path)}`)}`;
  const lines: string[] = [];
  for (const child of command.commands) {
    const first = ` -n ${quote(`__headcount_at ${quote(path)} 0`)}`;
    lines.push(`complete -c headcount${first} -a ${child.path.at(-1)} -d ${quote(child.summary)}`);
  }
  if (command === program) lines.push(...program.flags.map((flag) => flagLine(flag, "")));
  else {
    const own = command.flags.filter(({ long }) => !program.flags.some((flag) => flag.long === long));
    lines.push(...own.map((flag) => flagLine(flag, at)));
  }
  for (const [index, { values, many }] of command.arguments.entries()) {
    if (values.kind === "text") continue;
    const here = many ? at : ` -n ${quote(`__headcount_at ${quote(path)} ${index}`)}`;
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
        flag.names.map((name) => quote(`${command === program ? "*" : command.path.join(" ")}|${name}`)),
      ),
  );
  return [...new Set(patterns)].join(" ");
}

/** The completion script for fish. */
export function fishScript(program: CommandSpec): string {
  const paths = allCommands(program)
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => quote(path.join(" ")));
  return fill("headcount.fish", {
    VALUED: valuedArm(program),
    PATHS: paths.join(" "),
    LINES: allCommands(program)
      .flatMap((command) => commandLines(command, program))
      .join("\n"),
  });
}
