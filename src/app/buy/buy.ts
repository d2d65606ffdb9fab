import type { AccountView } from "../../engine/client/types.ts";
import type { ExportDeps, ExportOptions, Offer } from "../../engine/purchase/order.ts";
import { isNarrowed } from "../../engine/purchase/owned.ts";
import { type Finished, resumeExport, runExport } from "../../engine/purchase/purchase.ts";
import type { Quote } from "../../engine/purchase/quote.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { creditsText } from "../../shared/contract/money.ts";
import { usageError } from "../../shared/errors.ts";
import { mapError } from "../failures.ts";
import { type Events, nowhere, type Order, optionsOf, type World } from "./order.ts";

/** What was paid and written: the receipt, the quote it was bought by, the run that keeps it. */
export type Purchase = Finished;

/** A priced order: what it would cost when it was asked for, and what free calls told then. */
export interface Quotation {
  readonly order: Order;
  readonly quote: Quote;
  readonly account: AccountView;
  readonly offer: Offer;
  /** The unfinished run that it goes on with. */
  readonly continues: string | undefined;
  readonly madeAt: number;
}

/** Younger than this a quotation is bought without asking account and counts again: what pages tell is held against it all the same. */
const YOUNG_MS = 60_000;

/** Prices an order by free calls alone. @throws CliError */
export async function quote(order: Order, world: World, events: Events = {}): Promise<Quotation> {
  return await withDeps(order, world, events, async (deps) => {
    const result = await runExport(order.target, { ...optionsOf(order), dryRun: true }, deps);
    if (result.kind !== "quoted") throw new TypeError("bought where a quote was asked for");
    const { kind, ...told } = result;
    return { order, ...told, madeAt: world.now() };
  });
}

/**
 * Buys an order, or exactly what a quotation says: whoever hands one in has agreed to it.
 * Goes on with the run that the same order left unfinished. What was paid is kept by then, whatever is thrown.
 * @throws CliError exit 10 (`quote_changed`) where a quotation no longer holds
 */
export async function buy(what: Order | Quotation, world: World, events: Events = {}): Promise<Purchase> {
  const order = "quote" in what ? what.order : what;
  const options = "quote" in what ? quoted(what, world) : optionsOf(order);
  return await withDeps(order, world, events, async (deps) => {
    const result = await runExport(order.target, options, deps);
    if (result.kind === "quoted") throw new TypeError("quoted and not bought");
    return result;
  });
}

function quoted({ order, quote: agreed, account, offer, madeAt }: Quotation, { now }: World): ExportOptions {
  const options = { ...optionsOf(order), agreed, maxCredits: order.maxCredits ?? agreed.total };
  return now() - madeAt < YOUNG_MS ? { ...options, account, offer } : options;
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
): Promise<Purchase> {
  const { target } = await new RunStore(world.stateDir, world.disk).readPlan(id);
  const order = { ...terms, target };
  return await withDeps(order, world, events, (deps) => resumeExport(id, optionsOf(order), deps));
}

async function withDeps<T>(
  order: Order,
  world: World,
  events: Events,
  work: (deps: ExportDeps) => Promise<T>,
): Promise<T> {
  const { target, looking, tellOwned, rows = nowhere(), table } = order;
  const silent = (): void => undefined;
  const deps: ExportDeps = {
    ...world,
    stdout: rows,
    table,
    consent: events.agree ?? refused,
    mapError: (error) => mapError(error, world.seller.site),
    onNotice: events.notice ?? silent,
    onWarning: events.warning ?? silent,
    onStart: events.start,
    onProgress: events.progress,
  };
  const isWhole = target.kind === "search" && target.sample === undefined;
  if (!isNarrowed(target) && !(isWhole && tellOwned === true)) return await work(deps);
  const { ownershipOf } = await import("../own/ownership.ts");
  const { open, close } = ownershipOf(target, { maxCalls: 5_000, callsPerCredit: 5, ...looking }, deps);
  try {
    return await work({ ...deps, ownership: open });
  } finally {
    close();
  }
}

async function refused({ credits }: Quote): Promise<void> {
  throw usageError(
    `this costs ${creditsText(credits)}, and nobody agreed to it; nothing was spent`,
    undefined,
    "consent_needed",
  );
}
