import { createInterface } from "node:readline";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { main } from "../../src/cli/main.ts";
import { testContext } from "./client.ts";
import type { User } from "./export.ts";

export interface Reply {
  readonly id: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that writes its own messages: one that does not play by the rules. */
export interface RawAgent {
  /** What it writes to; ending it ends the server. */
  readonly to: Writable;
  /** Every line of stdout. */
  readonly lines: string[];
  stderr(): string;
  send(method: string, params?: Readonly<Record<string, unknown>>): Promise<Reply>;
  call(name: string, given: object, more?: object): Promise<Reply>;
  /** Ends stdin; resolves with the exit code. */
  end(): Promise<number>;
  readonly exited: Promise<number>;
}

/** What a server is, for one who writes to it. */
export interface Served {
  readonly to: Writable;
  readonly from: Readable;
  readonly stderr: () => string;
  readonly exited: Promise<number>;
}

export const ASKS: object = { elicitation: { form: {} } };

/** @param capabilities that it says it has */
export function rawAgentOf({ to, from, stderr, exited }: Served, capabilities: object): RawAgent {
  const lines: string[] = [];
  const waiting = new Map<number, (reply: Reply) => void>();
  createInterface({ input: from }).on("line", (line) => {
    lines.push(line);
    const reply = JSON.parse(line) as Reply;
    waiting.get(reply.id)?.(reply);
  });
  let last = 0;
  const send: RawAgent["send"] = (method, params = {}) => {
    const id = ++last;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const reply = new Promise<Reply>((done) => waiting.set(id, done));
    to.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } })}\n`);
    return reply;
  };

  return {
    ...{ to, lines, send, exited, stderr },
    call: (name, given, more = {}) => send("tools/call", { name, arguments: given, ...more }),
    end: () => {
      to.end();
      return exited;
    },
  };
}

/** A client of the tools of `headcount mcp` in this process. */
export function rawAgent(of: User, argv: readonly string[], capabilities = ASKS): RawAgent {
  const [to, from] = [new PassThrough(), new PassThrough()];
  const words = ["mcp", ...argv];
  const tested = testContext({ argv: words, cwd: of.dir, env: of.env, stdin: to });
  const exited = main(words, { ...tested.context, stdout: from }).finally(() => from.end());
  return rawAgentOf({ to, from, stderr: tested.stderr, exited }, capabilities);
}

/** The sentences of a reply's result, or its error. */
export const textOf = ({ result, error }: Reply): string =>
  error?.message ??
  ((result?.content ?? []) as { text?: string }[]).map((each) => each.text ?? "").join("\n");

/** The id in a reply of `quote`. */
export const quoteOf = ({ result }: Reply): string =>
  (result as { readonly structuredContent: { readonly quote_id: string } }).structuredContent
    .quote_id;
