import type { DatasetInfo } from "../../dataset/engine.ts";
import { envelopeJson } from "../../shared/contract/envelope.ts";
import { creditsToNumber, formatCredits, ZERO } from "../../shared/contract/money.ts";
import {
  COSTED_CALLS,
  COUNT_CACHE_SECONDS,
  type CostedCall,
  IDEMPOTENCY_SECONDS,
  PER_PAGE_MAX,
} from "../../shared/contract/records.ts";
import type { AccountResult } from "../../shared/schema/api.ts";
import type { Account, Balance, StoredKey } from "../ledger/ledger.ts";

/** What of an account's page only an administrator changes, as JSON text before and after what calls change. */
interface Lasting {
  readonly account: Account;
  readonly maxDepth: number | undefined;
  readonly before: string;
  readonly after: string;
}

interface Told {
  readonly lasting: Lasting;
  readonly money: Balance;
  readonly version: string;
  readonly body: string;
}

/** By the key as the ledger remembers it: after any commit it is another object. So are account and money. */
const told = new WeakMap<StoredKey, Told>();

interface Asked {
  readonly account: Account;
  readonly key: StoredKey;
  readonly money: Balance;
  readonly dataset: DatasetInfo;
  readonly maxDepth: number | undefined;
}

export function accountBody({ account, dataset, key, maxDepth, money }: Asked): string {
  const last = told.get(key);
  const known = last?.lasting.account === account && last.lasting.maxDepth === maxDepth ? last : undefined;
  if (known?.money === money && known.version === dataset.version) return known.body;
  const lasting = known?.lasting ?? lastingText(account, key, maxDepth);
  const body = envelopeJson(accountJson(lasting, money, dataset), ZERO, money.balance);
  told.set(key, { lasting, money, version: dataset.version, body });
  return body;
}

function accountJson({ after, before }: Lasting, { balance, held, usedToday }: Balance, dataset: DatasetInfo): string {
  const credits = `{"remaining":${formatCredits(balance)},"held":${formatCredits(held)},"used_today":${formatCredits(usedToday)}}`;
  const { companies, people, version } = dataset;
  return `${before},"credits":${credits},${after},"dataset":{"version":${JSON.stringify(version)},"people":${people},"companies":${companies}}}`;
}

function lastingText(account: Account, key: StoredKey, maxDepth: number | undefined): Lasting {
  const { costs, name, perDay, perMinute } = account.plan;
  const before: Pick<AccountResult, "account" | "key" | "plan"> = {
    account: { id: account.id, name: account.name },
    key: { id: key.id, name: key.name, mode: key.mode, prefix: key.prefix },
    plan: { name },
  };
  const after: Pick<AccountResult, "rate_limits" | "costs" | "limits"> = {
    rate_limits: { per_minute: perMinute, per_day: perDay },
    costs: Object.fromEntries(COSTED_CALLS.map((call) => [call, creditsToNumber(costs[call])])) as Record<
      CostedCall,
      number
    >,
    limits: {
      per_page_max: PER_PAGE_MAX,
      max_depth: maxDepth ?? null,
      count_cache_seconds: COUNT_CACHE_SECONDS,
      idempotency_seconds: IDEMPOTENCY_SECONDS,
    },
  };
  return {
    account,
    maxDepth,
    before: latin1Json(before).slice(0, -1),
    after: latin1Json(after).slice(1, -1),
  };
}

/** JSON in characters that V8 keeps in one byte each: one beyond them makes an answer twice as dear to send. */
function latin1Json(value: unknown): string {
  const escaped = JSON.stringify(value).replace(
    /[\u0100-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return Buffer.from(escaped, "latin1").toString("latin1");
}
