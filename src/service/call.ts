import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Credits, ZERO } from "../contract/money.ts";
import type { Caller } from "./admission.ts";
import type { CallName, FaultAction } from "./faults.ts";
import type { Account, StoredKey } from "./ledger/ledger.ts";
import type { RateState } from "./limits.ts";

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
  /** Who was admitted; what belongs to it holds for the call's turn only. */
  caller: Caller | undefined;
  key: StoredKey | undefined;
  account: Account | undefined;
  fault: FaultAction | undefined;
  /** Charged by this very call, for logs and metrics. */
  charged: Credits;
}

/** What every answer needs to know of the service. */
export interface Lifecycle {
  draining: boolean;
  readonly observe:
    | ((request: FastifyRequest, answer: Answer, headers: Readonly<Record<string, string>>) => void)
    | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    call: Call;
  }
  interface FastifyInstance {
    lifecycle: Lifecycle;
  }
}

export const newCall = (requestId: string, startedAt: number): Call => ({
  requestId,
  startedAt,
  turn: -1,
  name: undefined,
  rate: undefined,
  caller: undefined,
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
  /** The body as it goes out, where it was made before: see {@link withWireForm}. */
  readonly wire?: string | Buffer;
}

export const JSON_TYPE = "application/json; charset=utf-8";

/** Headers of every `/v1` answer: the contract's rate headers with the window's name, and what keeps answers out of caches. */
export const standardHeaders = (requestId: string, rate: RateState): Record<string, string> => ({
  "x-ratelimit-limit": String(rate.limit),
  "x-ratelimit-remaining": String(rate.remaining),
  "x-ratelimit-reset": String(rate.reset),
  "x-ratelimit-window": rate.window,
  "x-request-id": requestId,
  "content-type": JSON_TYPE,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});

/**
 * Sends an answer in the envelope, or loses it where a fault says so. It is written past Fastify's own reply, which would take a
 * fifth of the time of a free call; hooks after the answer (logs, metrics) run as ever.
 */
export function send(request: FastifyRequest, reply: FastifyReply, rate: RateState, answer: Answer): void {
  const { call, server } = request;
  const { raw } = reply;
  const { status } = answer;
  const headers = standardHeaders(call.requestId, rate);
  Object.assign(headers, answer.headers);
  // So that the client opens no further request on a connection that is about to go. Fastify asks for it after a body that was not
  // read to its end: where that end is near, it is read past, since many clients look for an answer only when all is sent.
  const unread = status >= 400 && reply.hasHeader("connection") && !isSkippable(request);
  if (server.lifecycle.draining || unread) headers.connection = "close";
  const wire = answer.wire ?? wireForm(answer.body);
  headers["content-length"] = String(wire.length);
  server.lifecycle.observe?.(request, answer, headers);
  reply.hijack();
  if (call.fault?.kind === "drop" || call.fault?.kind === "cut") {
    lose(raw, answer, headers, call.fault.kind === "cut" ? call.fault.bytes : 0);
  } else {
    raw.writeHead(status, headers);
    if (request.method === "HEAD") raw.end();
    else raw.end(wire, "latin1");
  }
}

const SMALL = 16_384;

/**
 * The UTF-8 bytes of a body as what Node writes fastest: a text with a character for each byte, which goes out with the headers in
 * one piece and is copied, not encoded. Long ones that would have to be made into such a text stay bytes.
 */
function wireForm(body: string): string | Buffer {
  if (Buffer.byteLength(body) === body.length) return body;
  const bytes = Buffer.from(body);
  return bytes.length > SMALL ? bytes : bytes.toString("latin1");
}

/** For answers that are sent many times. */
export const withWireForm = (answer: Answer): Answer => ({ ...answer, wire: wireForm(answer.body) });

/** The most bytes of a body that are read past after it was refused; the request's timeout holds all the same. */
const MAX_SKIPPED_BYTES = 64 * 1_024 * 1_024;

/** Whether the rest of a refused body is worth reading past. Node does it by itself on a connection that stays. */
const isSkippable = ({ headers }: FastifyRequest): boolean =>
  Number(headers["content-length"] ?? Number.NaN) <= MAX_SKIPPED_BYTES;

/** Sends the first bytes of the body, if any, and cuts the connection. */
function lose(raw: ServerResponse, answer: Answer, headers: Record<string, string>, bytes: number): void {
  const body = Buffer.from(answer.body);
  if (bytes === 0) {
    raw.destroy();
    return;
  }
  raw.writeHead(answer.status, headers);
  raw.write(body.subarray(0, Math.min(bytes, body.length - 1)), () => raw.destroy());
}
