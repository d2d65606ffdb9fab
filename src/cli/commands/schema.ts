import type { Context } from "../../shared/context.ts";
import { nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { DESCRIBED, describedPath, LINES, schemaOf } from "../schemas/all.ts";
import { Printer } from "../terminal/printer.ts";

type SchemaOptions = GlobalOptions & { readonly line?: boolean };

const WORDS = [...new Set([...DESCRIBED.keys(), "errors"].flatMap((path) => path.split(" ")))];

export function register(program: Command, context: Context, run = printSchema): void {
  program
    .command("schema")
    .description(
      "Print the JSON Schema (2020-12) of what a command prints with --json, or of the errors of all of them. Without a command: which have one.",
    )
    .takes("[command...]", "words of a command, or errors", { kind: "list", values: WORDS })
    .option("--line", "of a line of NDJSON instead, where the command writes rows")
    .examples(`
  $ headcount schema                                commands that print JSON
  $ headcount schema count
  $ headcount schema runs list > runs.schema.json
  $ headcount schema search --line                  a person, as a line of NDJSON
  $ headcount schema errors                         a failure, with --json or HEADCOUNT_JSON=1
  $ headcount schema account --json --jq '.properties.credits.properties | keys'`)
    .does((options: SchemaOptions, words: readonly string[]) => run(words, options, context));
}

async function printSchema(words: readonly string[], options: SchemaOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  if (words.length === 0) return printAll(printer);
  const asked = words.join(" ");
  const path = describedPath(asked);
  if (path === undefined) {
    const near = nearest(asked, [...DESCRIBED.keys(), "errors"]);
    const hint = near === undefined ? "headcount schema lists those that do" : `did you mean headcount schema ${near}?`;
    throw usageError(`"${echo(asked)}" is no command that prints JSON`, hint, "unknown_command");
  }
  const schema = schemaOf(path, options.line);
  if (schema === undefined)
    throw usageError(`headcount ${path} writes no lines of NDJSON`, `headcount schema ${path} describes its document`);
  printer.document<"schema">(schema);
}

async function printAll(printer: Printer): Promise<void> {
  const all = [...DESCRIBED.keys()].map((command) => ({ command, lines: command in LINES }));
  if (printer.json) return printer.document<"schema">(all);
  await printer.rows(
    [
      { title: "command", fixed: true },
      { title: "lines", fixed: true, show: (lines) => (lines === "" ? "" : "NDJSON too") },
    ],
    all.map(({ command, lines }) => [command, lines ? "ndjson" : ""]),
  );
}
