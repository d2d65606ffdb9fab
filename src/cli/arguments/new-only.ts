import type { Bounds } from "../../app/own/ownership.ts";
import type { Target } from "../../engine/runs/plan.ts";
import { usageError } from "../../shared/errors.ts";
import { type Command, wholeNumber } from "../options.ts";

export interface NewOnlyFlags {
  readonly newOnly?: boolean;
  readonly withOwned?: boolean;
  readonly maxCalls?: number;
  readonly callsPerCredit?: number;
}

const DEFAULTS: Bounds = { maxCalls: 5_000, callsPerCredit: 5 };

/** Options of every command that can leave out whom you own. */
export const addNewOnlyOptions = (command: Command): Command =>
  command
    .option("--new-only", "buy only whom you do not own: finds them by free counts, after you agreed")
    .option("--with-owned", "the same, and write those you own beside them at 0 credits")
    .option(
      "--max-calls <n>",
      `free counts that --new-only may make (default: ${DEFAULTS.maxCalls})`,
      wholeNumber("--max-calls", 1, 10_000_000),
    )
    .option(
      "--calls-per-credit <n>",
      `free counts that saving one credit may take (default: ${DEFAULTS.callsPerCredit}); 0 buys without looking`,
      wholeNumber("--calls-per-credit", 0, 1_000),
    );

export const boundsOf = ({ maxCalls, callsPerCredit }: NewOnlyFlags): Bounds => ({
  maxCalls: maxCalls ?? DEFAULTS.maxCalls,
  callsPerCredit: callsPerCredit ?? DEFAULTS.callsPerCredit,
});

/** The target without whom is owned, where that is asked for. @throws CliError exit 2 for what cannot be narrowed */
export function narrowed(target: Target & { readonly kind: "search" }, flags: NewOnlyFlags): Target {
  if (flags.newOnly !== true && flags.withOwned !== true) return target;
  const flag = flags.newOnly === true ? "--new-only" : "--with-owned";
  if (flags.newOnly === true && flags.withOwned === true) {
    throw usageError("--new-only and --with-owned exclude each other", "--with-owned buys only new people too");
  }
  if (target.union !== undefined || target.except !== undefined) {
    throw usageError(
      `${flag} takes one segment`,
      "give one after the other: whom the first one bought, the next one leaves out",
    );
  }
  if (target.sample !== undefined) {
    throw usageError(`${flag} and a sample exclude each other`, "a sample is drawn from all of a segment");
  }
  return { ...target, owned: flags.newOnly === true ? "without" : "with" };
}
