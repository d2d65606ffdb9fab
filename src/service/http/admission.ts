import type { FastifyRequest } from "fastify";
import { type Credits, ZERO } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { Store } from "../ledger/ledger.ts";
import { parseApiKey } from "../money/keys.ts";
import { assertScope, ended, Problem, suspended } from "../problem.ts";
import type { Call } from "./call.ts";
import { API_CALLS } from "./calls.ts";
import { type RateLimiter, type RateState, weightOf } from "./limits.ts";
import { countOf } from "./requests.ts";

const CHALLENGE = { "www-authenticate": "Bearer" };
/** To whoever sent one: something in between has taken it away, or put another in its place. */
const NO_KEY_CAME = { ...CHALLENGE, "x-key-received": "no" };

export type Admission = ReturnType<typeof admissionBy>;

export function admissionBy(store: Store, limiter: RateLimiter) {
  async function admit({ call, raw }: FastifyRequest): Promise<void> {
    const { headers, httpVersion, rawHeaders } = raw;
    if (httpVersion !== "1.1" && httpVersion !== "1.0") throw new Problem(400, ["send HTTP/1.1"]);

    const hosts = countOf("host", rawHeaders);
    if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) {
      throw new Problem(400, ["the request needs exactly one Host header"]);
    }

    // Node's merged headers hide a second one.
    const count = countOf("authorization", rawHeaders);
    const [, secret = ""] = /^bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
    const presented = count === 1 ? parseApiKey(secret) : undefined;
    const key = presented && (await store.findKey(presented.hash));
    if (
      presented === undefined ||
      key === undefined ||
      key.revokedAt !== null ||
      key.mode !== presented.mode
    ) {
      throw unauthorised(headers.authorization, count);
    }

    const account = await store.account(key.accountId);
    if (account === undefined) throw new Error(`key ${key.id} belongs to no account`);
    if (key.expiresAt !== null && key.expiresAt <= limiter.now()) {
      throw ended(
        `the API key expired at ${new Date(key.expiresAt).toISOString()}; ` +
          "ask its operator for another",
      );
    }

    call.key = key;
    call.account = account;
    call.rate = limiter.take(key.id, account.plan);
    if (!call.rate.allowed) throw tooMany(call.rate);
    if (account.suspendedAt !== null) throw suspended();

    if (call.name !== undefined) assertScope(key, API_CALLS[call.name].scope);
  }

  /** @param beside calls of the minute that it takes beside its own, and those of its filters */
  function weigh(
    call: Pick<Call, "account" | "key" | "rate">,
    filters: CanonicalFilters,
    companies = 0,
    beside = 0,
  ): void {
    const more = weightOf(filters, companies) - 1 + beside;
    if (more > 0 && call.key && call.account)
      call.rate = limiter.weigh(call.key.id, call.account.plan, more);
  }

  const remaining = async ({ key }: Call): Promise<Credits> =>
    key === undefined ? ZERO : (await store.money(key.accountId, key.mode)).balance;

  return { admit, weigh, remaining };
}

const tooMany = ({ limit, retryAfter, window }: RateState): Problem =>
  new Problem(
    429,
    [`rate limit of ${counted(limit, "call")} a ${window} exceeded; retry in ${retryAfter} s`],
    {
      "retry-after": String(retryAfter),
    },
  );

/** A 401 beyond those of a minute of an address is a 429. Nobody with a valid key gets here. */
export const boundGuesses = (
  problem: Problem,
  { allowed, limit, retryAfter }: RateState,
): Problem =>
  allowed || problem.status !== 401
    ? problem
    : new Problem(
        429,
        [
          `${problem.detail[0]}; more than ${counted(limit, "call")} a minute without a ` +
            `valid key came from this address, retry in ${retryAfter} s`,
        ],
        { "retry-after": String(retryAfter) },
      );

const isBearer = (authorization = ""): boolean => /^bearer /i.test(authorization);

function unauthorised(authorization: string | undefined, count: number): Problem {
  const refuse = (why: string, headers: Record<string, string> = CHALLENGE): Problem =>
    new Problem(401, [why], headers);

  if (count > 1) return refuse("more than one Authorization header; send exactly one");
  if (authorization === undefined)
    return refuse("send the API key as: Authorization: Bearer <API_KEY>", NO_KEY_CAME);
  if (!isBearer(authorization))
    return refuse("the Authorization header must be: Bearer <API_KEY>", NO_KEY_CAME);
  return refuse("the API key is not valid or was revoked");
}
