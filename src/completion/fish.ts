import type { Values } from "../options.ts";
import { allCommands, type CommandSpec, type FlagSpec, GENERATED } from "./tree.ts";

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

/** What `complete` is told of the values. `-x`: a value must follow and is no file; `-r -F`: a file must follow. */
function valueWords(values: Values): string {
  switch (values.kind) {
    case "list":
      return `-x -a ${quote(values.values.map(quote).join(" "))}`;
    case "commas":
      return `-x -a ${quote(`(__headcount_commas ${values.values.join(" ")})`)}`;
    case "connections":
    case "runs":
      return `-x -k -a ${quote(`(__headcount_list ${values.kind})`)}`;
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
  return `# fish completion for headcount. ${GENERATED}

# Whether the words before the cursor are the command path $argv[1] and, where given, $argv[2] arguments after it.
function __headcount_at
    set -l path ''
    set -l position 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$path|$word"
            case ${valuedArm(program)}
                set skip 1
                continue
            case '*|-*'
                continue
        end
        set -l longer (string trim "$path $word")
        if test $position = 0; and contains -- "$longer" ${paths.join(" ")}
            set path "$longer"
        else
            set position (math $position + 1)
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) -lt 2; or test $position = $argv[2]
    end
end

# Values of a list in one word, parted by commas: what is there already stays in front.
function __headcount_commas
    set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    printf '%s\\n' "$before"$argv
end

# Names that only headcount knows, each with a description after a tab.
function __headcount_list
    set -l program (commandline -opc)[1]
    # A home on a drive that hangs must not hold the shell.
    if type -q timeout
        command timeout -s KILL 3 $program completion --list $argv[1] </dev/null 2>/dev/null
    else
        command $program completion --list $argv[1] </dev/null 2>/dev/null
    end
end

complete -c headcount -f
${allCommands(program)
  .flatMap((command) => commandLines(command, program))
  .join("\n")}
`;
}
