// Tested by test/scene/ends.test.ts.
import { type Credits, credits, minCredits } from "../../shared/contract/money.ts";
import { CliError, EXIT } from "../../shared/errors.ts";
import type { JournalRecord } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { beginsAt } from "../runs/spend.ts";
import { ALL_BOUGHT, ending, endOf, isEmpty } from "./failures.ts";
import type { ExportOptions, Trade } from "./order.ts";
import { consentedCap, type Quote } from "./quote.ts";

/** Neither the cap nor what the budget has left is passed, by pages that bring more either. */
export function boundOf(
  { maxCredits, budgetLeft }: ExportOptions,
  { spent }: Run["state"],
): Credits | undefined {
  if (budgetLeft === undefined) return maxCredits;
  const ofBudget = credits(budgetLeft + spent);
  return minCredits(maxCredits ?? ofBudget, ofBudget);
}

/**
 * Writes down what this session may spend, before it spends anything.
 * @returns the cap, all told
 */
export async function openSession(
  run: Run,
  quote: Quote,
  { account, options, deps }: Trade,
): Promise<Credits> {
  const { maxCredits, limit = null, fresh, job, budget } = options;
  const cap = consentedCap(quote, run.state.session, boundOf(options, run.state));
  const session: JournalRecord = {
    t: "session",
    maxCredits: maxCredits ?? null,
    limit,
    cap,
    rows: quote.rowsIfNothingLost,
    again: fresh || undefined,
    job,
    budget,
    at: deps.now(),
  };
  await run.append(session, ...(await beginsAt(run, account)));
  deps.onStart?.({ run: run.id, kept: run.state.rows, rows: quote.rows, cap });

  return cap;
}

/**
 * Leaves a run as it is to be found again, or not at all where nothing came of it.
 * @returns what is to be thrown
 */
export async function leaveSession(
  run: Run,
  error: unknown,
  { store, deps }: Trade,
): Promise<unknown> {
  const interrupted = deps.interrupted.aborted;
  if (error instanceof CliError) {
    const { code, message: why } = error;
    // Nothing is left to buy: the next such command begins
    // anew, and is not held up by this one for ever.
    if (ALL_BOUGHT.has(code) && run.state.rows > 0)
      await store.finish(run, deps.now(), why).catch(() => undefined);
    const how = interrupted ? undefined : endOf(error, run);
    if (how !== undefined)
      await store.end(run, { how, why, at: deps.now() }).catch(() => undefined);
  }

  const ended = ending(interrupted ? error : deps.mapError(error), run, interrupted);
  if (ended instanceof CliError && ended.exitCode === EXIT.pipeClosed && ended.details.length > 0) {
    deps.onWarning(
      `${ended.message}: ${ended.details.join("; ")}; ` +
        `headcount runs export ${run.id} writes them at 0 credits`,
    );
  }

  const isNothing = isEmpty(run.state);
  await run.close().catch(() => undefined);
  if (isNothing) await store.remove(run, deps).catch(() => undefined);

  return ended;
}
