import type { FastifyRequest } from "fastify";
import { envelopeJson } from "../../shared/contract/envelope.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import { onOneVersion, type ServedDataset } from "../admin/datasets.ts";
import type { KeyMode, Store } from "../ledger/ledger.ts";
import { type ChargedReply, type Purchase, purchase } from "../money/billing.ts";
import { invalid, type Problem } from "../problem.ts";
import type { Admission } from "./admission.ts";
import type { Answer } from "./call.ts";
import type { SmallCounts } from "./limits.ts";
import { MAGIC_SLOW_MS, type Magic, magicOf, magicOfFilters } from "./magic.ts";
import type { ServerTimeouts } from "./options.ts";
import { idempotencyOf, type PageRequest } from "./requests.ts";
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

/** Does it in its turn among the calls that are never charged. */
export function inFreeTurn<Result>(
  request: FastifyRequest,
  { turns }: RouteOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  return turns.run("free", admitted(request).key.id, work, () => isGone(request));
}

/** What a test key makes happen by the filters of a call that costs nothing. */
export async function freeMagic(
  request: FastifyRequest,
  options: RouteOptions,
  filters: CanonicalFilters,
) {
  const magic = magicOf(admitted(request).key, () => magicOfFilters(filters, false));
  if (magic === "slow") await options.sleep(MAGIC_SLOW_MS);
}

/** @param result JSON text */
export async function freeAnswer(
  { call }: FastifyRequest,
  { admission }: RouteOptions,
  { result, version }: { readonly result: string; readonly version: string },
): Promise<Answer> {
  const body = envelopeJson(result, await admission.remaining(call));
  return { status: 200, headers: { "x-dataset-version": version }, body };
}

const isGone = ({ raw }: FastifyRequest): boolean => raw.socket.destroyed === true;

interface Order extends Pick<Purchase, "costed" | "rows"> {
  /** What is asked for: the same Idempotency-Key with another one is refused. */
  readonly identity: string;
  readonly paging?: PageRequest;
  readonly magic: () => Magic | undefined;
  readonly miss?: Problem;
  readonly work: (served: ServedDataset, version: string) => Promise<ChargedReply>;
}

/** Sells what `work` finds in one version of the dataset, in its turn among the paid calls. */
export async function sell(
  request: FastifyRequest,
  options: RouteOptions,
  order: Order,
): Promise<Answer> {
  const { account, key } = admitted(request);
  const { sleep, store, turns } = options;
  const { costed, magic: find, miss, paging, rows } = order;
  const paged = paging === undefined ? "" : `\n${pagingIdentity(paging)}`;
  const idempotency = idempotencyOf(request, `${order.identity}${paged}`);
  const served = await options.dataset(key.mode);
  const { engine, suppressed } = served;
  if (idempotency === undefined) checkCursorVersion(paging, engine.info().version);

  const magic = magicOf(key, find, miss);

  const work = () =>
    onOneVersion(engine, (version) => {
      checkCursorVersion(paging, version);
      return order.work(served, version);
    });

  const { answer } = await purchase(store, {
    costed,
    part: "call",
    rows,
    idempotency,
    suppressed,
    key,
    account,
    call: request.call,
    // Slow while its credits are held, so that a second call
    // with the same Idempotency-Key meets it in flight.
    work: async () => {
      if (magic === "slow") await sleep(MAGIC_SLOW_MS);
      return turns.run("paid", key.id, work, () => isGone(request));
    },
    vanished: () => isGone(request),
  });

  // Charged, and nobody said so. Whoever asks again with
  // the same Idempotency-Key gets the stored reply.
  if (magic === "drop" && answer.headers["idempotent-replayed"] === undefined)
    request.raw.socket.destroy();

  return answer;
}

const pagingIdentity = ({ cursorVersion, offset, perPage }: PageRequest): string =>
  `${offset} ${perPage} ${cursorVersion === undefined ? "page" : `cursor ${cursorVersion}`}`;

// With an Idempotency-Key only after the stored reply: a
// lost one can still be fetched from an older dataset.
function checkCursorVersion(paging: PageRequest | undefined, version: string): void {
  const own = paging?.cursorVersion;
  if (own === undefined || own === version) return;
  throw invalid("cursor belongs to an earlier version of the dataset; begin again at page 1");
}

export function admitted(request: FastifyRequest) {
  const { account, key, rate } = request.call;
  if (account === undefined || key === undefined || rate === undefined)
    throw new Error("a route ran before admission");
  return { account, key, rate };
}
