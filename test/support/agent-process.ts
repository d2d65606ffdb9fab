import { type ChildProcess, spawn } from "node:child_process";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Agent, type AgentOptions, connectAgent } from "./agent.ts";
import type { User } from "./export.ts";
import { ASKS, type RawAgent, rawAgentOf } from "./raw-agent.ts";
import { BIN } from "./spawned.ts";

/** An agent whose tools are a process of their own. */
export interface SpawnedAgent extends Agent {
  readonly pid: number;
}

/** Starts the built program as an agent's client does, and talks to it by the protocol's own library. */
export async function spawnAgent(
  of: User,
  argv: readonly string[],
  options: AgentOptions = {},
): Promise<SpawnedAgent> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, "mcp", ...argv],
    cwd: of.dir,
    env: { PATH: process.env.PATH ?? "", ...of.env, ...options.env },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });

  const agent = await connectAgent(transport, () => stderr, options);
  return { ...agent, pid: transport.pid ?? 0 };
}

/** A client that writes its own messages to the built program. */
export function rawProcess(
  of: User,
  argv: readonly string[],
): RawAgent & { readonly child: ChildProcess } {
  const child = spawn(process.execPath, [BIN, "mcp", ...argv], {
    cwd: of.dir,
    env: { PATH: process.env.PATH ?? "", ...of.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const exited = new Promise<number>((done) =>
    child.on("exit", (code, signal) => done(signal === null ? (code ?? -1) : 137)),
  );
  const served = { to: child.stdin, from: child.stdout, stderr: () => stderr, exited };
  return { ...rawAgentOf(served, ASKS), child };
}
