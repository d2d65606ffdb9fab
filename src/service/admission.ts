import type { FastifyRequest } from "fastify";
import { parseApiKey } from "./keys.ts";
import type { RateLimiter } from "./limits.ts";
import { Problem } from "./problem.ts";
import type { Store } from "./store.ts";

/** What the raw headers of a request show that Node's merged ones hide. */
interface HeaderCount {
  readonly authorization: number;
  readonly host: number;
}

function countHeaders(rawHeaders: readonly string[]): HeaderCount {
  let authorization = 0;
  let host = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 13 && name.toLowerCase() === "authorization") authorization++;
    else if (name.length === 4 && name.toLowerCase() === "host") host++;
  }
  return { authorization, host };
}

/**
 * The first two checks of every `/v1` request, in the order of api-decisions: 401, then 429. Sets key, account and rate of the
 * call. Throws a Problem.
 */
export async function admit(request: FastifyRequest, store: Store, limiter: RateLimiter): Promise<void> {
  const { call } = request;
  const { headers, httpVersion, rawHeaders } = request.raw;
  const count = countHeaders(rawHeaders);
  if (httpVersion !== "1.1" && httpVersion !== "1.0") throw new Problem(400, ["send HTTP/1.1"]);
  if (count.host > 1 || (count.host === 0 && httpVersion === "1.1")) {
    throw new Problem(400, ["the request needs exactly one Host header"]);
  }
  const key = count.authorization > 1 ? undefined : await findKey(headers.authorization, store);
  if (key === undefined) throw new Problem(401, [unauthorised(headers.authorization, count.authorization)], CHALLENGE);
  const account = await store.account(key.accountId);
  if (account === undefined) throw new Error(`key ${key.id} belongs to no account`);
  call.key = key;
  call.account = account;
  call.rate = limiter.take(key.id, account.plan);
  if (!call.rate.allowed) {
    const { limit, retryAfter, window } = call.rate;
    throw new Problem(429, [`rate limit of ${limit} calls a ${window} exceeded; retry in ${retryAfter} s`], {
      "retry-after": String(retryAfter),
    });
  }
}

const CHALLENGE = { "www-authenticate": "Bearer" };

async function findKey(authorization: string | undefined, store: Store) {
  const match = authorization === undefined ? null : /^bearer +(\S+)$/i.exec(authorization);
  const parsed = match?.[1] === undefined ? undefined : parseApiKey(match[1]);
  if (parsed === undefined) return undefined;
  const key = await store.findKey(parsed.hash);
  return key === undefined || key.revokedAt !== null || key.mode !== parsed.mode ? undefined : key;
}

function unauthorised(authorization: string | undefined, given: number): string {
  if (given > 1) return "more than one Authorization header; send exactly one";
  if (authorization === undefined) return "send the API key as: Authorization: Bearer <API_KEY>";
  if (!/^bearer /i.test(authorization)) return "the Authorization header must be: Bearer <API_KEY>";
  return "the API key is not valid or was revoked";
}
