import { PassThrough, type Readable, type Writable } from "node:stream";
import {
  Client,
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { main } from "../../src/cli/main.ts";
import { type FakeClock, testContext } from "./client.ts";
import type { User } from "./export.ts";

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
  readonly clock?: FakeClock;
}

/** Messages over the streams that a process would have as stdin and stdout. */
class StreamTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #buffer = new ReadBuffer();
  readonly #from: Readable;
  readonly #to: Writable;

  constructor(from: Readable, to: Writable) {
    this.#from = from;
    this.#to = to;
  }

  async start(): Promise<void> {
    this.#from.on("data", (chunk: Buffer) => {
      this.#buffer.append(chunk);
      let message = this.#buffer.readMessage();
      while (message !== null) {
        this.onmessage?.(message);
        message = this.#buffer.readMessage();
      }
    });
    this.#from.once("end", () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#to.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#to.end();
  }
}

/** Shakes hands as an agent's client does, by the protocol's own library. */
export async function connectAgent(
  transport: Transport,
  stderr: () => string,
  { era = "modern", answer }: AgentOptions,
): Promise<Agent> {
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
    stderr,
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

/** The tools of `headcount mcp`, in this process, and an agent's client that talks to them. */
export async function startAgent(
  of: User,
  argv: readonly string[],
  options: AgentOptions = {},
): Promise<Agent> {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const words = ["mcp", ...argv];
  const tested = testContext({
    argv: words,
    cwd: of.dir,
    env: { ...of.env, ...options.env },
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    stdin,
  });

  const ended = main(words, { ...tested.context, stdout }).finally(() => stdout.end());
  const agent = await connectAgent(new StreamTransport(stdout, stdin), tested.stderr, options);

  return {
    ...agent,
    close: async () => {
      await agent.close();
      await ended;
    },
  };
}
