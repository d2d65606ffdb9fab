import type { ServiceClient } from "../client/types.ts";
import type { Unit } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";

export interface Untold {
  readonly run: Pick<Run, "plan" | "state">;
  readonly untold: readonly number[];
  readonly addresses: ReadonlyMap<number, string | undefined>;
  readonly client: Pick<ServiceClient, "count">;
  readonly signal: AbortSignal;
  readonly onWarning: (text: string) => void;
}

export const NOBODY_CAME =
  "no profile came, and the service did not say how many there are: where it counts pages from 0, --paging page0 gets the first one; headcount doctor finds out for free";

const mayCountFromZero = ({ plan }: Pick<Run, "plan">): boolean =>
  plan.target.kind === "employees" && plan.paging === "page" && plan.first_page !== 0;

/** Nothing came that a count could be asked by, and asking for page 0 might be charged. */
export const cameNobody = (run: Pick<Run, "plan" | "state">, untold: readonly number[]): boolean =>
  untold.length > 0 && run.state.rows === 0 && mayCountFromZero(run);

/** Whether so many rows are a page 0 that was never asked for. @param unit the first that was settled */
export const isFirstPage = (unit: Unit | undefined, rows: number): boolean =>
  rows > 0 && (rows === unit?.intent.perPage || rows === unit?.settled?.rows);

/**
 * Rows of a company's first page that were never asked for, because the service counts pages from 0 and nobody said
 * so. One free count of the address in its people's rows tells. Only a lack of exactly one page is believed: other
 * counts have other reasons. @returns 0 where nothing is known to be missing
 */
export async function missingFirstPage({ run, untold, addresses, client, signal, onWarning }: Untold): Promise<number> {
  if (untold.length === 0 || !mayCountFromZero(run)) return 0;
  if (cameNobody(run, untold)) onWarning(`warning: ${NOBODY_CAME}`);
  const settled = [...run.state.units.values()].filter((unit) => unit.settled !== undefined);
  const target = untold.find((each) => addresses.get(each) !== undefined) ?? -1;
  const address = addresses.get(target);
  if (address === undefined) return 0;
  const pages = settled.filter(({ intent }) => intent.target === target);
  const first = pages.find(({ intent }) => intent.offset === 0);
  // What is bought is whole without it: that this count fails, too, is no reason to fail.
  const counted = await client.count({ company_network_url: [address] }, signal).catch(() => undefined);
  const lacking = (counted?.count ?? 0) - rowsOf(pages);
  return isFirstPage(first, lacking) ? lacking : 0;
}

const rowsOf = (units: readonly Unit[]): number => units.reduce((sum, { settled }) => sum + (settled?.rows ?? 0), 0);
