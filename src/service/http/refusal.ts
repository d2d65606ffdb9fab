import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { errorEnvelopeJson } from "../../shared/contract/envelope.ts";
import { ZERO } from "../../shared/contract/money.ts";
import { networkOf } from "./address.ts";
import { standardHeaders } from "./call.ts";
import type { RateLimiter } from "./limits.ts";

const REFUSALS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the headers are larger than 16 KiB"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Payload Too Large", "the chunk extensions are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not arrive in time"],
  CONNECT: [405, "Method Not Allowed", "CONNECT is not allowed: this is no proxy"],
};

/** Answers what is no HTTP request, or late, in the envelope too. What this process held up is read first. */
export function refuseBytes(error: { readonly code?: string }, socket: Socket, limiter: RateLimiter): void {
  if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT") {
    refuse(error, socket, limiter);
    return;
  }
  const { bytesRead, bytesWritten } = socket;
  // The clock of a request runs from its first byte, and Node looks at it before it reads. One turn reads
  // all that has arrived, the second is for what was only then accepted.
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
  readonly _httpMessage?: { readonly headersSent?: boolean; readonly req?: { readonly complete: boolean } } | null;
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
  const head = `HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}${allow}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}
