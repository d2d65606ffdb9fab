import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { charged, type User, user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN } from "../support/spawned.ts";

const CREDITS = 100_000;
let service: TestService;
let u: User;
let child: ChildProcess;
let door: { readonly url: string; readonly token: string };
beforeAll(async () => {
  service = await startTestService({ people: 300, credits: CREDITS });
  u = user(service.url, service.key);
  child = spawn(process.execPath, [BIN, "mcp", "--port", "0", "--max-credits", "5"], {
    cwd: u.dir,
    env: { PATH: process.env.PATH ?? "", ...u.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  door = JSON.parse(line.toString());
}, 60_000);
afterAll(async () => {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  await service.close();
});

/** fetch sets Host by itself. */
const statusOf = (
  headers: Readonly<Record<string, string>>,
  path = "/mcp",
  body = "{}",
): Promise<number> =>
  new Promise((done, refuse) => {
    const { hostname, port } = new URL(door.url);
    const out = request({ hostname, port, path, method: "POST", headers }, (reply) => {
      reply.resume();
      done(reply.statusCode ?? 0);
    });
    out.on("error", refuse).end(body);
  });

test("nobody gets in without the token, from a page, or by another name of this machine", async () => {
  expect(new URL(door.url).hostname).toBe("127.0.0.1");
  const authorization = `Bearer ${door.token}`;
  expect(await statusOf({})).toBe(401);
  expect(await statusOf({ authorization: `${authorization}x` })).toBe(401);
  expect(await statusOf({ authorization, host: "rebound.example" })).toBe(403);
  expect(await statusOf({ authorization, origin: "https://page.example" })).toBe(403);
  expect(await statusOf({ authorization }, "/")).toBe(404);
  expect(await statusOf({ authorization }, "/mcp", "x".repeat(2_000_000))).toBe(413);
});

test.each(["2026-07-28", "legacy"] as const)(
  "the tools are there over HTTP, and the cap (%s)",
  async (era) => {
    const client = new Client(
      { name: "test-agent", version: "1" },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: era } },
      },
    );
    let asked = 0;
    client.setRequestHandler("elicitation/create", async () => {
      asked++;
      return { action: "accept", content: { spend: true } };
    });
    const requestInit = { headers: { authorization: `Bearer ${door.token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(door.url), { requestInit }));
    const before = await charged(service, CREDITS);
    const call = (name: string, given: Record<string, unknown>) =>
      client.callTool({ name, arguments: given });
    const quote = await call("quote", {
      kind: "people",
      filters: { country: era === "legacy" ? "france" : "germany" },
      profiles: 2,
    });
    const { quote_id } = quote.structuredContent as { quote_id: string };
    const bought = await call("buy", { quote_id });
    const spent = (await charged(service, CREDITS)) - before;
    // Without a session the older protocol has no way to ask a person: then nothing is bought.
    if (era === "legacy")
      expect({ asked, spent, refused: bought.isError }).toEqual({
        asked: 0,
        spent: 0,
        refused: true,
      });
    else
      expect({ asked, spent, refused: bought.isError === true }).toEqual({
        asked: 1,
        spent: 2,
        refused: false,
      });
    await client.close();
  },
);
