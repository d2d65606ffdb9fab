import type { ExportDeps, ExportOptions } from "../../engine/purchase/order.ts";
import { isNarrowed } from "../../engine/purchase/owned.ts";
import type { Quote } from "../../engine/purchase/quote.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { creditsText } from "../../shared/contract/money.ts";
import { usageError } from "../../shared/errors.ts";
import { mapError } from "../failures.ts";
import { explained, tellWhy } from "./explain.ts";
import { type Events, nowhere, type Order, optionsOf, type World } from "./order.ts";
import { buyExport, type Finished, type Priced, quoteExport, resumeExport } from "./purchase.ts";
import { withListedValues } from "./spread.ts";

/** What was paid and written: the receipt, the quote it was bought by, the run that keeps it. */
export type PurchaseResult = Finished;

/** A priced order: what it would cost when it was asked for, and what free calls told then. */
export interface Quotation extends Priced {
  readonly order: Order;
  readonly madeAt: number;
}

/** Younger than this a quotation is bought without counting again: the account alone tells whether price and dataset are still the same. */
const YOUNG_MS = 60_000;

/** Prices an order by free calls alone. @throws CliError */
export async function quote(order: Order, world: World, events: Events = {}): Promise<Quotation> {
  return await purchase(order, world, events, async (whole, deps) => {
    const priced = await quoteExport(whole.target, optionsOf(whole), deps);
    await tellWhy(whole, priced.quote.matches, world, events);
    return { order: whole, ...priced, madeAt: world.now() };
  });
}

/**
 * Buys an order, or exactly what a quotation says: whoever hands one in has agreed to it.
 * Goes on with the run that the same order left unfinished. What was paid is kept by then, whatever is thrown.
 * @throws CliError exit 10 (`quote_changed`) where a quotation no longer holds
 */
export async function buy(what: Order | Quotation, world: World, events: Events = {}): Promise<PurchaseResult> {
  const order = "quote" in what ? what.order : what;
  const agreed = "quote" in what ? agreedTo(what, world) : {};
  return await purchase(order, world, events, async (whole, deps) => {
    const bought = await buyExport(whole.target, { ...optionsOf(whole), ...agreed }, deps);
    if (bought.quote.matches === 0) await tellWhy(whole, 0, world, events);
    return bought;
  });
}

function agreedTo({ order, quote: agreed, offer, madeAt }: Quotation, { now }: World): Partial<ExportOptions> {
  // What is agreed to is the cap: one beside it would not count what an earlier run holds.
  const bound = { agreed, maxCredits: order.maxCredits };
  return now() - madeAt < YOUNG_MS ? { ...bound, offer } : bound;
}

/**
 * Goes on with a run: target, output, format and fields are its own, and so are bounds where none are given.
 * Asks only where more would be spent than was agreed to for it. @throws CliError
 */
export async function resume(
  id: string,
  terms: Omit<Order, "target">,
  world: World,
  events: Events = {},
): Promise<PurchaseResult> {
  const { target } = await new RunStore(world.stateDir, world.disk).readPlan(id);
  return await purchase({ ...terms, target }, world, events, (whole, deps) => resumeExport(id, optionsOf(whole), deps));
}

/** Hands an order to the engine with all that it needs. */
async function purchase<T>(
  order: Order,
  world: World,
  events: Events,
  work: (order: Order, deps: ExportDeps) => Promise<T>,
): Promise<T> {
  const silent = (): void => undefined;
  const { agree = refuse, notice = silent, warning = silent, start, progress } = events;
  const { looking, tellOwned, rows = nowhere(), table } = order;
  let close = silent;
  try {
    const target = await withListedValues(order.target, world, notice);
    let deps: ExportDeps = {
      ...world,
      stdout: rows,
      table,
      consent: async (quoted, resuming) => {
        if (!resuming) await tellWhy(order, quoted.matches, world, events);
        await agree(quoted, resuming);
      },
      mapError: (error) => mapError(error, world.seller.site),
      onNotice: notice,
      onWarning: warning,
      onStart: start,
      onProgress: progress,
    };
    if (isNarrowed(target) || (tellOwned === true && target.kind === "search" && target.sample === undefined)) {
      const { ownershipOf } = await import("../own/ownership.ts");
      const ownership = ownershipOf(target, { maxCalls: 5_000, callsPerCredit: 5, ...looking }, deps);
      deps = { ...deps, ownership: ownership.open };
      close = ownership.close;
    }
    const result = await work({ ...order, target }, deps);
    return result;
  } catch (error) {
    throw await explained(error, order, world, events);
  } finally {
    close();
  }
}

async function refuse({ credits }: Quote): Promise<void> {
  const message = `this costs ${creditsText(credits)}, and nobody agreed to it; nothing was spent`;
  throw usageError(message, undefined, "consent_needed");
}
