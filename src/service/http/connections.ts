import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { errorEnvelopeJson } from "../../shared/contract/envelope.ts";
import { ZERO } from "../../shared/contract/money.ts";
import { standardHeaders } from "./call.ts";
import type { RateLimiter } from "./limits.ts";

export const addressOf = (host: string, port: number, scheme: "http" | "https" = "http"): string =>
  `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;

export function networkOf({
  remoteAddress: address = "",
}: {
  readonly remoteAddress?: string | undefined;
}): string {
  if (!address.includes(":") || address.includes(".")) return address.replace(/^::ffff:/i, "");
  const groups = address.split("::", 1)[0]?.split(":").slice(0, 4).join(":") ?? "";
  return groups.replace(/(?::0)+$/, "");
}

interface Holder {
  open: number;
  readonly idle: Set<Socket>;
}

interface Use {
  holder: Holder | undefined;
  requests: number;
}

/**
 * Where all are taken, of the addresses with idle ones the one that
 * holds most gives up its longest idle. Whoever holds more than that one
 * gets none: the new connection is closed. A call at work is never cut.
 */
export class Connections {
  readonly #most: number;
  readonly #holders = new Map<string, Holder>();
  readonly #uses = new WeakMap<Socket, Use>();
  #open = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get open(): number {
    return this.#open;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
    // With TLS the socket of a request is another than
    // the connection's, and there once hands are shaken.
    server.on("setSecureContext" in server ? "secureConnection" : "connection", (socket: Socket) =>
      this.#rest(socket),
    );
  }

  begin(socket: Socket): void {
    const use = this.#useOf(socket);
    if (use.requests === 0) use.holder?.idle.delete(socket);
    use.requests += 1;
  }

  end(socket: Socket): void {
    const use = this.#useOf(socket);
    use.requests -= 1;
    if (use.requests === 0 && !socket.destroyed) use.holder?.idle.add(socket);
  }

  #useOf(socket: Socket): Use {
    const before = this.#uses.get(socket);
    if (before !== undefined) return before;
    const use = { holder: undefined, requests: 0 };
    this.#uses.set(socket, use);
    return use;
  }

  #add(socket: Socket): void {
    const address = networkOf(socket);
    const holder = this.#holders.get(address) ?? { open: 0, idle: new Set() };
    this.#holders.set(address, holder);
    this.#open += 1;
    holder.open += 1;
    socket.once("close", () => {
      this.#open -= 1;
      holder.open -= 1;
      if (holder.open === 0) this.#holders.delete(address);
    });
    if (this.#open > this.#most) (this.#toGiveUp(holder.open) ?? socket).destroy();
  }

  #rest(socket: Socket): void {
    const holder = this.#holders.get(networkOf(socket));
    if (holder === undefined || socket.destroyed) return;
    this.#useOf(socket).holder = holder;
    holder.idle.add(socket);
    socket.once("close", () => holder.idle.delete(socket));
  }

  #toGiveUp(count: number): Socket | undefined {
    let most: Holder | undefined;
    for (const holder of this.#holders.values()) {
      if (holder.idle.size > 0 && holder.open > (most?.open ?? 0)) most = holder;
    }
    const [longest] = most?.idle ?? [];
    return most !== undefined && most.open >= count ? longest : undefined;
  }
}

const REFUSALS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    "Request Header Fields Too Large",
    "the headers are larger than 16 KiB",
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Payload Too Large", "the chunk extensions are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not arrive in time"],
  CONNECT: [405, "Method Not Allowed", "CONNECT is not allowed: this is no proxy"],
};

/**
 * Answers what is no HTTP request, or late, in the
 * envelope too. What this process held up is read first.
 */
export function refuseBytes(
  error: { readonly code?: string },
  socket: Socket,
  limiter: RateLimiter,
): void {
  if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT") {
    refuse(error, socket, limiter);
    return;
  }

  const { bytesRead, bytesWritten } = socket;

  // The clock of a request runs from its first byte, and Node looks at it before it reads. One turn
  // reads all that has arrived, the second is for what was only then accepted.
  setImmediate(() =>
    setImmediate(() => {
      const request = (socket as InUse)._httpMessage?.req;
      const answered = socket.bytesWritten > bytesWritten;
      // Where the first byte has come only now, Node watches the request from here.
      const begun = bytesRead === 0 && socket.bytesRead > 0;
      if (!answered && !begun && request?.complete !== true) refuse(error, socket, limiter);
    }),
  );
}

interface InUse extends Socket {
  readonly _httpMessage?: {
    readonly headersSent?: boolean;
    readonly req?: { readonly complete: boolean };
  } | null;
}

function refuse(error: { readonly code?: string }, socket: Socket, limiter: RateLimiter): void {
  // Half of an answer may be out already: nothing that follows could be understood.
  const begun = (socket as InUse)._httpMessage?.headersSent === true;
  if (error.code === "ECONNRESET" || begun || !socket.writable) {
    socket.destroy();
    return;
  }

  const [status, reason, detail] = REFUSALS[error.code ?? ""] ?? [
    400,
    "Bad Request",
    "this is not a valid HTTP request",
  ];
  const body = errorEnvelopeJson([detail], ZERO);
  const headers = standardHeaders(randomUUID(), limiter.takeAnonymous(networkOf(socket)));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const allow = status === 405 ? "allow: GET, POST\r\n" : "";
  const head =
    `HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}${allow}content-length: ` +
    `${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}
