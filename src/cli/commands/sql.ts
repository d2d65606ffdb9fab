import { askViews } from "../../engine/library/ask.ts";
import type { Context } from "../../shared/context.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { readInput } from "../../shared/input.ts";
import { type JsonValue, stringifyExact } from "../../shared/rows/values.ts";
import type { Command } from "../options.ts";
import { addShelfOption, atLibrary, type LibraryDesk, type ShelfOptions } from "./owned/shelf.ts";

export type SqlOptions = ShelfOptions & { readonly file?: string };

const MAX_QUERY_BYTES = 1 << 20;

export function register(program: Command, context: Context): void {
  addShelfOption(
    program
      .command("sql [query]")
      .description(
        "Ask everybody you own with one SQL query (SQLite's), read-only: offline, at 0 credits.",
      )
      .option("-f, --file <file>", "read the query from a file, or from stdin (-)"),
  )
    .examples(`
  $ headcount -c sample sql "select country, count(*) from people group by 1"
  $ headcount -c sample sql "select sum(credits) from purchases" --json

people: a row each, with the fields of the record, record (JSON), bought_at, first_bought_at, \
times_bought, credits.
purchases: a row for each paid row: id, name, at, run, credits. runs: id, command, target, \
dataset_version, output, created_at.
What headcount refresh follows: lists: list (the file), filters, at, people. refreshes: list, \
refresh, at, dataset_version, count, added, removed, changed, calls, credits, run. \
list_people: list, id, since and until (refreshes).`)
    .does(
      `reads connection runs library suppression given
      writes library
      exits 5 6 9 130`,
      async (options: SqlOptions, text: string | undefined) => {
        if ((text === undefined) === (options.file === undefined)) {
          throw usageError(
            "give one query, as an argument or with --file",
            'for example headcount sql "select count(*) from people"',
          );
        }
        const statement =
          text ?? (await readInput(context, options.file ?? "-", "sql", MAX_QUERY_BYTES));
        await atLibrary(context, query)(options, statement);
      },
    );
}

async function query({ context, library, printer }: LibraryDesk<SqlOptions>, text: string) {
  if (library === undefined)
    throw usageError("there is nobody to ask about", "headcount search buys people");

  printer.requireOpen();
  const { columns, rows } = await askViews(library, text, context.interrupted);

  if (printer.json) {
    const twice = columns.find((name, index) => columns.indexOf(name) < index);
    if (twice !== undefined)
      throw usageError(
        `two columns are called "${echo(twice)}", and a JSON object holds one of a name`,
        "give one of them another name: AS",
        "bad_query",
      );

    const documents = rows.map((row) =>
      Object.fromEntries(columns.map((name, index) => [name, row[index] as JsonValue])),
    );
    printer.text(`${stringifyExact(documents)}\n`);
  } else if (!printer.terminal) {
    const { csvDocument } = await import("../../shared/rows/csv-text.ts");
    printer.text(csvDocument(columns, rows));
  } else {
    await printer.table(
      columns.map((title, index) => ({
        title,
        align: typeof rows[0]?.[index] === "string" ? "left" : "right",
      })),
      rows.map((row) => row.map((cell) => (cell === null ? "" : String(cell)))),
    );
  }
}
