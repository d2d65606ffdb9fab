import type { RefreshPlan, RefreshReceipt } from "../app/own/refresh/work.ts";
import type { AccountView } from "../engine/client/types.ts";
import { totalsOf } from "../engine/library/library.ts";
import type { Quote } from "../engine/purchase/quote.ts";
import type { Receipt as Bought } from "../engine/purchase/receipt.ts";
import { isResumable, type RunSummary } from "../engine/runs/reader.ts";
import { type Credits, credits, formatCredits, parseCredits } from "../shared/contract/money.ts";
import type {
  Account,
  Offer,
  OwnedSummary,
  Receipt,
  Refreshed,
  RefreshOffer,
  Run,
} from "./index.ts";

const text = (amount: Credits | undefined): string | null =>
  amount === undefined ? null : formatCredits(amount);
const exact = (amount: number): string => formatCredits(parseCredits(amount) ?? credits(0n));
const time = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

export const shownAccount = (
  account: AccountView,
  keyMode: "live" | "test" | undefined,
): Account => ({
  id: account.accountId ?? null,
  name: account.accountName ?? null,
  plan: account.plan ?? null,
  keyMode: account.keyMode ?? keyMode ?? null,
  balance: text(account.balance),
  held: text(account.held),
  usedToday: text(account.usedToday),
  price: text(account.costs.person_search),
  datasetVersion: account.datasetVersion ?? null,
});

export const shownOffer = (quote: Quote): Offer => ({
  people: quote.share?.total ?? quote.matches,
  rows: quote.written,
  kept: quote.kept + quote.written - quote.rows,
  owned: quote.share?.owned ?? null,
  credits: formatCredits(quote.credits),
  total: formatCredits(quote.total),
  unitPrice: formatCredits(quote.unitPrice),
  balanceAfter: text(quote.balanceAfter),
  requests: quote.requests,
});

export const shownReceipt = (receipt: Bought): Receipt => ({
  run: receipt.run,
  rows: receipt.distinct - receipt.suppressed,
  received: receipt.received,
  reused: receipt.reused,
  suppressed: receipt.suppressed,
  credits: exact(receipt.credits),
  uncertainCredits: exact(receipt.uncertain_credits),
  balance: receipt.balance === null ? null : exact(receipt.balance),
  complete: receipt.complete,
  shortfall: receipt.shortfall,
  datasetVersion: receipt.dataset_version,
  started: receipt.started,
  finished: receipt.finished,
});

export const shownRefresh = ({ credits: spent, files, ...receipt }: RefreshReceipt): Refreshed => ({
  list: receipt.list,
  count: receipt.count,
  added: receipt.added,
  removed: receipt.removed,
  changed: receipt.changes.length,
  bought: receipt.bought,
  credits: exact(spent),
  runs: receipt.runs,
  files: {
    added: files.added.file,
    removed: files.removed.file,
    changed: files.changed.file,
  },
});

export const shownPlan = (plan: RefreshPlan): RefreshOffer => ({
  people: plan.total,
  owned: plan.owned,
  gone: plan.gone,
  rows: plan.rows,
  credits: formatCredits(plan.most),
  unitPrice: formatCredits(plan.unitPrice),
});

export const shownRun = (run: RunSummary): Run => ({
  id: run.id,
  status: run.status,
  resumable: isResumable(run),
  connection: run.plan.connection,
  service: run.plan.base_url,
  rows: run.rows,
  credits: formatCredits(run.settled),
  uncertainCredits: formatCredits(run.uncertain),
  output: run.plan.output,
  created: run.plan.created_at,
  last: new Date(run.lastAt).toISOString(),
});

export function shownOwned(database: Parameters<typeof totalsOf>[0]): OwnedSummary {
  const { firstAt, forgotten, lastAt, people, runs, suppressed, ...sums } = totalsOf(database);
  return {
    people,
    suppressed,
    forgotten,
    credits: formatCredits(credits(sums.credits)),
    runs,
    first: time(firstAt),
    last: time(lastAt),
  };
}
