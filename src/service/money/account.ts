// Tested by test/service/bookkeeping.test.ts.
import type { DatasetInfo } from "../../dataset/engine.ts";
import { envelopeJson } from "../../shared/contract/envelope.ts";
import { creditsToNumber } from "../../shared/contract/money.ts";
import {
  COSTED_CALLS,
  COUNT_CACHE_SECONDS,
  type CostedCall,
  IDEMPOTENCY_SECONDS,
  PER_PAGE_MAX,
} from "../../shared/contract/records.ts";
import type { AccountResult } from "../../shared/schema/api.ts";
import type { Account, Balance, StoredKey } from "../ledger/ledger.ts";

interface AccountParts {
  readonly account: Account;
  readonly key: StoredKey;
  readonly money: Balance;
  readonly dataset: DatasetInfo;
  readonly maxDepth: number | undefined;
}

/** By the key as the ledger remembers it: after any commit it is another object. */
const bodies = new WeakMap<StoredKey, AccountParts & { readonly body: string }>();

export function accountBody(parts: AccountParts): string {
  const { account, dataset, key, maxDepth, money } = parts;
  const last = bodies.get(key);
  const isSame = last?.account === account && last.money === money && last.maxDepth === maxDepth;
  if (isSame && last.dataset.version === dataset.version) return last.body;
  const body = envelopeJson(latin1Json(resultOf(parts)), money.balance);
  bodies.set(key, { ...parts, body });
  return body;
}

function resultOf({ account, dataset, key, maxDepth, money }: AccountParts): AccountResult {
  const { costs, name, perDay, perMinute } = account.plan;
  const { companies, people, version } = dataset;

  return {
    account: { id: account.id, name: account.name },
    key: { id: key.id, name: key.name, mode: key.mode, prefix: key.prefix },
    plan: { name },
    credits: {
      remaining: creditsToNumber(money.balance),
      held: creditsToNumber(money.held),
      used_today: creditsToNumber(money.usedToday),
    },
    rate_limits: { per_minute: perMinute, per_day: perDay },
    costs: Object.fromEntries(
      COSTED_CALLS.map((call) => [call, creditsToNumber(costs[call])]),
    ) as Record<CostedCall, number>,
    limits: {
      per_page_max: PER_PAGE_MAX,
      max_depth: maxDepth ?? null,
      count_cache_seconds: COUNT_CACHE_SECONDS,
      idempotency_seconds: IDEMPOTENCY_SECONDS,
    },
    dataset: { version, people, companies },
  };
}

/** JSON in characters that V8 keeps in one byte each. */
function latin1Json(value: unknown): string {
  const escaped = JSON.stringify(value).replace(
    /[\u0100-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return Buffer.from(escaped, "latin1").toString("latin1");
}
