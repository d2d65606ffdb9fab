import type { FastifyRequest } from "fastify";
import { type Credits, ZERO } from "../contract/money.ts";
import type { Call } from "./call.ts";
import { parseApiKey } from "./keys.ts";
import type { RateLimiter } from "./limits.ts";
import { Problem } from "./problem.ts";
import type { Account, Balance, Store, StoredKey } from "./store.ts";
import type { TurnCache } from "./turn-cache.ts";

/** Whose call it is. */
interface Caller {
  readonly key: StoredKey;
  readonly account: Account;
}

const CHALLENGE = { "www-authenticate": "Bearer" };

/** The first two checks of every `/v1` request, in the order of api-decisions: 401, then 429. */
export class Admission {
  private readonly store: Store;
  private readonly limiter: RateLimiter;
  private readonly turns: TurnCache;

  constructor(store: Store, limiter: RateLimiter, turns: TurnCache) {
    this.store = store;
    this.limiter = limiter;
    this.turns = turns;
  }

  /**
   * As {@link admit}, at once and without a promise, where the caller was found earlier in this turn.
   * @returns false where nothing was decided. Throws a 429 Problem.
   */
  admitKnown(request: FastifyRequest): boolean {
    const { call } = request;
    const { headers, httpVersion, rawHeaders } = request.raw;
    const { authorization } = headers;
    if (authorization === undefined || httpVersion !== "1.1") return false;
    const turn = this.turns.enter();
    const caller = this.turns.peek(`known ${authorization}`) as Caller | undefined;
    if (caller === undefined) return false;
    const count = countHeaders(rawHeaders);
    if (count.authorization !== 1 || count.host !== 1) return false;
    call.turn = turn;
    this.accept(call, caller);
    return true;
  }

  /** Sets key, account and rate of the call. Throws a Problem. */
  async admit(request: FastifyRequest): Promise<void> {
    const { call } = request;
    const { headers, httpVersion, rawHeaders } = request.raw;
    const count = countHeaders(rawHeaders);
    if (httpVersion !== "1.1" && httpVersion !== "1.0") throw new Problem(400, ["send HTTP/1.1"]);
    if (count.host > 1 || (count.host === 0 && httpVersion === "1.1")) {
      throw new Problem(400, ["the request needs exactly one Host header"]);
    }
    call.turn = this.turns.enter();
    const { authorization } = headers;
    const caller =
      count.authorization === 1 && authorization !== undefined
        ? await this.turns.get(`caller ${authorization}`, () => this.findCaller(authorization))
        : undefined;
    if (caller === undefined) throw new Problem(401, [unauthorised(authorization, count.authorization)], CHALLENGE);
    this.turns.put(call.turn, `known ${authorization}`, caller);
    this.accept(call, caller);
  }

  private accept(call: Call, { account, key }: Caller): void {
    call.key = key;
    call.account = account;
    call.rate = this.limiter.take(key.id, account.plan);
    if (!call.rate.allowed) {
      const { limit, retryAfter, window } = call.rate;
      throw new Problem(429, [`rate limit of ${limit} calls a ${window} exceeded; retry in ${retryAfter} s`], {
        "retry-after": String(retryAfter),
      });
    }
  }

  /** What is the same for all calls that arrived in one turn is made once; where the call's turn is over, it is made anew. */
  shared<Value>(call: Call, name: string, make: () => Promise<Value>): Promise<Value> {
    return this.turns.isCurrent(call.turn) ? this.turns.get(name, make) : make();
  }

  /** The money of a call's account as it is now. */
  money(call: Call, { accountId, mode }: StoredKey): Promise<Balance> {
    return this.shared(call, `money ${mode} ${accountId}`, () => this.store.balance(accountId, mode));
  }

  /** The balance for an envelope; 0 where nobody is known. */
  async remaining(call: Call): Promise<Credits> {
    return call.key === undefined ? ZERO : (await this.money(call, call.key)).balance;
  }

  private async findCaller(authorization: string): Promise<Caller | undefined> {
    const parsed = parseApiKey(/^bearer +(\S+)$/i.exec(authorization)?.[1] ?? "");
    if (parsed === undefined) return undefined;
    const key = await this.store.findKey(parsed.hash);
    if (key === undefined || key.revokedAt !== null || key.mode !== parsed.mode) return undefined;
    const account = await this.store.account(key.accountId);
    if (account === undefined) throw new Error(`key ${key.id} belongs to no account`);
    return { account, key };
  }
}

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

function unauthorised(authorization: string | undefined, given: number): string {
  if (given > 1) return "more than one Authorization header; send exactly one";
  if (authorization === undefined) return "send the API key as: Authorization: Bearer <API_KEY>";
  if (!/^bearer /i.test(authorization)) return "the Authorization header must be: Bearer <API_KEY>";
  return "the API key is not valid or was revoked";
}
