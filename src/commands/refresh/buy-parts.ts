import { Writable } from "node:stream";
import type { AccountView } from "../../client/types.ts";
import type { Filters } from "../../contract/filters.ts";
import { type Credits, credits, ZERO } from "../../contract/money.ts";
import { CliError } from "../../errors.ts";
import { lockOptions } from "../../purchase/locks.ts";
import { identityOf } from "../../purchase/offer.ts";
import type { ExportDeps, ExportOptions } from "../../purchase/order.ts";
import { continueRun, endStale, runExport, stillOpen } from "../../purchase/purchase.ts";
import type { Receipt } from "../../purchase/receipt.ts";
import type { Target } from "../../runs/plan.ts";
import { RunStore } from "../../runs/run-store.ts";

/** Parts of a segment that are bought for a list: nobody is in two of them. */
export interface Parts {
  readonly parts: readonly Filters[];
  readonly counts: readonly number[];
  readonly datasetVersion: string | null;
}

export type PartsOptions = Pick<ExportOptions, "perPage" | "concurrency" | "wait" | "job" | "budgetLeft"> & {
  readonly maxCredits: Credits | undefined;
};

/** Rows go nowhere but into the run: whoever buys parts writes what they are for from there. */
function withoutRows(deps: ExportDeps): ExportDeps {
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done() });
  return { ...deps, stdout, consent: async () => undefined };
}

const optionsOf = (options: PartsOptions): ExportOptions => ({
  ...options,
  output: undefined,
  format: "ndjson",
  fields: undefined,
  excel: false,
  raw: false,
  overwrite: false,
  allowEmpty: true,
  minRows: undefined,
  maxShrink: undefined,
  limit: undefined,
  dryRun: false,
  fresh: false,
  onNewDataset: "fresh",
  requireComplete: false,
  receipt: undefined,
  misses: undefined,
});

/** Buys parts into a run, without asking: that was done. @throws CliError as an export does; what was paid is kept */
export async function buyParts(
  target: Target,
  { parts, counts, datasetVersion }: Parts,
  options: PartsOptions,
  deps: ExportDeps,
): Promise<Receipt> {
  const matches = counts.reduce((sum, count) => sum + count, 0);
  const offer = { matches, counts, parts, datasetVersion };
  const result = await runExport("search", target, { ...optionsOf(options), offer }, withoutRows(deps));
  if (result.kind === "finished") return result.receipt;
  throw new TypeError("parts were quoted and not bought");
}

/** The people are no longer those that were counted. */
const FEWER = ["incomplete", "dataset_moved"];

/**
 * Buys what a run for the same list left unfinished: what is in flight under its keys, and the rest of its parts, which were agreed to.
 * Where the service has fewer people there by now the run is let go of; what it bought is kept.
 * @returns the run's id, and what it spent now; undefined where there is none
 */
export async function finishParts(
  target: Target,
  options: PartsOptions,
  account: AccountView,
  deps: ExportDeps,
): Promise<{ readonly run: string; readonly spent: Credits } | undefined> {
  const store = new RunStore(deps.stateDir, deps.disk);
  const found = await store.findOpen(identityOf(target, null, account, deps.seller));
  const all = optionsOf(options);
  const open = await stillOpen(found, store, all, account, deps);
  if (open === undefined) return found === undefined ? undefined : { run: found.id, spent: ZERO };
  const spent = async (): Promise<bigint> => {
    const { state } = await store.open(open.id);
    return state.settled + state.uncertain;
  };
  const before = await spent();
  const locked = lockOptions(`run ${open.id}`, options.wait, deps);
  try {
    const run = await store.openForWriting(open.id, locked);
    await continueRun(run, store, { ...all, maxCredits: undefined }, account, withoutRows(deps), true);
  } catch (error) {
    if (!(error instanceof CliError) || !FEWER.includes(error.code)) throw error;
    const run = await store.openForWriting(open.id, locked);
    if (run.state.done === undefined && run.state.ended === undefined) await endStale(run, store, error.message, deps);
    else await run.close();
  }
  return { run: open.id, spent: credits((await spent()) - before) };
}
