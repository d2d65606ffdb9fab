import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CLIENTS, type Client, entryFor, launchOf, skillText } from "../../app/agents/install.ts";
import { rowPositions } from "../../app/agents/positions.ts";
import {
  type AgentWorld,
  type NamedBudget,
  PERIODS,
  type Period,
  quoteBook,
} from "../../app/agents/world.ts";
import type { Context } from "../../shared/context.ts";
import { optionWords } from "../../shared/contract/command-line.ts";
import { type Credits, formatCredits, ZERO } from "../../shared/contract/money.ts";
import { echo, whenGiven } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { optional } from "../../shared/packages.ts";
import { creditAmount, creditsGiven } from "../arguments/settings.ts";
import { Argument, type Command, type GlobalOptions } from "../options.ts";
import { requestLog } from "../session.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";

interface McpOptions extends GlobalOptions {
  readonly maxCredits?: Cap;
  readonly budget?: string;
  readonly askOver?: Credits;
  readonly output?: string;
  readonly port?: number;
}

const SKILL = "skill";

const name = (text: string): string => {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(text)) return text;
  throw usageError(
    `--budget takes a name, not "${echo(text)}"`,
    "letters, digits, dots, hyphens and underscores",
  );
};

const askOver = (text: string): Credits => creditsGiven("--ask-over", text);

interface Cap {
  readonly text: string;
  readonly credits: Credits;
  readonly per: Period | undefined;
}

function capOf(text: string): Cap {
  const [amount = "", word] = text.split(/\/(.*)/s, 2);
  const per = PERIODS.find((period) => period === word);
  const credits = creditAmount(amount);
  if (word === undefined || per !== undefined) return { text, credits, per };
  throw usageError(
    `--max-credits takes credits of a ${PERIODS.join(", a ")}, not "${echo(text)}"`,
    `for example --max-credits ${formatCredits(credits)}/day`,
  );
}

const addCapOptions = (command: Command): Command =>
  command
    .option(
      "--max-credits <n[/period]>",
      "let it buy, at most for this a day (UTC), /session or /total; else nothing",
      capOf,
    )
    .option("--budget <name>", "the budget's name: one name is one budget (mcp)", name)
    .option("--ask-over <n>", "ask nobody for up to so many credits (0)", askOver)
    .offers("-o, --output <dir>", "let it write runs as files into this folder", {
      kind: "directory",
    });

export function register(parent: Command, context: Context): void {
  const command = parent
    .command("mcp")
    .description(
      "Serve the tools of headcount to an agent by the Model Context Protocol, over stdin " +
        "and stdout. It counts and quotes for free; it buys only where a cap is given here, " +
        "and asks a person first. The cap holds whatever the agent does with these tools; " +
        "against one that has a shell the wall is a key with a cap of its own.",
    );

  addCapOptions(command)
    .number(
      "--port <n>",
      "serve on this machine's loopback instead (0 picks a port); prints URL and token",
      [0, 65_535],
    )
    .examples(`
  $ headcount -c sample mcp < /dev/null
  $ headcount -c sample mcp --max-credits 500/day < /dev/null
  $ headcount mcp install claude --max-credits 500

See docs/how-to/agents.md for the tools, the cap, and how to make a key that cannot spend more.`)
    .does(
      `asks account key count search facets sketch people enrich employees counts
      reads connection given segments runs library suppression register
      writes output runs library register pacing
      exits 3 4 5 6 7 8 9 10 130`,
      (options: McpOptions) => serve(options, context),
    );

  addCapOptions(
    command
      .command("install")
      .addArgument(new Argument("<client>", "which client").choices([...CLIENTS, SKILL]))
      .description(
        "Print the entry that a client's config needs, with the cap in it, the file that " +
          "it belongs into and the line that adds it; or, with skill, a SKILL.md for " +
          "agents that use headcount from a shell. Writes nothing.",
      ),
  )
    .examples(`
  $ headcount mcp install claude --max-credits 500
  $ headcount -c sample mcp install codex
  $ headcount mcp install vscode --max-credits 50/total --budget pilot
  $ headcount mcp install skill > SKILL.md`)
    .does("reads connection runs", atDesk(context, install));
}

function install(
  { options, printer, context }: Desk<McpOptions>,
  client: Client | typeof SKILL,
): void {
  budgetFrom(options);
  if (client === SKILL) return void context.stdout.write(skillText());

  const { cwd, env, platform } = context;
  const {
    connection = env.HEADCOUNT_CONNECTION,
    baseUrl,
    paging,
    maxCredits: cap,
    budget,
    askOver: over,
    output,
  } = options;

  const args = [
    ...optionWords({ "--connection": connection, "--base-url": baseUrl, "--paging": paging }),
    "mcp",
    ...optionWords({ "--max-credits": cap?.text, "--budget": budget }),
    ...optionWords({ "--ask-over": whenGiven(over, formatCredits) }),
    ...optionWords({ "--output": output === undefined ? undefined : resolve(cwd, output) }),
  ];
  const { entry, file, line } = entryFor(client, launchOf(args, context), platform);
  context.stdout.write(entry);
  printer.note(
    `goes into ${file}, beside what is there${line === undefined ? "" : `; or: ${line}`}`,
  );

  if (connection === undefined && env.HEADCOUNT_API_KEY !== undefined)
    printer.note(
      "notice: the client does not see HEADCOUNT_API_KEY of this shell: " +
        "headcount login keeps a key for it",
    );
}

/** @throws CliError exit 2 where options say something about a cap that is not there */
function budgetFrom({ maxCredits, budget, askOver: over }: McpOptions): NamedBudget | undefined {
  if (maxCredits !== undefined)
    return { name: budget ?? "mcp", cap: maxCredits.credits, per: maxCredits.per ?? "day" };
  const flag = Object.entries({ "--budget": budget, "--ask-over": over }).find(
    ([, value]) => value !== undefined,
  );
  if (flag === undefined) return undefined;
  throw usageError(
    `${flag[0]} is about buying, and without --max-credits nothing can be bought`,
    "add --max-credits N",
  );
}

const NO_MESSAGE = `${JSON.stringify({
  jsonrpc: "2.0",
  id: null,
  error: { code: -32_600, message: "a line is one message of JSON-RPC 2.0, and no batch" },
})}\n`;

/** @throws CliError where the packages of the protocol are not installed */
const protocol = () =>
  optional(
    "@modelcontextprotocol/server",
    "headcount mcp",
    Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
      import("@modelcontextprotocol/server/validators/ajv"),
    ]),
    "buy without an agent (headcount search)",
  );

/** What the tools act in, until the client goes. */
function worldOf(
  options: McpOptions,
  bounds: Pick<AgentWorld, "budget" | "out">,
  context: Context,
): AgentWorld {
  const { connection, baseUrl, paging, maxWait, askOver: over = ZERO } = options;
  return {
    ...bounds,
    context,
    askOver: over,
    connecting: { connection, baseUrl, paging, maxWait },
    events: { log: requestLog(options, context) },
    startedAt: context.now(),
    quotes: quoteBook(context.now),
    positions: rowPositions(),
  };
}

async function outputFolder({ output }: McpOptions, { cwd }: Context): Promise<string | undefined> {
  if (output === undefined) return undefined;
  const folder = resolve(cwd, output);
  if ((await stat(folder).catch(() => undefined))?.isDirectory()) return folder;
  throw usageError(`--output ${echo(output)} is no folder`, "make it first");
}

async function serve(options: McpOptions, context: Context): Promise<void> {
  const bounds = { budget: budgetFrom(options), out: await outputFolder(options, context) };
  const [sdk, stdio, validators] = await protocol();
  const { atWork, serverFactory } = await import("../../app/agents/server.ts");
  const { toolsOf } = await import("../../app/agents/tools.ts");
  const closing = new AbortController();
  const stop = (): void =>
    closing.abort(Object.assign(new Error("closed"), { name: "AbortError", code: "SIGTERM" }));

  context.interrupted.addEventListener("abort", stop, { once: true });
  if (context.interrupted.aborted) stop();

  const inner = Object.create(context, { interrupted: { value: closing.signal } }) as Context;
  const world = worldOf(options, bounds, inner);
  const work = atWork();
  const factory = serverFactory(sdk, validators, world, { work, tools: toolsOf(world) });
  const ended = new Promise<void>((done) => {
    if (options.port === undefined)
      for (const over of ["end", "close"]) context.stdin.once(over, done);
    // What answers are written to is gone: its error is that of the command.
    context.stdout.once("error", done);
    closing.signal.addEventListener("abort", () => done(), { once: true });
    if (closing.signal.aborted) done();
  });

  if (options.port !== undefined) {
    const { openHttp } = await import("../../app/agents/http.ts");
    const door = await openHttp(sdk, factory, {
      port: options.port,
      token: context.env.HEADCOUNT_MCP_TOKEN,
    });
    context.stdout.write(`${JSON.stringify({ url: door.url, token: door.token })}\n`);
    await ended;
    await work.ended();
    return await door.close();
  }

  const handle = stdio.serveStdio(factory, {
    transport: new stdio.StdioServerTransport(context.stdin, context.stdout),

    onerror: (error) => {
      // A line of JSON that is no message, such as a batch: whoever sent it waits for an answer.
      if (error.name === "ZodError") context.stdout.write(NO_MESSAGE);
      if (options.verbose === true) context.stderr.write(`mcp: ${error.name}\n`);
    },
  });

  await ended;
  stop();
  await work.ended();
  await handle.close();
  context.stdin.pause();
}
