import type { Command as Called } from "commander";
import type { Context } from "../shared/context.ts";
import { echo, WAIT, waitSeconds } from "../shared/contract/text.ts";
import { usageError } from "../shared/errors.ts";
import { packageVersion } from "../shared/paths.ts";
import { layered } from "./help.ts";
import { Command, type CommandModule, Option, offering } from "./options.ts";
import { readingFailure } from "./reading.ts";
import { widthOfStream } from "./terminal/style.ts";

type Entry = readonly [summary: string, load: () => Promise<CommandModule>];

/** In the order of the help. A command's file is loaded only where it is the one that runs. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  Look: {
    count: ["count the people in a segment (free)", () => import("./commands/count/count.ts")],
    account: [
      "show key, balance, plan, limits and prices (free)",
      () => import("./commands/account.ts"),
    ],
    filters: ["list filter keys and their values (offline)", () => import("./commands/filters.ts")],
    segment: [
      "save a segment under a name, list, show, remove",
      () => import("./commands/segment.ts"),
    ],
  },
  Buy: {
    search: ["export the people of a segment", () => import("./commands/search.ts")],
    read: ["buy people by ids that a search found", () => import("./commands/read.ts")],
    enrich: ["look companies up", () => import("./commands/enrich.ts")],
    employees: ["export the people of a company", () => import("./commands/employees.ts")],
    refresh: ["bring a list up to date: pay for who is new", () => import("./commands/refresh.ts")],
    mcp: ["let an agent count, quote and buy within a cap", () => import("./commands/mcp.ts")],
  },
  Keep: {
    runs: ["list, show, export or remove paid exports", () => import("./commands/runs/runs.ts")],
    resume: ["continue an unfinished export", () => import("./commands/resume.ts")],
    spend: [
      "show what was spent, from the runs that are kept",
      () => import("./commands/spend.ts"),
    ],
    owned: [
      "what you own: everybody ever bought, once (offline)",
      () => import("./commands/owned/owned.ts"),
    ],
    sql: ["ask the people you own with SQL (offline)", () => import("./commands/sql.ts")],
    suppress: [
      "leave people out of every output (offline)",
      () => import("./commands/suppress/suppress.ts"),
    ],
    forget: [
      "delete a person from all that is kept (offline)",
      () => import("./commands/forget/forget.ts"),
    ],
    data: [
      "what is kept of people, and for how long (offline)",
      () => import("./commands/data.ts"),
    ],
    sync: [
      "share what you own with your other machines and your team",
      () => import("./commands/sync.ts"),
    ],
    jobs: ["run exports on a schedule, within a budget", () => import("./commands/jobs/jobs.ts")],
  },
  Connect: {
    login: ["store a key for a connection", () => import("./commands/login.ts")],
    logout: [
      "remove a connection's key",
      async () => ({ register: (await import("./commands/connections.ts")).registerLogout }),
    ],
    connections: ["list, use or remove connections", () => import("./commands/connections.ts")],
    doctor: ["check this machine and a connection (free)", () => import("./commands/doctor.ts")],
  },
  Serve: {
    serve: ["run the API over a dataset of your own", () => import("./commands/serve.ts")],
    service: [
      "import data, make accounts and keys, add credits, verify",
      () => import("./commands/service/service.ts"),
    ],
  },
  Shell: {
    schema: ["print what a command's --json looks like", () => import("./commands/schema.ts")],
    completion: ["print a completion script", () => import("./commands/completion.ts")],
  },
};

const ALIASES: Readonly<Record<string, string>> = { whoami: "account" };

const OPTIONS_WITH_VALUE = new Set(["-c", "--connection", "--base-url", "--paging", "--max-wait"]);

/** The first word of the arguments that is no option and no option's value: the command's name. */
export function commandName(argv: readonly string[]): string | undefined {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    if (word === "--") return undefined;
    if (OPTIONS_WITH_VALUE.has(word)) index++;
    else if (!word.startsWith("-")) return ALIASES[word] ?? word;
  }
  return undefined;
}

function seconds(text: string): number {
  const value = waitSeconds(text);
  if (value !== undefined) return value;
  throw usageError(`--max-wait takes ${WAIT}, not "${echo(text)}"`, "for example --max-wait 600");
}

export async function printHelp(argv: readonly string[], context: Context): Promise<void> {
  const words = argv.slice(argv.indexOf("help") + 1).filter((word) => !word.startsWith("-"));
  const { codeText, topicText } = await import("./topics.ts");
  const topic = topicText(words.join(" "));
  if (topic !== undefined) return void context.stdout.write(topic);
  if (words[0] === "all") return (await buildProgram(context, ["--help-all"])).outputHelp();

  const command = find(await buildProgram(context, argv), words);
  const code = codeText(words.join(" "));
  if (command !== undefined) {
    command.outputHelp();
    // A word that is both: the command comes first.
    if (code !== undefined) context.stdout.write(`\nAs an error code: ${code}`);
    return;
  }

  const { lookUp } = await import("./answers.ts");
  context.stdout.write(code ?? (await lookUp(words.join(" "))));
}

const find = (command: Command, words: readonly string[]): Command | undefined =>
  words.reduce<Command | undefined>(
    (at, word) => at?.commands.find((child) => [child.name(), ...child.aliases()].includes(word)),
    command,
  );

/** The program without its commands: what every one of them takes. */
function declareProgram(): Command {
  const program = new Command("headcount");
  const connection = new Option(
    "-c, --connection <name>",
    'which connection to use; "sample" is built in (env: HEADCOUNT_CONNECTION)',
  );

  return (
    program
      .description(
        "Count a segment of people for free, see what it costs, " +
          "buy exactly that, keep every paid profile.",
      )
      // Read from the context's environment where they are used, not by commander.
      .addOption(offering(connection, { kind: "connections" }))
      .option("--base-url <url>", "overrides the connection's address (env: HEADCOUNT_BASE_URL)")
      .oneOf(
        "--paging <how>",
        "how the service pages, where it is not known (env: HEADCOUNT_PAGING)",
        ["page", "page0", "offset", "cursor"],
      )
      .option("--json", "one JSON document on stdout; errors as JSON on stderr")
      .option("-q, --quiet", "no notices and no progress; what was bought is still a line")
      .option("-v, --verbose", "one line per request on stderr")
      .option("--no-color", "no colour (also NO_COLOR, TERM=dumb)")
      .addOption(
        new Option(
          "--max-wait <seconds>",
          "longest that one call waits for a rate limit, or an answer (2m: minutes)",
        )
          .argParser(seconds)
          .default(300),
      )
      .version(packageVersion(), "-V, --version", "print the version")
      .addHelpOption(
        Object.assign(new Option("-h, --help", "show help; --help-all: with every option"), {
          is: (word: string) => ["-h", "--help", "--help-all"].includes(word),
        }),
      )
      .helpCommand(
        "help [command...]",
        "help for a command, an error code or any word: budget, team, over_cap",
      )
      .examples(EXAMPLES)
      .showSuggestionAfterError(true)
  );
}

/**
 * Only the named command is loaded whole, the others are there for help; `"all"` loads every one.
 */
export async function buildProgram(
  context: Context,
  argv: readonly string[],
  load: "named" | "all" = "named",
): Promise<Command> {
  const program = declareProgram();
  const wanted = commandName(argv);
  const helpFor = wanted === "help" ? commandName(argv.slice(argv.indexOf("help") + 1)) : undefined;

  for (const [group, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(`${group}:`);
    for (const [name, [summary, module]] of Object.entries(commands)) {
      if (load === "all" || name === wanted || name === helpFor)
        (await module()).register(program, context);
      else program.command(name);
      find(program, [name])?.summary(summary);
    }
  }

  const whole = load === "all" || argv.includes("--help-all");
  settle(program, context, whole ? (await import("./effects.ts")).effectsText : undefined);
  program.hook("preAction", (_, command) => begin(command, argv));

  return program;
}

/** Before a command is run: no word too many. @throws CliError exit 2 */
async function begin(command: Called, argv: readonly string[]): Promise<void> {
  const most = command.registeredArguments.some(({ variadic }) => variadic)
    ? Number.POSITIVE_INFINITY
    : command.registeredArguments.length;
  // login looks at its words by itself: one of them may be a key.
  if (command.args.length > most && command.name() !== "login")
    throw (await import("./usage.ts")).excessWord(command, argv);
}

const EXAMPLES = `
  $ headcount -c sample count --department Sales --country "united states"
  $ headcount -c sample search --department Sales --max-credits 25 -o people.csv --overwrite
  $ headcount serve                                          the API itself, on a synthetic sample

headcount help COMMAND: a command's options and examples. headcount help all: every command and \
option (an agent, whom to leave out, what was spent, connections, your own service). headcount \
help jobs: on a schedule. headcount help filters, exit-codes, error-codes, environment: how it \
works. headcount help WORD: whatever the docs say of it.`;

/** What its group says of a command: the beginning of what the command says of itself. */
const summaryOf = (description: string): string =>
  (description.charAt(0).toLowerCase() + description.slice(1)).split(/[.:;](?: |$)| \(/, 1)[0] ??
  "";

function settle(command: Command, context: Context, touches: Parameters<typeof layered>[1]): void {
  // Help of what is not there is an error as it is without -h: said before any of the help.
  command.on("beforeHelp", () => {
    const word = command.args.find((arg) => !arg.startsWith("-"));
    if (command.commands.length > 0 && word !== undefined && find(command, [word]) === undefined)
      command.error(`error: unknown command '${word}'`, { code: "commander.unknownCommand" });
  });

  layered(command, touches);
  if (command.summary() === "") command.summary(summaryOf(command.description()));

  command
    // Refused in words of our own: see the hook.
    .allowExcessArguments()
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : readingFailure(error, command);
    })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: () => undefined,
      getOutHelpWidth: () => widthOfStream(context.stdout),
    });
  for (const child of command.commands) settle(child, context, touches);
}
