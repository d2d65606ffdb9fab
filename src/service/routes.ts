import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { envelopeJson } from "../contract/envelope.ts";
import { creditsToNumber, ZERO } from "../contract/money.ts";
import { type AccountResult, COSTED_CALLS, COUNT_CACHE_SECONDS, PER_PAGE_MAX } from "../contract/records.ts";
import type { RecordPage } from "../dataset/engine.ts";
import type { Admission } from "./admission.ts";
import { type Bought, purchase } from "./billing.ts";
import { type Answer, type Call, send } from "./call.ts";
import { segmentHash, writeCursor } from "./cursor.ts";
import type { CallName } from "./faults.ts";
import type { Account, HoldRequest, KeyMode, Store, StoredKey } from "./ledger/ledger.ts";
import { MAGIC_SLOW_MS, type Magic, magicOfCompany, magicOfFilters } from "./magic.ts";
import { invalid, Problem } from "./problem.ts";
import {
  companyKey,
  type Paging,
  readCount,
  readEmployees,
  readEnrich,
  readSearch,
  refuseQuery,
  type SegmentRequest,
} from "./requests.ts";
import { onOneVersion, type World, within } from "./world.ts";

export interface RouteOptions {
  readonly store: Store;
  readonly admission: Admission;
  readonly world: (mode: KeyMode) => Promise<World>;
  /** Deepest row that paging reaches; undefined: no bound. */
  readonly maxDepth: number | undefined;
  /** Longest time the dataset may take for one call, in milliseconds. */
  readonly workTimeoutMs: number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Which of the five calls a path is, and its one method. */
export const API_ROUTES: Readonly<Record<string, { readonly name: CallName; readonly method: "GET" | "POST" }>> = {
  "/v1/account": { name: "account", method: "GET" },
  "/v1/person/count": { name: "count", method: "POST" },
  "/v1/person/search": { name: "search", method: "POST" },
  "/v1/company/enrich": { name: "enrich", method: "GET" },
  "/v1/company/employees": { name: "employees", method: "GET" },
};

/** What {@link Admission.known} calls the answer of `GET /v1/account`. */
const ACCOUNT = Symbol("account");

const EMPTY = Buffer.alloc(0);
const bodyOf = (request: FastifyRequest): Uint8Array => (Buffer.isBuffer(request.body) ? request.body : EMPTY);

function queryOf(request: FastifyRequest): string {
  const url = request.raw.url ?? "";
  const cut = url.indexOf("?");
  return cut < 0 ? "" : url.slice(cut + 1).replace(/#.*$/s, "");
}

/** Adds the five endpoints of contract section 4. Every request that arrives here has passed 401 and 429. */
export function addRoutes(app: FastifyInstance, options: RouteOptions): void {
  const { admission, maxDepth, store } = options;

  const readCountOnce = rememberBodies(readCount);

  // The free calls are answered at once, without a promise, where the same caller was answered the same in this turn.
  app.get("/v1/account", (request, reply) => {
    refuseQuery(queryOf(request));
    const known = admission.known(request.call, ACCOUNT);
    if (known === undefined) return answerAccount(request, reply);
    send(request, reply, admitted(request).rate, known);
    return undefined;
  });

  async function answerAccount(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { account, key, rate } = admitted(request);
    const answer = { status: 200, headers: {}, body: await accountBody(request.call, account, key) };
    admission.learn(request.call, ACCOUNT, answer);
    send(request, reply, rate, answer);
  }

  app.post("/v1/person/count", (request, reply) => {
    refuseQuery(queryOf(request));
    const segment = readCountOnce(jsonBody(request));
    const known = admission.known(request.call, segment);
    if (known === undefined) return answerCount(request, reply, segment);
    send(request, reply, admitted(request).rate, known);
    return undefined;
  });

  async function answerCount(request: FastifyRequest, reply: FastifyReply, segment: SegmentRequest): Promise<void> {
    const { key, rate } = admitted(request);
    if (key.mode === "test") await perform(magicOfFilters(segment.filters, false), options);
    const world = await options.world(key.mode);
    const known = world.counts.known(segment);
    const counted = known ?? (await within(world.counts.count(segment), options.workTimeoutMs));
    const result = `{"count":${counted.count},"cached":${counted.cached},"as_of":"${counted.asOf}"}`;
    const balance = await admission.remaining(request.call);
    const headers = { "x-dataset-version": counted.version };
    const answer = { status: 200, headers, body: envelopeJson(result, ZERO, balance) };
    if (known !== undefined) admission.learn(request.call, segment, answer);
    send(request, reply, rate, answer);
  }

  app.post("/v1/person/search", async (request, reply) => {
    refuseQuery(queryOf(request));
    const { key } = admitted(request);
    const search = readSearch(jsonBody(request), maxDepth);
    const { paging } = search;
    const world = await options.world(key.mode);
    const identity = `${search.canonical}\n${pagingIdentity(paging)}`;
    const idempotency = idempotencyOf(request, identity);
    if (idempotency === undefined) checkCursorVersion(paging, world);
    if (key.mode === "test") await perform(magicOfFilters(search.filters, true), options);
    return buy(request, reply, "person_search", paging.perPage, idempotency, () => {
      checkCursorVersion(paging, world);
      return onOneVersion(world.engine, async (version) => {
        const slice = { offset: paging.offset, limit: paging.perPage };
        const page = await world.engine.people(search.filters, slice);
        return boughtPage(page, paging, version, search.canonical, "/v1/person/search");
      });
    });
  });

  app.get("/v1/company/enrich", async (request, reply) => {
    const { key } = admitted(request);
    const { lookup } = readEnrich(queryOf(request));
    const idempotency = idempotencyOf(request, companyKey(lookup));
    const world = await options.world(key.mode);
    if (key.mode === "test") await perform(magicOfCompany(lookup), options, companyMiss(lookup));
    return buy(request, reply, "company_enrich", 1, idempotency, () =>
      onOneVersion(world.engine, async (version) => {
        const company = await world.engine.company(lookup);
        if (company === undefined) throw companyMiss(lookup);
        return { rows: 1, resultJson: company.record, headers: { "x-dataset-version": version } };
      }),
    );
  });

  app.get("/v1/company/employees", async (request, reply) => {
    const { key } = admitted(request);
    const { lookup, paging } = readEmployees(queryOf(request), maxDepth);
    const segment = companyKey(lookup);
    const idempotency = idempotencyOf(request, `${segment}\n${pagingIdentity(paging)}`);
    const world = await options.world(key.mode);
    if (idempotency === undefined) checkCursorVersion(paging, world);
    if (key.mode === "test") await perform(magicOfCompany(lookup), options, companyMiss(lookup));
    return buy(request, reply, "company_employees", paging.perPage, idempotency, () => {
      checkCursorVersion(paging, world);
      return onOneVersion(world.engine, async (version) => {
        const company = await world.engine.company(lookup);
        if (company === undefined) throw companyMiss(lookup);
        const slice = { offset: paging.offset, limit: paging.perPage };
        const page = await world.engine.employees(company.id, slice);
        const target = `/v1/company/employees?${lookup.by}=${encodeURIComponent(lookup.value)}`;
        return boughtPage(page, paging, version, segment, target);
      });
    });
  });

  async function accountBody(call: Call, account: Account, key: StoredKey): Promise<string> {
    const [money, world] = await Promise.all([admission.money(call, key), options.world(key.mode)]);
    const { costs, name, perDay, perMinute } = account.plan;
    const result: AccountResult = {
      account: { id: account.id, name: account.name },
      key: { id: key.id, name: key.name, mode: key.mode, prefix: key.prefix },
      plan: { name },
      credits: {
        remaining: creditsToNumber(money.balance),
        held: creditsToNumber(money.held),
        used_today: creditsToNumber(money.usedToday),
      },
      rate_limits: { per_minute: perMinute, per_day: perDay },
      costs: Object.fromEntries(
        COSTED_CALLS.map((costed) => [costed, creditsToNumber(costs[costed])]),
      ) as AccountResult["costs"],
      limits: { per_page_max: PER_PAGE_MAX, max_depth: maxDepth ?? null, count_cache_seconds: COUNT_CACHE_SECONDS },
      dataset: world.engine.info(),
    };
    return envelopeJson(JSON.stringify(result), ZERO, money.balance);
  }

  async function buy(
    request: FastifyRequest,
    reply: FastifyReply,
    costed: "person_search" | "company_enrich" | "company_employees",
    rows: number,
    idempotency: HoldRequest["idempotency"],
    work: () => Promise<Bought>,
  ): Promise<void> {
    const { account, key, rate } = admitted(request);
    const answer: Answer = await purchase(store, {
      call: request.call,
      key,
      account,
      costed,
      rows,
      idempotency,
      work: () => within(work(), options.workTimeoutMs),
      vanished: () => request.raw.socket.destroyed === true,
    });
    send(request, reply, rate, answer);
  }
}

const REMEMBERED_BODIES = 1_000;
const REMEMBERED_LENGTH = 2_048;

/** A reader that knows the bodies it read lately: who counts again sends the same bytes. Refused bodies are not kept. */
function rememberBodies<Result>(read: (body: Uint8Array) => Result): (body: Uint8Array) => Result {
  const known = new Map<string, Result>();
  return (body) => {
    if (body.length > REMEMBERED_LENGTH) return read(body);
    // Latin-1 gives every byte a character of its own, so equal texts are equal bytes.
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
    const found = known.get(bytes);
    if (found !== undefined) return found;
    const result = read(body);
    if (known.size >= REMEMBERED_BODIES) known.clear();
    known.set(bytes, result);
    return result;
  };
}

/** Key, account and rate of a request that passed admission. */
function admitted(request: FastifyRequest) {
  const { account, key, rate } = request.call;
  if (account === undefined || key === undefined || rate === undefined) throw new Error("a route ran before admission");
  return { account, key, rate };
}

/** The bytes of a body that was sent as JSON in UTF-8. Throws a 415 Problem. */
function jsonBody(request: FastifyRequest): Uint8Array {
  const type = request.headers["content-type"];
  // Without a body there is no content type to complain about: the body's own check says that it is missing.
  const fine =
    type === undefined ||
    type === "application/json" ||
    /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(type.trim());
  if (!fine) throw unsupportedMediaType();
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new Problem(415, ["send the body without a Content-Encoding"], { "accept-encoding": "identity" });
  }
  return bodyOf(request);
}

export const unsupportedMediaType = (): Problem =>
  new Problem(415, ["send the body as Content-Type: application/json (in UTF-8)"]);

/** The `Idempotency-Key` with a SHA-256 over what it stands for. Throws a 422 Problem. */
function idempotencyOf(request: FastifyRequest, identity: string): HoldRequest["idempotency"] {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  const { rawHeaders } = request.raw;
  let given = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === "idempotency-key") given++;
  }
  if (given > 1 || typeof key !== "string") throw invalid("Idempotency-Key is given more than once; send it once");
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalid("Idempotency-Key takes 1 to 255 visible ASCII characters without spaces");
  }
  const requestHash = createHash("sha256").update(`${request.method} ${request.call.name}\n${identity}`).digest("hex");
  return { key, requestHash };
}

const pagingIdentity = (paging: Paging): string =>
  `${paging.offset} ${paging.perPage} ${paging.cursorVersion === undefined ? "page" : `cursor ${paging.cursorVersion}`}`;

/**
 * A cursor of another dataset version is a 422. With an Idempotency-Key this is looked at only after the stored reply, so that a
 * lost reply can still be fetched when the dataset was replaced meanwhile.
 */
function checkCursorVersion(paging: Paging, world: World): void {
  const { cursorVersion } = paging;
  if (cursorVersion === undefined || cursorVersion === world.engine.info().version) return;
  throw invalid("cursor belongs to an earlier version of the dataset; begin again at page 1");
}

function boughtPage(found: RecordPage, paging: Paging, version: string, segment: string, target: string): Bought {
  const headers: Record<string, string> = {
    "x-dataset-version": version,
    "x-total-count": String(found.total),
    "x-page": String(paging.page),
    "x-per-page": String(paging.perPage),
  };
  const rows = found.records.length;
  const next = paging.offset + rows;
  if (rows > 0 && next < found.total) {
    const cursor = writeCursor({ version, segment: segmentHash(segment), offset: next });
    headers["x-next-cursor"] = cursor;
    // After a cursor no page of this size may begin where this one ends.
    const [name, value] = next === paging.page * paging.perPage ? ["page", paging.page + 1] : ["cursor", cursor];
    // A GET can be followed as it stands. A POST has no address for its next page: the attributes say what to put into the body.
    headers.link = target.includes("?")
      ? `<${target}&${name}=${value}&per_page=${paging.perPage}>; rel="next"`
      : `<${target}>; rel="next"; ${name}="${value}"; per_page="${paging.perPage}"`;
  }
  return { rows, resultJson: `[${found.records.join(",")}]`, headers };
}

const companyMiss = (lookup: { readonly by: string; readonly value: string }): Problem =>
  new Problem(404, [`no company matches ${lookup.by} ${lookup.value.slice(0, 64)}`]);

/** Makes a magic value of a test key come true. */
async function perform(magic: Magic | undefined, options: RouteOptions, miss?: Problem): Promise<void> {
  switch (magic) {
    case undefined:
      return;
    case "402":
      throw new Problem(402, [
        "magic value: this call may cost more credits than are available: lower per_page or top up",
      ]);
    case "404":
      if (miss !== undefined) throw miss;
      return;
    case "429":
      throw new Problem(429, ["magic value: rate limit exceeded; retry in 1 s"], {
        "retry-after": "1",
        "x-ratelimit-remaining": "0",
      });
    case "500":
      throw new Problem(500, ["magic value: internal error; nothing was charged"]);
    case "slow":
      await options.sleep(MAGIC_SLOW_MS);
  }
}
