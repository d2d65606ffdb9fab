import type { FastifyReply, FastifyRequest } from "fastify";

const EXPOSED = [
  "Content-Encoding",
  "Idempotent-Replayed",
  "Link",
  "Retry-After",
  "X-Dataset-Version",
  "X-Next-Cursor",
  "X-Page",
  "X-Per-Page",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Window",
  "X-Request-Id",
  "X-Suppressed-Count",
  "X-Total-Count",
].join(", ");
const REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key, X-Request-Id";
const PREFLIGHT_SECONDS = "600";
const API_PATH = /^\/(?:v1|facets|key)(?:[/?#]|$)/;

/** Lets pages of the named origins (`*`: of any) read what the API answers. The page must have a key. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Adds what a browser asks for. @returns whether the request is a preflight that this answers in full */
  allow(request: FastifyRequest, reply: FastifyReply): boolean {
    if (this.#origins.size === 0 || !API_PATH.test(request.raw.url ?? "")) return false;
    const { headers, method } = request;
    const any = this.#origins.has("*");
    if (!any) reply.header("vary", "origin");
    const { origin } = headers;
    if (origin === undefined || !(any || this.#origins.has(origin))) return false;
    reply.header("access-control-allow-origin", any ? "*" : origin);
    if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) {
      reply.header("access-control-expose-headers", EXPOSED);
      return false;
    }
    reply.headers({
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": REQUEST_HEADERS,
      "access-control-max-age": PREFLIGHT_SECONDS,
    });
    return true;
  }
}
