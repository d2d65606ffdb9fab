import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Agent, type AgentOptions, connectAgent } from "./agent.ts";
import type { User } from "./export.ts";
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

export interface Reply {
  readonly id: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that writes its own messages: one that does not play by the rules. */
export interface RawAgent {
  readonly child: ChildProcess;
  /** Every line of stdout. */
  readonly lines: string[];
  stderr(): string;
  send(method: string, params?: Readonly<Record<string, unknown>>): Promise<Reply>;
  call(name: string, given: object, more?: object): Promise<Reply>;
  /** Ends stdin; resolves with the exit code. */
  end(): Promise<number>;
  readonly exited: Promise<number>;
}

export function rawAgent(
  of: User,
  argv: readonly string[],
  capabilities: object = { elicitation: { form: {} } },
): RawAgent {
  const child = spawn(process.execPath, [BIN, "mcp", ...argv], {
    cwd: of.dir,
    env: { PATH: process.env.PATH ?? "", ...of.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const lines: string[] = [];
  const waiting = new Map<number, (reply: Reply) => void>();
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
    lines.push(line);
    const reply = JSON.parse(line) as Reply;
    waiting.get(reply.id)?.(reply);
  });
  const exited = new Promise<number>((done) =>
    child.on("exit", (code, signal) => done(signal === null ? (code ?? -1) : 137)),
  );
  let last = 0;
  const send: RawAgent["send"] = (method, params = {}) => {
    const id = ++last;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const reply = new Promise<Reply>((done) => waiting.set(id, done));
    child.stdin?.write(
      `${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } })}\n`,
    );
    return reply;
  };
  return {
    ...{ child, lines, send, exited },
    stderr: () => stderr,
    call: (name, given, more = {}) => send("tools/call", { name, arguments: given, ...more }),
    end: () => {
      child.stdin?.end();
      return exited;
    },
  };
}

/** The sentences of a reply's result, or its error. */
export const textOf = ({ result, error }: Reply): string =>
  error?.message ??
  ((result?.content ?? []) as { text?: string }[]).map((each) => each.text ?? "").join("\n");

/** The id in a reply of `quote`. */
export const quoteOf = ({ result }: Reply): string =>
  (result as { readonly structuredContent: { readonly quote_id: string } }).structuredContent
    .quote_id;
