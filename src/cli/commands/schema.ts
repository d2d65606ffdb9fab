import type { Context } from "../../shared/context.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { DESCRIBED, describedPath, schemaOf } from "../schemas/all.ts";
import { atDesk, type Desk, type Printer } from "../terminal/printer.ts";

/** Files that people write: an editor completes and checks by it. */
const FILES = {
  "dialect-file": async () => (await import("../../shared/dialect/shape.ts")).dialectSchema(),
  "filter-file": async () => (await import("../../shared/schema/filters.ts")).filterFileSchema(),
  "jobs-file": async () => (await import("../../app/jobs/keys.ts")).jobsSchema(),
} as const;

const WORDS = [
  ...new Set(
    [...DESCRIBED.keys(), "errors", ...Object.keys(FILES)].flatMap((path) => path.split(" ")),
  ),
];

export function register(program: Command, context: Context): void {
  program
    .command("schema")
    .description(
      "Print the JSON Schema (2020-12) of what a command prints with --json, " +
        "of the errors of all of them, or of the files of filters, jobs and vendors " +
        "that you write. Without a command: which have one.",
    )
    .takes("[command...]", "words of a command, errors, dialect-file, filter-file or jobs-file", {
      kind: "list",
      values: WORDS,
    })
    .examples(`
  $ headcount schema                                commands that print JSON
  $ headcount schema count
  $ headcount schema runs list > runs.schema.json
  $ headcount schema errors                         a failure, with --json or HEADCOUNT_JSON=1
  $ headcount schema jobs-file > jobs.schema.json   for an editor; so filter-file, dialect-file
  $ headcount schema account | jq '.properties.credits.properties | keys'`)
    .does("nothing", atDesk(context, printSchema));
}

async function printSchema({ printer }: Desk<GlobalOptions>, words: readonly string[]) {
  if (words.length === 0) return printAll(printer);

  const phrase = words.join(" ");
  const file = FILES[phrase as keyof typeof FILES];
  if (file !== undefined) return printer.document<"schema">(await file());

  const path = describedPath(phrase);
  const schema = path && schemaOf(path);
  if (!schema) {
    const names = [...DESCRIBED.keys(), "errors", ...Object.keys(FILES)];
    throw usageError(
      `"${echo(phrase)}" is no command that prints JSON`,
      didYouMean(phrase, names, (name) => `headcount schema ${name}`) ??
        "headcount schema lists those that do",
      "unknown_command",
    );
  }

  printer.document<"schema">(schema);
}

function printAll(printer: Printer): void {
  const all = [...DESCRIBED.keys()];
  if (printer.json) printer.document<"schema">(all);
  else printer.lines(all.map((command) => [command]));
}
