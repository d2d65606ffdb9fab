import { MAX_CALLS } from "../../app/own/bounds.ts";
import type { ExportOptions } from "../../engine/purchase/order.ts";
import type { Sampling } from "../../engine/runs/plan.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command } from "../options.ts";

export interface SamplingFlags extends Partial<Pick<ExportOptions, "limit" | "perPage">> {
  readonly sample?: number;
  readonly seed?: number;
}

const MOST_ROWS = 1_000_000;

export const addSamplingOptions = (command: Command): Command =>
  command
    .number("--sample <n>", "buy so many by chance", [1, MOST_ROWS])
    .number("--seed <n>", "draw a sample again (default: another each time)", [
      0,
      Number.MAX_SAFE_INTEGER,
    ]);

/**
 * The sample that the flags ask for; undefined: none.
 * @throws CliError exit 2 for flags that make none
 */
export function readSampling({
  sample,
  seed,
  limit,
  perPage,
}: SamplingFlags): Sampling | undefined {
  if (sample === undefined) {
    if (seed === undefined) return undefined;
    throw usageError("--seed goes with --sample", `for example --sample N --seed ${seed}`);
  }
  if (limit !== undefined) {
    throw usageError(
      "--limit is the first so many, --sample so many by chance",
      `leave one of them out`,
    );
  }

  return { rows: sample, seed: seed ?? null, together: perPage ?? null };
}

export interface NewOnlyFlags {
  readonly newAnywhere?: boolean;
  readonly newOnly?: boolean;
  readonly withOwned?: boolean;
  readonly maxCalls?: number;
}

export const addNewOnlyOptions = (command: Command): Command =>
  command
    .option(
      "--new-only",
      "buy only whom you do not own: finds them by free counts, after you agreed",
    )
    .number(
      "--max-calls <n>",
      `free counts that --new-only may make (default: ${MAX_CALLS})`,
      [1, 10_000_000],
    );
