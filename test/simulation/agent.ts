import { PassThrough, Writable } from "node:stream";
import type { Context } from "../../src/shared/context.ts";

/** What an agent wants, and what the person whom it asks says to it. */
export interface Wanted {
  readonly department: string;
  readonly profiles: number | null;
  readonly agrees: boolean;
}

/** What an agent was told of its purchase, and the rows that it then read. */
export interface AgentTold {
  readonly run: string;
  readonly profiles: number;
  readonly credits: number;
  readonly uncertain_credits: number;
  readonly complete: boolean;
  readonly budget_left: number;
  readonly ids: readonly string[];
}

export interface AgentEnded {
  /** 0: bought and read; 3: refused, or declined; 130: the server ended before it answered. */
  readonly code: number;
  readonly said: string;
  readonly told?: AgentTold;
}

interface Result {
  readonly isError?: boolean;
  readonly content?: readonly { readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "simulated", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};
const PAGE = 50;

/** One server of tools in this process, and its client. */
class Conversation {
  readonly context: Context;
  readonly #stdin = new PassThrough();
  readonly #waiting = new Map<number, (result: Result) => void>();
  #calls = 0;
  #rest = "";

  constructor(context: Context) {
    const stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#read(chunk.toString("utf8"));
        done();
      },
    });
    this.context = Object.create(context, {
      stdin: { value: this.#stdin },
      stdout: { value: stdout },
    }) as Context;
  }

  call(name: string, given: object, more: object = {}): Promise<Result> {
    const id = ++this.#calls;
    const params = { name, arguments: given, _meta: META, ...more };
    const reply = new Promise<Result>((done) => this.#waiting.set(id, done));
    this.#stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })}\n`);
    return reply;
  }

  end(): void {
    this.#stdin.end();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result, error } = JSON.parse(line) as {
        id: number;
        result?: Result;
        error?: { message: string };
      };
      this.#waiting.get(id)?.(
        result ?? { isError: true, content: [{ text: error?.message ?? line }] },
      );
    }
  }
}

/** Asks for a quote, asks the person, buys and reads what was bought. @param serve runs the command to its end */
export async function asAgent(
  wanted: Wanted,
  context: Context,
  serve: (context: Context) => Promise<number>,
): Promise<AgentEnded> {
  const conversation = new Conversation(context);
  const served = serve(conversation.context);
  const isOver = served.then((): AgentEnded => ({ code: 130, said: "the server ended" }));

  const ended = await Promise.race([talk(conversation, wanted), isOver]);
  conversation.end();
  const code = await served;
  return code === 0 ? ended : { code, said: ended.said };
}

async function talk(conversation: Conversation, wanted: Wanted): Promise<AgentEnded> {
  const { agrees, department, profiles } = wanted;
  const quoted = await conversation.call("quote", {
    kind: "people",
    filters: { department },
    ...(profiles === null ? {} : { profiles }),
  });
  const { quote_id } = quoted.structuredContent ?? {};
  if (quoted.isError === true || quoted.structuredContent?.allowed !== true)
    return { code: 3, said: textOf(quoted) };

  const answer = { action: "accept", content: { spend: agrees } };
  const asked = await conversation.call("buy", { quote_id });
  const isAsked = asked.requestState !== undefined;
  const bought = isAsked
    ? await conversation.call(
        "buy",
        { quote_id },
        { inputResponses: { spend: answer }, requestState: asked.requestState },
      )
    : asked;
  if (bought.isError === true) return { code: 3, said: textOf(bought) };

  const told = bought.structuredContent as unknown as Omit<AgentTold, "ids">;
  if (isAsked && !agrees) throw new Error(`bought although nobody agreed: ${textOf(bought)}`);
  return { code: 0, said: textOf(bought), told: { ...told, ids: await read(conversation, told) } };
}

async function read(
  conversation: Conversation,
  { run }: Pick<AgentTold, "run">,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = await conversation.call("read_rows", {
      run,
      fields: ["id"],
      limit: PAGE,
      offset,
    });
    if (page.isError === true) throw new Error(`the rows of ${run}: ${textOf(page)}`);
    const { next, rows } = page.structuredContent as {
      next?: number;
      rows: readonly { readonly id: string }[];
    };
    ids.push(...rows.map(({ id }) => id));
    offset = next;
  }
  return ids;
}

const textOf = ({ content = [] }: Result): string =>
  content.map(({ text = "" }) => text).join("\n");
