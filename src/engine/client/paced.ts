import type { ServiceError } from "./errors.ts";
import type { Pacer } from "./pacing.ts";
import { type CallOptions, retryCall } from "./retry.ts";
import type { ReplyMeta, ServiceClient } from "./types.ts";

export interface PacedOptions extends CallOptions {
  readonly pacer: Pacer;
  readonly onReply: (meta: ReplyMeta) => void;
  readonly onTurn: (ms: number) => void;
}

/** Free calls wait for their turn and are retried; paid ones stay single attempts, for whoever keeps the books. */
export function paced(client: ServiceClient, options: PacedOptions): ServiceClient {
  const { pacer } = options;
  async function watch<T extends { readonly meta: ReplyMeta } | undefined>(call: Promise<T>): Promise<T> {
    try {
      const reply = await call;
      if (reply === undefined) return reply;
      pacer.observe(reply.meta.rateLimit);
      options.onReply(reply.meta);
      return reply;
    } catch (error) {
      pacer.observe((error as Partial<ServiceError>).rateLimit);
      throw error;
    }
  }
  function free<T extends { readonly meta: ReplyMeta } | undefined>(
    call: (signal?: AbortSignal) => Promise<T>,
    signal = options.signal,
  ): Promise<T> {
    const attempt = async (inner?: AbortSignal): Promise<T> => {
      const waitMs = pacer.take();
      // What is too long is left to the service: it may know better, and its refusal says until when.
      if (waitMs > 0 && waitMs <= options.maxWaitMs) {
        options.onTurn(waitMs);
        await options.sleep(waitMs, inner);
      }
      return watch(call(inner));
    };
    return retryCall(attempt, { ...options, signal });
  }
  return {
    baseUrl: client.baseUrl,
    dialect: client.dialect,
    account: (signal) => free((inner) => client.account(inner), signal),
    key: (signal) => free((inner) => client.key(inner), signal),
    count: (filters, signal) => free((inner) => client.count(filters, inner), signal),
    facets: (filters, key, { signal, ...asked } = {}) =>
      free((inner) => client.facets(filters, key, { ...asked, signal: inner }), signal),
    searchPage: (filters, position, call) => watch(client.searchPage(filters, position, call)),
    employeesPage: (company, position, call) => watch(client.employeesPage(company, position, call)),
    enrich: (company, call) => watch(client.enrich(company, call)),
    close: () => client.close(),
  };
}
