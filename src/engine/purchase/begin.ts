import { pagingName } from "../client/types.ts";
import { savedView } from "../output/sinks/sink.ts";
import { creditText } from "../runs/journal.ts";
import type { Plan } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { NewPlan } from "../runs/run-store.ts";
import { lockOptions } from "./locks.ts";
import { quoteFor } from "./offer.ts";
import { isNarrowed, mostRows, partsToBuy } from "./owned.ts";
import type { Quote } from "./quote.ts";
import type { Survey } from "./survey.ts";
import { takeOver } from "./take-over.ts";

type Division = Pick<Plan, "matches" | "counts" | "parts" | "overlap" | "unreached" | "draw">;

/** Divides what was agreed to, and makes the run that is to buy it. @returns with the quote that its parts make */
export async function begin(survey: Survey): Promise<{ run: Run; quote: Quote }> {
  const { inquiry, quote, offer, sample, owned } = survey;
  const { target, options, deps, store } = inquiry;
  const parts = divisionIn(owned.reuse?.plan) ?? sample ?? (await partsToBuy(target, offer, quote, deps));
  const division = { matches: isNarrowed(target) ? mostRows(quote.known) : offer.matches, ...parts };
  const plan = planOf(survey, division);
  const run = await store.create(plan, deps.now(), lockOptions("the new run", options.wait, deps));
  if (options.join !== undefined) await run.keepInput(options.join.text);
  await takeOver(run, owned.pages(), deps.now);
  if (!isNarrowed(target)) return { run, quote };
  return { run, quote: { ...quoteFor(target, division.matches, inquiry), known: quote.known } };
}

/** Of which parts a run is: offsets are within them. */
function divisionIn(plan: Plan | undefined): Omit<Division, "matches"> | undefined {
  if (plan === undefined) return undefined;
  const keys = ["parts", "counts", "unreached", "overlap", "draw"] as const;
  return Object.fromEntries(keys.flatMap((key) => (plan[key] === undefined ? [] : [[key, plan[key]]])));
}

function planOf({ quote, offer, inquiry: { identity, options, deps } }: Survey, parts: Division): NewPlan {
  const { dialect } = deps.seller.client;
  return {
    command: identity.target.kind,
    ...identity,
    dataset_version: offer.datasetVersion,
    unit_price: creditText(quote.unitPrice),
    ...parts,
    paging: dialect.paging,
    ...(pagingName(dialect) === "page0" ? { first_page: 0 as const } : {}),
    view: savedView(options),
    per_page: options.perPage ?? null,
    overwrite: options.overwrite,
    few: {
      allow_empty: options.allowEmpty,
      min_rows: options.minRows ?? null,
      max_shrink: options.maxShrink ?? null,
    },
    misses: options.misses ?? null,
    receipt: options.receipt ?? null,
  };
}
