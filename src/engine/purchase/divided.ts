import type { Filters } from "../../shared/contract/filters.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { divide, type Parts } from "../planning/parts.ts";
import { UnsoundCountsError } from "../planning/question.ts";
import type { Plan, Target } from "../runs/plan.ts";
import { unsoundRun } from "./failures.ts";
import type { Offer } from "./quote.ts";
import type { Asking } from "./world.ts";

const MAX_COUNTS = 5_000;

type Divided = Pick<Plan, "parts" | "counts" | "unreached" | "overlap" | "digests">;

/** What a run asks for one after the other: parts of segments, or companies. */
export async function divisionOf(
  target: Target,
  { matches, counts, parts, overlap, digests }: Offer,
  wall: number | undefined,
  deps: Asking,
): Promise<Divided> {
  // Who is named by a digest lies above no wall.
  if (digests !== undefined) return { parts: parts ?? [], counts: counts ?? [], digests };
  if (target.kind === "search" && parts !== undefined) {
    const each = await Promise.all(
      parts.map((part, index) => {
        const total = counts?.[index] ?? 0;
        // As many as are wanted of a company lie above the wall, or the service says so.
        return wall === undefined || total <= wall || target.staff?.most != null
          ? { parts: [part], counts: [total] }
          : divided(part, total, wall, deps);
      }),
    );
    const unreached = each.flatMap((one: Divided) => one.unreached ?? []);
    return {
      parts: each.flatMap((one) => one.parts ?? []),
      counts: each.flatMap((one) => one.counts ?? []),
      ...(unreached.length === 0 ? {} : { unreached }),
      ...(overlap === undefined || overlap === 0 ? {} : { overlap }),
    };
  }
  if (target.kind === "search" && wall !== undefined) return divided(target.filters, matches ?? 0, wall, deps);
  return counts === undefined ? {} : { counts };
}

async function divided(segment: Filters, total: number, wall: number, deps: Asking): Promise<Divided> {
  const { parts, unreached } = await dividedParts(segment, total, wall, deps);
  return {
    parts: parts.map(({ filters }) => filters),
    counts: parts.map((part) => part.count),
    ...(unreached.length === 0 ? {} : { unreached }),
  };
}

/** By free counts (docs/runs.md, "Large segments"). @throws CliError exit 2: too many counts, 8: they do not add up */
export async function dividedParts(
  segment: Filters,
  total: number,
  wall: number,
  { seller, interrupted, onNotice }: Asking,
  wanted?: (from: number, to: number) => boolean,
): Promise<Parts> {
  onNotice(`the service gives at most ${grouped(wall)} rows of one segment: dividing ${grouped(total)} by free counts`);
  let counts = 0;
  const count = async (filters: Filters): Promise<number> => {
    if (++counts > MAX_COUNTS) {
      throw usageError(
        `dividing this segment takes more than ${grouped(MAX_COUNTS)} free counts; nothing was spent`,
        "add a filter, or --limit with a smaller number",
        "too_many_counts",
      );
    }
    return (await seller.client.count(filters, interrupted)).count;
  };
  try {
    const found = await divide({ filters: segment, count: total }, wall, count, wanted);
    onNotice(`${counted(found.parts.length, "part")} by ${counted(counts, "free count")}`);
    return found;
  } catch (error) {
    if (!(error instanceof UnsoundCountsError)) throw error;
    throw unsoundRun(error, "nothing was spent", `--limit ${wall} buys what the service gives of the whole segment`);
  }
}
