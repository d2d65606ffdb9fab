import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest, fastify } from "fastify";
import { errorEnvelopeJson } from "../../shared/contract/envelope.ts";
import { type Credits, ZERO } from "../../shared/contract/money.ts";
import { MAX_BODY_BYTES } from "../../shared/contract/records.ts";
import { echo } from "../../shared/contract/text.ts";
import { Problem, problemOf, VanishedError } from "../problem.ts";
import { type Admission, boundGuesses } from "./admission.ts";
import { CLIENT_GONE, callOf } from "./call.ts";
import { API_ROUTES } from "./calls.ts";
import { type Connections, networkOf, refuseBytes } from "./connections.ts";
import type { RateLimiter } from "./limits.ts";
import type { ServerTimeouts } from "./options.ts";
import { type Lifecycle, send } from "./reply.ts";
import { isLarge, readBody } from "./requests.ts";
import { type Metrics, type ServiceLog, SILENT } from "./telemetry.ts";
import type { TlsPair } from "./tls.ts";
import type { Turns } from "./turns.ts";

interface AppParts {
  readonly fastify: typeof fastify;
  readonly admission: Admission;
  readonly limiter: RateLimiter;
  readonly turns: Turns;
  readonly connections: Connections;
  readonly timeouts: ServerTimeouts;
  readonly monotonic: () => number;
  readonly log: ServiceLog;
  readonly metrics: Metrics | undefined;
  readonly tls: TlsPair | undefined;
}

const REQUESTS_A_CONNECTION = 10_000;

/**
 * HTTP around the endpoints: limits of bytes and time,
 * 401, 429, unknown routes, and failures in the envelope.
 */
export class HttpApp {
  readonly http: FastifyInstance;
  readonly lifecycle: Lifecycle;
  readonly #parts: AppParts;
  readonly #keepAlive: string;

  constructor(parts: AppParts) {
    this.#parts = parts;
    const { log, metrics, monotonic } = parts;
    const isReported = log !== SILENT || metrics !== undefined;

    this.lifecycle = {
      draining: false,
      report: isReported
        ? (request, reply) => {
            const status = reply.raw.writableFinished ? reply.statusCode : CLIENT_GONE;
            const ms = monotonic() - request.call.startedAt;
            log.request(request, status, ms);
            metrics?.observe(request, status, ms);
          }
        : undefined,
    };

    this.#keepAlive =
      `timeout=${Math.max(0, Math.floor(parts.timeouts.idle / 1_000) - 1)}, ` +
      `max=${REQUESTS_A_CONNECTION}`;
    this.http = this.#listener();
    this.#addHooks();
  }

  #listener(): FastifyInstance {
    const { limiter, timeouts, tls } = this.#parts;
    const http = {
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      connectionsCheckingInterval: timeouts.check,
      // Checked by admission, so that the answer is in the envelope.
      requireHostHeader: false,
    };

    const app = this.#parts.fastify({
      logger: false,
      bodyLimit: MAX_BODY_BYTES,
      connectionTimeout: timeouts.idle,
      requestTimeout: timeouts.request,
      maxRequestsPerSocket: REQUESTS_A_CONNECTION,
      ...(tls === undefined
        ? { http }
        : ({ https: { ...http, ...tls, handshakeTimeout: timeouts.headers } } as object as {
            http: typeof http;
          })),
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
        this.#begin(request, reply);
        void this.answerUnrouted(request, reply).catch((failure: unknown) =>
          this.#onError(failure ?? error, request, reply),
        );
      },
    });

    // An idle connection ends by `connectionTimeout` all the same: two timers less for each call.
    app.server.keepAliveTimeout = 0;
    // Bounded by their bytes. With a bound of their number Node hides those behind it.
    app.server.maxHeadersCount = 0;
    app.server.on("connect", (_request, socket: Socket) =>
      refuseBytes({ code: "CONNECT" }, socket, limiter),
    );

    app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
      // An expectation that we do not know may be ignored (RFC 9110, 10.1.1).
      app.server.emit("request", request, response);
    });

    return app;
  }

  #addHooks(): void {
    const { http } = this;
    http.decorate("lifecycle", this.lifecycle);
    http.decorateRequest("call");
    http.removeAllContentTypeParsers();
    http.addContentTypeParser("application/json", (_request, payload, done) =>
      readBody(payload, done),
    );

    http.addHook("onRequest", async (request, reply) => {
      this.#begin(request, reply);
      if (request.is404) return this.answerUnrouted(request, reply);
      const route = API_ROUTES[request.call.route ?? ""];
      if (route === undefined) return undefined;
      request.call.name = route.name;
      await this.#parts.admission.admit(request);
      if (isLarge(request.headers)) await this.#takeTurn(request, reply);
      // Who left meanwhile sends no body, and Fastify would wait for it without end.
      if (reply.raw.destroyed) throw new VanishedError("the client closed the connection");
      return undefined;
    });
    http.setErrorHandler((error, request, reply) => this.#onError(error, request, reply));
    http.setNotFoundHandler((request, reply) => this.answerUnrouted(request, reply));
  }

  /** Its line in the log comes at its end, or when its client is gone. */
  #begin(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.is404 ? null : (request.routeOptions.url ?? null);
    const call = callOf(request.id, this.#parts.monotonic(), route);
    request.call = call;

    const { raw } = reply;
    const { socket } = request.raw;

    if (raw.shouldKeepAlive && !this.lifecycle.draining)
      reply.header("keep-alive", this.#keepAlive);

    this.#parts.connections.begin(socket);
    raw.on("close", () => {
      this.#parts.connections.end(socket);
      call.isClosed = true;
      // A paid call goes on without its client until it is charged or given back.
      if (call.isAnswered || call.name === undefined || raw.writableFinished)
        this.lifecycle.report?.(request, reply);
    });
  }

  /**
   * Reading and checking a large body keeps the event
   * loop: those of one key wait for each other, unread.
   */
  async #takeTurn({ call }: FastifyRequest, { raw }: FastifyReply): Promise<void> {
    if (call.key === undefined) return;
    const end = await this.#parts.turns.take("large", call.key.id);
    if (raw.destroyed) end();
    else raw.on("close", end);
  }

  async answerUnrouted(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = (request.raw.url ?? "").split(/[?#]/, 1)[0] ?? "";
    const route = API_ROUTES[path];
    const isOfApi = route !== undefined || /^\/v1(?:\/|$)/.test(path);
    if (isOfApi && request.call.key === undefined) await this.#parts.admission.admit(request);
    if (route !== undefined) {
      const advice = `${echo(request.method)} is not allowed on ${path}; use ${route.method}`;
      return this.#sendProblem(request, reply, new Problem(405, [advice], { allow: route.method }));
    }

    const pages = ["/docs", "/openapi.json", "/healthz", "/readyz", "/livez"];
    const routes = [...Object.keys(API_ROUTES), ...pages].join(", ");
    return this.#sendProblem(
      request,
      reply,
      new Problem(404, [`no such route: ${echo(path)}; routes: ${routes}`]),
    );
  }

  async #onError(
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const problem = problemOf(error);
    const isFault =
      problem.status >= 500 && !(error instanceof Problem || error instanceof VanishedError);
    if (isFault) this.#parts.log.fault(request.id, error);
    return this.#sendProblem(request, reply, problem);
  }

  async #sendProblem(
    request: FastifyRequest,
    reply: FastifyReply,
    problem: Problem,
  ): Promise<FastifyReply> {
    const rate =
      request.call.rate ?? this.#parts.limiter.takeAnonymous(networkOf(request.raw.socket));
    const { detail, headers, status } = boundGuesses(problem, rate);
    const body = errorEnvelopeJson(detail, await this.#remaining(request));
    await send(request, reply, rate, { status, headers, body });
    return reply;
  }

  async #remaining(request: FastifyRequest): Promise<Credits> {
    try {
      return await this.#parts.admission.remaining(request.call);
    } catch (error) {
      this.#parts.log.fault(request.id, error);
      return ZERO;
    }
  }
}

const saneRequestId = (text: string | string[] | undefined): string | undefined =>
  typeof text === "string" && /^[A-Za-z0-9._:-]{1,128}$/.test(text) ? text : undefined;

/** `GET http://host/v1/account` is the same as `GET /v1/account` (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  if (url.charCodeAt(0) === 47) return url;
  const match = /^https?:\/\/[^/?#]*(.*)$/is.exec(url);
  return match === null
    ? url
    : (match[1] ?? "").startsWith("/")
      ? (match[1] ?? "/")
      : `/${match[1] ?? ""}`;
}
