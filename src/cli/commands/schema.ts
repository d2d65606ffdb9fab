import type { Context } from "../../shared/context.ts";
import { nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { DESCRIBED, describedPath, LINES, schemaOf } from "../schemas/all.ts";
import { Printer } from "../terminal/printer.ts";

type SchemaOptions = GlobalOptions & { readonly format?: "json" | "ndjson" };

/** Files that people write: an editor completes and checks by it. */
const FILES = {
  "filter-file": async () => (await import("../../shared/schema/filters.ts")).filterFileSchema(),
  "jobs-file": async () => (await import("../../app/jobs/keys.ts")).jobsSchema(),
} as const;

const WORDS = [...new Set([...DESCRIBED.keys(), "errors", ...Object.keys(FILES)].flatMap((path) => path.split(" ")))];

export function register(program: Command, context: Context, run = printSchema): void {
  program
    .command("schema")
    .description(
      "Print the JSON Schema (2020-12) of what a command prints with --json, of the errors of all of them, or of the files of filters and of jobs that you write. Without a command: which have one.",
    )
    .takes("[command...]", "words of a command, errors, filter-file or jobs-file", { kind: "list", values: WORDS })
    .oneOf(
      "--format <format>",
      "of the document, or of a line where the command writes rows",
      ["json", "ndjson"],
      "json",
    )
    .examples(`
  $ headcount schema                                commands that print JSON
  $ headcount schema count
  $ headcount schema runs list > runs.schema.json
  $ headcount schema search --format ndjson         a person, as a line of NDJSON
  $ headcount schema errors                         a failure, with --json or HEADCOUNT_JSON=1
  $ headcount schema jobs-file > jobs.schema.json   for an editor; filter-file too
  $ headcount schema account | jq '.properties.credits.properties | keys'`)
    .does((options: SchemaOptions, words: readonly string[]) => run(words, options, context));
}

async function printSchema(words: readonly string[], options: SchemaOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  if (words.length === 0) return printAll(printer);
  const asked = words.join(" ");
  const file = FILES[asked as keyof typeof FILES];
  if (file !== undefined) return printer.document<"schema">(await file());
  const path = describedPath(asked);
  if (path === undefined) {
    const near = nearest(asked, [...DESCRIBED.keys(), "errors", ...Object.keys(FILES)]);
    const hint = near === undefined ? "headcount schema lists those that do" : `did you mean headcount schema ${near}?`;
    throw usageError(`"${echo(asked)}" is no command that prints JSON`, hint, "unknown_command");
  }
  const schema = schemaOf(path, options.format === "ndjson");
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
