// Tested by test/service/billing.test.ts.

import { envelopeBytes } from "../../shared/contract/envelope.ts";
import {
  affordableRows,
  type Credits,
  credits,
  creditsText,
  formatCreditsGrouped,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";
import type { CostedCall } from "../../shared/contract/records.ts";
import { present } from "../../shared/contract/text.ts";
import { SoldMeanwhileError } from "../ledger/errors.ts";
import {
  type Account,
  type Balance,
  type HoldOutcome,
  type HoldRequest,
  type HoldSettlement,
  type KeyBudget,
  leftOfCap,
  type SoldPeople,
  type Spender,
  type Store,
  type StoredReply,
} from "../ledger/ledger.ts";
import type { SuppressedPeople } from "../people/suppressed.ts";
import {
  ended,
  invalid,
  OutcomeUnknownError,
  Problem,
  suspended,
  VanishedError,
  within,
} from "../problem.ts";

export interface ChargedReply {
  readonly rows: number;
  readonly result: readonly Buffer[];
  readonly headers: Readonly<Record<string, string>>;
  /** The ids of the people in it. */
  readonly people?: readonly string[] | undefined;
}

export interface Purchase {
  readonly call: { readonly requestId: string; charged: Credits };
  readonly key: Spender;
  readonly account: Account;
  readonly costed: CostedCall;
  readonly rows: number;
  /** What a refusal names: a `page` has no `per_page`. */
  readonly part: "call" | "page";
  readonly idempotency: HoldRequest["idempotency"];
  /** How long the reply is kept, epoch milliseconds; without it as long as any. */
  readonly keptUntil?: number | undefined;
  /** Sells nobody whom the account owns. */
  readonly onlyNew?: boolean | undefined;
  readonly suppressed: SuppressedPeople;
  /**
   * Runs only once the credits are held. A Problem that it throws is the answer, free of charge.
   */
  readonly work: () => Promise<ChargedReply>;
  readonly vanished: () => boolean;
}

export interface Sale {
  readonly answer: StoredReply;
  readonly charge: Credits;
}

/**
 * How long giving back is waited for. It goes on by itself, at the latest with the next heartbeat.
 */
const UNDO_MS = 500;

/**
 * Hold, work, settle (docs/reference/contract.md, Credits). What fails after the hold gives all
 * back.
 */
export async function purchase(store: Store, order: Purchase): Promise<Sale> {
  const { account, call, costed, key, rows } = order;
  const unit = account.plan.costs[costed];
  const amount = priceOf(rows, unit);
  const request = {
    accountId: account.id,
    mode: key.mode,
    keyId: key.id,
    call: costed,
    amount,
    requestId: call.requestId,
    ...present({ session: key.session, idempotency: order.idempotency }),
  };

  const hold = await store.hold(request);
  if (hold.kind === "replay") {
    const reply = await order.suppressed.shown(hold.reply);
    return {
      answer: { ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } },
      charge: hold.charged,
    };
  }
  if (hold.kind !== "held") throw refused(hold, order);

  const { holdId } = hold;
  let page: ChargedReply;
  try {
    page = await order.work();
    if (order.vanished()) throw new VanishedError("the client closed the connection");
  } catch (error) {
    await store.release(holdId);
    throw error;
  }

  try {
    const marks = await store.people.marks(request, page.people ?? []);
    const sale = saleOf(page, order, { holdId, price: unit, marks });
    const { reply } = await store.settle(sale);

    call.charged = sale.amount;
    return { answer: reply, charge: sale.amount };
  } catch (error) {
    // A settlement that failed charged nothing, unless its
    // commit got through and only the word of it was lost.
    await within(store.release(holdId), UNDO_MS).catch(() => {
      throw new OutcomeUnknownError("the charge could neither be confirmed nor undone", {
        cause: error,
      });
    });
    if (error instanceof SoldMeanwhileError)
      throw new Problem(409, [error.message], { "retry-after": "1" });
    throw error;
  }
}

/** What is charged for a page, and what answers once it is. */
function saleOf(
  page: ChargedReply,
  { keptUntil, onlyNew: areNew = false }: Purchase,
  { holdId, price, marks }: SaleTerms,
): HoldSettlement {
  const amount = priceOf(page.rows, price);

  return {
    holdId,
    amount,
    sold: { price, rows: page.rows },
    people: { marks, areNew },
    keptUntil,
    reply: (balance) => ({
      status: 200,
      headers: page.headers,
      body: envelopeBytes(page.result, amount, balance),
    }),
  };
}

interface SaleTerms extends Pick<HoldSettlement, "holdId"> {
  readonly price: Credits;
  readonly marks: SoldPeople["marks"];
}

function refused(
  hold: Exclude<HoldOutcome, { readonly kind: "held" | "replay" }>,
  order: Purchase,
): Problem {
  switch (hold.kind) {
    case "insufficient":
      return tooExpensive(order, hold);
    case "over_cap":
      return aboveCap(order, hold);
    case "key_ended":
      return hold.why === "suspended" ? suspended() : ended(ENDS[hold.why]);
    case "in_flight": {
      const call = "a call with this Idempotency-Key is still in flight; retry in 1 s";
      const why = order.part === "page" ? "this page is being bought by another process" : call;
      return new Problem(409, [why], { "retry-after": "1" });
    }
    case "mismatch":
      return invalid(
        "this Idempotency-Key was used for another request; " +
          "repeat that request unchanged or send another key",
      );
  }
}

const ENDS = {
  revoked: "the API key was revoked",
  expired: "the API key expired",
  signed_out: "the session that buys is over: go on from another one",
} as const;

function tooExpensive(
  order: Purchase,
  { balance, held }: Pick<Balance, "balance" | "held">,
): Problem {
  const free = credits(balance - held);
  return dear(
    order,
    free,
    `${formatCreditsGrouped(free)} are available${inFlight(held)}`,
    "top up",
  );
}

function aboveCap(order: Purchase, budget: KeyBudget): Problem {
  const { cap, held } = budget;
  const left = leftOfCap(budget);
  const all =
    `this key has ${formatCreditsGrouped(left)} left of its ` +
    `cap of ${creditsText(cap)}${inFlight(held)}`;
  return dear(order, left, all, "take a key with a higher cap");
}

const inFlight = (held: Credits): string =>
  held > ZERO ? ` (${formatCreditsGrouped(held)} more are held by calls in flight)` : "";

function dear(
  { account, costed, part, rows }: Purchase,
  free: Credits,
  all: string,
  otherwise: string,
): Problem {
  const unit = account.plan.costs[costed];
  const fit = part === "page" || rows === 1 ? 0 : Math.min(rows, affordableRows(free, unit));
  const advice = fit < 1 ? otherwise : `lower per_page to ${fit} or ${otherwise}`;
  const why = `this ${part} may cost ${creditsText(priceOf(rows, unit))} and ${all}: ${advice}`;
  return new Problem(402, [why], fit < 1 ? {} : { "x-affordable-rows": String(fit) });
}
