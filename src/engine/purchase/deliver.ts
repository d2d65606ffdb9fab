// Tested by test/cli/search.test.ts.
import type { Credits } from "../../shared/contract/money.ts";
import type { CliError } from "../../shared/errors.ts";
import { distinctPages } from "../output/distinct.ts";
import type { Output } from "../output/formats.ts";
import { naming } from "../output/publish.ts";
import { registerIn } from "../output/register.ts";
import { jsonText } from "../runs/disk.ts";
import { isForgiving } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import {
  companyNotFound,
  newUnreached,
  notComplete,
  nothingLookedUp,
  PAGE_TWICE,
} from "./failures.ts";
import type { ExportDeps, ExportOptions } from "./order.ts";
import { incomplete, unreadRows } from "./page-failures.ts";
import type { Quote } from "./quote.ts";
import {
  buildReceipt,
  firstPageUntold,
  pagesTwice,
  type Receipt,
  type ReceiptInput,
  shortOf,
} from "./receipt.ts";

/** What was paid and written: the receipt, the quote it was bought by, the run that keeps it. */
export interface Finished {
  readonly receipt: Receipt;
  readonly quote: Quote;
  readonly run: string;
  readonly balance: Credits | undefined;
  readonly misses: readonly string[];
  /** What was written has all but rows that cannot be read: exit 5. */
  readonly failure: CliError | undefined;
}

export interface Delivery extends Omit<ReceiptInput, "maxCredits" | "finishedAt"> {
  readonly sink: Output;
}

/**
 * Writes receipt, misses and output.
 * @throws CliError exit 5 where it fell short, 6 where its company is unknown
 */
export async function deliver(
  { sink, ...purchase }: Delivery,
  options: ExportOptions,
  /** Whether an earlier session of the run may have written the files beside the output. */
  continued: boolean,
  { disk, now, onNotice, stateDir }: ExportDeps,
): Promise<Pick<Finished, "receipt" | "misses" | "failure">> {
  const { outcome, narrowed, run } = purchase;
  requireSomebody(run);

  const input = { ...purchase, maxCredits: options.maxCredits, finishedAt: now() };
  const { shortfall, ...going } = shortOf(input);
  // Of what ends well a page without an answer is asked for again by no one but who wants more.
  if (shortfall === null) run.state.books.note({ t: "over" });
  const failure = run.state.unread > 0 ? await unreadRows(run) : undefined;
  const receipt = buildReceipt(input, shortfall ?? failure?.message ?? null);
  const mayReplace = options.overwrite || continued;
  const register = registerIn(stateDir, disk, now);

  const beside = async (
    path: string | undefined,
    what: "receipt" | "misses",
    text: string,
  ): Promise<void> => {
    if (path === undefined) return;
    await register.enter({ path, what, by: run.id, kind: null, format: null, sha256: [] });
    await naming(
      path,
      disk.replaceFile(path, text, what === "receipt" ? "receipt copy" : what, mayReplace),
    );
  };

  const copyReceipt = (copy: Receipt): Promise<void> =>
    beside(options.receipt, "receipt", jsonText(copy));

  if (shortfall !== null || (options.requireComplete && !receipt.complete)) {
    // What an earlier session wrote is the run's own still, and may be replaced by the next one.
    const before = (await run.receipt()) as Receipt | undefined;
    await run.writeReceipt({ ...receipt, output: before?.output ?? null });
    await copyReceipt(receipt);
    if (shortfall === null && failure !== undefined) throw failure;
    if (shortfall === null && outcome.missing.untold.length > 0)
      throw incomplete("incomplete", firstPageUntold(run));
    if (shortfall === null) throw notComplete(receipt, run, purchase.quote);

    const { others = [] } = narrowed ?? {};
    throw others.length > 0 && shortfall === narrowed?.shortfall
      ? newUnreached(shortfall, others)
      : incomplete(pagesTwice(purchase) > 0 ? PAGE_TWICE : "incomplete", shortfall, going);
  }

  const output = (await sink.prepare(() => distinctPages(run))) ?? null;
  for (const notice of sink.notices) onNotice(notice);

  const whole: Receipt = { ...receipt, output };
  // Before the file appears: a crash between the two leaves a file that the run knows as its own.
  await run.writeReceipt(whole);
  await sink.publish();

  const misses = missesOf(run);
  await beside(options.misses, "misses", misses.map((line) => `${line}\n`).join(""));
  await copyReceipt(whole);

  return { receipt: whole, misses, failure };
}

function missesOf({ plan: { target }, state }: Run): string[] {
  if (target.kind === "search") return [];
  const missed = [...state.units.values()].filter(({ settled }) => settled?.miss === true);
  return missed.map(({ intent }) => target.companies[intent.target]?.value ?? "");
}

/**
 * Where no company at all was looked up it is no matter of one of them.
 * @throws CliError exit 6 where its one company is unknown, 2 where all were refused
 */
function requireSomebody({ plan: { target }, state }: Run) {
  if (target.kind === "search" || state.rows > 0) return;
  const [company, another] = target.companies;
  if (company !== undefined && another === undefined && !isForgiving(target) && state.misses === 1)
    throw companyNotFound(company, state);

  const [reason, ...others] = [...state.units.values()].map(({ settled }) => settled?.refused);
  if (reason !== undefined && !others.includes(undefined)) throw nothingLookedUp(reason);
}
