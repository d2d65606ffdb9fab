import { type Command, Option } from "commander";
import type { Context } from "../context.ts";
import { type CanonicalFilters, checkFilters, FILTER_SPECS, type Filters } from "../contract/filters.ts";
import { MAX_BODY_BYTES } from "../contract/records.ts";
import { echo, grouped } from "../contract/text.ts";
import { CliError, EXIT, usageError } from "../errors.ts";

/** What commander leaves: each key's values in the order given, under its camel-case name. */
export interface FilterOptions {
  /** `-f`, as often as it was given. */
  readonly filters?: readonly string[];
  readonly [key: string]: unknown;
}

/** Filters that passed every check: as typed, and in normal form. */
export interface CheckedFilters {
  readonly filters: Filters;
  readonly canonical: CanonicalFilters;
}

/** Filters with the name of the file they came from. */
export interface NamedFilters extends CheckedFilters {
  readonly name: string;
}

const flagOf = (key: string): string => `--${key.replaceAll("_", "-")}`;
const camelCase = (key: string): string => key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const append = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

/** Adds every filter key of the contract as a flag, and `-f FILE`. */
export function addFilterOptions(command: Command): Command {
  command.optionsGroup("Filters (keys combine with AND; a flag given again is OR):");
  for (const { key, match, description } of FILTER_SPECS) {
    const value = match === "range" ? "<number>" : "<text>";
    command.addOption(new Option(`${flagOf(key)} ${value}`, description).argParser(append));
  }
  command.addOption(
    new Option("-f, --filters <file>", "filters as JSON from a file (- for stdin); flags replace its values").argParser(
      append,
    ),
  );
  return command.optionsGroup("Options:");
}

/**
 * The filters of a command that takes one segment: of the file, each value replaced by its flag where that is given.
 * @throws CliError (exit 2) with every issue, before any request
 */
export async function readFilters(context: Context, options: FilterOptions): Promise<CheckedFilters> {
  const [only, second] = await readFilterSets(context, options);
  if (only === undefined || second !== undefined) {
    throw usageError("-f was given more than once; only count takes several filter files");
  }
  return only;
}

/** As {@link readFilters} for a command that takes several files: one segment each, the flags in all of them. */
export async function readFilterSets(context: Context, options: FilterOptions): Promise<readonly NamedFilters[]> {
  const flags = flagValues(options);
  const files = options.filters ?? [];
  if (files.filter((file) => file === "-").length > 1)
    throw usageError("-f - was given twice; stdin is read only once");
  if (files.length === 0) return [{ name: "", ...check(flags, undefined) }];
  const sets: NamedFilters[] = [];
  for (const file of files) {
    const values = await readFilterFile(context, file);
    sets.push({ name: file, ...check({ ...values, ...flags }, file) });
  }
  return sets;
}

/**
 * For a count of 0: services differ in how they treat case.
 * @returns undefined where every value is lower case, or where case cannot matter
 */
export function lowerCaseHint(filters: Filters): string | undefined {
  const upper = Object.entries(filters).find(
    ([key, value]) =>
      key !== "department" && [value].flat().some((text) => String(text) !== String(text).toLowerCase()),
  );
  if (upper === undefined) return undefined;
  const first = [upper[1]].flat().find((text) => String(text) !== String(text).toLowerCase());
  return `some services match lower case only: try ${flagOf(upper[0])} "${echo(String(first).toLowerCase())}"`;
}

function flagValues(options: FilterOptions): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { key, match } of FILTER_SPECS) {
    const given = options[camelCase(key)] as readonly string[] | undefined;
    if (given === undefined) continue;
    const typed = match === "range" ? given.map((text) => integer(flagOf(key), text)) : given;
    values[key] = typed.length === 1 ? typed[0] : typed;
  }
  return values;
}

function integer(flag: string, text: string): number {
  if (/^\d{1,15}$/.test(text.trim())) return Number(text);
  throw usageError(`${flag} takes a whole number of 0 or more, not "${echo(text)}"`, undefined, "invalid_filter");
}

function check(values: Readonly<Record<string, unknown>>, file: string | undefined): CheckedFilters {
  const checked = checkFilters(values);
  if (checked.ok) return { filters: checked.filters, canonical: checked.canonical };
  const [first, ...others] = checked.issues.map((issue) => issue.message);
  const where = file === undefined ? "" : `${file === "-" ? "stdin" : file}: `;
  throw new CliError({
    code: "invalid_filter",
    category: "usage",
    exitCode: EXIT.usage,
    message: `${where}${first ?? "invalid filters"}`,
    details: others,
    hint: "`headcount filters` lists the keys and the values they take",
  });
}

async function readFilterFile(context: Context, file: string): Promise<Readonly<Record<string, unknown>>> {
  const name = file === "-" ? "stdin" : file;
  const text = await readBounded(context, file, name);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    const reason = text.trim() === "" ? "it is empty" : echo((cause as Error).message);
    throw usageError(
      `${name} is not JSON: ${reason}`,
      'a filter file looks like {"country": "france", "department": ["Sales", "Marketing"]}',
      "invalid_filter_file",
    );
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw usageError(`${name} must hold one JSON object of filters`, undefined, "invalid_filter_file");
  }
  if (!Object.hasOwn(parsed, "filters")) return { ...parsed };
  const { filters: inner, ...others } = parsed as { readonly filters: unknown };
  const [other] = Object.keys(others);
  if (other !== undefined) {
    // Dropping it in silence could turn a narrow purchase into a wide one.
    throw usageError(
      `${name} has "${echo(other)}" beside "filters"; move it into "filters" or take it out`,
      undefined,
      "invalid_filter_file",
    );
  }
  if (typeof inner !== "object" || inner === null || Array.isArray(inner)) {
    throw usageError(`"filters" in ${name} must be a JSON object`, undefined, "invalid_filter_file");
  }
  return { ...inner };
}

/** The text of a file or of stdin, not more than a request may carry. Named pipes (`-f <(jq ...)`) work. */
async function readBounded(context: Context, file: string, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const source =
      file === "-"
        ? context.stdin
        : (await import("node:fs")).createReadStream((await import("node:path")).resolve(context.cwd, file));
    for await (const chunk of source as AsyncIterable<Buffer | string>) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      size += bytes.length;
      if (size > MAX_BODY_BYTES) {
        throw usageError(
          `${name} is larger than ${grouped(MAX_BODY_BYTES)} bytes, the most that a request may carry`,
          "split it into several files, one segment each",
          "invalid_filter_file",
        );
      }
      chunks.push(bytes);
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    const reason =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "it is a directory"
          : code === "EACCES"
            ? "it may not be read by this user"
            : (cause as Error).message;
    throw usageError(`cannot read filters from ${name}: ${reason}`, undefined, "invalid_filter_file");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usageError(`${name} is not UTF-8 text`, "save it as UTF-8", "invalid_filter_file");
  }
}
