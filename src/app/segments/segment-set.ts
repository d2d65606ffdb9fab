import type { Context } from "../../shared/context.ts";
import type { CheckedFilters } from "../../shared/contract/filters.ts";
import { usageError } from "../../shared/errors.ts";
import { checkedFilters } from "../../shared/filters.ts";

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
  { segment = [], filters = [] }: NamedSegment,
  values: Values,
): Promise<readonly NamedFilters[]> {
  const sets = await read(context, { saved: segment, files: filters }, values);
  return sets.length > 0 ? sets : [{ name: "", ...checkedFilters(values) }];
}

/** Values change nothing in the segments of --except. */
export async function segmentSet(
  context: Context,
  names: NamedSegment,
  values: Values,
): Promise<SegmentSet> {
  const words = names.except ?? [];
  const isFile = (word: string): boolean => /[/\\]|\.json$/i.test(word);
  const except = { saved: words.filter((word) => !isFile(word)), files: words.filter(isFile) };
  return {
    segments: await filterSets(context, names, values),
    except: await read(context, except, {}),
  };
}

async function read(
  context: Context,
  { saved, files }: Readonly<Record<"saved" | "files", readonly string[]>>,
  own: Values,
): Promise<readonly NamedFilters[]> {
  if (saved.length + files.length === 0) return [];
  if (files.filter((word) => word === "-").length > 1)
    throw usageError("-f - was given twice; stdin is read only once");

  const { namedSegments } = await import("./segment-store.ts");
  const { filterFiles, readFilterFile } = await import("./filter-files.ts");
  const { inputName } = await import("../../shared/input.ts");

  const sources = [
    ...(saved.length === 0 ? [] : await namedSegments(context, saved)),
    ...(await filterFiles(context, files)).map((file) => ({ name: file, file })),
  ];
  const sets: NamedFilters[] = [];
  for (const { name, file } of sources) {
    const values = await readFilterFile(context, file);
    sets.push({ name, ...checkedFilters({ ...values, ...own }, `${inputName(name)}: `) });
  }

  return sets;
}
