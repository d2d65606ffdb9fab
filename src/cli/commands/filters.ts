import type { Context } from "../../shared/context.ts";
import { flagOf } from "../../shared/contract/command-line.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { aside, didYouMean, nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import {
  FILTER_KEYS,
  FILTER_SPECS,
  type FilterKeySpec,
  filterSpec,
  knownValues,
} from "../../shared/contract/vocabulary.ts";
import { usageError } from "../../shared/errors.ts";
import { keyName } from "../arguments/filter-options.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { type ColumnOf, countColumn, printList } from "../terminal/list.ts";
import { atDesk, type Desk, type Printer } from "../terminal/printer.ts";

type FiltersOptions = GlobalOptions & { readonly prefix?: string; readonly top?: number };

export function register(program: Command, context: Context): void {
  program
    .command("filters")
    .description(
      "List the filter keys, how each of them matches, and the departments: " +
        "offline. With --prefix or --top the values that people have of one key, " +
        "from the service or what you own. Free.",
    )
    .takes("[key]", "one key, such as department or title_prefix", {
      kind: "list",
      values: FILTER_KEYS,
    })
    .option(
      "--prefix <text>",
      "values of the key that begin with this, in any case, with their people",
    )
    .number("--top <n>", "so many values, the most frequent first (20)", [1, 1_000])
    .examples(`
  $ headcount filters                               every key, with an example
  $ headcount filters department                    the 20 departments
  $ headcount -c sample filters country --prefix uni  values of a key, with their people
  $ headcount -c sample filters industry --top 5
  $ headcount filters --json                        the same for programs

See also: headcount help filters, headcount schema filter-file`)
    .does(
      `asks facets
      reads connection
      writes pacing
      exits 3 7 8 130`,
      atDesk(context, runFilters),
    );
}

async function runFilters(desk: Desk<FiltersOptions>, key: string | undefined) {
  const { options, printer } = desk;
  if (options.prefix !== undefined || options.top !== undefined) {
    if (key === undefined)
      throw usageError(
        "--prefix and --top are about one key",
        "for example headcount filters country --prefix uni",
      );
    return printValues(parseKey(key), desk);
  }

  if (key === undefined) await printAll(FILTER_SPECS.map(describe), printer);
  else await printOne(describe(parseKey(key)), printer);
}

function parseKey(text: string): FilterKeySpec {
  const name = keyName(text);
  const spec = filterSpec(name);
  if (spec !== undefined) return spec;
  throw usageError(
    `unknown filter: "${echo(text)}"; valid filters: ${FILTER_KEYS.join(", ")}`,
    didYouMean(name, FILTER_KEYS) ?? "headcount filters lists the keys",
    "unknown_filter",
  );
}

/** `values`: the only departments there are, or the usual seniority levels; else empty. */
const describe = (spec: FilterKeySpec) => ({
  key: spec.key,
  flag: flagOf(spec.key),
  match: spec.match,
  value: spec.match === "range" ? "integer" : spec.list ? "string or array of strings" : "string",
  field: spec.field,
  description: spec.description,
  example: spec.example,
  values: knownValues(spec.key),
});
type Entry = ReturnType<typeof describe>;

const TOP = 20;

/** From the service, else from who is owned. @throws CliError exit 2 where neither tells any */
async function printValues(
  spec: FilterKeySpec,
  { options, printer, context }: Desk<FiltersOptions>,
) {
  const { prefix, top = TOP } = options;
  const { key, match } = spec;
  const title = key.replaceAll("_", " ");
  const { withSession } = await import("../session.ts");
  const { valuesIn } = await import("../../app/count/values.ts");

  await withSession(context, options, async (session) => {
    const facet = await valuesIn(session, context, { spec, filters: {}, limit: top, prefix });
    if (facet === undefined) {
      throw usageError(
        `nobody lists the values of ${key}: not the service, and nothing is owned of it`,
        match === "range"
          ? `${flagOf(key)} takes any whole number`
          : "headcount count counts any value for free",
        "no_values",
      );
    }

    const { values, from, others = null, missing = null } = facet;

    if (printer.json)
      printer.document<"filters">({
        key,
        prefix: prefix ?? null,
        from,
        values,
        others,
        missing,
      });
    else {
      const columns: readonly ColumnOf<(typeof values)[number]>[] = [
        {
          name: key,
          title,
          long: true,
          value: ({ value }) => value,
        },
        countColumn("count", from === "owned" ? "owned" : "people"),
      ];
      await printList(columns, values, printer, "no values");
      if (from === "owned")
        printer.note("the service lists no values: these are among who you own");
    }

    if (values.length > 0 || prefix === undefined) return;

    const all = await valuesIn(session, context, { spec, filters: {}, limit: 1_000 });
    const near = nearest(normalForm(prefix), all?.values.map(({ value }) => value) ?? []);
    printer.note(`no ${title} begins with "${echo(prefix)}"${aside(near, '"')}`);
  });
}

async function printAll(entries: readonly Entry[], printer: Printer) {
  if (printer.json) return printer.document<"filters">({ filters: entries });
  await printList(COLUMNS, entries, printer, "none");
  if (printer.terminal)
    printer.note("\nAs flags: --title-prefix for title_prefix. More: headcount help filters");
}

const COLUMNS: readonly ColumnOf<Entry>[] = [
  { name: "key" },
  {
    name: "match",
    long: true,
    show: ({ match }) => (/^(exact|prefix|range)$/.test(match) ? match : "special"),
  },
  {
    name: "value",
    long: true,
    show: ({ value }) =>
      value === "integer" ? "number" : value === "string" ? "text" : "text, or several",
  },
  { name: "example", long: true },
  { name: "description", title: null },
];

async function printOne(entry: Entry, printer: Printer) {
  const { values, ...fields } = entry;
  const lines = Object.entries(fields).map(([name, value]) => [name, String(value)] as const);
  if (printer.json) printer.document<"filters">(entry);
  else if (printer.terminal) await printer.card([...lines, ["values", values.join(", ")]]);
  // One value a line: for `while read`.
  else printer.lines([...lines, ...values.map((value) => ["values", value])]);
}
