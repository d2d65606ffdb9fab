import { pagingName } from "../client/types.ts";
import { savedView } from "../output/sinks/sink.ts";
import { creditText } from "../runs/journal.ts";
import type { Plan, RunIdentity } from "../runs/plan.ts";
import type { NewPlan } from "../runs/run-store.ts";
import type { ExportDeps, ExportOptions } from "./order.ts";
import type { Quote } from "./quote.ts";

/** The plan of a run that is about to begin. @param parts what is bought, where that is more than the target says */
export function planOf(
  identity: RunIdentity,
  parts: Pick<Plan, "matches" | "counts" | "parts" | "overlap" | "unreached" | "draw">,
  {
    quote,
    datasetVersion,
    options,
    deps: { seller },
  }: {
    readonly quote: Quote;
    readonly datasetVersion: string | null;
    readonly options: ExportOptions;
    readonly deps: Pick<ExportDeps, "seller">;
  },
): NewPlan {
  return {
    command: identity.target.kind,
    ...identity,
    dataset_version: datasetVersion,
    unit_price: creditText(quote.unitPrice),
    ...parts,
    paging: seller.client.dialect.paging,
    ...(pagingName(seller.client.dialect) === "page0" ? { first_page: 0 as const } : {}),
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
