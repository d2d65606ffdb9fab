// Tested by test/cli/search.test.ts.
import type { Credits } from "../../shared/contract/money.ts";
import { Distinct, kindOf } from "../output/distinct.ts";
import type { Output, Rendering } from "../output/formats.ts";
import { registerIn } from "../output/register.ts";
import { openSink } from "../output/sinks/sink.ts";
import { pendingUnits } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { Buyer, type BuyerOptions } from "./buyer.ts";
import { type Delivery, deliver, type Finished } from "./deliver.ts";
import { aboveCap } from "./failures.ts";
import { isPriceKnown, keepsKeys, perPageOf, perPageTold, WHOLE_PAGE } from "./offer.ts";
import type { ExportDeps, ExportOptions, Trade } from "./order.ts";
import { narrowing, ownedOutput, ownershipFor } from "./owned.ts";
import type { Quote } from "./quote.ts";
import { firstPageUntold, missingFirstPage } from "./receipt.ts";
import type { Doubled } from "./remaining.ts";
import { boundOf, leaveSession, openSession } from "./session.ts";
import { sourceOf } from "./source.ts";

/** Buys what a quote says and writes it. Closes the run whatever happens. */
export async function fulfil(run: Run, quote: Quote, trade: Trade): Promise<Finished> {
  const { store, options, deps } = trade;

  let written: Output | undefined;
  try {
    const isContinued = run.state.session !== undefined;
    const ownership = await ownershipFor(run, quote, trade);
    const opened = await openOutput(run, options, deps);
    const owned = ownership && ownedOutput(opened, run, ownership);
    const sink = owned?.output ?? opened;
    written = sink;

    const cap = await openSession(run, quote, trade);
    const most = Math.min(quote.rows, quote.matches === null ? 50_000 : 1_000_000);
    const distinct = new Distinct(kindOf(run), most, run.suppression);
    const outcome = await buyPages({ run, quote, sink, distinct }, cap, trade);
    const narrowed = await narrowing(run, quote, owned, ownership);
    if (narrowed?.shortfall === null) await owned?.writeOwned(distinct, deps.now);

    const whole = {
      run,
      quote: { ...quote, floor: run.state.books.floor },
      distinct,
      outcome,
      sink,
      narrowed,
      again: owned?.paidAgain(),
    };
    const { receipt, misses, failure } = await deliver(whole, options, isContinued, deps);

    written = undefined;
    await store.finish(run, deps.now(), failure?.message);
    await run.close();

    return { receipt, quote: whole.quote, run: run.id, balance: outcome.balance, misses, failure };
  } catch (error) {
    await written?.abort().catch(() => undefined);
    throw await leaveSession(run, error, trade);
  }
}

async function buyPages(
  whole: Pick<Delivery, "run" | "quote" | "sink" | "distinct">,
  cap: Credits,
  trade: Trade,
): Promise<Doubled> {
  const { run, quote, distinct } = whole;
  const { options, account, deps } = trade;
  const { target, dataset_version: datasetVersion, draw } = run.plan;
  const priceKnown = isPriceKnown(target, account);
  const source = sourceOf(run, deps.seller.client, quote);
  const tally = tallyOf(whole);

  const buyer = new Buyer({
    ...deps,
    ...deps.seller,
    run,
    cap,
    datasetVersion,
    source,
    price: quote.unitPrice,
    parcel: quote.parcel,
    priceKnown,
    maxCredits: boundOf(options, run.state),
    // A row may turn out to be cheaper than it was thought to be: then the cap buys more of them.
    maxRows: priceKnown ? quote.rowsIfNothingLost : quote.rowsUncapped,
    perPage: draw === undefined ? perPageOf(options, account, deps) : WHOLE_PAGE,
    perPageTold: perPageTold(account, deps) !== undefined,
    concurrency: options.concurrency,
    honoursKeys: keepsKeys(account, datasetVersion),
    balance: account.balance,
    commit: tally.commit,

    divide: async (wall) => (await import("./divided.ts")).divideRest(run, wall, deps),

    // Parts that nothing takes apart have pages in common, which is no failure of the service.
    enough: () => {
      // A run that is divided at a wall has another plan from then on.
      const { overlap, spans } = run.plan;
      if (target.kind !== "search" || overlap !== undefined) return false;
      // Another order within a part would sell again whoever came before it was divided.
      return distinct.repeatedPages > 0 || (spans !== undefined && distinct.duplicates > 0);
    },
  });
  const outcome = await buyer.buy();
  const above = aboveCap(run);
  if (above !== undefined) deps.onWarning(`warning: ${above}`);

  const doubles = source.doubles?.() ?? "";
  if (doubles !== "")
    deps.onNotice(`notice: named more than once, and the rest of it bought once: ${doubles}`);

  const missing = await missingOf(run, outcome, tally.addresses, trade);
  return { ...outcome, missing, ...tally.sums() };
}

/** Hands pages on to the output, and counts who came twice and who was forgotten since. */
function tallyOf({ run, sink, distinct }: Pick<Delivery, "run" | "sink" | "distinct">) {
  const isStaff = run.plan.target.kind === "employees";
  // A person may work for two companies: what matters is who comes twice of the same one.
  let within = new Distinct(kindOf(run), 1_000);
  let [company, doubled, forgotten] = [0, 0, 0];
  const addresses = new Map<number, string | undefined>();

  const commit: BuyerOptions["commit"] = async (page, { intent, settled }) => {
    forgotten += (settled?.rows ?? 0) - page.length;
    if (isStaff) {
      if (intent.target !== company) within = new Distinct(kindOf(run), 1_000);
      company = intent.target;
      if (page.length > 0) addresses.set(company, page.identity(0, ["company_network_url"]));
      doubled += page.length - within.take(page).length;
    }
    return sink.write(distinct.take(page));
  };

  const isSearch = run.plan.target.kind === "search";
  const sums = () => ({ forgotten, doubled: isSearch ? distinct.duplicates : doubled });
  return { addresses, commit, sums };
}

/** What the service left out, with a first page that nobody asked for. */
async function missingOf(
  run: Run,
  { missing, ended }: Awaited<ReturnType<Buyer["buy"]>>,
  addresses: ReadonlyMap<number, string | undefined>,
  { options, deps }: Trade,
): Promise<Doubled["missing"]> {
  const { untold } = missing;
  const count = (filters: { readonly company_network_url: string }) =>
    deps.seller.client.count(filters, deps.interrupted);
  const first = ended === "all" ? await missingFirstPage(run, untold, addresses, count) : 0;
  const isOpen = first === undefined;
  if (isOpen && !options.requireComplete) deps.onWarning(`warning: ${firstPageUntold(run)}`);

  // The service did not leave out what it was not asked for again.
  const lacking = pendingUnits(run.state).length > 0 ? 0 : missing.rows;
  return { ...missing, rows: lacking + (first ?? 0), untold: isOpen ? untold : [] };
}

async function openOutput(run: Run, options: ExportOptions, deps: ExportDeps): Promise<Output> {
  const { format, packing, fields, excel, raw, output } = options;
  const { disk, interrupted, now, stateDir, stdout: stream } = deps;
  const place = { name: run.id, by: run.id, disk, register: registerIn(stateDir, disk, now) };
  const table = format === "table" ? await deps.table?.() : undefined;
  const rendering = { format, packing, kind: kindOf(run), fields, excel, raw, table };
  const open = (view: Rendering): Promise<Output> =>
    openSink({ output, stream, rendering: view, guard: options, place, interrupted });
  if (options.join === undefined) return open(rendering);
  const { JoinOutput } = await import("../output/join.ts");
  return new JoinOutput(run, { join: options.join, rendering, open });
}
