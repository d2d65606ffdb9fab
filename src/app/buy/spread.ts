import type { Target } from "../../engine/runs/plan.ts";
import { flagOf } from "../../shared/contract/command-line.ts";
import { isFacetKey } from "../../shared/contract/facets.ts";
import { counted } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { World } from "./order.ts";

/** Each value takes a free count. */
export const MOST_VALUES = 500;

/** A target with the values that the service lists, in one order: so its run is known. @throws CliError exit 2 */
export async function withListedValues(
  target: Target,
  { seller, interrupted }: World,
  notice: (text: string) => void,
): Promise<Target> {
  if (target.kind !== "search") return target;
  const { filters, sample } = target;
  if (sample === undefined || sample.spread?.values.length !== 0) return target;
  const { key } = sample.spread;
  const facet = isFacetKey(key)
    ? await seller.client.facets(filters, key, { limit: MOST_VALUES, signal: interrupted })
    : undefined;
  const words = key.replaceAll("_", " ");
  if (facet === undefined || !facet.exact) {
    const why = facet?.reason === undefined ? "" : ` (${facet.reason})`;
    throw usageError(
      `--sample ${key}:N needs values: the service does not list what a ${words} can be${why}`,
      `give them as its filter: ${flagOf(key)} A ${flagOf(key)} B`,
    );
  }
  if (facet.values.length === MOST_VALUES && (facet.others ?? 0) > 0) {
    throw usageError(
      `--sample ${key}:N takes at most ${MOST_VALUES} values, and the segment has more of ${key}`,
      `${flagOf(key)} chooses: headcount filters ${key} --prefix '' lists the most frequent ones`,
    );
  }
  const values = facet.values.map(({ value }) => value).sort();
  notice(`notice: drawn of each ${words} that the service lists: ${counted(values.length, "value")}`);
  return { ...target, sample: { ...sample, spread: { key, values } } };
}
