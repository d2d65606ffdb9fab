import type { ClientRequest, IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { ReplyHeaders, Timeouts, Wire } from "./transport.ts";

const require = createRequire(import.meta.url);

/** As long as undici keeps an idle connection open; a service's own hint may make it shorter. */
const IDLE_MS = 4_000;

/**
 * Requests over `node:http` or `node:https`, straight to one origin. Everything that a caller can see is as with undici: names of
 * failures, time limits, headers, certificates.
 */
export function httpWire(origin: URL, timeouts: Timeouts): Wire {
  const secure = origin.protocol === "https:";
  // TLS is a third of the cost of loading this, and a service on this machine speaks without.
  const http = require(secure ? "node:https" : "node:http") as typeof import("node:http");
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16, timeout: IDLE_MS });
  const target = {
    agent,
    protocol: origin.protocol,
    hostname: origin.hostname.replace(/^\[|\]$/g, ""),
    port: origin.port === "" ? undefined : Number(origin.port),
  };
  return {
    send({ method, path, headers, body }, receiver) {
      let over = false;
      let timer: NodeJS.Timeout | undefined;
      let sent: ClientRequest | undefined;
      const settle = (): boolean => {
        clearTimeout(timer);
        if (over) return false;
        over = true;
        return true;
      };
      const fail = (error: Error): void => {
        if (!settle()) return;
        sent?.destroy();
        receiver.failed(error);
      };
      const within = (ms: number, code: string): void => {
        clearTimeout(timer);
        if (!over) timer = setTimeout(() => fail(coded(code, "no progress within the time limit")), ms);
      };
      const onConnected = (): void => {
        receiver.sending();
        within(timeouts.headers, "UND_ERR_HEADERS_TIMEOUT");
      };
      const onReply = (reply: IncomingMessage): void => {
        within(timeouts.bodyIdle, "UND_ERR_BODY_TIMEOUT");
        receiver.headers(reply.statusCode ?? 0, headersOf(reply.rawHeaders));
        reply.on("data", (chunk: Buffer) => {
          if (over) return;
          timer?.refresh();
          receiver.data(chunk);
        });
        reply.on("error", (error) => fail(named(error)));
        reply.on("end", () => {
          if (settle()) receiver.end();
        });
      };
      try {
        sent = http.request({ ...target, method, path, headers });
        sent.on("socket", (socket) => {
          if (sent?.reusedSocket) return onConnected();
          within(timeouts.connect, "UND_ERR_CONNECT_TIMEOUT");
          socket.once(secure ? "secureConnect" : "connect", onConnected);
        });
        sent.on("response", onReply);
        sent.on("upgrade", () => fail(coded("UND_ERR_SOCKET", "bad upgrade")));
        sent.on("error", (error) => fail(named(error)));
        sent.end(body);
      } catch (error) {
        // A header or a path that cannot be sent.
        const message = error instanceof Error ? error.message : String(error);
        queueMicrotask(() => fail(coded("UND_ERR_INVALID_ARG", message)));
      }
      return () => {
        if (settle()) sent?.destroy();
      };
    },
    close: async () => agent.destroy(),
  };
}

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** The failure under undici's name where `node:http` has another: a connection that ends too soon, headers without end. */
function named(error: Error): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ECONNRESET" && !("syscall" in error)) return coded("UND_ERR_SOCKET", "other side closed");
  if (code === "HPE_INVALID_EOF_STATE") return coded("UND_ERR_SOCKET", "other side closed");
  if (code === "HPE_HEADER_OVERFLOW") return coded("UND_ERR_HEADERS_OVERFLOW", "Headers Overflow Error");
  return error;
}

/** Names in lower case, a repeated header as a list: `node:http` itself would join some and drop others. */
function headersOf(raw: readonly string[]): ReplyHeaders {
  const headers: Record<string, string | string[] | undefined> = Object.create(null);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const value = raw[index + 1] ?? "";
    const before = headers[name];
    headers[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return headers;
}
