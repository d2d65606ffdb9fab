import type { Filters } from "../../shared/contract/filters.ts";
import { unsound } from "./node.ts";
import type { Counts } from "./question.ts";

const CUTS = [
  { key: "connections", at: 300 },
  { key: "followers", at: 500 },
] as const;

/** Whether a few counts are exact: everybody with a number is on one side of a cut. @throws UnsoundCountsError */
export async function requireSound(segment: Filters, counts: Counts): Promise<void> {
  for (const { key, at } of CUTS) {
    const [lowest, highest] = [`${key}_min`, `${key}_max`] as const;
    if (segment[lowest] !== undefined || segment[highest] !== undefined) continue;
    const [all, below, above] = await Promise.all([
      counts.count({ ...segment, [lowest]: 0 }),
      counts.count({ ...segment, [lowest]: 0, [highest]: at }),
      counts.count({ ...segment, [lowest]: at + 1 }),
    ]);
    if (below + above !== all)
      throw unsound(`of ${all} people with ${key}, ${below} have at most ${at} and ${above} more`);
  }
}
