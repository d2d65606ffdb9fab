import { Command, Option } from "commander";
import type { Context } from "./context.ts";
import { usageError } from "./errors.ts";
import { packageVersion } from "./version.ts";

/** What a file under `commands/` exports. */
export interface CommandModule {
  /** Adds the command with its options, examples and action to the program. */
  register(program: Command, context: Context): void;
}

interface CommandEntry {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

/** Every command in the order of the help. A command's file is loaded only where it is the one that runs. */
export const COMMANDS: readonly CommandEntry[] = [
  entry("Look", "count", "count the people in a segment (free)", () => import("./commands/count.ts")),
  entry("Look", "account", "show balance, plan, limits and prices (free)", () => import("./commands/account.ts")),
  entry("Look", "filters", "list filter keys and their values (offline)", () => import("./commands/filters.ts")),
  entry("Buy", "search", "export the people of a segment", () => import("./commands/search.ts")),
  entry("Buy", "enrich", "look companies up", () => import("./commands/enrich.ts")),
  entry("Buy", "employees", "export the people of a company", () => import("./commands/employees.ts")),
  entry("Keep", "runs", "list, show, resume, export or remove paid exports", () => import("./commands/runs.ts")),
  entry("Keep", "resume", "continue an unfinished export", () => import("./commands/resume.ts")),
  entry("Keep", "spend", "show what was spent, from the local ledger", () => import("./commands/spend.ts")),
  entry("Connect", "login", "store a key for a connection", () => import("./commands/login.ts")),
  entry("Connect", "logout", "remove a connection's key", () => import("./commands/logout.ts")),
  entry("Connect", "connections", "list, use or remove connections", () => import("./commands/connections.ts")),
  entry("Connect", "doctor", "check this machine and a connection (free)", () => import("./commands/doctor.ts")),
  entry("Serve", "serve", "run the API over a dataset of your own", () => import("./commands/serve.ts")),
  entry("Serve", "service", "import data, make keys, add credits, verify", () => import("./commands/service.ts")),
  entry("Shell", "completion", "print a completion script", () => import("./commands/completion.ts")),
];

function entry(group: string, name: string, summary: string, load: () => Promise<CommandModule>): CommandEntry {
  return { group, name, summary, load };
}

/** Values of the global options, as commander parsed them. */
export interface GlobalOptions {
  readonly connection?: string;
  readonly baseUrl?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** `--no-color` makes it false. */
  readonly color?: boolean;
  /** Longest single wait for a rate limit, in seconds. */
  readonly maxWait: number;
}

const OPTIONS_WITH_VALUE = new Set(["-c", "--connection", "--base-url", "--max-wait"]);

/** The first word of the arguments that is no option and no option's value: the command's name. */
export function commandName(argv: readonly string[]): string | undefined {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    if (word === "--") return undefined;
    if (OPTIONS_WITH_VALUE.has(word)) index++;
    else if (!word.startsWith("-")) return word;
  }
  return undefined;
}

/** Parses a `--max-wait` in seconds. */
function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > 86_400 * 7) {
    throw usageError(`--max-wait takes seconds between 0 and 604800, not "${text}"`, "for example --max-wait 600");
  }
  return value;
}

/**
 * The program for these arguments. Only the named command is loaded whole; the others are there as names and summaries, for
 * help and suggestions. `"all"` loads every command (completions, man page, tests).
 */
export async function buildProgram(
  context: Context,
  argv: readonly string[],
  load: "named" | "all" = "named",
): Promise<Command> {
  const program = new Command("headcount");
  program
    .description("Count a segment of people for free, see what it costs, buy exactly that, keep every paid profile.")
    .addOption(
      new Option("-c, --connection <name>", 'which connection to use; "sample" is built in').env(
        "HEADCOUNT_CONNECTION",
      ),
    )
    .addOption(new Option("--base-url <url>", "overrides the connection's address").env("HEADCOUNT_BASE_URL"))
    .option("--json", "one JSON document on stdout; errors as JSON on stderr")
    .option("-q, --quiet", "no notices and no progress")
    .option("-v, --verbose", "one line per request on stderr")
    .option("--no-color", "no colour (also NO_COLOR, TERM=dumb)")
    .addOption(
      new Option("--max-wait <seconds>", "longest single wait for a rate limit").argParser(seconds).default(300),
    )
    .version(packageVersion(), "--version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command or topic]", "help for a command, or on exit-codes, environment, filters, cron")
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: () => undefined,
    });
  const wanted = commandName(argv);
  const helpFor = wanted === "help" ? commandName(argv.slice(argv.indexOf("help") + 1)) : undefined;
  for (const { name, group, summary, load: loadCommand } of COMMANDS) {
    program.commandsGroup(`${group}:`);
    if (load === "all" || name === wanted || name === helpFor) (await loadCommand()).register(program, context);
    else program.command(name).summary(summary);
  }
  for (const command of program.commands) settle(command, context);
  return program;
}

/** exitOverride and the output settings are not inherited by commands that were added before they were set. */
function settle(command: Command, context: Context): void {
  command.exitOverride().configureOutput({ writeOut: (text) => context.stdout.write(text), writeErr: () => undefined });
  for (const child of command.commands) settle(child, context);
}
