import {
  filterSets,
  type NamedFilters,
  type NamedSegment,
  type SegmentSet,
  segmentSet,
} from "../../app/segments/segment-set.ts";
import type { Context } from "../../shared/context.ts";
import { flagOf } from "../../shared/contract/command-line.ts";
import type { CheckedFilters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import {
  FILTER_SPECS,
  type FilterKey,
  type Filters,
  isFacetKey,
  knownValues,
} from "../../shared/contract/vocabulary.ts";
import { type CliError, shellWord, usageError } from "../../shared/errors.ts";
import { checkedFilters } from "../../shared/filters.ts";
import { type Command, collect, Option, offering, wholeNumber } from "../options.ts";

/** What commander leaves: each key's values in the order given, under its camel-case name. */
export interface FilterOptions extends NamedSegment {
  readonly [key: string]: unknown;
}

/**
 * A filter key in any of the ways people write it:
 * `title_prefix`, `Title-Prefix`, `--title-prefix`.
 */
export const keyName = (text: string): string =>
  text.trim().replace(/^--/, "").replaceAll("-", "_").toLowerCase();

/** Of many values the hint shows how it goes. */
const MOST_SAVED = 3;

const camelCase = (key: string): string =>
  key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export function addFilterOptions(command: Command): Command {
  for (const { key, match, description } of FILTER_SPECS) {
    const label = match === "range" ? "<number>" : "<text>";
    const option = new Option(`${flagOf(key)} ${label}`, description).argParser(collect);
    const values = knownValues(key);
    const offer = isFacetKey(key) ? offering(option, { kind: "listed", values: [key] }) : option;
    command.addOption(values.length === 0 ? offer : offering(option, { kind: "list", values }));
  }

  command.option(
    "-f, --filters <file>",
    "filters as JSON from a file (- for stdin, or a pattern); flags replace its values",
    collect,
  );

  return command.offers(
    "-s, --segment <name>",
    "saved segment (or pattern); flags replace its values",
    { kind: "segments" },
    collect,
  );
}

export const addExceptOption = (command: Command): Command =>
  command.offers(
    "--except <segment>",
    "leave out who is in this saved segment or filter file; again for more",
    { kind: "segments" },
    collect,
  );

/**
 * The filters of a command that takes one segment; flags replace values of the file. @throws
 * CliError (exit 2) with every issue, before any request
 */
export async function readFilters(
  context: Context,
  options: FilterOptions,
): Promise<CheckedFilters> {
  const [only, second] = await readFilterSets(context, options);
  if (only === undefined || second !== undefined) {
    throw usageError(
      "this command takes one segment, and more than one -f or -s was given",
      "count and search take several",
    );
  }
  return only;
}

/**
 * The segments that a command line names: saved ones, then
 * those of files; one that is only flags where none is.
 */
export const readFilterSets = async (
  context: Context,
  options: FilterOptions,
): Promise<readonly NamedFilters[]> =>
  filterSets(context, options, await flagValues(context, options));

export const readSegmentSet = async (
  context: Context,
  options: FilterOptions,
): Promise<SegmentSet> => segmentSet(context, options, await flagValues(context, options));

async function flagValues(
  context: Context,
  options: FilterOptions,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const { key, match, list } of FILTER_SPECS) {
    const words = options[camelCase(key)] as readonly string[] | undefined;
    if (words === undefined) continue;
    const typed =
      match === "range"
        ? words.map(wholeNumber(flagOf(key), 0, Number.MAX_SAFE_INTEGER))
        : await valuesGiven(context, flagOf(key), words);
    if (!list && typed.length > 1 && key !== "company_network_url")
      throw oneValue(key, typed.map(String));
    values[key] = typed.length === 1 ? typed[0] : typed;
  }

  return values;
}

/** Of a key that takes no list: a segment for each value is how they are one of several. */
function oneValue(key: FilterKey, words: readonly string[]): CliError {
  const saving = words.slice(0, MOST_SAVED).map((word, index) => {
    return `headcount segment save part-${index + 1} ${flagOf(key)} ${shellWord(word)}`;
  });
  const names = saving.map((_, index) => `-s part-${index + 1}`).join(" ");

  return usageError(
    `${flagOf(key)} takes one value, and has ${words.length}`,
    `a segment for each makes it any of them: ${saving.join("; ")}; ` +
      `then ${names} in place of ${flagOf(key)} (headcount count ${names} --union)`,
    "invalid_filter",
  );
}

/** Values as typed, and those of `@FILE`. @throws CliError exit 2 */
export async function valuesGiven(
  context: Context,
  flag: string,
  values: readonly string[],
): Promise<readonly string[]> {
  if (!values.some((value) => value.startsWith("@"))) return values;
  const { listedValues } = await import("../../app/segments/filter-files.ts");
  return listedValues(context, flag, values);
}

/**
 * Values of a key to go through: as given, of the filters,
 * or all there are; undefined where nobody here can tell.
 * @throws CliError exit 2 for one that is none, or outside the segment
 */
export function valuesWithin(
  key: FilterKey,
  filters: Filters,
  words?: readonly string[],
): readonly string[] | undefined {
  const own = filters[key];
  const inFilters = own === undefined ? undefined : [own].flat().map(String);
  const usual = knownValues(key);
  const values = words ?? inFilters ?? (usual.length === 0 ? undefined : usual);
  const inside = inFilters && new Set(inFilters.map(normalForm));
  const distinct = new Map(values?.map((value) => [normalForm(value), value]));

  for (const [normal, value] of distinct) {
    checkedFilters({ [key]: value }, "--by: ");
    if (inside === undefined || inside.has(normal)) continue;
    throw usageError(
      `--by ${key}=${value} is outside the segment: ` +
        `its filters have ${key} ${[...inside].join(", ")}`,
    );
  }

  return values && [...distinct.values()];
}
