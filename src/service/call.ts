import type { FastifyReply, FastifyRequest } from "fastify";
import { type Credits, ZERO } from "../contract/money.ts";
import type { CallName, FaultAction } from "./faults.ts";
import { type RateState, rateHeaders } from "./limits.ts";
import type { Account, StoredKey } from "./store.ts";

/** What is known of one request while it is answered. */
export interface Call {
  readonly requestId: string;
  /** On the monotonic clock, milliseconds. */
  readonly startedAt: number;
  /** The turn of the event loop in which the request arrived. */
  turn: number;
  /** Which of the five calls, or undefined for any other path. */
  name: CallName | undefined;
  rate: RateState | undefined;
  key: StoredKey | undefined;
  account: Account | undefined;
  fault: FaultAction | undefined;
  /** Charged by this very call, for logs and metrics. */
  charged: Credits;
}

declare module "fastify" {
  interface FastifyRequest {
    call: Call;
  }
  interface FastifyInstance {
    lifecycle: { draining: boolean };
  }
}

export const newCall = (requestId: string, startedAt: number): Call => ({
  requestId,
  startedAt,
  turn: -1,
  name: undefined,
  rate: undefined,
  key: undefined,
  account: undefined,
  fault: undefined,
  charged: ZERO,
});

/** An answer before it is sent: `body` is the envelope as JSON text. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const JSON_TYPE = "application/json; charset=utf-8";

/** Headers of every `/v1` answer. */
export function standardHeaders(requestId: string, rate: RateState): Record<string, string> {
  const headers = rateHeaders(rate);
  headers["x-request-id"] = requestId;
  headers["content-type"] = JSON_TYPE;
  headers["cache-control"] = "no-store";
  headers["x-content-type-options"] = "nosniff";
  return headers;
}

/** Sends an answer in the envelope, or loses it where a fault says so. */
export function send(request: FastifyRequest, reply: FastifyReply, rate: RateState, answer: Answer): FastifyReply {
  const { call } = request;
  const headers = standardHeaders(call.requestId, rate);
  Object.assign(headers, answer.headers);
  // So that the client opens no further request on a connection that is about to go.
  if (request.server.lifecycle.draining) headers.connection = "close";
  if (call.fault?.kind === "drop" || call.fault?.kind === "cut") {
    lose(reply, answer, headers, call.fault.kind === "cut" ? call.fault.bytes : 0);
    return reply;
  }
  return reply
    .code(answer.status)
    .headers(headers)
    .send(request.method === "HEAD" ? "" : answer.body);
}

/** Sends the first bytes of the body, if any, and cuts the connection. */
function lose(reply: FastifyReply, answer: Answer, headers: Record<string, string>, bytes: number): void {
  reply.hijack();
  const { raw } = reply;
  const body = Buffer.from(answer.body);
  if (bytes === 0) {
    raw.destroy();
    return;
  }
  raw.writeHead(answer.status, { ...headers, "content-length": String(body.length) });
  raw.write(body.subarray(0, Math.min(bytes, body.length - 1)), () => raw.destroy());
}
