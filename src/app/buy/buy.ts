import type { ExportDeps, ExportOptions } from "../../engine/purchase/order.ts";
import { isNarrowed } from "../../engine/purchase/owned.ts";
import type { Quote } from "../../engine/purchase/quote.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { creditsText } from "../../shared/contract/money.ts";
import { CliError, usageError } from "../../shared/errors.ts";
import { mapError } from "../failures.ts";
import { MAX_CALLS } from "../own/bounds.ts";
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

/** Younger than this a quotation is bought without counting again: the account tells price and dataset. */
const YOUNG_MS = 60_000;

/** Prices an order by free calls alone. @throws CliError */
export async function quote(order: Order, world: World, events: Events = {}): Promise<Quotation> {
  return await purchase(order, world, events, async (whole, deps) => {
    const priced = await quoteExport(whole.target, optionsOf(whole), deps);
    await tellWhy(whole, peopleIn(priced.quote), world, events);
    return { ...priced, order: { ...whole, target: priced.target }, madeAt: world.now() };
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
    if (peopleIn(bought.quote) === 0) await tellWhy(whole, 0, world, events);
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
  const { maxCalls, fresh = false, rows = nowhere(), table } = order;
  let close = silent;
  try {
    const target = await withListedValues(order.target, world, notice);
    let deps: ExportDeps = {
      ...world,
      stdout: rows,
      table,
      consent: async (quoted, resuming) => {
        if (!resuming) await tellWhy(order, peopleIn(quoted), world, events);
        await agree(quoted, resuming);
      },
      mapError: (error) => mapError(error, world.seller.site),
      onNotice: notice,
      onWarning: warning,
      onStart: start,
      onProgress: progress,
    };
    if (isNarrowed(target) || !fresh) {
      const { ownershipOf } = await import("../own/ownership.ts");
      const ownership = ownershipOf({ maxCalls: maxCalls ?? MAX_CALLS, again: fresh }, deps);
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

/** Of the segment: nobody new is not nobody. */
const peopleIn = ({ matches, known }: Quote): number | null => known?.total ?? matches;

async function refuse({ credits }: Quote): Promise<void> {
  const message = `this costs ${creditsText(credits)}, and nobody agreed to it; nothing was spent`;
  throw usageError(message, undefined, "consent_needed");
}

/** Why nobody matches, and which values match nobody. @param matches of the whole @throws CliError exit 5 (`strict`) */
async function tellWhy(
  { target, strict = false }: Order,
  matches: number | null | undefined,
  { seller, interrupted }: World,
  { hint }: Events,
): Promise<void> {
  if (target.kind !== "search" || (hint === undefined && !strict)) return;
  const { tellHints } = await import("../count/hints.ts");
  const { filters, staff, union: each = [filters] } = target;
  const union = staff === undefined ? each : [filters];
  const count = ((matches === 0 && union.length > 1) || staff !== undefined ? undefined : matches) ?? undefined;
  const segments = union.map((each) => ({ filters: each, count }));
  await tellHints(segments, { strict, session: seller, say: hint }, interrupted);
}

/** A failure with what helps: why nobody matches where an empty file was refused, a company whose name is near. */
async function explained(thrown: unknown, order: Order, world: World, events: Events): Promise<unknown> {
  const error = mapError(thrown, world.seller.site);
  if (!(error instanceof CliError)) return error;
  if (error.code === "too_few_rows") await tellWhy(order, undefined, world, events);
  const { target } = order;
  const [company] = error.code === "not_found" && target.kind !== "search" ? target.companies : [];
  if (company === undefined) return error;
  const { nearCompany } = await import("../count/hints.ts");
  const near = await nearCompany(company, world.seller, world.interrupted);
  const spelling = company.by === "name" ? "a name has to be the service's own; a domain or slug is surer" : error.hint;
  return error.with({ hint: near ?? spelling });
}
