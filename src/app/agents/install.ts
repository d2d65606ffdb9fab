import { readFileSync } from "node:fs";
import type { GlobalOptions } from "../../cli/options.ts";
import { type Credits, formatCredits } from "../../shared/contract/money.ts";
import { packageRoot } from "../../shared/paths.ts";
import type { Period } from "./world.ts";

export const CLIENTS = ["claude", "codex", "cursor", "vscode"] as const;
export type Client = (typeof CLIENTS)[number];

interface Wanted extends Pick<GlobalOptions, "connection" | "baseUrl" | "paging"> {
  readonly maxCredits?: Credits;
  readonly per?: Period;
  readonly budget?: string;
  readonly askOver?: Credits;
  readonly out?: string;
}

function argumentsFor({ connection, baseUrl, paging, maxCredits, per, budget, askOver, out }: Wanted): string[] {
  const amount = (value: Credits | undefined): string | undefined =>
    value === undefined ? undefined : formatCredits(value);
  const flags: readonly (readonly [string, string | undefined])[] = [
    ["--connection", connection],
    ["--base-url", baseUrl],
    ["--paging", paging],
  ];
  const own: readonly (readonly [string, string | undefined])[] = [
    ["--max-credits", amount(maxCredits)],
    ["--per", per],
    ["--budget", budget],
    ["--ask-over", amount(askOver)],
    ["--out", out],
  ];
  const words = (pairs: typeof flags): string[] =>
    pairs.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return [...words(flags), "mcp", ...words(own)];
}

/** What the config of a client needs, in that config's own form. */
export function configFor(client: Client, wanted: Wanted): string {
  const args = argumentsFor(wanted);
  const entry = { command: "headcount", args };
  // A basic string of TOML is written as one of JSON.
  if (client === "codex")
    return `[mcp_servers.headcount]\ncommand = "headcount"\nargs = [${args.map((word) => JSON.stringify(word)).join(", ")}]\n`;
  const document =
    client === "vscode"
      ? { servers: { headcount: { type: "stdio", ...entry } } }
      : { mcpServers: { headcount: client === "claude" ? { type: "stdio", ...entry } : entry } };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** How an agent that has a shell uses headcount: the SKILL.md of the package. */
export const skillText = (): string => readFileSync(new URL("skills/headcount/SKILL.md", packageRoot()), "utf8");
