import { createHash } from "node:crypto";
import { listOf } from "../../shared/contract/envelope.ts";
import type { CanonicalFilters } from "../../shared/contract/filters.ts";
import { creditsToNumber, priceOf } from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { onOneVersion, type ServedDataset } from "../admin/datasets.ts";
import { newCall } from "../http/call.ts";
import type { Turns } from "../http/turns.ts";
import type { Account, Spender, Store } from "../ledger/ledger.ts";
import { type ChargedReply, purchase, type Sale } from "../money/billing.ts";
import { ConsoleRefusal } from "./guard.ts";

export interface PageOrder {
  readonly account: Account;
  readonly key: Spender;
  readonly filters: CanonicalFilters;
  readonly canonical: string;
  readonly version: string;
  readonly offset: number;
  readonly rows: number;
  /** The Idempotency-Key: the same one gives the same page again, at no cost. */
  readonly idempotencyKey: string;
}

interface PageOptions {
  readonly store: Store;
  readonly served: ServedDataset;
  readonly turns: Turns;
  readonly monotonic: () => number;
}

const ROWS = "x-rows";

export const pageRows = ({ answer }: Sale): number => Number(answer.headers[ROWS] ?? 0);

/** Buys one page as every paid call is. @throws Problem; ConsoleRefusal where the dataset moved */
export async function buyPage(order: PageOrder, options: PageOptions): Promise<Sale> {
  const { account, canonical, filters, idempotencyKey, key, offset, rows, version } = order;
  const { engine, suppressed } = options.served;
  const identity = `console\n${canonical}\n${version}\n${offset} ${rows}`;
  const work = () =>
    onOneVersion(engine, async (now): Promise<ChargedReply> => {
      if (now !== version) throw moved();
      const page = await engine.people(filters, { offset, limit: rows });
      const { leftOut = 0, records } = page;
      return {
        rows: records.length,
        result: listOf(records),
        // Rows of the segment: the export goes on behind them, whoever of them is left out.
        headers: { "x-dataset-version": now, [ROWS]: String(records.length + leftOut) },
      };
    });
  return await purchase(options.store, {
    call: newCall(idempotencyKey, options.monotonic(), null),
    key,
    account,
    costed: "person_search",
    rows,
    suppressed,
    idempotency: { key: idempotencyKey, requestHash: createHash("sha256").update(identity).digest("hex") },
    work: () => options.turns.run("paid", key.id, work),
    vanished: () => false,
  });
}

export const quoteOf = (account: Account, profiles: number) => {
  const credits = priceOf(profiles, account.plan.costs.person_search);
  return { credits, creditsNumber: creditsToNumber(credits), requests: Math.ceil(profiles / PER_PAGE_MAX) };
};

export const moved = (): ConsoleRefusal =>
  new ConsoleRefusal(
    409,
    "dataset_moved",
    "the dataset was replaced since this quote: ask for a new one; nothing more was bought",
  );
