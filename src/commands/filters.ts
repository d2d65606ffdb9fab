import type { Command } from "commander";
import type { Context } from "../context.ts";
import { exampleValue, filterFileSchema, knownValues } from "../contract/filter-schema.ts";
import { FILTER_KEYS, FILTER_SPECS, type FilterKeySpec, filterSpec } from "../contract/filters.ts";
import { nearest } from "../contract/suggest.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";

interface FiltersOptions extends GlobalOptions {
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
    .action(async (key: string | undefined, _: unknown, command: Command) => {
      await run(key, command.optsWithGlobals<FiltersOptions>(), context);
    });
}

async function run(key: string | undefined, options: FiltersOptions, context: Context): Promise<void> {
  if (options.schema) {
    if (key !== undefined) throw usageError(`--schema describes whole files, not one key ("${key}")`, "leave KEY out");
    context.stdout.write(`${JSON.stringify(filterFileSchema(), null, 2)}\n`);
    return;
  }
  const one = key === undefined ? undefined : describe(parseKey(key));
  const entries = FILTER_SPECS.map(describe);
  if (options.json) context.stdout.write(`${JSON.stringify(one ?? { filters: entries }, null, 2)}\n`);
  else if (context.stdout.isTTY !== true) {
    const { tsv } = await import("../terminal/tsv.ts");
    const all = entries.map(({ description, key: name, match, value }) => [name, match, value, description]);
    context.stdout.write(tsv(one === undefined ? all : linesOf(one)));
  } else if (one === undefined) await printAll(entries, options, context);
  else await printOne(one, options, context);
}

/** `name TAB value` lines, one for each of the values that the key takes. */
const linesOf = ({ values, ...fields }: Entry): readonly (readonly (string | number)[])[] => [
  ...Object.entries(fields),
  ...values.map((value) => ["values", value]),
];

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

async function printAll(entries: readonly Entry[], options: GlobalOptions, context: Context): Promise<void> {
  const { renderTable } = await import("../terminal/table.ts");
  const special = new Set(["company_network_url", "department"]);
  const rows = entries.map(({ example, key, match, value }) => [
    key,
    special.has(match) ? "special" : match,
    value === "integer" ? "number" : value === "string" ? "text" : "text, or several",
    String(example),
  ]);
  const columns = [{ title: "key", fixed: true }, { title: "match" }, { title: "value" }, { title: "example" }];
  context.stdout.write(renderTable(columns, rows, await tableOptions(options, context)));
  if (options.quiet !== true) {
    context.stderr.write("\nAs flags: --title-prefix for title_prefix. More: headcount help filters\n");
  }
}

async function printOne({ values, ...fields }: Entry, options: GlobalOptions, context: Context): Promise<void> {
  const { renderCard } = await import("../terminal/table.ts");
  const rows = [...Object.entries(fields), ["values", values.join(", ")]];
  const cells = rows.map(([name = "", value]) => [name, String(value)] as const);
  context.stdout.write(renderCard(cells, await tableOptions(options, context)));
}

async function tableOptions(options: GlobalOptions, context: Context) {
  const { hasColor, styleFor, widthOfStream } = await import("../terminal/style.ts");
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  return { width: widthOfStream(context.stdout), style };
}
