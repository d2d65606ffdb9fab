import { type Command, Option } from "commander";
import type { Context } from "../context.ts";
import { knownValues } from "../contract/filter-schema.ts";
import {
  type CanonicalFilters,
  checkFilters,
  FILTER_SPECS,
  type FilterIssue,
  type Filters,
} from "../contract/filters.ts";
import { MAX_BODY_BYTES } from "../contract/records.ts";
import { echo, whole } from "../contract/text.ts";
import { type CliError, usageError } from "../errors.ts";
import { collect, offering } from "../options.ts";
import { inputName, readInput } from "./input.ts";

/** What commander leaves: each key's values in the order given, under its camel-case name. */
export interface FilterOptions {
  readonly filters?: readonly string[];
  readonly [key: string]: unknown;
}

export interface CheckedFilters {
  readonly filters: Filters;
  readonly canonical: CanonicalFilters;
}

export interface NamedFilters extends CheckedFilters {
  readonly name: string;
}

const flagOf = (key: string): string => `--${key.replaceAll("_", "-")}`;
const camelCase = (key: string): string => key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export function addFilterOptions(command: Command): Command {
  command.optionsGroup("Filters (keys combine with AND; a flag given again is OR):");
  for (const { key, match, description } of FILTER_SPECS) {
    const label = match === "range" ? "<number>" : "<text>";
    const option = new Option(`${flagOf(key)} ${label}`, description).argParser(collect);
    const values = knownValues(key);
    command.addOption(values.length === 0 ? option : offering(option, { kind: "list", values }));
  }
  command.addOption(
    new Option("-f, --filters <file>", "filters as JSON from a file (- for stdin); flags replace its values").argParser(
      collect,
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

export async function readFilterSets(context: Context, options: FilterOptions): Promise<readonly NamedFilters[]> {
  const flags = flagValues(options);
  const files = options.filters ?? [];
  if (files.filter((file) => file === "-").length > 1)
    throw usageError("-f - was given twice; stdin is read only once");
  if (files.length === 0) return [{ name: "", ...check(flags) }];
  const sets: NamedFilters[] = [];
  for (const file of files) {
    const values = await readFilterFile(context, file);
    sets.push({ name: file, ...check({ ...values, ...flags }, `${inputName(file)}: `) });
  }
  return sets;
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
  const value = whole(text);
  if (value !== undefined) return value;
  throw usageError(`${flag} takes a whole number of 0 or more, not "${echo(text)}"`, undefined, "invalid_filter");
}

/** Filters that break a rule, all of them at once. @param where the file, or what else they came from, with a colon */
export function invalidFilter(issues: readonly FilterIssue[], where = ""): CliError {
  const [first = "invalid filters", ...details] = issues.map((issue) => issue.message);
  return usageError(
    `${where}${first}`,
    "`headcount filters` lists the keys and the values they take",
    "invalid_filter",
  ).with({ details });
}

function check(values: Readonly<Record<string, unknown>>, where?: string): CheckedFilters {
  const checked = checkFilters(values);
  if (!checked.ok) throw invalidFilter(checked.issues, where);
  return { filters: checked.filters, canonical: checked.canonical };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Where a text is no JSON, as `line 2, column 5: ...`; undefined where it is. */
async function syntaxError(text: string): Promise<string | undefined> {
  const { parse } = await import("lossless-json");
  try {
    parse(text, undefined, { onDuplicateKey: ({ newValue }) => newValue });
    return undefined;
  } catch (error) {
    const [message = "", at] = (error as Error).message.split(" at position ");
    const before = text.slice(0, Number(at ?? 0)).split("\n");
    return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${echo(message)}`;
  }
}

async function readFilterFile(context: Context, file: string): Promise<Readonly<Record<string, unknown>>> {
  const name = inputName(file);
  const refuse = (message: string, hint?: string): CliError => usageError(message, hint, "invalid_filters_file");
  const text = await readInput(context, file, "filters", MAX_BODY_BYTES);
  // By the service's own rules: what it would refuse, such as a key that is there twice, is no segment to count and buy.
  const { parseStrictJson } = await import("../contract/strict-json.ts");
  const strict = parseStrictJson(Buffer.from(text));
  if (!strict.ok) {
    const broken = strict.message.includes("not valid JSON");
    const why = text.trim() === "" ? "it is empty" : broken ? await syntaxError(text) : undefined;
    throw refuse(
      why === undefined ? strict.message.replaceAll("the body", name) : `${name} is not JSON: ${why}`,
      'a filter file looks like {"country": "france", "department": ["Sales", "Marketing"]}',
    );
  }
  const parsed = strict.value;
  if (!isObject(parsed)) throw refuse(`${name} must hold one JSON object of filters`);
  if (!Object.hasOwn(parsed, "filters")) return parsed;
  const { filters: inner, ...others } = parsed;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    // Dropping it in silence could turn a narrow purchase into a wide one.
    throw refuse(`${name} has "${echo(other)}" beside "filters"; move it into "filters" or take it out`);
  }
  if (!isObject(inner)) throw refuse(`"filters" in ${name} must be a JSON object`);
  return inner;
}
