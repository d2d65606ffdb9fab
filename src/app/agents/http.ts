import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServerFactory } from "@modelcontextprotocol/server";
import { usageError } from "../../shared/errors.ts";

const PATH = "/mcp";
/** What a call can need: the filters of the largest segment, many times over. */
const MOST_BYTES = 1 << 20;

/** A client that finds nothing in a 401 begins a sign-in of its own (OAuth), which goes nowhere. */
const NO_TOKEN = JSON.stringify({
  error:
    "this server takes the token that headcount mcp --port printed (or HEADCOUNT_MCP_TOKEN) " +
    "as the header Authorization: Bearer TOKEN; there is no sign-in",
});

const digest = (text: string): Buffer => hash("sha256", text, "buffer");

/** @param word HEADCOUNT_MCP_TOKEN @throws CliError exit 2 where it is too short to be a secret */
function tokenFrom(word: string | undefined): string {
  if (word === undefined || word === "") return randomBytes(24).toString("base64url");
  if (/^[\x21-\x7e]{16,}$/.test(word)) return word;
  throw usageError(
    "HEADCOUNT_MCP_TOKEN is one word of 16 visible characters or more",
    "leave it out to have one made",
  );
}

/**
 * Serves on the loopback of this machine, to whoever has the token, and to no page of a browser.
 */
export async function openHttp(
  sdk: typeof import("@modelcontextprotocol/server"),
  factory: McpServerFactory,
  { port, token: word }: { readonly port: number; readonly token: string | undefined },
) {
  const token = tokenFrom(word);
  const handler = sdk.createMcpHandler(factory);
  const [hosts, origins] = [sdk.localhostAllowedHostnames(), sdk.localhostAllowedOrigins()];
  const secret = digest(`Bearer ${token}`);

  const answer = async (incoming: IncomingMessage, signal: AbortSignal): Promise<Response> => {
    const request = await requestOf(incoming, signal);
    const refused =
      sdk.hostHeaderValidationResponse(request, hosts) ??
      sdk.originValidationResponse(request, origins);
    if (refused !== undefined) return refused;
    if (new URL(request.url).pathname !== PATH) return new Response(null, { status: 404 });
    if (!timingSafeEqual(digest(request.headers.get("authorization") ?? ""), secret))
      return new Response(NO_TOKEN, {
        status: 401,
        headers: { "www-authenticate": "Bearer", "content-type": "application/json" },
      });
    return await handler.fetch(request);
  };

  const server = createServer((incoming, outgoing) => {
    const closing = new AbortController();
    outgoing.once("close", () => closing.abort());
    void answer(incoming, closing.signal)
      .catch(
        (error: unknown) => new Response(null, { status: error instanceof RangeError ? 413 : 400 }),
      )
      .then((response) => send(response, outgoing))
      .catch(() => outgoing.destroy());
  });

  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((error: Error) => {
    throw usageError(
      `port ${port} cannot be used: ${error.message}`,
      "choose another, or 0 for any",
    );
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;

  const close = async (): Promise<void> => {
    await handler.close();
    server.closeAllConnections();
    await new Promise<void>((done) => server.close(() => done()));
  };

  return { url, token, close };
}

async function requestOf(incoming: IncomingMessage, signal: AbortSignal) {
  const { method = "GET", url = "/", headers: fields } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) headers.set(name, [value].flat().join(", "));

  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new RangeError("too large");
    chunks.push(chunk);
  }

  const body = size === 0 ? {} : { body: Buffer.concat(chunks) };
  return new Request(`http://127.0.0.1${url}`, { method, headers, signal, ...body });
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const chunk of response.body ?? []) outgoing.write(chunk);
  outgoing.end();
}
