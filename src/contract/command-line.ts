import { FILTER_SPECS, type FilterKey, type Filters } from "./filters.ts";

/** A word for a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** As it is typed: `@FILE` names a file of values, `@@x` is the value `@x`. */
const typed = (value: string): string => (/^@./s.test(value) ? `@${value}` : value);

const flagOf = (key: FilterKey): string => `--${key.replaceAll("_", "-")}`;

/** The filters as options of the command line, in the order of the contract; everybody is `--all`. */
export function flagsOf(filters: Filters): string {
  const words = FILTER_SPECS.flatMap(({ key }) =>
    // Joined, so that a value that begins with a hyphen stays a value.
    [filters[key] ?? []].flat().map((value) => `${flagOf(key)}=${shellWord(typed(String(value)))}`),
  );
  return words.length === 0 ? "--all" : words.join(" ");
}
