import { envelopeJson } from "../contract/envelope.ts";
import { affordableRows, type Credits, formatCredits, priceOf, subtractCredits, ZERO } from "../contract/money.ts";
import type { CostedCall } from "../contract/records.ts";
import type { Answer, Call } from "./call.ts";
import type { Account, HoldRequest, Store, StoredKey } from "./ledger/ledger.ts";
import { invalid, Problem } from "./problem.ts";

/** What the work of a paid call brought. */
export interface Bought {
  /** Rows really returned: what is charged. */
  readonly rows: number;
  /** The envelope's `result` as JSON text. */
  readonly resultJson: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Purchase {
  readonly call: Call;
  readonly key: StoredKey;
  readonly account: Account;
  readonly costed: CostedCall;
  /** Rows asked for: the hold is for all of them. */
  readonly rows: number;
  readonly idempotency: HoldRequest["idempotency"];
  /** Runs only once the credits are held. A Problem that it throws is the answer, free of charge. */
  readonly work: () => Promise<Bought>;
  /** Whether there is nobody left to answer: then nothing is charged. */
  readonly vanished: () => boolean;
}

/** The client went away before the charge: nothing was charged and there is nobody to tell. */
export class VanishedError extends Error {
  override readonly name = "VanishedError";
}

/** After the charge it could not be learned whether it was committed. The stored reply decides, where there is one. */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}

/** Hold, work, settle (docs/contract.md, Credits). What fails after the hold gives all back; the answer exists once it is committed. */
export async function purchase(store: Store, order: Purchase): Promise<Answer> {
  const { account, call, costed, key, rows } = order;
  const unit = account.plan.costs[costed];
  const amount = priceOf(rows, unit);
  const hold = await store.hold({
    accountId: account.id,
    mode: key.mode,
    keyId: key.id,
    call: costed,
    amount,
    requestId: call.requestId,
    ...(order.idempotency === undefined ? {} : { idempotency: order.idempotency }),
  });
  switch (hold.kind) {
    case "insufficient":
      throw new Problem(402, [tooExpensive(rows, unit, amount, hold.balance, hold.held)]);
    case "replay":
      return { ...hold.reply, headers: { ...hold.reply.headers, "idempotent-replayed": "true" } };
    case "in_flight":
      throw new Problem(409, ["a call with this Idempotency-Key is still in flight; retry in 1 s"], {
        "retry-after": "1",
      });
    case "mismatch":
      throw invalid(
        "this Idempotency-Key was used for another request; repeat that request unchanged or send another key",
      );
    case "held":
      break;
  }
  const { holdId } = hold;
  let bought: Bought;
  try {
    bought = await order.work();
    if (order.vanished()) throw new VanishedError("the client closed the connection");
  } catch (error) {
    await store.release(holdId);
    throw error;
  }
  const charge = priceOf(bought.rows, unit);
  try {
    const { reply } = await store.settle({
      holdId,
      amount: charge,
      reply: (balance) => ({
        status: 200,
        headers: bought.headers,
        body: envelopeJson(bought.resultJson, charge, balance),
      }),
    });
    call.charged = charge;
    return reply;
  } catch (error) {
    // A settlement that failed charged nothing, unless its commit got through and only the word of it was lost.
    await store.release(holdId).catch(() => {
      throw new OutcomeUnknownError("the charge could neither be confirmed nor undone", { cause: error });
    });
    throw error;
  }
}

function tooExpensive(rows: number, unit: Credits, amount: Credits, balance: Credits, held: Credits): string {
  const free = subtractCredits(balance, held);
  const inFlight = held > ZERO ? ` (${formatCredits(held)} more are held by calls in flight)` : "";
  const fit = Math.min(rows, affordableRows(free, unit));
  const advice = rows === 1 ? "top up" : fit > 0 ? `lower per_page to ${fit} or top up` : "top up";
  return `this call may cost ${formatCredits(amount)} credits and ${formatCredits(free)} are available${inFlight}: ${advice}`;
}
