import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BIN, type User } from "./export.ts";

/** The newest revision, or the last before it. */
export type Era = "modern" | "legacy";

export interface Answer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Readonly<Record<string, string | number | boolean>>;
}

export interface ToolResult {
  readonly failed: boolean;
  /** The sentences. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Of the whole result, as JSON. */
  readonly bytes: number;
}

export interface Agent {
  readonly client: Client;
  /** What a person was asked. */
  readonly questions: string[];
  readonly pid: number;
  stderr(): string;
  call(name: string, given?: Readonly<Record<string, unknown>>): Promise<ToolResult>;
  close(): Promise<void>;
}

export const YES: Answer = { action: "accept", content: { spend: true } };

export interface AgentOptions {
  readonly era?: Era;
  /** How the person answers; undefined: the client cannot ask one. */
  readonly answer?: Answer | (() => Promise<Answer>);
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the built program as an agent's client does, and talks to it by the protocol's own library. */
export async function startAgent(
  of: User,
  argv: readonly string[],
  options: AgentOptions = {},
): Promise<Agent> {
  const { era = "modern", answer, env = {} } = options;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, "mcp", ...argv],
    cwd: of.dir,
    env: { PATH: process.env.PATH ?? "", ...of.env, ...env },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const client = new Client(
    { name: "test-agent", version: "1" },
    {
      capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
    },
  );
  const questions: string[] = [];
  if (answer !== undefined)
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      questions.push(params.message);
      const { action, content } = typeof answer === "function" ? await answer() : answer;
      return { action, ...(content === undefined ? {} : { content: { ...content } }) };
    });
  await client.connect(transport);
  // From here on the library holds every result against its outputSchema.
  await client.listTools();
  return {
    client,
    questions,
    pid: transport.pid ?? 0,
    stderr: () => stderr,
    call: async (name, given = {}) => {
      const result = await client.callTool({ name, arguments: { ...given } });
      const text = (result.content as { type: string; text?: string }[])
        .map((each) => each.text ?? "")
        .join("\n");
      return {
        failed: result.isError === true,
        text,
        data: (result.structuredContent ?? {}) as Record<string, unknown>,
        bytes: Buffer.byteLength(JSON.stringify(result)),
      };
    },
    close: () => client.close(),
  };
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
