import type { FastifyRequest } from "fastify";
import { type Credits, ZERO } from "../contract/money.ts";
import { type Answer, type Call, withWireForm } from "./call.ts";
import { parseApiKey } from "./keys.ts";
import type { Account, Balance, Store, StoredKey } from "./ledger/ledger.ts";
import type { RateLimiter } from "./limits.ts";
import { Problem } from "./problem.ts";
import { TurnCache } from "./turn-cache.ts";

/** Whose call it is, as the store said when it was read, and what was made of it since. */
export interface Caller {
  readonly key: StoredKey;
  readonly account: Account;
  money: Promise<Balance> | undefined;
  /** Answers to free calls by what they answer, as of `turn`. */
  readonly answers: Map<unknown, Answer>;
  turn: number;
}

/** A look for a caller that all who come together share. */
interface Search {
  readonly outcome: Promise<Caller | undefined>;
  /** Once found. */
  caller: Caller | undefined;
}

const CHALLENGE = { "www-authenticate": "Bearer" };

/** The first two checks of every `/v1` request, in the order of api-decisions: 401, then 429. */
export class Admission {
  private readonly store: Store;
  private readonly limiter: RateLimiter;
  /** By the text of the Authorization header. */
  private readonly turns: TurnCache<Search>;
  /** What the store called its state when this was last asked. */
  private version: number | undefined;

  constructor(store: Store, limiter: RateLimiter) {
    this.store = store;
    this.limiter = limiter;
    this.turns = new TurnCache(() => this.isUnchanged());
  }

  /** Drops what is kept of callers, their keys too, so that nothing secret stays in memory when nobody calls. */
  forget(): void {
    this.turns.clear();
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
    const caller = this.turns.get(authorization)?.caller;
    if (caller === undefined || !hasOneOfEach(rawHeaders)) return false;
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
      count.authorization === 1 && authorization !== undefined ? await this.callerOf(authorization) : undefined;
    if (caller === undefined) throw new Problem(401, [unauthorised(authorization, count.authorization)], CHALLENGE);
    this.accept(call, caller);
  }

  private accept(call: Call, caller: Caller): void {
    const { account, key } = caller;
    call.caller = caller;
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

  /** What was answered to this caller in the same turn, when the same was asked. */
  known(call: Call, what: unknown): Answer | undefined {
    const caller = this.current(call);
    return caller?.turn === call.turn ? caller.answers.get(what) : undefined;
  }

  /** Lets {@link known} find an answer. It must be made of nothing that changes within a turn but by a call in the same turn. */
  learn(call: Call, what: unknown, answer: Answer): void {
    const caller = this.current(call);
    if (caller === undefined) return;
    if (caller.turn !== call.turn) caller.answers.clear();
    caller.turn = call.turn;
    caller.answers.set(what, withWireForm(answer));
  }

  /** The money of a call's account as it is now. */
  money(call: Call, { accountId, mode }: StoredKey): Promise<Balance> {
    const caller = this.current(call);
    if (caller === undefined) return this.store.balance(accountId, mode);
    caller.money ??= this.store.balance(accountId, mode).catch((error: unknown) => {
      caller.money = undefined;
      throw error;
    });
    return caller.money;
  }

  /** The balance for an envelope; 0 where nobody is known. */
  async remaining(call: Call): Promise<Credits> {
    return call.key === undefined ? ZERO : (await this.money(call, call.key)).balance;
  }

  /** The caller of a call whose turn is not over: what belongs to it is as true as if it were read now. */
  private current(call: Call): Caller | undefined {
    return this.turns.isCurrent(call.turn) ? call.caller : undefined;
  }

  /** Call it in the turn in which the request arrived. */
  private async callerOf(authorization: string): Promise<Caller | undefined> {
    let search = this.turns.get(authorization);
    if (search === undefined) {
      search = { outcome: this.findCaller(authorization), caller: undefined };
      this.turns.put(authorization, search);
    }
    try {
      search.caller = await search.outcome;
      return search.caller;
    } finally {
      // Who is not known is looked for again: such callers must not fill the memory.
      if (search.caller === undefined) this.turns.drop(authorization, search);
    }
  }

  private isUnchanged(): boolean {
    let version: number | undefined;
    try {
      version = this.store.version?.();
    } catch {
      // A store that cannot answer will say so to the request.
    }
    const unchanged = version !== undefined && version === this.version;
    this.version = version;
    return unchanged;
  }

  private async findCaller(authorization: string): Promise<Caller | undefined> {
    const parsed = parseApiKey(/^bearer +(\S+)$/i.exec(authorization)?.[1] ?? "");
    if (parsed === undefined) return undefined;
    const key = await this.store.findKey(parsed.hash);
    if (key === undefined || key.revokedAt !== null || key.mode !== parsed.mode) return undefined;
    const account = await this.store.account(key.accountId);
    if (account === undefined) throw new Error(`key ${key.id} belongs to no account`);
    return { account, key, money: undefined, answers: new Map(), turn: -1 };
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

function hasOneOfEach(rawHeaders: readonly string[]): boolean {
  const count = countHeaders(rawHeaders);
  return count.authorization === 1 && count.host === 1;
}

function unauthorised(authorization: string | undefined, given: number): string {
  if (given > 1) return "more than one Authorization header; send exactly one";
  if (authorization === undefined) return "send the API key as: Authorization: Bearer <API_KEY>";
  if (!/^bearer /i.test(authorization)) return "the Authorization header must be: Bearer <API_KEY>";
  return "the API key is not valid or was revoked";
}
