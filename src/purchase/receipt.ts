import { creditsToNumber, formatCredits } from "../contract/money.ts";
import type { Distinct } from "../output/distinct.ts";
import { creditsOf } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import type { BuyResult } from "./order.ts";
import type { Bound, Quote } from "./quote.ts";

/** What a run did, for people who must account for it: `receipt.json`, `--receipt FILE`, `--json`. Credits are numbers. */
export interface Receipt {
  readonly run: string;
  readonly command: string;
  readonly connection: string;
  readonly service: string;
  readonly account_id: string | null;
  readonly key_mode: string | null;
  readonly filters: unknown;
  readonly companies: readonly string[] | null;
  /** Rows that matched when it was quoted; null where nobody could tell. */
  readonly count: number | null;
  /** Rows that were to be bought, and what bound their number. */
  readonly wanted: number;
  readonly bound: Bound;
  readonly received: number;
  readonly distinct: number;
  readonly duplicates: number;
  /** Companies that the service does not know: free. */
  readonly misses: number;
  readonly unit_cost: number;
  readonly credits: number;
  /** Credits that may have been charged for replies that were lost. */
  readonly uncertain_credits: number;
  /** Credits that others spent from the same balance meanwhile. */
  readonly foreign_credits: number;
  readonly balance: number | null;
  /** Whether everything that matched was received. */
  readonly complete: boolean;
  /** Why the run fell short of what was wanted, in a sentence; null where it did not. */
  readonly shortfall: string | null;
  readonly dataset_version: string | null;
  /** ISO-8601. */
  readonly started: string;
  readonly finished: string;
  readonly output: {
    readonly file: string;
    readonly format: string;
    readonly bytes: number;
    readonly sha256: string;
  } | null;
}

export interface ReceiptInput {
  readonly run: Run;
  readonly quote: Quote;
  readonly distinct: Distinct;
  readonly bought: BuyResult;
  /** Epoch milliseconds. */
  readonly finishedAt: number;
}

export function buildReceipt({ run, quote, distinct, bought, finishedAt }: ReceiptInput): Receipt {
  const { plan, state } = run;
  const { target } = plan;
  const { balance } = bought;
  const shortfall = whyShort(run, quote, distinct, bought);
  return {
    run: run.id,
    command: plan.command,
    connection: plan.connection,
    service: plan.base_url,
    account_id: plan.account_id,
    key_mode: plan.key_mode,
    filters: target.kind === "search" ? target.filters : null,
    companies: target.kind === "search" ? null : target.companies.map(({ value }) => value),
    count: plan.matches,
    wanted: quote.rows,
    bound: quote.bound,
    received: state.rows,
    distinct: distinct.distinct,
    duplicates: distinct.duplicates,
    misses: state.misses,
    unit_cost: creditsToNumber(creditsOf(plan.unit_price)),
    credits: creditsToNumber(state.settled),
    uncertain_credits: creditsToNumber(state.uncertain),
    foreign_credits: creditsToNumber(state.foreign),
    balance: balance === undefined ? null : creditsToNumber(balance),
    complete:
      shortfall === null && (quote.bound === "matches" || quote.bound === "companies" || bought.ended === "all"),
    shortfall,
    dataset_version: plan.dataset_version,
    started: plan.created_at,
    finished: new Date(finishedAt).toISOString(),
    output: null,
  };
}

/** Rows that were wanted and did not come, or came twice: in a plain sentence. */
function whyShort(run: Run, quote: Quote, distinct: Distinct, bought: BuyResult): string | null {
  const { state, plan } = run;
  if (bought.wall !== undefined) {
    return `the service does not go deeper than row ${bought.wall.offset} of this segment ("${bought.wall.detail}"): ${state.rows} of ${quote.rows} rows came; split the segment by another filter`;
  }
  // Employees and companies are counted at most roughly beforehand: what comes is what there is.
  if (plan.target.kind !== "search") return uncertainCap(run, quote, bought);
  if (distinct.repeatedPages > 0) {
    return `the service gave ${distinct.repeatedPages === 1 ? "a page" : `${distinct.repeatedPages} pages`} twice: ${distinct.distinct} different profiles in ${state.rows} rows; the repeated ones are paid for, and written once`;
  }
  if (distinct.duplicates > 0) {
    return `${distinct.duplicates} of ${state.rows} rows came twice and were paid for: ${distinct.distinct} different profiles of ${quote.rows}`;
  }
  if (quote.bound === "depth") {
    return `the service gives at most ${quote.rows} of the ${quote.matches} profiles of this segment; split it by another filter to get the rest`;
  }
  const uncertain = uncertainCap(run, quote, bought);
  if (uncertain !== null) return uncertain;
  if (state.rows >= quote.rows) return null;
  return `the service gave ${state.rows} of the ${quote.rows} profiles that it counted; nothing was charged for the missing ${quote.rows - state.rows}`;
}

function uncertainCap({ state }: Run, quote: Quote, bought: BuyResult): string | null {
  const wanted = quote.rowsIfNothingLost;
  if (bought.ended !== "limit" || state.rows >= wanted || state.uncertain === 0n) return null;
  return `${formatCredits(state.uncertain)} credits may have been charged for replies that were lost, and count against the cap: ${state.rows} of ${wanted} rows came`;
}
