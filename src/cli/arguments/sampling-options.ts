import { MOST_VALUES } from "../../app/buy/spread.ts";
import type { Bounds } from "../../app/own/ownership.ts";
import type { Sampling, Target } from "../../engine/runs/plan.ts";
import { FILTER_SPECS, type FilterKey, type Filters, filterSpec } from "../../shared/contract/filters.ts";
import { nearest } from "../../shared/contract/suggest.ts";
import { echo, whole } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { type Command, collect } from "../options.ts";
import { keyName, valuesWithin } from "./filter-options.ts";

export interface SamplingFlags {
  readonly sample?: number;
  readonly seed?: number;
  readonly spread?: Spread;
  readonly values?: readonly string[];
  readonly limit?: number;
  readonly perPage?: number;
}

interface Spread {
  readonly key: FilterKey;
  readonly rows: number;
}

const MOST_ROWS = 1_000_000;

/** Keys that a person has one value of: no row is drawn under two of them. */
const SPREADABLE = FILTER_SPECS.filter(({ match }) => match === "exact" || match === "department").map(
  ({ key }) => key,
);

export const addSamplingOptions = (command: Command): Command =>
  command
    .number("--sample <n>", "buy so many by chance instead of the first ones", [1, MOST_ROWS])
    .option("--spread <key:n>", "buy so many people by chance of each value of a key", readSpread)
    .option("--values <value>", "with --spread: a value of the key, or @FILE with one a line; again for more", collect)
    .number("--seed <n>", "draw a sample again (default: another each time)", [0, Number.MAX_SAFE_INTEGER]);

function readSpread(text: string): Spread {
  const [name = "", count = "", ...more] = text.split(":");
  const key = keyName(name);
  const rows = more.length === 0 ? whole(count, 1, MOST_ROWS) : undefined;
  if (rows === undefined) {
    throw usageError(
      `--spread takes a key and a number of 1 or more, not "${echo(text)}"`,
      "for example --spread department:10",
    );
  }
  const spec = filterSpec(key);
  if (spec !== undefined && SPREADABLE.includes(spec.key)) return { key: spec.key, rows };
  const near = nearest(key, SPREADABLE);
  const why = spec === undefined ? `there is no key "${echo(name)}"` : `a person may be in several values of ${key}`;
  throw usageError(
    `--spread ${echo(text)}: ${why}${near === undefined || spec !== undefined ? "" : ` (did you mean ${near}?)`}; keys: ${SPREADABLE.join(", ")}`,
  );
}

/** The sample that the flags ask for; undefined: none. @throws CliError exit 2 for flags that make none */
export function readSampling(
  flags: SamplingFlags,
  [first, ...others]: readonly { readonly filters: Filters }[],
  except: readonly unknown[],
): Sampling | undefined {
  const { sample, spread, seed, values, limit } = flags;
  const what = sample === undefined ? "--spread" : "--sample";
  if (sample !== undefined && spread !== undefined) {
    throw usageError("--sample and --spread exclude each other", "--spread KEY:N draws N of each value by itself");
  }
  if (values !== undefined && spread === undefined) {
    throw usageError("--values goes with --spread", "for example --spread country:10 --values france");
  }
  if (sample === undefined && spread === undefined) {
    if (seed === undefined) return undefined;
    throw usageError("--seed goes with --sample or --spread", "for example --sample 100 --seed 1");
  }
  if (limit !== undefined) {
    throw usageError(`--limit is the first so many, ${what} so many by chance`, `leave one of them out`);
  }
  if (spread !== undefined && others.length + except.length > 0) {
    throw usageError(
      "--spread draws from one segment",
      "--sample draws from several, and leaves out those of --except",
    );
  }
  return {
    rows: sample ?? spread?.rows ?? 0,
    seed: seed ?? null,
    together: flags.perPage ?? null,
    spread:
      spread === undefined ? null : { key: spread.key, values: spreadValues(spread.key, first?.filters ?? {}, values) },
  };
}

/** The values to draw from; none where only the service can tell when it is bought. */
function spreadValues(key: FilterKey, filters: Filters, given: readonly string[] | undefined): readonly string[] {
  const values = valuesWithin(key, filters, given) ?? [];
  if (values.length <= MOST_VALUES) return values;
  throw usageError(`--spread takes at most ${MOST_VALUES} values, not ${values.length}`, "draw from fewer at a time");
}

export interface NewOnlyFlags {
  readonly newOnly?: boolean;
  readonly withOwned?: boolean;
  readonly maxCalls?: number;
  readonly callsPerCredit?: number;
}

const DEFAULTS: Bounds = { maxCalls: 5_000, callsPerCredit: 5 };

export const addNewOnlyOptions = (command: Command): Command =>
  command
    .option("--new-only", "buy only whom you do not own: finds them by free counts, after you agreed")
    .option("--with-owned", "the same, and write those you own beside them at 0 credits")
    .number("--max-calls <n>", `free counts that --new-only may make (default: ${DEFAULTS.maxCalls})`, [1, 10_000_000])
    .number(
      "--calls-per-credit <n>",
      `free counts that saving one credit may take (default: ${DEFAULTS.callsPerCredit}); 0 buys without looking`,
      [0, 1_000],
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
