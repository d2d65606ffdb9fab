import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { errorEnvelopeJson } from "../contract/envelope.ts";
import { type Credits, ZERO } from "../contract/money.ts";
import { MAX_BODY_BYTES } from "../contract/records.ts";
import { echo } from "../contract/text.ts";
import type { Engine } from "../dataset/engine.ts";
import { Admission } from "./admission.ts";
import { OutcomeUnknownError, VanishedError } from "./billing.ts";
import { type Answer, type Lifecycle, newCall, send } from "./call.ts";
import { type Fault, FaultPlan } from "./faults.ts";
import type { KeyMode, Store } from "./ledger/ledger.ts";
import { RateLimiter } from "./limits.ts";
import { openLog, type ServiceLog, SILENT } from "./log.ts";
import { type Metrics, openMetrics } from "./metrics.ts";
import { MissingPackageError } from "./missing-package.ts";
import { invalid, Problem } from "./problem.ts";
import { addPublicPages } from "./public-pages.ts";
import { refuseBytes } from "./refusal.ts";
import { API_ROUTES, addRoutes, unsupportedMediaType } from "./routes.ts";
import { DeadlineError, makeWorld, type World } from "./world.ts";

/** A `/v1` answer as it went out, for tests that hold every one of them against the published document. */
export interface ObservedAnswer {
  readonly method: string;
  /** As requested, with the query. */
  readonly url: string;
  /** The route's pattern; undefined where there is no such route. */
  readonly route: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ServiceOptions {
  /** The dataset of live keys. It stays the caller's: closing the service does not close it. */
  readonly engine: Engine;
  /** Stays the caller's too. */
  readonly store: Store;
  /** The small synthetic dataset of test keys, opened at the first call with one. Without it test keys see the live dataset. */
  readonly testEngine?: () => Promise<Engine>;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Wall clock, epoch milliseconds. */
  readonly now?: () => number;
  /** A clock that only runs forward, milliseconds. */
  readonly monotonic?: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
  /** In [0, 1): decides which calls the faults strike. */
  readonly random?: () => number;
  /** Deepest row (`page` x `per_page`) that paging reaches. Default: no bound. */
  readonly maxDepth?: number;
  /** Where structured logs go; none without it. */
  readonly log?: { write(text: string): unknown };
  /** Port of `/metrics`, on the same host; 0 for any free one. None without it. */
  readonly metricsPort?: number;
  readonly faults?: readonly Fault[];
  /** Added to every `/v1` call that passed 401 and 429, milliseconds. */
  readonly latencyMs?: number;
  readonly timeouts?: Partial<Timeouts>;
  /** Open connections at most; more are refused. Default 4,096. */
  readonly maxConnections?: number;
  /** Sees every answer before it goes out. */
  readonly observe?: (answer: ObservedAnswer) => void;
}

/** All in milliseconds. */
export interface Timeouts {
  /** A request's head: 5,000. */
  readonly headers: number;
  /** A whole request: 10,000. */
  readonly request: number;
  /** How often both are looked at: 1,000. */
  readonly check: number;
  /** The dataset's part of one call: 30,000. */
  readonly work: number;
  /** A socket on which nothing moves: 60,000. */
  readonly idle: number;
  /** What `close` gives calls in flight before their connections are cut: 8,000. */
  readonly drain: number;
}

const TIMEOUTS: Timeouts = {
  headers: 5_000,
  request: 10_000,
  check: 1_000,
  work: 30_000,
  idle: 60_000,
  drain: 8_000,
};
const FLUSH_MS = 1_000;

export interface RunningService {
  /** For example `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  readonly metricsUrl: string | undefined;
  /** For requests without a socket, in tests. */
  readonly inject: FastifyInstance["inject"];
  /** Writes the day counters now; otherwise once a second. */
  flush(): Promise<void>;
  /**
   * Drains: no new connections, calls in flight are answered (or cut after `timeouts.drain`), counters are written. Resolves when
   * all is done.
   */
  close(): Promise<void>;
}

/**
 * Starts the API over an engine and a store, after giving back what a crash left on hold.
 * @throws MissingPackageError where Fastify is not installed; an Error with `code` EADDRINUSE and the like where it cannot listen
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { fastify } = await import("fastify").catch((error: unknown) => {
    throw new MissingPackageError("fastify", error);
  });
  const { store } = options;
  const now = options.now ?? Date.now;
  const monotonic = options.monotonic ?? (() => performance.now());
  const sleep = options.sleep ?? ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms)));
  const timeouts: Timeouts = { ...TIMEOUTS, ...options.timeouts };
  const host = options.host ?? "127.0.0.1";
  await store.recover(0);
  const limiter = new RateLimiter({ now, monotonic, store });
  await limiter.load();
  const admission = new Admission(store, limiter);
  const log: ServiceLog = options.log === undefined ? SILENT : await openLog(options.log);
  const metrics: Metrics | undefined =
    options.metricsPort === undefined ? undefined : await openMetrics(host, options.metricsPort);
  const faults = new FaultPlan(options.faults ?? [], options.random ?? Math.random);

  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    connectionTimeout: timeouts.idle,
    requestTimeout: timeouts.request,
    maxRequestsPerSocket: 10_000,
    http: {
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      connectionsCheckingInterval: timeouts.check,
      // Checked by admission, so that the answer is in the envelope.
      requireHostHeader: false,
    },
    // During a drain a connection that is open gets its answer, and is told to close.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: (request) => saneRequestId(request.headers["x-request-id"]) ?? randomUUID(),
    routerOptions: { querystringParser: () => ({}) },
    rewriteUrl: (request) => originForm(request.url ?? "/"),
    clientErrorHandler: (error, socket) => refuseBytes(error, socket, limiter),
    frameworkErrors: (error, request, reply) => {
      // The path could not be decoded: there is no such route. No hook has run yet.
      request.call = newCall(request.id, monotonic());
      void answerUnrouted(request, reply).catch((failure: unknown) => onError(failure ?? error, request, reply));
    },
  });

  const { observe } = options;
  const lifecycle: Lifecycle = {
    draining: false,
    observe:
      observe &&
      ((request, { body, status }, headers) => {
        const route = request.is404 ? undefined : request.routeOptions.url;
        observe({ method: request.method, url: request.raw.url ?? "", route, status, headers, body });
      }),
  };
  app.decorate("lifecycle", lifecycle);
  app.decorateRequest("call");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  const undisturbed = (options.latencyMs ?? 0) === 0 && (options.faults ?? []).length === 0;
  app.addHook("onRequest", (request, reply, done) => {
    request.call = newCall(request.id, monotonic());
    // Before the body is looked at: a wrong path or method is said first.
    if (request.is404) {
      answerUnrouted(request, reply).catch(done);
      return;
    }
    const route = API_ROUTES[request.routeOptions.url ?? ""];
    if (route === undefined) {
      done();
      return;
    }
    request.call.name = route.name;
    let admitted = false;
    try {
      admitted = undisturbed && admission.admitKnown(request);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (admitted) done();
    else enter(request).then(() => done(), done);
  });
  if (log !== SILENT || metrics !== undefined) {
    app.addHook("onResponse", (request, reply, done) => {
      const ms = monotonic() - request.call.startedAt;
      log.request(request, reply.statusCode, ms);
      metrics?.observe(request, reply.statusCode, ms);
      done();
    });
  }
  app.setErrorHandler(onError);
  app.setNotFoundHandler(answerUnrouted);

  addRoutes(app, {
    store,
    admission,
    world: worlds(options, now, monotonic),
    maxDepth: options.maxDepth,
    workTimeoutMs: timeouts.work,
    sleep,
  });
  addPublicPages(app, { engine: options.engine, store, notFound: answerUnrouted });

  /** 401, 429, then the injected delays and failures. */
  async function enter(request: FastifyRequest): Promise<void> {
    const { call } = request;
    await admission.admit(request);
    if (options.latencyMs !== undefined && options.latencyMs > 0) await sleep(options.latencyMs);
    call.fault = call.name === undefined ? undefined : faults.strike(call.name);
    if (call.fault?.kind === "slow") await sleep(call.fault.ms);
    if (call.fault?.kind === "status") {
      const { status } = call.fault;
      const headers = status === 429 ? { "retry-after": "1", "x-ratelimit-remaining": "0" } : undefined;
      throw new Problem(status, [`injected fault: status ${status}; nothing was charged`], headers);
    }
  }

  /** A path that is no route, or a route with another method. */
  async function answerUnrouted(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = (request.raw.url ?? "").split(/[?#]/, 1)[0] ?? "";
    const known = API_ROUTES[path];
    if (/^\/v1(?:\/|$)/.test(path) && request.call.key === undefined) await enter(request);
    if (known !== undefined) {
      const advice = `${echo(request.method)} is not allowed on ${path}; use ${known.method}`;
      return sendProblem(request, reply, new Problem(405, [advice], { allow: known.method }));
    }
    const routes = Object.keys(API_ROUTES).join(", ");
    return sendProblem(request, reply, new Problem(404, [`no such route: ${echo(path)}; routes: ${routes}`]));
  }

  async function onError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const problem = problemOf(error);
    if (problem.status >= 500 && !(error instanceof Problem)) log.fault(request.id, error);
    return sendProblem(request, reply, problem);
  }

  async function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): Promise<FastifyReply> {
    const { call } = request;
    const rate = call.rate ?? limiter.takeAnonymous(request.raw.socket.remoteAddress ?? "");
    const body = errorEnvelopeJson(problem.detail, await remaining(request));
    const answer: Answer = { status: problem.status, headers: problem.headers, body };
    send(request, reply, rate, answer);
    return reply;
  }

  /** The balance for an error's envelope: 0 where nobody is known, or where the store does not answer (the error says that). */
  async function remaining(request: FastifyRequest): Promise<Credits> {
    try {
      return await admission.remaining(request.call);
    } catch (error) {
      log.fault(request.id, error);
      return ZERO;
    }
  }

  app.server.maxConnections = options.maxConnections ?? 4_096;
  app.server.on("connect", (_request, socket: Socket) => refuseBytes({ code: "CONNECT" }, socket, limiter));
  app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    // An expectation that we do not know may be ignored (RFC 9110, 10.1.1).
    app.server.emit("request", request, response);
  });
  try {
    await app.listen({ host, port: options.port ?? 0 });
  } catch (error) {
    await metrics?.close();
    await app.close();
    throw error;
  }
  const { port } = app.server.address() as AddressInfo;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const flushTimer = setInterval(() => {
    admission.forget();
    limiter.flush().catch((error: unknown) => log.fault("flush", error));
  }, FLUSH_MS);
  flushTimer.unref();
  log.event("listening", { url });

  let closing: Promise<void> | undefined;
  async function drain(): Promise<void> {
    log.event("draining");
    clearInterval(flushTimer);
    lifecycle.draining = true;
    await takeWhatCame(app.server);
    // A connection becomes idle when its call is answered, which Node does not look at again by itself.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50);
    const cut = setTimeout(() => app.server.closeAllConnections(), timeouts.drain);
    try {
      await app.close();
    } finally {
      clearInterval(idle);
      clearTimeout(cut);
      // Where the counters cannot be written the rest is closed all the same, and the caller learns of it.
      await limiter.flush().finally(() => metrics?.close());
      log.event("stopped");
    }
  }
  return {
    url,
    port,
    metricsUrl:
      metrics === undefined ? undefined : `http://${host.includes(":") ? `[${host}]` : host}:${metrics.port}/metrics`,
    inject: app.inject.bind(app) as FastifyInstance["inject"],
    flush: () => limiter.flush(),
    close() {
      closing ??= drain();
      return closing;
    },
  };
}

/** What clients sent before the signal may still be in the kernel: a turn of the loop takes one connection, the next its request. */
async function takeWhatCame(server: FastifyInstance["server"]): Promise<void> {
  let arrived = 0;
  const count = (): void => {
    arrived += 1;
  };
  server.on("connection", count);
  for (let quiet = 0, turns = 0; quiet < 3 && turns < 5_000; turns++) {
    const before = arrived;
    await new Promise(setImmediate);
    quiet = arrived === before ? quiet + 1 : 0;
  }
  server.off("connection", count);
}

function worlds(options: ServiceOptions, now: () => number, monotonic: () => number) {
  const live = Promise.resolve(makeWorld(options.engine, now, monotonic));
  let test: Promise<World> | undefined;
  return (mode: KeyMode): Promise<World> => {
    const open = options.testEngine;
    if (mode === "live" || open === undefined) return live;
    test ??= open()
      .then((engine) => makeWorld(engine, now, monotonic))
      .catch((error: unknown) => {
        // Not for ever: the next call tries again.
        test = undefined;
        throw error;
      });
    return test;
  };
}

/** What a failure anywhere in a request is to the client. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { code, statusCode } = (typeof error === "object" && error !== null ? error : {}) as Partial<FastifyError>;
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return new Problem(413, [`the body is larger than ${MAX_BODY_BYTES} bytes`]);
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType();
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH") return invalid("the body is not as long as its Content-Length");
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500)
    return invalid("the body cannot be read");
  if (error instanceof DeadlineError) return new Problem(500, [`${error.message}; nothing was charged, try again`]);
  if (error instanceof OutcomeUnknownError) {
    return new Problem(500, ["internal error; ask again with the same Idempotency-Key to learn the outcome"]);
  }
  if (error instanceof VanishedError) return new Problem(500, [`${error.message}; nothing was charged`]);
  return new Problem(500, ["internal error; nothing was charged"]);
}

/** Short, printable and without anything that a log or a header could trip over. */
const saneRequestId = (text: string | string[] | undefined): string | undefined =>
  typeof text === "string" && /^[A-Za-z0-9._:-]{1,128}$/.test(text) ? text : undefined;

/** `GET http://host/v1/account` is the same as `GET /v1/account` (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  if (url.charCodeAt(0) === 47) return url;
  const match = /^https?:\/\/[^/?#]*(.*)$/is.exec(url);
  return match === null ? url : (match[1] ?? "").startsWith("/") ? (match[1] ?? "/") : `/${match[1] ?? ""}`;
}
