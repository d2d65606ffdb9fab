import { readFileSync } from "node:fs";
import { shellWord } from "../../shared/contract/command-line.ts";
import { type Credits, formatCredits } from "../../shared/contract/money.ts";
import { packageRoot } from "../../shared/paths.ts";

type Wanted = {
  readonly [Name in "connection" | "baseUrl" | "paging" | "per" | "budget" | "out"]?: string | undefined;
} & { readonly [Name in "maxCredits" | "askOver"]?: Credits | undefined };

/** How a client starts the server: by absolute paths, because what a desktop starts has no PATH of a shell. */
interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface ClientForm {
  readonly file: string | Readonly<Record<"darwin" | "win32" | "linux", string>>;
  readonly config: (start: Start) => unknown;
  /** The command of the client itself that adds the entry. */
  readonly line?: (start: Start) => readonly string[];
}

const servers = (start: Start): unknown => ({ mcpServers: { headcount: start } });
const stdio = (start: Start) => ({ type: "stdio", ...start });
const added = ({ command, args }: Start): string[] => ["--", command, ...args];
const variables = (flag: string, { env = {} }: Start): string[] =>
  Object.entries(env).flatMap(([name, value]) => [flag, `${name}=${value}`]);
const inConfig = (path: string) => ({
  darwin: `~/Library/Application Support/${path}`,
  win32: `%APPDATA%\\${path.replaceAll("/", "\\")}`,
  linux: `~/.config/${path}`,
});

// A basic string of TOML is written as one of JSON.
const toml = ({ command, args, env = {} }: Start): string => {
  const list = args.map((word) => JSON.stringify(word)).join(", ");
  const set = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  const table = set.length === 0 ? "" : `\n[mcp_servers.headcount.env]\n${set.join("")}`;
  return `[mcp_servers.headcount]\ncommand = ${JSON.stringify(command)}\nargs = [${list}]\n${table}`;
};

const FORMS = {
  claude: {
    file: ".mcp.json of a project (Claude Code)",
    config: (start) => servers({ ...stdio(start) }),
    line: (start) => [
      "claude",
      "mcp",
      "add",
      ...variables("-e", start),
      "--scope",
      "user",
      "headcount",
      ...added(start),
    ],
  },
  "claude-desktop": { file: inConfig("Claude/claude_desktop_config.json"), config: servers },
  codex: {
    file: "~/.codex/config.toml",
    config: toml,
    line: (start) => ["codex", "mcp", "add", "headcount", ...variables("--env", start), ...added(start)],
  },
  cursor: { file: "~/.cursor/mcp.json", config: servers },
  gemini: { file: "~/.gemini/settings.json", config: servers },
  jetbrains: { file: "~/.junie/mcp/mcp.json (Junie), or Settings | Tools | AI Assistant | MCP", config: servers },
  opencode: {
    file: "~/.config/opencode/opencode.json",
    config: ({ command, args, env }) => ({
      mcp: {
        headcount: {
          ...{ type: "local", command: [command, ...args], enabled: true },
          ...(env === undefined ? {} : { environment: env }),
        },
      },
    }),
  },
  vscode: {
    file: inConfig("Code/User/mcp.json"),
    config: (start) => ({ servers: { headcount: stdio(start) } }),
    line: (start) => ["code", "--add-mcp", JSON.stringify({ name: "headcount", ...stdio(start) })],
  },
  windsurf: { file: "~/.codeium/windsurf/mcp_config.json", config: servers },
  zed: {
    file: {
      ...inConfig("Zed/settings.json"),
      darwin: "~/.config/zed/settings.json",
      linux: "~/.config/zed/settings.json",
    },
    config: (start) => ({ context_servers: { headcount: start } }),
  },
} as const satisfies Readonly<Record<string, ClientForm>>;

export type Client = keyof typeof FORMS;
export const CLIENTS = Object.keys(FORMS) as readonly Client[];

export interface Installing {
  readonly wanted: Wanted;
  /** The words that start this program, by absolute paths. */
  readonly program: readonly string[];
  /** Variables that say where things are, and no secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
}

/** What the config of a client needs in its own form, the file that it belongs into, and the line that adds it. */
export function entryFor(client: Client, { wanted, program, env, platform }: Installing) {
  const { file, config, line }: ClientForm = FORMS[client];
  const [command = "headcount", ...before] = program;
  const args = [...before, ...argumentsFor(wanted)];
  const start: Start = { command, args, ...(Object.keys(env).length === 0 ? {} : { env }) };
  const document = config(start);
  const os = platform === "darwin" || platform === "win32" ? platform : "linux";
  return {
    entry: typeof document === "string" ? document : `${JSON.stringify(document, undefined, 2)}\n`,
    file: typeof file === "string" ? file : file[os],
    line: line?.(start).map(shellWord).join(" "),
  };
}

function argumentsFor({ connection, baseUrl, paging, maxCredits, per, budget, askOver, out }: Wanted): string[] {
  const words = (flags: Readonly<Record<string, string | undefined>>): string[] =>
    Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  const amount = (value: Credits | undefined): string | undefined =>
    value === undefined ? undefined : formatCredits(value);
  return [
    ...words({ "--connection": connection, "--base-url": baseUrl, "--paging": paging }),
    "mcp",
    ...words({
      ...{
        "--max-credits": per === undefined ? amount(maxCredits) : `${amount(maxCredits)}/${per}`,
        "--budget": budget,
      },
      ...{ "--ask-over": amount(askOver), "--output": out },
    }),
  ];
}

/** How an agent that has a shell uses headcount: the SKILL.md of the package. */
export const skillText = (): string => readFileSync(new URL("skills/headcount/SKILL.md", packageRoot()), "utf8");
