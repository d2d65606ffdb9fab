import { PassThrough, Writable } from "node:stream";
import { Client, type Transport } from "@modelcontextprotocol/client";
import type { User } from "../support/export.ts";

export interface Told {
  readonly failed: boolean;
  /** The sentences. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Agent {
  call(tool: string, given: Readonly<Record<string, unknown>>): Promise<Told>;
  close(): Promise<void>;
}

/** An agent, whose person says yes to whatever it asks, at the tools of a `headcount mcp` in this process. */
export async function openAgent(of: User, options: readonly string[]): Promise<Agent> {
  const stdin = new PassThrough();
  const transport: Transport = {
    start: async () => undefined,
    send: async (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    close: async () => {
      stdin.end();
      transport.onclose?.();
    },
  };

  let rest = "";
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) transport.onmessage?.(JSON.parse(line));
      done();
    },
  });
  const served = of.run(["mcp", ...options], {
    stdin,
    before: ({ context }) => Object.assign(context, { stdout }),
  });

  const client = new Client(
    { name: "test-agent", version: "1" },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    },
  );
  client.setRequestHandler("elicitation/create", async () => ({
    action: "accept",
    content: { spend: true },
  }));
  await client.connect(transport);
  // From here on the library holds every result against its outputSchema.
  await client.listTools();

  return {
    call: async (name, given) => {
      const result = await client.callTool({ name, arguments: { ...given } });
      const content = result.content as { readonly text?: string }[];
      return {
        failed: result.isError === true,
        text: content.map(({ text = "" }) => text).join("\n"),
        data: (result.structuredContent ?? {}) as Record<string, unknown>,
      };
    },
    close: async () => {
      await client.close();
      await served;
    },
  };
}
