import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { openRuns } from "../../../app/keep/store.ts";
import { MAX_BYTES, recordsIn } from "../../../app/own/people-file.ts";
import {
  changedFields,
  fieldsOf,
  type PastPurchase,
  recordStatesOf,
} from "../../../engine/library/history.ts";
import { Library, totalsOf } from "../../../engine/library/library.ts";
import {
  identitiesOf,
  importRecords,
  type PeopleFile,
  rebuildLibrary,
} from "../../../engine/library/take-in.ts";
import type { Context } from "../../../shared/context.ts";
import {
  credits,
  creditsText,
  creditsToNumber,
  formatCreditsGrouped,
} from "../../../shared/contract/money.ts";
import { counted, echo, grouped } from "../../../shared/contract/text.ts";
import { type CliError, failed } from "../../../shared/errors.ts";
import { inputName, readTableFile } from "../../../shared/input.ts";
import { timeText } from "../../../shared/numbers.ts";
import { cellOf, type JsonValue, stringifyExact } from "../../../shared/rows/values.ts";
import { type Command, WHO_COLUMN } from "../../options.ts";
import { iso as isoOrNull } from "../../terminal/list.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";
import { register as registerExport } from "./export.ts";
import {
  addShelfOption,
  atLibrary,
  type LibraryDesk,
  type ShelfOptions,
  shelfOf,
} from "./shelf.ts";

export function register(program: Command, context: Context): void {
  const owned = program
    .command("owned")
    .description(
      "Everybody ever bought from a service, once, with every purchase and every record " +
        "that came. Made from the runs by itself; asks nobody, costs nothing.",
    )
    .examples(`
  $ headcount -c sample owned
  $ headcount -c sample owned export --department Legal --fields name,title | head -3
  $ headcount -c sample count --owned --department Sales`);

  registerStatus(owned, context);
  registerShow(owned, context);
  registerExport(owned, context);
  registerImport(owned, context);
  registerRebuild(owned, context);
}

export function registerStatus(owned: Command, context: Context): void {
  addShelfOption(owned.command("status", { isDefault: true }))
    .description(
      "Say how many people are owned, what they cost, " +
        "and what was paid for somebody who was owned already.",
    )
    .examples(
      "\n  $ headcount -c sample owned status\n  $ headcount -c sample owned --json | jq .people",
    )
    .does(
      `reads connection runs library suppression
      writes library
      exits 5 6 9 130`,
      atLibrary(context, printStatus),
    );
}

async function printStatus({ library, printer }: LibraryDesk<ShelfOptions>) {
  const totals = totalsOf(library?.database);
  const document = {
    people: totals.people,
    suppressed: totals.suppressed,
    forgotten: totals.forgotten,
    rows_paid: totals.purchases,
    rows_repeated: totals.purchases - totals.people - totals.suppressed - totals.forgotten,
    credits: creditsToNumber(credits(totals.credits)),
    credits_for_repeated: creditsToNumber(credits(totals.repeatCredits)),
    runs: totals.runs,
    first_bought_at: isoOrNull(totals.firstAt),
    last_bought_at: isoOrNull(totals.lastAt),
    file: library?.path ?? null,
  };

  if (printer.json) return printer.document<"owned status">(document);
  if (!printer.terminal) return printer.leaves(document);

  const repeated = document.rows_repeated;
  await printer.card([
    ["owned", counted(totals.people, "person", "people")],
    [
      "suppressed",
      totals.suppressed === 0
        ? undefined
        : `${grouped(totals.suppressed)} more, left out of every answer`,
    ],
    ["forgotten", totals.forgotten === 0 ? undefined : grouped(totals.forgotten)],
    ["paid for", `${counted(totals.purchases, "row")}, ${creditsText(credits(totals.credits))}`],
    [
      "bought again",
      repeated === 0
        ? undefined
        : `${grouped(repeated)} of them, ${creditsText(credits(totals.repeatCredits))}`,
    ],
    ["runs", grouped(totals.runs)],
    ["first", totals.firstAt === null ? undefined : timeText(totals.firstAt)],
    ["last", totals.lastAt === null ? undefined : timeText(totals.lastAt)],
    ["kept in", document.file ?? undefined],
  ]);
}

export function registerImport(owned: Command, context: Context): void {
  addShelfOption(owned.command("import <file...>"))
    .description(
      "Take in people that you own already: earlier exports as NDJSON, JSON or CSV " +
        "with an id or the address of a profile. From then on they count as owned, " +
        "at no price, and as true when the file was last written.",
    )
    .option(...WHO_COLUMN)
    .option("--dry-run", "only say how many")
    .examples(`
  $ headcount owned import people.csv --dry-run
  $ headcount owned import people.ndjson people.csv`)
    .does(
      `reads connection runs library suppression given
      writes library
      exits 5 6 9 130`,
      async (options: ImportOptions, files: readonly string[]) => {
        // Everything is read before anything is taken in: a
        // file that is refused leaves the library as it was.
        const sources: Source[] = [];
        for (const file of files) {
          const table = await readTableFile(context, file, "people", MAX_BYTES);
          const { records, silent, by } = recordsIn(table, inputName(file), options.column);
          if (silent) context.stderr.write(`warning: ${inputName(file)} has ${silent}\n`);
          const written =
            file === "-" ? context.now() : (await stat(resolve(context.cwd, file))).mtimeMs;
          sources.push({ name: basename(file), at: Math.floor(written), records, by });
        }

        const { path } = shelfOf(options, context);
        if (options.dryRun !== true)
          (await Library.open(path, await openRuns(context).suppression())).close();
        await atLibrary(context, takeIn)(options, sources);
      },
    );
}

type ImportOptions = ShelfOptions & { readonly dryRun?: boolean; readonly column?: string };
/** With the columns that told who they are. */
type Source = PeopleFile & { readonly by: readonly string[] };

function takeIn(
  { library, options, printer }: LibraryDesk<ImportOptions>,
  sources: readonly Source[],
): void {
  const isDry = options.dryRun === true;
  const all = sources.flatMap(({ records }) => records);
  const rows = all.length;

  const fresh =
    library === undefined
      ? new Set(identitiesOf(all)).size
      : importRecords(library, sources, isDry ? "ROLLBACK" : undefined);

  const by = [...new Set(sources.flatMap((source) => source.by))];
  const taken = { files: sources.length, rows, new: fresh, by };
  if (printer.json) printer.document<"owned import">(isDry ? { would_take_in: taken } : taken);
  printer.note(
    `${isDry ? "Would take in" : "Took in"} ${counted(rows, "row")}: ` +
      `${counted(fresh, "person", "people")} not owned before, told by ${by.map(echo).join(", ")}`,
  );
}

export function registerRebuild(owned: Command, context: Context): void {
  addShelfOption(owned.command("rebuild"))
    .description(
      "Make the library again from the runs. What came from removed runs and from files stays.",
    )
    .examples("\n  $ headcount -c sample owned rebuild")
    .does(
      `reads connection runs library suppression
      writes library
      exits 5 6 9 130`,
      atDesk(context, rebuild),
    );
}

async function rebuild({ context, options, printer }: Desk<ShelfOptions>) {
  const opened = await rebuildLibrary(shelfOf(options, context), openRuns(context));
  if (opened === undefined) {
    if (printer.json) printer.document<"owned rebuild">({ people: 0, rows_paid: 0 });
    return printer.note("nothing was bought there yet");
  }
  const { people, purchases } = totalsOf(opened.library.database);
  opened.library.close();
  if (printer.json) printer.document<"owned rebuild">({ people, rows_paid: purchases });
  printer.note(`${counted(people, "person", "people")} from ${counted(purchases, "paid row")}`);
}

function registerShow(owned: Command, context: Context): void {
  addShelfOption(owned.command("show <person>"))
    .description(
      "Show what is owned of a person, named by id, profile address or its slug, " +
        "or whole name: the record, every purchase, what changed.",
    )
    .examples(`
  $ headcount owned show "$(headcount sql 'select id from people limit 1' | tail -1)"
  $ headcount owned show "$(headcount sql 'select network_url from people limit 1' | tail -1)" \
--json | jq .purchases`)
    .does(
      `reads connection runs library suppression
      writes library
      exits 5 6 9 130`,
      atLibrary(context, show),
    );
}

const iso = (at: number): string => new Date(at).toISOString();

function documentOf(purchases: readonly PastPurchase[]) {
  const states = recordStatesOf(purchases);
  return {
    record: fieldsOf(states.at(-1)?.record ?? "{}"),
    states: states.map(({ from, newest, record }, index) => ({
      valid_from: iso(from),
      last_confirmed: iso(newest.at),
      changed:
        index === 0
          ? []
          : changedFields(fieldsOf(states[index - 1]?.record ?? "{}"), fieldsOf(record)),
    })),
    purchases: purchases.map(({ at, run, price }) => ({
      at: iso(at),
      run,
      credits: creditsToNumber(credits(price)),
    })),
  };
}

async function show({ library, printer }: LibraryDesk<ShelfOptions>, person: string) {
  const people = library?.find(person) ?? [];
  if (library === undefined || people.length === 0) throw notOwned(person);

  const everybody = people.map((one) => library.purchases(one));
  const documents = everybody.map(documentOf);

  if (printer.json)
    return printer.text(
      `${stringifyExact(documents.length === 1 ? (documents[0] ?? null) : documents)}\n`,
    );

  for (const [index, { record, states }] of documents.entries()) {
    await printer.card(Object.entries(record).map(([name, value]) => [name, textOf(value)]));
    const history = states.map(({ valid_from, changed }) =>
      changed.length === 0
        ? (["seen", valid_from] as const)
        : (["changed", `${valid_from}: ${changed.join(", ")}`] as const),
    );
    const purchases = (everybody[index] ?? []).map(
      ({ at, run, price }) =>
        ["bought", `${iso(at)} for ${formatCreditsGrouped(credits(price))} in run ${run}`] as const,
    );

    await printer.card([...history, ...purchases], 2);
  }

  if (documents.length > 1)
    printer.note(
      `${grouped(documents.length)} people are called so; an id or a profile address names one`,
    );
}

const textOf = (value: JsonValue): string | undefined =>
  value === null ? undefined : String(cellOf(value));

const notOwned = (person: string): CliError =>
  failed.not_found(
    `nobody who is owned is "${echo(person)}"`,
    "a person is named by id, profile address or its slug, or whole name; " +
      "headcount owned says how many are owned",
    "not_owned",
  );
