import type { ClientRequest, IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Receiver, ReplyHeaders, Wire } from "./wire.ts";

/**
 * An idle connection is not kept for longer: one that
 * the service is just closing would lose the next reply.
 */
const IDLE_MS = 1_500;

const require = createRequire(import.meta.url);

/** @param connect to a service in this process, in place of the address */
export function directWire(origin: URL, connect?: () => Duplex): Wire {
  const secure = origin.protocol === "https:";
  // TLS is a third of the cost of loading this. `require`: an import that stays one in the bundle
  // loads Node's loader of ES modules, a tenth of what a count costs.
  const http = require(secure ? "node:https" : "node:http") as typeof import("node:http");
  // All that comes is read into one place: of a new one each time megabytes lie about.
  const options = {
    keepAlive: true,
    timeout: IDLE_MS,
    onread: {
      buffer: Buffer.allocUnsafeSlow(65_536),
      callback(this: Socket, size: number, bytes: Buffer) {
        this.emit("data", bytes.subarray(0, size));
        return true;
      },
    },
  };
  const agent = new http.Agent(options);
  const target = {
    ...(connect === undefined ? { agent } : { createConnection: connect }),
    protocol: origin.protocol,
    hostname: origin.hostname.replace(/^\[|\]$/g, ""),
    port: origin.port === "" ? undefined : Number(origin.port),
  };

  return {
    send({ method, path, headers, body }, receiver) {
      let request: ClientRequest | undefined;
      const fail = (error: Error): void => {
        receiver.failed(error, codeOf(error));
        request?.destroy();
      };

      try {
        request = http.request({ ...target, method, path, headers });
        request.on("socket", (socket) => {
          if (connect !== undefined || request?.reusedSocket) receiver.sending();
          else socket.once(secure ? "secureConnect" : "connect", () => receiver.sending());
        });
        request.on("response", (reply) => read(reply, receiver, fail));
        request.on("upgrade", () =>
          fail(Object.assign(new Error("bad upgrade"), { code: "CLOSED" })),
        );
        request.on("error", fail);
        request.end(body);
      } catch (error) {
        queueMicrotask(() =>
          receiver.failed(error instanceof Error ? error : new Error(String(error)), "UNSENDABLE"),
        );
      }

      return () => void request?.destroy();
    },

    close: async () => agent.destroy(),
  };
}

function read(reply: IncomingMessage, receiver: Receiver, fail: (error: Error) => void): void {
  receiver.headers(reply.statusCode ?? 0, headersOf(reply.rawHeaders));
  reply.on("data", (chunk: Buffer) => receiver.data(chunk));
  reply.on("error", fail);
  reply.on("end", () => receiver.end());
}

function codeOf(error: NodeJS.ErrnoException): string | undefined {
  const { code = "" } = error;
  // The other side ended; a reset by the system has the call that met it.
  if ((code === "ECONNRESET" && !("syscall" in error)) || code === "HPE_INVALID_EOF_STATE")
    return "CLOSED";
  if (code === "HPE_HEADER_OVERFLOW") return "HEADERS_TOO_LONG";
  return code.startsWith("HPE_") ? "BROKEN_HTTP" : undefined;
}

/**
 * Names in lower case, a repeated header as a list:
 * `node:http` itself would join some and drop others.
 */
function headersOf(raw: readonly string[]): ReplyHeaders {
  const headers: Record<string, string | string[] | undefined> = Object.create(null);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const value = raw[index + 1] ?? "";
    const before = headers[name];
    headers[name] =
      before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return headers;
}
