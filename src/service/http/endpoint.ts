import type { FastifyRequest } from "fastify";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { ServedDataset } from "../admin/datasets.ts";
import type { KeyMode, Store } from "../ledger/ledger.ts";
import { type Purchase, purchase } from "../money/billing.ts";
import type { Admission } from "./admission.ts";
import type { Answer } from "./call.ts";
import type { SmallCounts } from "./limits.ts";
import { MAGIC_SLOW_MS, type Magic } from "./magic.ts";
import type { ServerTimeouts } from "./options.ts";
import type { Turns } from "./turns.ts";

export interface RouteOptions {
  readonly store: Store;
  readonly admission: Admission;
  readonly smallCounts: SmallCounts;
  readonly dataset: (mode: KeyMode) => Promise<ServedDataset>;
  readonly maxDepth: number | undefined;
  readonly now: () => number;
  readonly timeouts: Pick<ServerTimeouts, "work" | "facet">;
  readonly turns: Turns;
  readonly sleep: (ms: number) => Promise<void>;
}

export type Endpoint = (request: FastifyRequest, options: RouteOptions) => Promise<Answer>;

export function answerFree<Result>(
  request: FastifyRequest,
  { admission, turns }: RouteOptions,
  filters: CanonicalFilters,
  work: () => Promise<Result>,
): Promise<Result> {
  const { key } = admitted(request);
  admission.weigh(request.call, filters);
  return turns.run("free", key.id, work, () => isGone(request));
}

export const isGone = ({ raw }: FastifyRequest): boolean => raw.socket.destroyed === true;

export async function sell(
  request: FastifyRequest,
  { sleep, store, turns }: RouteOptions,
  order: Pick<Purchase, "costed" | "rows" | "idempotency" | "suppressed" | "work"> & {
    readonly magic: Magic | undefined;
  },
): Promise<Answer> {
  const { account, key } = admitted(request);
  const { answer } = await purchase(store, {
    ...order,
    call: request.call,
    key,
    account,
    // Slow while its credits are held, so that a second call with the same Idempotency-Key meets it in flight.
    work: async () => {
      if (order.magic === "slow") await sleep(MAGIC_SLOW_MS);
      return turns.run("paid", key.id, order.work, () => isGone(request));
    },
    vanished: () => isGone(request),
  });
  return answer;
}

export function admitted(request: FastifyRequest) {
  const { account, key, rate } = request.call;
  if (account === undefined || key === undefined || rate === undefined) throw new Error("a route ran before admission");
  return { account, key, rate };
}
