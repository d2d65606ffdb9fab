import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { MAX_BODY_BYTES } from "../../shared/contract/records.ts";
import type { HoldRequest } from "../ledger/ledger.ts";
import { invalid, Problem, unsupportedMediaType } from "../problem.ts";

export function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const text = rawHeaders[at];
    if (text?.length === name.length && text.toLowerCase() === name) count += 1;
  }
  return count;
}

export function queryFields({ raw }: FastifyRequest): string {
  const url = raw.url ?? "";
  const cut = url.indexOf("?");
  return cut < 0 ? "" : url.slice(cut + 1).replace(/#.*$/s, "");
}

const LARGE_BODY_BYTES = 8_192;

/** Whether a body takes so long to read and check that neighbours feel it, or does not say how long it is. */
export const isLarge = (headers: IncomingHttpHeaders): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > LARGE_BODY_BYTES;

export function checkBodyHeaders(headers: IncomingHttpHeaders): void {
  if (Number(headers["content-length"]) > MAX_BODY_BYTES) throw bodyTooLarge();
  // Without a body there is no content type to complain about: the body's own check says that it is missing.
  const [type, ...parameters] = (headers["content-type"] ?? "application/json").split(";").map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset\s*=/i.test(parameter))?.replace(/^charset\s*=\s*|"/gi, "");
  if (type?.toLowerCase() !== "application/json" || !/^utf-?8$/i.test(charset ?? "utf-8")) throw unsupportedMediaType();
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new Problem(415, ["send the body without a Content-Encoding"], { "accept-encoding": "identity" });
  }
}

/**
 * Reads a body: what has come by now, which mostly is all of it, and then what is still to come.
 * @param done told its bytes, or why there are none: a Problem (413, 422), or what ended the connection
 */
export function readBody(payload: IncomingMessage, done: (error: Error | null, body?: Buffer) => void): void {
  const said = Number(payload.headers["content-length"]);
  if (said > MAX_BODY_BYTES) {
    done(bodyTooLarge());
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  const finish = (error: Error | null): void => {
    payload.off("data", take).off("end", end).off("error", fail);
    done(error, error === null ? Buffer.concat(chunks, size) : undefined);
  };
  const take = (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BODY_BYTES) finish(bodyTooLarge());
  };
  const end = (): void => finish(said >= 0 && size !== said ? notAsLong() : null);
  const fail = (error: Error): void => finish(Object.assign(error, { statusCode: 400 }));
  const come = payload.read() as Buffer | null;
  if (payload.complete && come?.length === said) {
    done(null, come);
    return;
  }
  payload.on("data", take).on("end", end).on("error", fail);
  if (come !== null) take(come);
}

const notAsLong = (): Problem => invalid("the body is not as long as its Content-Length");

export function jsonBody({ body, headers }: FastifyRequest): Buffer {
  checkBodyHeaders(headers);
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

const bodyTooLarge = (): Problem => new Problem(413, [`the body is larger than ${MAX_BODY_BYTES} bytes`]);

/** The `Idempotency-Key` with a SHA-256 over what it stands for (docs/contract.md). Throws a 422 Problem. */
export function idempotencyOf({ call, headers, method, raw }: FastifyRequest, identity: string) {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (countOf("idempotency-key", raw.rawHeaders) > 1 || typeof key !== "string") {
    throw invalid("Idempotency-Key is given more than once; send it once");
  }
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalid("Idempotency-Key takes 1 to 255 visible ASCII characters without spaces");
  }
  const requestHash = createHash("sha256").update(`${method} ${call.name}\n${identity}`).digest("hex");
  return { key, requestHash } satisfies HoldRequest["idempotency"];
}
