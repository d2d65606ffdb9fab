import type { Suggestion } from "../../../dataset/build/suggest.ts";
import type { Context } from "../../../shared/context.ts";
import { harmless } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, type GlobalOptions, Option, offering } from "../../options.ts";
import { addTextFlags, inputError, type TextFlags, textOptions } from "./build.ts";
import { serviceError } from "./folder.ts";

interface MapOptions extends GlobalOptions, TextFlags {
  readonly suggest?: string;
  readonly kind?: string;
}

export function register(service: Command, context: Context): void {
  const command = service
    .command("map")
    .summary("propose a column map for a file")
    .description(
      "Propose a column map for --map of `service import`, from the header and the first values of a file. The map goes to stdout, what it would read from the first five rows to stderr.",
    )
    .option("--suggest <file>", "a Parquet, CSV or NDJSON file")
    .addOption(
      offering(new Option("--kind <kind>", "what its rows are: people or companies (default: told by the header)"), {
        kind: "list",
        values: ["people", "companies"],
      }),
    );
  addTextFlags(command)
    .examples(`
  $ headcount service map --suggest people.csv > map.json
  $ headcount service map --suggest companies.parquet --kind companies
  $ headcount service map --suggest people.ndjson --json | jq .unused`)
    .does((options: MapOptions) => run(options, context));
}

async function run(options: MapOptions, context: Context): Promise<void> {
  const { suggest, kind } = options;
  if (suggest === undefined) throw usageError("--suggest is missing", "for example --suggest people.csv");
  if (kind !== undefined && kind !== "people" && kind !== "companies") {
    throw usageError(`--kind takes people or companies, not "${kind}"`);
  }
  const text = textOptions(options);
  let suggestion: Suggestion;
  try {
    const { suggestFor } = await import("../../../dataset/build/suggest.ts");
    suggestion = await suggestFor(suggest, context.cwd, kind, text);
  } catch (error) {
    throw inputError(serviceError(error, context.cwd));
  }
  if (options.json) {
    context.stdout.write(`${JSON.stringify(suggestion)}\n`);
    return;
  }
  const values = Object.keys(suggestion.values).length === 0 ? {} : { values: suggestion.values };
  context.stdout.write(`${JSON.stringify({ [suggestion.kind]: suggestion.map, ...values }, null, 2)}\n`);
  if (!options.quiet) context.stderr.write(preview(suggestion));
}

function preview({ file, kind, rows, unused }: Suggestion): string {
  const lines = [`${harmless(file)}: rows of ${kind}. The first ${rows.length} as they would be read:`];
  for (const [index, row] of rows.entries()) {
    lines.push("", `row ${index + 1}`);
    for (const [field, value] of Object.entries(row)) lines.push(`  ${field.padEnd(20)} ${harmless(value ?? "")}`);
  }
  if (unused.length > 0) lines.push("", `Columns that no field takes: ${unused.map(harmless).join(", ")}`);
  return `${lines.join("\n")}\n`;
}
