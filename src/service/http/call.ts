import { type Credits, ZERO } from "../../shared/contract/money.ts";
import type { Account, StoredKey, StoredReply } from "../ledger/ledger.ts";
import type { CallName } from "./calls.ts";
import type { RateState } from "./limits.ts";

export interface Call {
  readonly requestId: string;
  readonly startedAt: number;
  readonly route: string | null;
  name?: CallName | undefined;
  rate?: RateState;
  key?: StoredKey;
  account?: Account;
  charged: Credits;
  isAnswered: boolean;
  isClosed: boolean;
}

export const callOf = (requestId: string, startedAt: number, route: string | null): Call => ({
  requestId,
  startedAt,
  route,
  charged: ZERO,
  isAnswered: false,
  isClosed: false,
});

declare module "fastify" {
  interface FastifyRequest {
    call: Call;
  }
}

/**
 * The status of a call in log and metrics whose client
 * did not wait for the answer. No client ever sees it.
 */
export const CLIENT_GONE = 499;

export type Answer = StoredReply;

/**
 * Headers of every `/v1` answer (docs/reference/contract.md, Limits), and what keeps answers out of
 * caches.
 */
export const standardHeaders = (requestId: string, rate: RateState): Record<string, string> => ({
  "x-ratelimit-limit": String(rate.limit),
  "x-ratelimit-remaining": String(rate.remaining),
  "x-ratelimit-reset": String(rate.reset),
  "x-ratelimit-window": rate.window,
  "x-request-id": requestId,
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});
