import type { AccountView } from "../../engine/client/types.ts";
import { kindOf } from "../../engine/output/distinct.ts";
import { savedForm } from "../../engine/output/formats.ts";
import { checkSink } from "../../engine/output/sinks/sink.ts";
import type { Finished } from "../../engine/purchase/deliver.ts";
import { beginsAnew, beyondCursor, staleRun } from "../../engine/purchase/failures.ts";
import { fulfil } from "../../engine/purchase/fulfil.ts";
import { endStale, inquire, stillOpen } from "../../engine/purchase/inquiry.ts";
import { alone, claimsOf, newPeople, openRun } from "../../engine/purchase/locks.ts";
import { checkSame } from "../../engine/purchase/offer.ts";
import type { ExportDeps, ExportOptions, Trade } from "../../engine/purchase/order.ts";
import { requireFree, withPlaces } from "../../engine/purchase/places.ts";
import { type Offer, type Quote, requireBudget } from "../../engine/purchase/quote.ts";
import { agree, begin, survey } from "../../engine/purchase/survey.ts";
import { accountOf } from "../../engine/purchase/world.ts";
import type { Plan, Target } from "../../engine/runs/plan.ts";
import type { Run } from "../../engine/runs/run.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { CliError } from "../../shared/errors.ts";

/** What an order would cost now, and what free calls told of it. */
export interface Priced {
  readonly quote: Quote;
  readonly account: AccountView;
  /** undefined: of a run, which keeps its own. */
  readonly offer: Offer | undefined;
  /** What is bought: of a segment that was asked for whole perhaps the new people alone. */
  readonly target: Target;
  /** The unfinished run that it goes on with. */
  readonly continues: string | undefined;
}

/** Prices an export by free calls alone. @throws CliError where it could not be bought */
export async function quoteExport(
  target: Target,
  draft: ExportOptions,
  deps: ExportDeps,
): Promise<Priced> {
  const options = await withPlaces(draft);
  const inquiry = await inquire(target, options, deps);
  const open = await stillOpen(inquiry, false);
  const rest = open && (await pricedRun(open.id, inquiry, false));
  const priced = { account: inquiry.account, offer: undefined, continues: open?.id };
  if (open && rest) return { ...priced, quote: rest, target: open.target };

  if (open === undefined) await requireFree(options);
  const { quote, offer, inquiry: base } = await survey(inquiry);
  requireBudget(quote, options.budgetLeft);
  return { ...priced, quote, offer, target: base.target, continues: undefined };
}

/** Prices what is left of a run, as it is. @throws CliError as {@link resumeExport} */
export async function quoteRun(id: string, draft: ExportOptions, deps: ExportDeps): Promise<Quote> {
  const { plan, look } = await saved(id, draft, deps);
  const { trade, moved } = await look();
  trade.store.requireOwn(plan);
  if (moved !== undefined) throw staleRun(id, moved, "incomplete", beginsAnew(plan));
  return await pricedRun(id, trade, true);
}

async function pricedRun(id: string, trade: Trade, isNamed: true): Promise<Quote>;
async function pricedRun(id: string, trade: Trade, isNamed: false): Promise<Quote | undefined>;
async function pricedRun(id: string, trade: Trade, isNamed: boolean): Promise<Quote | undefined> {
  const { quoteRest } = await import("../../engine/purchase/continue.ts");
  const run = await trade.store.open(id);
  const quote = await quoteRest(run, trade, isNamed);
  if (quote !== undefined) requireBudget(quote, trade.options.budgetLeft, run.state.spent);
  return quote;
}

/**
 * Buys an export, or continues what the same command left unfinished. What was paid is kept.
 * @throws CliError
 */
export async function buyExport(
  target: Target,
  draft: ExportOptions,
  deps: ExportDeps,
): Promise<Finished> {
  const options = await withPlaces(draft);
  return await alone(claimsOf(target, options, deps), deps, async () => {
    const inquiry = await inquire(target, options, deps);
    const open = await stillOpen(inquiry, true);
    const bought = open && (await continueRun(await openRun(open.id, inquiry), inquiry, false));
    if (bought !== undefined) return bought;
    await requireFree(options);
    const result = await survey(inquiry);
    await agree(result, inquiry.target);
    const { run, quote } = await begin(result);
    return await fulfilled(run, quote, inquiry);
  });
}

/**
 * Buys what a quote says. Where the cursor that leads on is gone those who came are owned, and the
 * others are bought as new people are, within what the cap leaves: the run is one for both then.
 */
async function fulfilled(run: Run, quote: Quote, trade: Trade): Promise<Finished> {
  try {
    return await fulfil(run, quote, trade);
  } catch (error) {
    const { options, deps } = trade;
    const rest = deps.ownership && beyondCursor(error, run, options.limit);
    if (rest === undefined) throw error;

    const { target, maxCredits, gone } = rest;
    const bounds = { ...options, maxCredits, agreed: undefined, offer: undefined };
    // It was agreed to when the run began.
    const agreed = { ...deps, consent: async () => undefined };
    deps.onNotice(`notice: ${gone.message}; the others are looked for by free counts`);

    return await alone([newPeople(deps, options.wait)], deps, async () => {
      const inquiry = await inquire(target, bounds, agreed);
      const others = await survey(inquiry).catch((why: unknown) => {
        throw why instanceof CliError
          ? gone.with({ details: [...gone.details, why.message] })
          : why;
      });
      await agree(others, run.plan.target);
      const anew = await begin(others);
      return await fulfil(anew.run, anew.quote, inquiry);
    });
  }
}

/**
 * Goes on with a run, and closes it whatever happens.
 * @param isNamed whether the run itself was asked for
 * @returns undefined where it is let go of, as the same search pays for fewer if it begins anew
 */
export async function continueRun(run: Run, trade: Trade, isNamed: true): Promise<Finished>;
export async function continueRun(
  run: Run,
  trade: Trade,
  isNamed: false,
): Promise<Finished | undefined>;
export async function continueRun(
  run: Run,
  trade: Trade,
  isNamed: boolean,
): Promise<Finished | undefined> {
  const { agreeToRest } = await import("../../engine/purchase/continue.ts");
  const agreed = await agreeToRest(run, trade, isNamed);
  if (agreed !== undefined) return await fulfilled(run, ...agreed);
  await endStale(run, "others bought whom it lacks", trade);
  trade.deps.onNotice(
    `notice: other runs bought whom run ${run.id} lacks: ` +
      "this begins anew, and buys new people alone",
  );
  return undefined;
}

/**
 * Output, format and fields are the run's own.
 * @throws CliError exit 5 where service or dataset are not
 */
export async function resumeExport(
  id: string,
  draft: ExportOptions,
  deps: ExportDeps,
): Promise<Finished> {
  const { plan, options, look } = await saved(id, draft, deps);
  return await alone(claimsOf(plan.target, options, deps), deps, async () => {
    const { trade, moved } = await look();
    const run = await openRun(id, trade);
    if (moved === undefined) return await continueRun(run, trade, true);
    await endStale(run, moved, trade);
    throw staleRun(id, moved, "incomplete", beginsAnew(plan));
  });
}

/** A run as it was ordered, and how its service is now. */
async function saved(id: string, draft: ExportOptions, deps: ExportDeps) {
  const store = new RunStore(deps.stateDir, deps.disk);
  const plan = await store.readPlan(id);
  const options = await withPlaces(savedOptions(plan, draft));
  const look = async () => {
    await checkSink(options, kindOf({ plan }), deps.disk);
    const account = await accountOf(deps);
    const trade: Trade = { store, account, options, deps };
    return { trade, moved: await checkSame(plan, account, deps) };
  };
  return { plan, options, look };
}

function savedOptions({ view, guard, ...plan }: Plan, draft: ExportOptions): ExportOptions {
  return {
    ...draft,
    perPage: draft.perPage ?? plan.per_page ?? undefined,
    allowEmpty: draft.allowEmpty || guard?.allowEmpty === true,
    minRows: draft.minRows ?? guard?.minRows,
    maxShrink: draft.maxShrink ?? guard?.maxShrink,
    requireComplete: draft.requireComplete || guard?.requireComplete === true,
    output: plan.output ?? undefined,
    ...savedForm(view.format),
    fields: view.fields ?? undefined,
    excel: view.excel,
    raw: view.raw,
    fresh: false,
    onNewDataset: "fail",
    receipt: plan.receipt ?? undefined,
    misses: plan.misses ?? undefined,
  };
}
