import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BIN, type User, user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
const ONLY = { code: -32_600, message: "batches are of revision 2025-03-26 only; send each message alone" };
const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });
const initialize = (protocolVersion: string) => ({
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});

let service: TestService;
let u: User;
let child: ChildProcess;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: 100 });
}, 60_000);
afterAll(() => service.close());
afterEach(async () => {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

const start = (...argv: readonly string[]): void => {
  u = user(service.url, service.key);
  child = spawn(process.execPath, [BIN, "mcp", ...argv], {
    cwd: u.dir,
    env: { PATH: process.env.PATH ?? "", ...u.env },
    stdio: ["pipe", "pipe", "inherit"],
  });
};

describe("over HTTP", () => {
  let door: { readonly url: string; readonly token: string };
  beforeEach(async () => {
    start("--port", "0");
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    door = JSON.parse(line.toString());
  });

  const post = async (body: unknown, revision?: string) => {
    const headers = {
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${door.token}`,
      "content-type": "application/json",
      ...(revision === undefined ? {} : { "mcp-protocol-version": revision }),
    };
    const reply = await fetch(door.url, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await reply.text();
    const messages = text.startsWith("{")
      ? [text]
      : Array.from(text.matchAll(/^data: (.*)$/gm), ([, data]) => data ?? "");
    return { status: reply.status, messages: messages.map((message): unknown => JSON.parse(message)) };
  };
  const refused = (message: string) => ({
    status: 400,
    messages: [{ jsonrpc: "2.0", id: null, error: { code: -32_600, message } }],
  });

  test("a batch is answered where its revision has batches, and each other revision refuses it", async () => {
    for (const revision of [...REVISIONS, "2026-07-28", undefined]) {
      const batch = await post([ping(1), { jsonrpc: "2.0", method: "notifications/initialized" }, ping(2)], revision);
      if (revision === undefined || revision === "2025-03-26") {
        expect(batch, revision).toMatchObject({
          status: 200,
          messages: [
            { id: 1, result: {} },
            { id: 2, result: {} },
          ],
        });
      } else expect(batch, revision).toEqual(refused(ONLY.message));
    }
  });

  test("nothing of a batch that is none is read", async () => {
    expect(await post([])).toEqual(refused("an empty batch asks nothing; send a message"));
    expect(await post([ping(1), 2])).toEqual(refused("a batch has nothing but messages of JSON-RPC 2.0"));
    expect(await post([initialize("2025-03-26")])).toEqual(refused("initialize is sent alone, not in a batch"));
    expect(await post(initialize("2025-03-26"))).toMatchObject({
      status: 200,
      messages: [{ id: 1, result: { protocolVersion: "2025-03-26" } }],
    });
  });
});

describe("over stdin and stdout", () => {
  const lines: AsyncIterator<string>[] = [];
  const next = async (): Promise<unknown> => JSON.parse((await lines.at(-1)?.next())?.value);
  const send = (...messages: readonly unknown[]) =>
    child.stdin?.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  beforeEach(() => {
    start();
    lines.push(createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]());
  });

  test.each(REVISIONS)("a batch is answered or refused, and nobody waits (%s)", async (revision) => {
    // All at once: what comes after initialize is read after it.
    send(initialize(revision), [ping(2), ping(3)], ping(4));
    const replies = [await next(), await next(), await next()];
    if (revision === "2025-03-26") {
      replies.push(await next());
      expect(replies).toEqual(expect.arrayContaining([2, 3, 4].map((id) => ({ jsonrpc: "2.0", id, result: {} }))));
    } else expect(replies).toEqual(expect.arrayContaining([{ jsonrpc: "2.0", id: null, error: ONLY }]));
  });

  test("a batch before anything was agreed on is refused, and a line in pieces is one line", async () => {
    send([ping(1)]);
    expect(await next()).toEqual({ jsonrpc: "2.0", id: null, error: ONLY });
    const line = `${JSON.stringify(initialize("2025-03-26"))}\n`;
    child.stdin?.write(line.slice(0, 20));
    await new Promise((done) => setImmediate(done));
    child.stdin?.write(line.slice(20));
    expect(await next()).toMatchObject({ id: 1, result: { protocolVersion: "2025-03-26" } });
  });
});
