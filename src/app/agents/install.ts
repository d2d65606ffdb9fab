import { resolve } from "node:path";
import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import type { Context } from "../../shared/context.ts";
import { shellWord } from "../../shared/errors.ts";
import { packageRoot, textOfPackage } from "../../shared/paths.ts";

/**
 * How a client starts the server: by absolute paths,
 * because what a desktop starts has no PATH of a shell.
 */
interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * They say where things are, and no secret: a server
 * that a client starts finds what this shell finds.
 */
const HANDED_ON = [
  "HEADCOUNT_CONFIG_DIR",
  "HEADCOUNT_STATE_DIR",
  "HEADCOUNT_BASE_URL",
  "HEADCOUNT_PAGING",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "XDG_DATA_HOME",
] as const;

export function launchOf(
  args: readonly string[],
  { env, cwd }: Pick<Context, "cwd" | "env">,
): Launch {
  const places = HANDED_ON.flatMap((name) => {
    const value = env[name];
    // An address with a password or a query is a secret too.
    if (
      value === undefined ||
      value === "" ||
      (name === "HEADCOUNT_BASE_URL" && /[@?#]/.test(value))
    )
      return [];
    return [[name, /_(DIR|HOME)$/.test(name) ? resolve(cwd, value) : value] as const];
  });

  const words = [fileURLToPath(new URL("bin/headcount.js", packageRoot())), ...args];
  return {
    command: execPath,
    args: words,
    ...(places.length === 0 ? {} : { env: Object.fromEntries(places) }),
  };
}

interface ClientForm {
  readonly file: string | Readonly<Record<"darwin" | "win32" | "linux", string>>;
  readonly config: (start: Launch) => unknown;
  readonly line?: (start: Launch) => readonly string[];
}

const under =
  (key: string, form: (start: Launch) => unknown = (start) => start) =>
  (start: Launch) => ({ [key]: { headcount: form(start) } });
const stdio = (start: Launch) => ({ type: "stdio", ...start });
const adds =
  (before: string, flag: string, after: readonly string[] = []) =>
  (start: Launch): string[] => [
    ...before.split(" "),
    ...Object.entries(start.env ?? {}).flatMap(([name, value]) => [flag, `${name}=${value}`]),
    ...after,
    "--",
    start.command,
    ...start.args,
  ];
const inConfig = (path: string) => ({
  darwin: `~/Library/Application Support/${path}`,
  win32: `%APPDATA%\\${path.replaceAll("/", "\\")}`,
  linux: `~/.config/${path}`,
});

// A basic string of TOML is written as one of JSON.
const toml = ({ command, args, env = {} }: Launch): string => {
  const list = args.map((word) => JSON.stringify(word)).join(", ");
  const set = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  const table = set.length === 0 ? "" : `\n[mcp_servers.headcount.env]\n${set.join("")}`;
  const program = JSON.stringify(command);
  return `[mcp_servers.headcount]\ncommand = ${program}\nargs = [${list}]\n${table}`;
};

const opencode = ({ command, args, env }: Launch) => ({
  type: "local",
  command: [command, ...args],
  enabled: true,
  environment: env,
});

const FORMS = {
  claude: {
    file: ".mcp.json of a project (Claude Code)",
    config: under("mcpServers", stdio),
    // Its -e takes words until the next flag.
    line: adds("claude mcp add", "-e", ["--scope", "user", "headcount"]),
  },
  "claude-desktop": {
    file: inConfig("Claude/claude_desktop_config.json"),
    config: under("mcpServers"),
  },
  codex: {
    file: "~/.codex/config.toml",
    config: toml,
    line: adds("codex mcp add headcount", "--env"),
  },
  cursor: { file: "~/.cursor/mcp.json", config: under("mcpServers") },
  gemini: { file: "~/.gemini/settings.json", config: under("mcpServers") },
  jetbrains: {
    file: "~/.junie/mcp/mcp.json (Junie), or Settings | Tools | AI Assistant | MCP",
    config: under("mcpServers"),
  },
  opencode: { file: "~/.config/opencode/opencode.json", config: under("mcp", opencode) },
  vscode: {
    file: inConfig("Code/User/mcp.json"),
    config: under("servers", stdio),
    line: (start) => ["code", "--add-mcp", JSON.stringify({ name: "headcount", ...stdio(start) })],
  },
  windsurf: { file: "~/.codeium/windsurf/mcp_config.json", config: under("mcpServers") },
  zed: {
    file: {
      ...inConfig("Zed/settings.json"),
      darwin: "~/.config/zed/settings.json",
      linux: "~/.config/zed/settings.json",
    },
    config: under("context_servers"),
  },
} as const satisfies Readonly<Record<string, ClientForm>>;

export type Client = keyof typeof FORMS;
export const CLIENTS = Object.keys(FORMS) as readonly Client[];

/**
 * What the config of a client needs in its own form, the
 * file that it belongs into, and the line that adds it.
 */
export function entryFor(client: Client, start: Launch, platform: NodeJS.Platform) {
  const { file, config, line }: ClientForm = FORMS[client];
  const document = config(start);
  const os = platform === "darwin" || platform === "win32" ? platform : "linux";
  return {
    entry: typeof document === "string" ? document : `${JSON.stringify(document, undefined, 2)}\n`,
    file: typeof file === "string" ? file : file[os],
    line: line?.(start).map(shellWord).join(" "),
  };
}

/** How an agent that has a shell uses headcount: the SKILL.md of the package. */
export const skillText = (): string => textOfPackage("skills/headcount/SKILL.md");
