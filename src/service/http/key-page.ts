import type { FastifyInstance, FastifyRequest } from "fastify";
import { envelopeJson } from "../../shared/contract/envelope.ts";
import { type Credits, credits, creditsToNumber, ZERO } from "../../shared/contract/money.ts";
import type { KeyResult } from "../../shared/schema/api.ts";
import type { KeyBudget, KeyDetail, Store } from "../ledger/ledger.ts";
import type { Admission } from "./admission.ts";
import type { Answer } from "./call.ts";
import { queryFields } from "./incoming.ts";
import { send } from "./reply.ts";
import { refuseQuery } from "./requests.ts";

export const KEY_PATH = "/key";

/** `GET /key` (docs/contract.md, Keys): outside `/v1`, in its envelope, free, and counted as a call. */
export function addKeyPage(app: FastifyInstance, admission: Admission, store: Store): void {
  app.route({
    url: KEY_PATH,
    method: "GET",
    handler: async (request, reply) => {
      await admission.admit(request);
      const { rate } = request.call;
      if (rate === undefined) throw new Error("a key was let in without its limits");
      await send(request, reply, rate, await answer(request, store));
    },
  });
}

async function answer(request: FastifyRequest, store: Store): Promise<Answer> {
  refuseQuery(queryFields(request));
  const { account, key } = request.call;
  const detail = key && (await store.key(key.id));
  if (account === undefined || detail === undefined) throw new Error("a key was let in that is not there");
  const { balance, held } = await store.money(detail.accountId, detail.mode);
  const result: KeyResult = {
    account: { id: account.id, name: account.name },
    key: shown(detail),
    cap: detail.budget && capOf(detail.budget),
    credits: { remaining: creditsToNumber(balance), held: creditsToNumber(held) },
  };
  return { status: 200, headers: {}, body: envelopeJson(JSON.stringify(result), ZERO, balance) };
}

const shown = ({ createdAt, expiresAt, id, lastUsedAt, mode, name, prefix, scopes }: KeyDetail): KeyResult["key"] => ({
  ...{ id, name, mode, prefix, scopes },
  created_at: new Date(createdAt).toISOString(),
  expires_at: timeOf(expiresAt),
  last_used_at: timeOf(lastUsedAt),
});

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

function capOf({ cap, held, spent }: KeyBudget): NonNullable<KeyResult["cap"]> {
  const left: Credits = credits(cap - spent - held);
  const [max_credits, used, kept, free] = [cap, spent, held, left].map(creditsToNumber) as [
    number,
    number,
    number,
    number,
  ];
  return { max_credits, spent: used, held: kept, left: free };
}
