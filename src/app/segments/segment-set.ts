import type { Context } from "../../shared/context.ts";
import { type CanonicalFilters, checkFilters, type FilterIssue, type Filters } from "../../shared/contract/filters.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { inputName } from "../../shared/input.ts";

export interface CheckedFilters {
  readonly filters: Filters;
  readonly canonical: CanonicalFilters;
}

/** The name is a saved one, a file, or nothing where only flags describe it. */
export interface NamedFilters extends CheckedFilters {
  readonly name: string;
}

export interface SegmentSet {
  readonly segments: readonly NamedFilters[];
  readonly except: readonly NamedFilters[];
}

export interface NamedSegment {
  readonly filters?: readonly string[] | undefined;
  readonly segment?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
}

type Values = Readonly<Record<string, unknown>>;

/** Saved ones, then those of files; one that is only values where none is named. */
export async function filterSets(
  context: Context,
  named: NamedSegment,
  values: Values,
): Promise<readonly NamedFilters[]> {
  const sources = [
    ...(await savedSources(context, named.segment ?? [])),
    ...(await fileSources(context, named.filters ?? [])),
  ];
  if (sources.length === 0) return [{ name: "", ...checkedFilters(values) }];
  return readSources(context, sources, values);
}

/** Values change nothing in the segments of --except. */
export async function segmentSet(context: Context, named: NamedSegment, values: Values): Promise<SegmentSet> {
  const words = named.except ?? [];
  const isFile = (word: string): boolean => /[/\\]|\.json$/i.test(word);
  const except = [
    ...(await savedSources(
      context,
      words.filter((word) => !isFile(word)),
    )),
    ...(await fileSources(context, words.filter(isFile))),
  ];
  const segments = await filterSets(context, named, values);
  return { segments, except: await readSources(context, except, {}) };
}

interface Source {
  readonly name: string;
  readonly file: string;
}

async function savedSources(context: Context, words: readonly string[]): Promise<readonly Source[]> {
  if (words.length === 0) return [];
  const { namedSegments } = await import("./segment-store.ts");
  return namedSegments(context, words);
}

async function fileSources(context: Context, words: readonly string[]): Promise<readonly Source[]> {
  if (words.length === 0) return [];
  if (words.filter((word) => word === "-").length > 1)
    throw usageError("-f - was given twice; stdin is read only once");
  const { filterFiles } = await import("./filter-files.ts");
  return (await filterFiles(context, words)).map((file) => ({ name: file, file }));
}

async function readSources(
  context: Context,
  sources: readonly Source[],
  given: Values,
): Promise<readonly NamedFilters[]> {
  const sets: NamedFilters[] = [];
  for (const { name, file } of sources) {
    const { readFilterFile } = await import("./filter-files.ts");
    const values = await readFilterFile(context, file);
    sets.push({ name, ...checkedFilters({ ...values, ...given }, `${inputName(name)}: `) });
  }
  return sets;
}

/** All issues at once. @param where the file, or what else they came from, with a colon */
export function invalidFilter(issues: readonly FilterIssue[], where = ""): CliError {
  const [first = "invalid filters", ...details] = issues.map((issue) => issue.message);
  return usageError(
    `${where}${first}`,
    "`headcount filters` lists the keys and the values they take",
    "invalid_filter",
  ).with({ details });
}

/** @throws CliError exit 2 with every issue */
export function checkedFilters(values: unknown, where?: string): CheckedFilters {
  const checked = checkFilters(values);
  if (!checked.ok) throw invalidFilter(checked.issues, where);
  return { filters: checked.filters, canonical: checked.canonical };
}
