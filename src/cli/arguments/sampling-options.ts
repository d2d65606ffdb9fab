import { MOST_VALUES } from "../../app/buy/spread.ts";
import { MAX_CALLS } from "../../app/own/bounds.ts";
import type { Sampling, Target } from "../../engine/runs/plan.ts";
import { nearest } from "../../shared/contract/suggest.ts";
import { echo, whole } from "../../shared/contract/text.ts";
import { FILTER_SPECS, type FilterKey, type Filters, filterSpec } from "../../shared/contract/vocabulary.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command } from "../options.ts";
import { keyName, valuesWithin } from "./filter-options.ts";

export interface SamplingFlags {
  readonly sample?: Drawn;
  readonly seed?: number;
  readonly limit?: number;
  readonly perPage?: number;
}

/** So many rows, of each value of the key where there is one. */
interface Drawn {
  readonly key: FilterKey | undefined;
  readonly rows: number;
}

const MOST_ROWS = 1_000_000;

/** Keys that a person has one value of: no row is drawn under two of them. */
const SPREADABLE = FILTER_SPECS.filter(({ match }) => match === "exact" || match === "department").map(
  ({ key }) => key,
);

export const addSamplingOptions = (command: Command): Command =>
  command
    .option("--sample <n>", "buy so many by chance; KEY:N: so many of each value", readSample)
    .number("--seed <n>", "draw a sample again (default: another each time)", [0, Number.MAX_SAFE_INTEGER]);

function readSample(text: string): Drawn {
  const [, name, count = ""] = /^(?:([^:]*):)?([^:]*)$/.exec(text) ?? [];
  const rows = whole(count, 1, MOST_ROWS);
  if (rows === undefined) {
    throw usageError(
      `--sample takes a number from 1 to ${MOST_ROWS}, or a key and a number, not "${echo(text)}"`,
      "for example --sample 100 or --sample department:10",
    );
  }
  if (name === undefined) return { key: undefined, rows };
  const key = keyName(name);
  const spec = filterSpec(key);
  if (spec !== undefined && SPREADABLE.includes(spec.key)) return { key: spec.key, rows };
  const near = nearest(key, SPREADABLE);
  const several =
    key === "company_network_url"
      ? "`headcount employees --per-company N` buys so many of each company"
      : `a person may be in several values of ${key}`;
  const why = spec === undefined ? `there is no key "${echo(name)}"` : several;
  throw usageError(
    `--sample ${echo(text)}: ${why}${near === undefined || spec !== undefined ? "" : ` (did you mean ${near}?)`}; keys: ${SPREADABLE.join(", ")}`,
  );
}

/** The sample that the flags ask for; undefined: none. @throws CliError exit 2 for flags that make none */
export function readSampling(
  { sample, seed, limit, perPage }: SamplingFlags,
  [first, ...others]: readonly { readonly filters: Filters }[],
  except: readonly unknown[],
): Sampling | undefined {
  if (sample === undefined) {
    if (seed === undefined) return undefined;
    throw usageError("--seed goes with --sample", "for example --sample 100 --seed 1");
  }
  if (limit !== undefined) {
    throw usageError("--limit is the first so many, --sample so many by chance", `leave one of them out`);
  }
  const { key, rows } = sample;
  if (key !== undefined && others.length + except.length > 0) {
    throw usageError(
      "--sample KEY:N draws from one segment",
      "--sample N draws from several, and leaves out those of --except",
    );
  }
  const spread = key === undefined ? null : { key, values: spreadValues(key, first?.filters ?? {}) };
  return { rows, seed: seed ?? null, together: perPage ?? null, spread };
}

/** The values to draw from; none where only the service can tell when it is bought. */
function spreadValues(key: FilterKey, filters: Filters): readonly string[] {
  const values = valuesWithin(key, filters) ?? [];
  if (values.length <= MOST_VALUES) return values;
  throw usageError(
    `--sample KEY:N takes at most ${MOST_VALUES} values, not ${values.length}`,
    "draw from fewer at a time",
  );
}

export interface NewOnlyFlags {
  readonly newOnly?: boolean;
  readonly withOwned?: boolean;
  readonly maxCalls?: number;
}

export const addNewOnlyOptions = (command: Command): Command =>
  command
    .option("--new-only", "buy only whom you do not own: finds them by free counts, after you agreed")
    .number("--max-calls <n>", `free counts that --new-only may make (default: ${MAX_CALLS})`, [1, 10_000_000]);

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
