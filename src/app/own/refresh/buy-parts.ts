import type { ExportDeps, ExportOptions } from "../../../engine/purchase/order.ts";
import type { Receipt } from "../../../engine/purchase/receipt.ts";
import type { Target } from "../../../engine/runs/plan.ts";
import type { Filters } from "../../../shared/contract/filters.ts";
import { type Credits, formatCredits, parseCredits, priceOf, ZERO } from "../../../shared/contract/money.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { CliError } from "../../../shared/errors.ts";
import { nowhere, optionsOf } from "../../buy/order.ts";
import { buyExport } from "../../buy/purchase.ts";

export interface NewParts {
  readonly parts: readonly Filters[];
  readonly counts: readonly number[];
  readonly datasetVersion: string | null;
}

export type PartsOptions = Pick<ExportOptions, "perPage" | "concurrency" | "wait" | "job" | "budgetLeft"> & {
  readonly maxCredits: Credits | undefined;
};

/** Rows go nowhere but into the run. */
export function withoutRows(deps: ExportDeps): ExportDeps {
  return { ...deps, stdout: nowhere(), consent: async () => undefined };
}

export const partsOptions = (target: Target, options: PartsOptions): ExportOptions =>
  optionsOf({ ...options, target, allowEmpty: true });

/** Buys without asking: that was done. @throws CliError; what was paid is kept */
export async function buyParts(
  target: Target,
  { parts, counts, datasetVersion }: NewParts,
  options: PartsOptions,
  deps: ExportDeps,
): Promise<Receipt> {
  const matches = counts.reduce((sum, count) => sum + count, 0);
  const offer = { matches, counts, parts, datasetVersion };
  const { receipt } = await buyExport(target, { ...partsOptions(target, options), offer }, withoutRows(deps));
  if (receipt.complete) return receipt;
  const { received, unit_cost: price } = receipt;
  throw new CliError({
    code: "incomplete",
    category: "incomplete",
    message: `a row costs ${price} credits, which the account did not tell: ${grouped(received)} of ${grouped(matches)} rows came for what was agreed to, and the list stays as it was`,
    hint: `the same command with a larger --max-credits buys the others: at least ${formatCredits(priceOf(matches - received, parseCredits(price) ?? ZERO))}`,
  });
}
