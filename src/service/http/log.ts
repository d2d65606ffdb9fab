import type { FastifyRequest } from "fastify";
import { formatCredits } from "../../shared/contract/money.ts";
import { needed } from "./missing-package.ts";

export interface ServiceLog {
  request(request: FastifyRequest, status: number, ms: number): void;
  /** A fault of the service. Only the error's name, message and stack are written. */
  fault(requestId: string, error: unknown): void;
  event(message: string, fields?: Readonly<Record<string, string | number>>): void;
}

export const SILENT: ServiceLog = { request: () => undefined, fault: () => undefined, event: () => undefined };

/**
 * Structured logs (one JSON object a line). What is logged is an allow-list: method, route, status, milliseconds, ids,
 * key id, credits. Never a key, a URL with its query, a filter value or a record.
 * @throws MissingPackageError where pino is not installed
 */
export async function openLog(out: { write(text: string): unknown }): Promise<ServiceLog> {
  const { pino } = await needed("pino", import("pino"));
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => void out.write(line) },
  );
  return {
    request(request, status, ms) {
      const { call } = request;
      logger.info({
        method: request.method,
        route: call.route,
        status,
        ms: Math.round(ms * 10) / 10,
        request_id: call.requestId,
        ...(call.trace === undefined ? {} : { trace_id: call.trace.id }),
        key_id: call.key?.id ?? null,
        credits: formatCredits(call.charged),
      });
    },
    fault(requestId, error) {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      logger.error({ request_id: requestId, error: name, stack: stack?.split("\n").slice(1, 6).join(" ") }, message);
    },
    event(message, fields) {
      logger.info({ ...fields }, message);
    },
  };
}
