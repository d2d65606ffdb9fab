import type { Filters } from "../contract/filters.ts";
import { counted, grouped } from "../contract/text.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import { divide, UnsoundCountsError } from "../planning/parts.ts";
import type { Plan } from "../runs/plan.ts";
import type { ExportDeps } from "./order.ts";

/** Free counts that dividing a segment may take. */
const MAX_COUNTS = 5_000;

/**
 * The parts of a segment that is larger than what the service gives of one, found by free counts (docs/runs.md, "Large segments").
 * Nothing is bought.
 * @throws CliError exit 2 where it takes too many counts, exit 8 where the counts do not add up
 */
export async function divided(
  segment: Filters,
  total: number,
  wall: number,
  { seller, interrupted, onNotice }: Pick<ExportDeps, "seller" | "interrupted" | "onNotice">,
): Promise<Pick<Plan, "parts" | "counts" | "unreached">> {
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
    const { parts, unreached } = await divide(segment, total, wall, count);
    onNotice(`${counted(parts.length, "part")} by ${counted(counts, "free count")}`);
    return {
      parts: parts.map(({ filters }) => filters),
      counts: parts.map((part) => part.count),
      ...(unreached.length === 0 ? {} : { unreached }),
    };
  } catch (error) {
    if (!(error instanceof UnsoundCountsError)) throw error;
    throw new CliError({
      code: "unsound_counts",
      category: "service",
      exitCode: EXIT.service,
      message: `${error.message}; nothing was spent`,
      hint: `--limit ${wall} buys what the service gives of the whole segment`,
      cause: error,
    });
  }
}
