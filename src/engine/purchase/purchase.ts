import { type Credits, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { CliError, EXIT, usageError } from "../../shared/errors.ts";
import type { AccountView } from "../client/types.ts";
import { Distinct, kindOf } from "../output/distinct.ts";
import { savedForm } from "../output/formats.ts";
import { checkOutput, exists, type Output, sha256Of } from "../output/output.ts";
import { checkRows, type Guard, TOO_FEW } from "../output/publish.ts";
import { checkRoom, checkSink, placeOf } from "../output/sinks/sink.ts";
import { creditsOf, creditText, emptyState, KEY_LIFE_MS, pendingUnits } from "../runs/journal.ts";
import type { Lock } from "../runs/lock.ts";
import type { Plan, Target } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import { RunStore } from "../runs/run-store.ts";
import { Buyer } from "./buyer.ts";
import { deliver, type Finished } from "./deliver.ts";
import { earlierRun } from "./earlier.ts";
import { ending, fileExists, NEW_UNREACHED, staleRun } from "./failures.ts";
import { missingFirstPage } from "./first-page.ts";
import { lockNewPeople, lockOptions, lockOutput } from "./locks.ts";
import { planOf } from "./new-plan.ts";
import { checkSame, identityOf, isPriceKnown, offerOf, perPageOf, quoteFor, spentOf, termsOf } from "./offer.ts";
import { openOutput } from "./open-output.ts";
import type { Doubled, ExportDeps, ExportOptions, Offer } from "./order.ts";
import { isNarrowed, mostRows, narrowing, OwnedOutput, partsToBuy, rowsWritten } from "./owned.ts";
import { ownedCompanies, takeOver } from "./owned-companies.ts";
import { consentedCap, overlapWarning, type Quote, requireBalance, requireBudget, requireSame } from "./quote.ts";
import type { Receipt } from "./receipt.ts";
import { drawn as draw, drawnOf, isSampled } from "./sampling.ts";
import { sourceOf } from "./source.ts";
import { withoutSuppressed } from "./unnamed.ts";

export type { Finished } from "./deliver.ts";
export type { ExportDeps, ExportOptions, Seller } from "./order.ts";
export { quoteJson } from "./quote.ts";

export type ExportResult =
  | {
      readonly kind: "quoted";
      readonly quote: Quote;
      readonly account: AccountView;
      readonly offer: Offer;
      /** The unfinished run that it goes on with. */
      readonly continues: string | undefined;
    }
  | Finished;

/** Buys an export, or continues what the same command left unfinished (docs/runs.md). What was paid is kept by then. @throws CliError */
export async function runExport(asked: Target, options: ExportOptions, deps: ExportDeps): Promise<ExportResult> {
  const output = await placeOf(options.output);
  await checkBeside(options, output);
  const outputLock = output === undefined || options.dryRun ? undefined : await lockOutput(output, options.wait, deps);
  let ownedLock: Lock | undefined;
  try {
    const { seller } = deps;
    ownedLock = options.dryRun ? undefined : await lockOwned(asked, options.wait, deps);
    await checkSink({ ...options, output }, kindOf({ plan: { command: asked.kind } }), deps.disk);
    const store = new RunStore(deps.stateDir, deps.disk);
    const target = withoutSuppressed(asked, await store.suppression(), deps.onNotice);
    const account = options.account ?? (await seller.client.account(deps.interrupted));
    const identity = identityOf(target, output ?? null, account, seller);
    const open = options.fresh
      ? undefined
      : await stillOpen(await store.findOpen(identity), store, options, account, deps);
    if (open !== undefined && !options.dryRun) {
      const run = await store.openForWriting(open.id, lockOptions(`run ${open.id}`, options.wait, deps));
      return await continueRun(run, store, { ...options, output }, account, deps, false);
    }
    if (!options.overwrite && open === undefined) {
      for (const path of [output, options.receipt, options.misses]) {
        if (path !== undefined && (await exists(path))) throw fileExists(path);
      }
    }
    const found = options.offer ?? (await offerOf(target, account, deps));
    const { datasetVersion } = found;
    const known = await (await deps.ownership?.(account))?.look(found.matches ?? 0);
    const matches = isNarrowed(target) ? mostRows(known) : found.matches;
    const owned = open === undefined ? await ownedCompanies(store, identity, datasetVersion, options, deps) : new Map();
    const spent = spentOf(
      open === undefined ? { ...emptyState(), rows: owned.size, owned: owned.size } : (await store.open(open.id)).state,
    );
    const terms = termsOf(target, options, account, deps);
    const made = open === undefined && isSampled(target) ? await draw(target, found, terms, deps) : undefined;
    const quoted = quoteFor(target, matches, account, options, deps, spent, drawnOf(open ?? made ?? {}));
    const isAnew = quoted.credits > 0n && options.offer === undefined;
    const reuse = isAnew ? await earlierRun(store, identity, datasetVersion, quoted) : undefined;
    const quote = { ...quoted, overlap: found.overlap ?? 0, known, reuse, datasetVersion };
    const rows = options.join?.rows.length ?? rowsWritten(target, quote);
    await checkRoom(options, rows);
    if (options.dryRun) return { kind: "quoted", quote, account, offer: found, continues: open?.id };
    if (options.agreed !== undefined) requireSame(options.agreed, quote);
    requireBalance(quote, target);
    requireBudget(quote, options);
    await checkRows(rows, output, options, "; nothing was spent");
    if (reuse !== undefined) deps.onNotice(`notice: ${reuse.text}`);
    if (quote.overlap > 0) deps.onWarning(overlapWarning(quote));
    if (quote.credits > 0n && options.agreed === undefined) await deps.consent(quote, false);
    const division = { matches, ...(made ?? (await partsToBuy(target, found, quote, account, deps))) };
    const plan = planOf(identity, division, { quote, datasetVersion, options, deps });
    const agreed = isNarrowed(target)
      ? { ...quoteFor(target, division.matches, account, options, deps), known }
      : quote;
    const run = await store.create(plan, deps.now(), lockOptions("the new run", options.wait, deps));
    if (options.join !== undefined) await run.keepInput(options.join.text);
    await takeOver(run, owned, deps.now);
    return await buyAndWrite(run, store, agreed, { ...options, output }, account, deps);
  } finally {
    await ownedLock?.release();
    await outputLock?.release();
  }
}

/** `headcount resume`: output, format and fields are the run's own. @throws CliError exit 5 where service or dataset are not */
export async function resumeExport(
  id: string,
  options: Pick<
    ExportOptions,
    "maxCredits" | "limit" | "perPage" | "concurrency" | "requireComplete" | "wait" | "join" | keyof Guard
  >,
  deps: ExportDeps,
): Promise<Finished> {
  const store = new RunStore(deps.stateDir, deps.disk);
  const plan = await store.readPlan(id);
  const output = await placeOf(plan.output ?? undefined);
  const outputLock = output === undefined ? undefined : await lockOutput(output, options.wait, deps);
  let ownedLock: Lock | undefined;
  try {
    ownedLock = await lockOwned(plan.target, options.wait, deps);
    const whole: ExportOptions = {
      ...options,
      perPage: options.perPage ?? plan.per_page ?? undefined,
      allowEmpty: options.allowEmpty || plan.few?.allow_empty === true,
      minRows: options.minRows ?? plan.few?.min_rows ?? undefined,
      maxShrink: options.maxShrink ?? plan.few?.max_shrink ?? undefined,
      output,
      ...savedForm(plan.view.format),
      fields: plan.view.fields ?? undefined,
      excel: plan.view.excel,
      raw: plan.view.raw,
      template: plan.view.template,
      dryRun: false,
      fresh: false,
      onNewDataset: "fail",
      receipt: plan.receipt ?? undefined,
      misses: plan.misses ?? undefined,
    };
    await checkSink(whole, kindOf({ plan }), deps.disk);
    const account = await deps.seller.client.account(deps.interrupted);
    const moved = await checkSame(plan, account, deps);
    const run = await store.openForWriting(id, lockOptions(`run ${id}`, options.wait, deps));
    if (moved !== undefined) {
      await endStale(run, store, moved, deps);
      throw staleRun(id, moved, "incomplete", "the same command begins anew");
    }
    return await continueRun(run, store, whole, account, deps, true);
  } finally {
    await ownedLock?.release();
    await outputLock?.release();
  }
}

/** The run that the same command continues; one whose dataset is gone is let go of. @throws CliError exit 10 as asked */
export async function stillOpen(
  open: Plan | undefined,
  store: RunStore,
  { onNewDataset, dryRun, wait }: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
): Promise<Plan | undefined> {
  const moved = open === undefined ? undefined : await checkSame(open, account, deps);
  if (open === undefined || moved === undefined) return open;
  if (onNewDataset === "fail") throw staleRun(open.id, moved, "declined", "--fresh begins anew");
  if (dryRun) return undefined;
  const run = await store.openForWriting(open.id, lockOptions(`run ${open.id}`, wait, deps));
  const { rows } = run.state;
  await endStale(run, store, moved, deps);
  deps.onWarning(
    `warning: ${moved}: run ${open.id} is stale, and this begins anew; headcount runs export ${open.id} writes the ${counted(rows, "row")} that it holds at 0 credits`,
  );
  return undefined;
}

export async function endStale(run: Run, store: RunStore, why: string, { now }: ExportDeps): Promise<void> {
  try {
    await store.end(run, "stale", why, now());
  } finally {
    await run.close();
  }
}

/** @param inherit whether limit and cap of the session before hold on where none are given */
export async function continueRun(
  run: Run,
  store: RunStore,
  options: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
  inherit: boolean,
): Promise<Finished> {
  const { plan, state } = run;
  try {
    const { output } = options;
    await takeOver(run, await ownedCompanies(store, plan, plan.dataset_version, options, deps), deps.now);
    const mayReplace = options.overwrite || plan.overwrite === true;
    const ownOutput = output !== undefined && (await isOwnOutput(run, output));
    if (output !== undefined && !mayReplace && !ownOutput && (await exists(output))) throw fileExists(output);
    for (const path of [options.receipt, options.misses]) {
      const own = path === plan.receipt || path === plan.misses;
      if (path !== undefined && !mayReplace && !own && (await exists(path))) throw fileExists(path);
    }
    const before = state.session;
    const earlier = inherit ? before : undefined;
    const limit = options.limit ?? earlier?.limit ?? undefined;
    const maxCredits = options.maxCredits ?? (earlier?.maxCredits == null ? undefined : creditsOf(earlier.maxCredits));
    const bounds = { ...options, limit, maxCredits };
    const quoted = quoteFor(plan.target, plan.matches, account, bounds, deps, spentOf(state), drawnOf(plan));
    const quote = { ...quoted, datasetVersion: plan.dataset_version };
    if (options.agreed !== undefined) requireSame(options.agreed, quote);
    requireBalance(quote, plan.target);
    requireBudget(quote, { ...options, maxCredits });
    const rows = options.join?.rows.length ?? quote.rows;
    await checkRows(rows, output, options, "; nothing more was spent");
    // Whoever names the run agrees to what was agreed to for it. The same command asks again: consent is no run's, it is given each time.
    const consented =
      options.agreed !== undefined || (inherit && consentedCap(quote, state, maxCredits) <= creditsOf(before?.cap));
    const rest = quote.rows - quote.kept;
    const toBuy =
      rest > 0 ? `${grouped(rest)} to buy for ${formatCreditsGrouped(quote.credits)} credits` : "nothing to buy";
    deps.onNotice(
      `continuing run ${run.id}: ${quote.kept === 1 ? "1 row is" : `${grouped(quote.kept)} rows are`} kept and not bought again, ${toBuy}${inherit ? "" : " (--fresh begins anew)"}`,
    );
    if (!consented && quote.credits > 0n) await deps.consent(quote, true);
    const overwrite = mayReplace || ownOutput;
    return await buyAndWrite(run, store, quote, { ...options, limit, maxCredits, overwrite }, account, deps);
  } catch (error) {
    await run.close().catch(() => undefined);
    throw error;
  }
}

/** Refuses names that could not be written, or would be written twice. @throws CliError exit 2 */
async function checkBeside({ receipt, misses }: ExportOptions, output: string | undefined): Promise<void> {
  const taken = new Map<string, string>(output === undefined ? [] : [[output, "--output"]]);
  for (const [option, path] of Object.entries({ "--receipt": receipt, "--misses": misses })) {
    if (path === undefined) continue;
    const real = await checkOutput(path);
    const other = taken.get(real);
    if (other !== undefined)
      throw usageError(`${other} and ${option} name the same file`, "give each a name of its own");
    taken.set(real, option);
  }
}

async function isOwnOutput(run: Run, output: string): Promise<boolean> {
  const receipt = (await run.receipt()) as Partial<Receipt> | undefined;
  const expected = receipt?.output?.sha256;
  return typeof expected === "string" && expected === (await sha256Of(output));
}

/** Failures after which nobody is to go on with a run by itself. */
const ENDS: Readonly<Record<string, "stale" | "closed">> = { dataset_moved: "stale", pipe_closed: "closed" };

/** Buys what the quote says and writes it. Closes the run whatever happens. */
async function buyAndWrite(
  run: Run,
  store: RunStore,
  quote: Quote,
  options: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
): Promise<Finished> {
  let written: Output | undefined;
  try {
    const continued = run.state.session !== undefined;
    const ownership = isNarrowed(run.plan.target) ? await deps.ownership?.(account) : undefined;
    const opened = await openOutput(run, options, deps);
    const sink = ownership === undefined ? opened : new OwnedOutput(opened, run, ownership);
    written = sink;
    const cap = consentedCap(quote, run.state, options.maxCredits);
    await run.append({
      t: "session",
      maxCredits: options.maxCredits === undefined ? null : creditText(options.maxCredits),
      limit: options.limit ?? null,
      cap: creditText(cap),
      rows: quote.rows,
      ...(options.job === undefined ? {} : { job: options.job }),
      ...(options.budget === undefined ? {} : { budget: options.budget }),
      at: deps.now(),
    });
    deps.onStart?.({ run: run.id, kept: run.state.rows, rows: quote.rows, cap });
    const distinct = new Distinct(
      kindOf(run),
      Math.min(quote.rows, quote.matches === null ? 50_000 : 1_000_000),
      run.suppression,
    );
    const bought = await buy({ run, quote, cap, sink, distinct }, options, account, deps);
    const narrowed = await narrowing(run, quote, sink, ownership);
    const { receipt, misses } = await deliver(
      { run, quote, distinct, bought, sink, narrowed },
      options,
      continued,
      deps,
    );
    written = undefined;
    await store.finish(run, deps.now());
    await run.close();
    return { kind: "finished", receipt, quote, run: run.id, balance: bought.balance, misses };
  } catch (error) {
    await written?.abort().catch(() => undefined);
    // Nothing is left to buy: the next such command begins anew, and is not held up by this one for ever.
    const isOver = error instanceof CliError && (error.code === TOO_FEW || error.code === NEW_UNREACHED);
    if (isOver && run.state.rows > 0) {
      await store.finish(run, deps.now()).catch(() => undefined);
    }
    const interrupted = deps.interrupted.aborted;
    const how = interrupted || !(error instanceof CliError) ? undefined : ENDS[error.code];
    if (how !== undefined) await store.end(run, how, (error as CliError).message, deps.now()).catch(() => undefined);
    const ended = ending(interrupted ? error : deps.mapError(error), run, interrupted);
    if (ended instanceof CliError && ended.exitCode === EXIT.pipeClosed && ended.details.length > 0) {
      deps.onWarning(
        `${ended.message}: ${ended.details.join("; ")}; headcount runs export ${run.id} writes them at 0 credits`,
      );
    }
    const { rows, settled, uncertain } = run.state;
    await run.close().catch(() => undefined);
    if (rows === 0 && settled === 0n && uncertain === 0n && pendingUnits(run.state).length === 0) {
      await store.remove(run, deps).catch(() => undefined);
    }
    throw ended;
  }
}

interface Order {
  readonly run: Run;
  readonly quote: Quote;
  readonly cap: Credits;
  readonly sink: Output;
  readonly distinct: Distinct;
}

async function buy(
  { run, quote, cap, sink, distinct }: Order,
  options: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
): Promise<Doubled> {
  const { seller, now, sleep, random, interrupted, onProgress, onNotice } = deps;
  const { target, dataset_version: datasetVersion } = run.plan;
  const priceKnown = isPriceKnown(target, account) || run.state.rows > run.state.owned;
  // A person may work for two companies, and a list may name one twice: what matters is who comes twice of the same one.
  let within = new Distinct(kindOf(run), 1_000);
  let company = 0;
  let doubled = 0;
  const addresses = new Map<number, string | undefined>();
  const buyer = new Buyer({
    ...{ now, sleep, random, interrupted, onProgress, onNotice, run, cap, datasetVersion },
    client: seller.client,
    pacer: seller.pacer,
    maxWaitMs: seller.maxWaitMs,
    source: sourceOf(run.plan, seller.client, quote),
    price: quote.unitPrice,
    priceKnown,
    maxCredits: options.maxCredits,
    // A row may turn out to be cheaper than it was thought to be: then the cap buys more of them.
    maxRows: priceKnown ? quote.rows : quote.rowsUncapped,
    perPage: run.plan.draw === undefined ? perPageOf(options, account, deps) : PER_PAGE_MAX,
    concurrency: options.concurrency,
    // A gateway that leaves out the headers it does not know leaves out the keys as well, whatever the account behind it promises.
    honoursKeys: (account.idempotencyMs ?? 0) > KEY_LIFE_MS && datasetVersion !== null,
    balance: account.balance,
    commit: async (page, { intent }) => {
      if (target.kind === "employees") {
        if (intent.target !== company) within = new Distinct(kindOf(run), 1_000);
        company = intent.target;
        if (page.length > 0) addresses.set(company, page.identity(0, ["company_network_url"]));
        doubled += page.length - within.take(page).length;
      }
      return sink.write(distinct.take(page));
    },
    // Parts that nothing takes apart have pages in common, which is no failure of the service.
    enough: () => target.kind === "search" && run.plan.overlap === undefined && distinct.repeatedPages > 0,
  });
  const bought = await buyer.buy();
  const { untold, rows } = bought.missing;
  const looking = { run, untold, addresses, client: seller.client, signal: interrupted, onWarning: deps.onWarning };
  const first = bought.ended === "all" ? await missingFirstPage(looking) : 0;
  const missing = { ...bought.missing, rows: rows + first };
  return { ...bought, missing, doubled: target.kind === "search" ? distinct.duplicates : doubled };
}

const lockOwned = async (target: Target, wait: boolean, deps: ExportDeps): Promise<Lock | undefined> =>
  isNarrowed(target) ? lockNewPeople(wait, deps) : undefined;
