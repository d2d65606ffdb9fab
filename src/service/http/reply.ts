import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Answer, standardHeaders } from "./call.ts";
import type { RateState } from "./limits.ts";

export interface Lifecycle {
  draining: boolean;
  readonly report: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined;
}

declare module "fastify" {
  interface FastifyInstance {
    lifecycle: Lifecycle;
  }
}

/**
 * The most bytes of a body that are read past after it
 * was refused; the request's timeout holds all the same.
 */
const MAX_SKIPPED_BYTES = 64 * 1_024 * 1_024;

export function send(
  request: FastifyRequest,
  reply: FastifyReply,
  rate: RateState,
  answer: Answer,
): Promise<void> | undefined {
  const encoded = encodeBody(request.headers["accept-encoding"], answer.body);
  if (encoded instanceof Promise)
    return encoded.then((packed) => sendEncoded(request, reply, { rate, answer }, packed));
  sendEncoded(request, reply, { rate, answer }, encoded);
  return undefined;
}

function sendEncoded(
  request: FastifyRequest,
  reply: FastifyReply,
  { answer, rate }: { readonly answer: Answer; readonly rate: RateState },
  { body, headers }: Encoded,
): void {
  const { call, server } = request;
  const { lifecycle } = server;
  const varied = headers.vary === undefined ? undefined : reply.getHeader("vary");

  reply.headers(standardHeaders(call.requestId, rate)).headers(answer.headers).headers(headers);
  if (varied !== undefined) reply.header("vary", `${varied}, ${headers.vary}`);
  if (lifecycle.draining || isCutOff(request, reply, answer.status)) {
    reply.header("connection", "close").removeHeader("keep-alive");
  }
  // Fastify would end it after any refused body.
  else if (reply.hasHeader("connection") && !/\bclose\b/i.test(request.headers.connection ?? ""))
    reply.removeHeader("connection");

  if (request.method === "HEAD") reply.header("content-length", String(Buffer.byteLength(body)));
  call.isAnswered = true;
  if (call.isClosed) lifecycle.report?.(request, reply);
  reply.code(answer.status).send(request.method === "HEAD" ? "" : body);
}

/**
 * Whether the client must not use the connection again:
 * its body is refused, and too long to be read past.
 */
const isCutOff = (request: FastifyRequest, reply: FastifyReply, status: number): boolean =>
  status >= 400 &&
  reply.hasHeader("connection") &&
  !(Number(request.headers["content-length"] ?? Number.NaN) <= MAX_SKIPPED_BYTES);

/** Smaller bodies go out as they are: they fit into a packet or two. */
const LEAST_BYTES = 4_096;

const packers = {
  br: (body: string | Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: string | Buffer) => promisify(gzip)(body),
} as const;

export interface Encoded {
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A large body in the encoding that the client takes
 * (RFC 9110, 12.5.3). Done beside the event loop.
 */
export function encodeBody(
  accepted: string | undefined,
  body: string | Buffer,
): Encoded | Promise<Encoded> {
  // Three bytes a character at most: that many are not counted in an answer that is far too small.
  const isSmall = body.length * 3 < LEAST_BYTES || Buffer.byteLength(body) < LEAST_BYTES;
  return isSmall ? { body, headers: {} } : encodeLarge(accepted, body);
}

async function encodeLarge(accepted: string | undefined, body: string | Buffer): Promise<Encoded> {
  const weights = new Map<string, number>();
  for (const entry of (accepted ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }

  const weightOf = (name: string): number => weights.get(name) ?? weights.get("*") ?? 0;
  const [br, gz] = [weightOf("br"), weightOf("gzip")];
  if (br <= 0 && gz <= 0) return { body, headers: { vary: "accept-encoding" } };

  const name = br >= gz ? "br" : "gzip";
  return {
    body: await packers[name](body),
    headers: { vary: "accept-encoding", "content-encoding": name },
  };
}
