import type { Command } from "commander";
import type { Context } from "../context.ts";
import { exampleValue, filterFileSchema, knownValues } from "../contract/filter-schema.ts";
import { FILTER_KEYS, FILTER_SPECS, type FilterKeySpec, filterSpec } from "../contract/filters.ts";
import { nearest } from "../contract/suggest.ts";
import { usageError } from "../errors.ts";

interface FiltersOptions {
  readonly json?: boolean;
  readonly schema?: boolean;
}

export function register(program: Command, context: Context): void {
  program
    .command("filters")
    .summary("list filter keys and their values (offline)")
    .description("List the filter keys, how each of them matches, and the departments. Offline and free.")
    .argument("[key]", "one key, such as department or title_prefix")
    .option("--schema", "print a JSON Schema for filter files, for editors")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount filters                               every key, with an example
  $ headcount filters department                    the 20 departments
  $ headcount filters --json                        the same for programs
  $ headcount filters --schema > filters.schema.json

See also: headcount help filters`,
    )
    .action((key: string | undefined, _: unknown, command: Command) => {
      run(key, command.optsWithGlobals<FiltersOptions>(), context);
    });
}

function run(key: string | undefined, options: FiltersOptions, context: Context): void {
  if (options.schema) {
    if (key !== undefined) throw usageError(`--schema describes whole files, not one key ("${key}")`, "leave KEY out");
    context.stdout.write(`${JSON.stringify(filterFileSchema(), null, 2)}\n`);
    return;
  }
  const specs = key === undefined ? FILTER_SPECS : [parseKey(key)];
  const entries = specs.map(describe);
  const [first] = entries;
  if (options.json) {
    const document = key === undefined ? { filters: entries } : first;
    context.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  } else if (key !== undefined && first !== undefined) printOne(first, context);
  else printAll(entries, context);
}

/** A key in any of the ways people write it: `title_prefix`, `title-prefix`, `--title-prefix`. */
function parseKey(text: string): FilterKeySpec {
  const name = text.replace(/^--/, "").replaceAll("-", "_").toLowerCase();
  const spec = filterSpec(name);
  if (spec !== undefined) return spec;
  const near = nearest(name, FILTER_KEYS);
  const hint = near === undefined ? "headcount filters lists the keys" : `did you mean ${near}?`;
  throw usageError(`unknown filter: "${text}"; valid filters: ${FILTER_KEYS.join(", ")}`, hint, "unknown_filter");
}

/** One key as `--json` shows it. `values`: the only departments there are, or the usual seniority levels; else empty. */
const describe = (spec: FilterKeySpec) => ({
  key: spec.key,
  flag: `--${spec.key.replaceAll("_", "-")}`,
  match: spec.match,
  value: spec.match === "range" ? "integer" : spec.list ? "string or array of strings" : "string",
  field: spec.field,
  description: spec.description,
  example: exampleValue(spec.key),
  values: knownValues(spec.key),
});
type Entry = ReturnType<typeof describe>;

const tabbed = (rows: readonly (readonly unknown[])[]): string => rows.map((row) => `${row.join("\t")}\n`).join("");

function printAll(entries: readonly Entry[], context: Context): void {
  const rows = entries.map(({ key, match, value, description }) => [key, match, value, description]);
  if (context.stdout.isTTY !== true) return void context.stdout.write(tabbed(rows));
  const table = entries.map(({ key, match, value, example }) => [
    key,
    match === "company_network_url" || match === "department" ? "special" : match,
    value === "string or array of strings" ? "text, or several" : value === "string" ? "text" : value,
    String(example),
  ]);
  context.stdout.write(`${aligned([["KEY", "MATCH", "VALUE", "EXAMPLE"], ...table])}\n`);
  context.stdout.write(
    "As flags: --title-prefix for title_prefix. One key: headcount filters department. Guide: headcount help filters\n",
  );
}

function printOne(entry: Entry, context: Context): void {
  const { values, ...fields } = entry;
  const rows = [...Object.entries(fields), ...values.map((value) => ["values", value])];
  if (context.stdout.isTTY !== true) return void context.stdout.write(tabbed(rows));
  const cells = rows.map(([name = "", value], index) => [
    rows[index - 1]?.[0] === name ? "" : String(name),
    String(value),
  ]);
  context.stdout.write(aligned(cells));
}

/** Columns as wide as their widest cell, two spaces apart. All of it is ASCII or Latin, one column a character. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
