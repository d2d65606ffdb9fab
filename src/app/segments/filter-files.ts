import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Context } from "../../shared/context.ts";
import { MAX_BODY_BYTES } from "../../shared/contract/records.ts";
import { echo, isObject, jsonIn, type Members } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { inputName, readBytes, readInput } from "../../shared/input.ts";
import { readWrittenJson } from "../../shared/written-json.ts";

/** In order of their names. @throws CliError exit 2 for a pattern without a match */
export async function filterFiles(
  context: Context,
  words: readonly string[],
): Promise<readonly string[]> {
  const files: string[] = [];
  for (const word of words) {
    // A file may be called that.
    const isFile = !/[*?[\]{}]/.test(word) || existsSync(resolve(context.cwd, word));
    files.push(...(isFile ? [word] : await matching(context, word)));
  }
  return [...new Set(files)];
}

async function matching({ cwd }: Context, pattern: string): Promise<readonly string[]> {
  const { glob } = await import("tinyglobby");
  const files = await glob(pattern, { cwd, dot: false, expandDirectories: false, onlyFiles: true });
  if (files.length > 0) return files.sort();
  throw usageError(
    `no file matches -f "${echo(pattern)}"`,
    "a pattern takes *, ?, [ab], {a,b} and ** for folders within folders",
    "invalid_filters_file",
  );
}

/**
 * As typed, with the lines of `@FILE` in its place; `@@x` is the value `@x`.
 * @throws CliError exit 2
 */
export async function listedValues(
  context: Context,
  flag: string,
  words: readonly string[],
): Promise<readonly string[]> {
  const values: string[] = [];
  for (const value of words) {
    const isFile = /^@(?!@)/.test(value);
    values.push(
      ...(isFile ? await linesOf(context, flag, value.slice(1)) : [value.replace(/^@@/, "@")]),
    );
  }
  return values;
}

/** A line may be a text of JSON, as jq prints it without -r, or a quoted cell of CSV. */
function unquoted(line: string): string {
  if (!/^"(?:[^"\\]|""|\\.)*"$/.test(line)) return line;
  return String(jsonIn(line) ?? line.slice(1, -1).replaceAll('""', '"')).trim();
}

async function linesOf(context: Context, flag: string, file: string): Promise<readonly string[]> {
  const written = await listIn(context, file);
  const lines = written.filter((line) => !/^#(\s|$)/.test(line)).map(unquoted);
  const values = [...new Set(lines.filter((line) => line !== ""))];
  if (values.length > 0) return values;
  // A filter without values would be no filter: the segment would grow.
  throw usageError(
    `${flag} @${inputName(file)}: the file holds no value`,
    "write one value a line",
    "invalid_values_file",
  );
}

/** The lines of a text, whatever is in them; of a workbook or JSON its one column. */
async function listIn(context: Context, file: string): Promise<readonly string[]> {
  const { textsOfList } = await import("../../shared/tables/table.ts");
  const bytes = await readBytes(context, file, "values", MAX_BODY_BYTES);
  return textsOfList(inputName(file), bytes);
}

/** Keys and values that nobody has checked. @param file `-` for stdin @throws CliError exit 2 */
export async function readFilterFile(context: Context, file: string): Promise<Members> {
  const name = inputName(file);
  const refuse = (message: string, hint?: string): CliError =>
    usageError(message, hint, "invalid_filters_file");
  const text = await readInput(context, file, "filters", MAX_BODY_BYTES);

  const read = readWrittenJson(text, name);
  if (!read.ok) {
    throw refuse(
      read.message,
      'a filter file looks like {"country": "france", "department": ["Sales", "Marketing"]}',
    );
  }

  const parsed = read.value;
  if (!isObject(parsed)) throw refuse(`${name} must hold one JSON object of filters`);
  if (!Object.hasOwn(parsed, "filters")) return parsed;

  const { filters: inner, ...others } = parsed;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    // Dropping it in silence could turn a narrow purchase into a wide one.
    throw refuse(
      `${name} has "${echo(other)}" beside "filters"; move it into "filters" or take it out`,
    );
  }
  if (!isObject(inner)) throw refuse(`"filters" in ${name} must be a JSON object`);

  return inner;
}
