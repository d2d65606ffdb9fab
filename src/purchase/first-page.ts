import type { ServiceClient } from "../client/types.ts";
import type { Unit } from "../runs/journal.ts";
import type { Plan } from "../runs/plan.ts";

export interface Untold {
  readonly plan: Pick<Plan, "paging" | "first_page" | "target">;
  readonly units: Iterable<Unit>;
  /** Companies of which nobody said how many people they have. */
  readonly untold: readonly number[];
  /** The address of a company, as its people's rows have it. */
  readonly addressOf: (target: number) => string | undefined;
  readonly client: Pick<ServiceClient, "count">;
  readonly signal: AbortSignal;
  readonly onWarning: (text: string) => void;
}

/**
 * Rows of a company's first page that were never asked for, because the service counts pages from 0 and nobody said so: then its second page
 * was taken for the first. A company that is named by its domain is no filter; its people's rows name its address, which is one, so that one
 * free count tells. Only a lack of exactly one page is believed: a count that is another for another reason says nothing of paging.
 * @returns 0 where nothing is known to be missing
 */
export async function missingFirstPage(found: Untold): Promise<number> {
  const { plan, untold, addressOf, client, signal, onWarning } = found;
  if (untold.length === 0) return 0;
  if (plan.target.kind !== "employees" || plan.paging !== "page" || plan.first_page === 0) return 0;
  const target = untold.find((each) => addressOf(each) !== undefined);
  const address = target === undefined ? undefined : addressOf(target);
  const units = [...found.units];
  // Nothing came that a count could be asked by, and asking for page 0 might be charged.
  if (!units.some(({ settled }) => (settled?.rows ?? 0) > 0)) {
    onWarning(
      "warning: no profile came, and the service did not say how many there are: where it counts pages from 0, --paging page0 gets the first one; headcount doctor finds out for free",
    );
  }
  if (address === undefined) return 0;
  const pages = units.filter(({ intent, settled }) => intent.target === target && settled !== undefined);
  const first = pages.find(({ intent }) => intent.offset === 0);
  const rows = pages.reduce((sum, { settled }) => sum + (settled?.rows ?? 0), 0);
  // What is bought is whole without it: that this count fails, too, is no reason to fail.
  const counted = await client.count({ company_network_url: [address] }, signal).catch(() => undefined);
  const lacking = (counted?.count ?? 0) - rows;
  return lacking > 0 && (lacking === first?.intent.perPage || lacking === first?.settled?.rows) ? lacking : 0;
}
