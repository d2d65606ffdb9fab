import type { FastifyRequest } from "fastify";
import { envelopeJson } from "../../shared/contract/envelope.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { Admission } from "./admission.ts";
import type { Answer, Call } from "./call.ts";
import { MAGIC_SLOW_MS, magicOf, magicOfFilters } from "./magic.ts";
import type { PageRequest } from "./paging.ts";
import { idempotencyOf } from "./requests.ts";
import { type Asker, type Sellable, type ServiceParts, sale } from "./sale.ts";

export interface RouteOptions extends ServiceParts {
  readonly admission: Admission;
  readonly maxDepth: number | undefined;
}

export type Endpoint = (request: FastifyRequest, options: RouteOptions) => Promise<Answer>;

export const askerOf = (request: FastifyRequest): Asker => ({
  call: admitted(request),
  isGone: () => request.raw.socket.destroyed === true,
});

/** What a test key makes happen by the filters of a call that costs nothing. */
export async function freeMagic(
  request: FastifyRequest,
  options: RouteOptions,
  filters: CanonicalFilters,
) {
  const magic = magicOf(admitted(request).key, () => magicOfFilters(filters, false));
  if (magic === "slow") await options.sleep(MAGIC_SLOW_MS);
}

interface FreeResult {
  /** JSON text. */
  readonly result: string;
  readonly version: string;
  readonly notices?: readonly string[] | undefined;
}

export async function freeAnswer(
  { call }: FastifyRequest,
  { admission }: RouteOptions,
  { notices, result, version }: FreeResult,
): Promise<Answer> {
  const body = envelopeJson(result, await admission.remaining(call), notices);
  return { status: 200, headers: { "x-dataset-version": version }, body };
}

/** Sells to a call of the API. */
export async function sell(
  request: FastifyRequest,
  options: RouteOptions,
  order: Sellable,
): Promise<Answer> {
  const { identity, paging } = order;
  const paged = paging === undefined ? "" : `\n${pagingIdentity(paging)}`;
  const idempotency = idempotencyOf(request, `${identity}${paged}`);
  const terms = { part: "call", idempotency } as const;
  const { answer, magic } = await sale(askerOf(request), options, order, terms);

  // Charged, and nobody said so. Whoever asks again with
  // the same Idempotency-Key gets the stored reply.
  if (magic === "drop" && answer.headers["idempotent-replayed"] === undefined)
    request.raw.socket.destroy();

  return answer;
}

const pagingIdentity = ({ cursorVersion, offset, perPage }: PageRequest): string =>
  `${offset} ${perPage} ${cursorVersion === undefined ? "page" : `cursor ${cursorVersion}`}`;

export function admitted({ call }: FastifyRequest) {
  const { account, key, rate } = call;
  if (account === undefined || key === undefined || rate === undefined)
    throw new Error("a route ran before admission");
  return call as Call & { account: typeof account; key: typeof key; rate: typeof rate };
}
