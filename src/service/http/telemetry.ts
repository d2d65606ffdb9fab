import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { FastifyRequest } from "fastify";
import type { Registry } from "prom-client";
import { creditsToNumber, formatCredits, ZERO } from "../../shared/contract/money.ts";
import { StoreUnavailableError } from "../ledger/errors.ts";
import { CLIENT_GONE } from "./call.ts";

export interface ServiceLog {
  request(request: FastifyRequest, status: number, ms: number): void;
  fault(requestId: string, error: unknown): void;
  event(message: string, fields?: Readonly<Record<string, string | number>>): void;
}

export const SILENT: ServiceLog = {
  request: () => undefined,
  fault: () => undefined,
  event: () => undefined,
};

/** Bytes of a log that wait for its reader; lines beyond them are dropped, and counted. */
const UNREAD_MAX = 4 * 1024 * 1024;

/**
 * What is logged is an allow-list: never a key, a URL with its query, a filter value or a record.
 */
export async function openLog(out: {
  write(text: string): unknown;
  readonly writableLength?: number;
}): Promise<ServiceLog> {
  const { pino } = await import("pino");
  let dropped = 0;
  const write = (line: string): void => {
    if ((out.writableLength ?? 0) > UNREAD_MAX) {
      dropped++;
      return;
    }
    const count = dropped;
    dropped = 0;
    if (count > 0) logger.warn({ lines: count }, "log lines dropped: nobody read them");
    out.write(line);
  };

  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write });
  let isLost = false;
  return {
    request(request, status, ms) {
      const { call } = request;
      // A charge is a commit that went through.
      if (isLost && status === 200 && call.charged > ZERO) {
        isLost = false;
        logger.info({ request_id: call.requestId }, "ledger back");
      }

      logger.info({
        method: request.method,
        route: call.route,
        status,
        ms: Math.round(ms * 10) / 10,
        request_id: call.requestId,
        key_id: call.key?.id ?? null,
        credits: formatCredits(call.charged),
      });
    },

    fault(requestId, error) {
      if (error instanceof StoreUnavailableError) {
        if (!isLost) logger.error({ request_id: requestId, error: error.message }, "ledger lost");
        isLost = true;
        return;
      }
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      logger.error(
        { request_id: requestId, error: name, stack: stack?.split("\n").slice(1, 6).join(" ") },
        message,
      );
    },

    event(message, fields) {
      logger.info({ ...fields }, message);
    },
  };
}

export type Metrics = Awaited<ReturnType<typeof openMetrics>>;

/** Makers of meters of one registry, that of this process with them. */
async function openRegistry() {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import(
    "prom-client"
  );
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const counter = <Label extends string>(
    name: string,
    help: string,
    ...labelNames: readonly Label[]
  ) => new Counter({ name: `headcount_${name}`, help, labelNames, registers });

  const gauge = (
    name: string,
    help: string,
    read: () => Readonly<Record<string, number>> | number,
    label?: string,
  ) =>
    new Gauge({
      name: `headcount_${name}`,
      help,
      labelNames: label === undefined ? [] : [label],
      registers,

      collect() {
        const now = read();
        if (typeof now === "number") this.set(now);
        else
          for (const [each, value] of Object.entries(now)) this.set({ [label ?? ""]: each }, value);
      },
    });

  const histogram = (name: string, help: string, label: string, buckets: number[]) =>
    new Histogram({ name: `headcount_${name}`, help, labelNames: [label], buckets, registers });

  return { registry, counter, gauge, histogram };
}

async function openMeters() {
  const { counter, gauge, histogram, registry } = await openRegistry();

  const requests = counter("requests_total", "Answers by call and status", "call", "status");
  const seconds = histogram(
    "request_seconds",
    "Time from the request's head to the end of the answer",
    "call",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  );

  const charged = counter(
    "credits_charged_total",
    "Credits charged by call and mode of the key",
    "call",
    "mode",
  );
  const unanswered = counter(
    "credits_charged_unanswered_total",
    "Credits charged by calls whose client did not take the answer",
    "call",
  );

  const small = counter(
    "small_counts_total",
    "Counts of few people by accounts whose plan bounds them",
    "outcome",
  );
  return { registry, gauge, requests, seconds, charged, unanswered, small };
}

/**
 * On loopback a Host of another name is refused: a
 * page in a browser can make its own name point here.
 */
export async function openMetrics(host: string, port: number) {
  const { registry, gauge, requests, seconds, charged, unanswered, small } = await openMeters();
  const refused = new Set<string>();
  const refusedHelp = "Accounts that were refused a count of few people since the start";
  gauge("small_count_accounts", refusedHelp, () => refused.size);

  const server = pageOf(registry, host);
  await once(server.listen(port, host), "listening");

  const address = server.address();
  return {
    host,
    port: typeof address === "object" && address !== null ? address.port : port,

    observe(request: FastifyRequest, status: number, ms: number): void {
      const { call } = request;
      const name = call.name ?? "other";
      requests.inc({ call: name, status: String(status) });
      seconds.observe({ call: name }, ms / 1_000);
      if (call.charged === ZERO) return;
      const credits = creditsToNumber(call.charged);
      charged.inc({ call: name, mode: call.key?.mode ?? "live" }, credits);
      if (status === CLIENT_GONE) unanswered.inc({ call: name }, credits);
    },

    smallCount(account: string, isAnswered: boolean): void {
      small.inc({ outcome: isAnswered ? "answered" : "refused" });
      if (!isAnswered) refused.add(account);
    },

    /** Shows how full it is, as it is when somebody looks. @param load by what is counted */
    watch(load: () => Readonly<Record<string, number>>): void {
      const help =
        "Calls that the dataset works for, calls that wait for their turn, open connections";
      gauge("load", help, load, "what");
    },

    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const pageOf = (registry: Registry, host: string): Server =>
  createServer((request, response) => {
    if (isLoopback(host) && !isLoopback((request.headers.host ?? "").replace(/:\d+$/, ""))) {
      response.writeHead(421).end();
      return;
    }

    const path = request.url?.split("?", 1)[0];
    if (request.method !== "GET" || path !== "/metrics") {
      response.writeHead(path === "/metrics" ? 405 : 404).end();
      return;
    }

    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });

const isLoopback = (host: string): boolean =>
  /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/i.test(host);
