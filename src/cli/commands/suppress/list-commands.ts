import type { keptPeople } from "../../../app/keep/forget/find.ts";
import { diskOf } from "../../../app/keep/store.ts";
import { isAnyWord, namesOf, noForm, suppress } from "../../../app/keep/suppress.ts";
import { SuppressionList } from "../../../engine/library/suppression.ts";
import type { Context } from "../../../shared/context.ts";
import { suppressedName } from "../../../shared/contract/naming/who.ts";
import {
  SUPPRESSED_KINDS,
  type SuppressedEntry,
  type SuppressedKind,
  type SuppressedName,
} from "../../../shared/contract/suppression.ts";
import { counted, echo, grouped, someOf } from "../../../shared/contract/text.ts";
import { failed, usageError } from "../../../shared/errors.ts";
import { inputName, readTableFile } from "../../../shared/input.ts";
import { asideOf } from "../../../shared/tables/dialect.ts";
import { columnsFor, personKind, squeezed } from "../../../shared/tables/headings.ts";
import { columnsSought, filledCells } from "../../../shared/tables/sought.ts";
import { headedBy, type InputTable } from "../../../shared/tables/table.ts";
import type { Command, GlobalOptions, Touches } from "../../options.ts";
import { type ColumnOf, documentsOf, printList } from "../../terminal/list.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";

export type SuppressOptions = GlobalOptions & {
  readonly kind?: SuppressedKind;
  readonly note?: string;
  readonly column?: string;
};

export interface ListPlace<Options extends SuppressOptions> {
  readonly name: string;
  readonly touches: Readonly<Record<"add" | "import" | "list" | "check" | "remove", Touches>>;
  readonly folder: (options: Options, context: Context) => Promise<string>;
  /** The people of whom somebody may be meant by a name; without them none is looked up. */
  readonly kept?: (context: Context) => ReturnType<typeof keptPeople>;
  /** What is done for those who were added before it is reported. */
  readonly added?: (names: readonly SuppressedName[], desk: Desk<Options>) => Promise<void>;
  readonly options?: (command: Command) => Command;
  readonly addOptions?: (command: Command) => Command;
}

const MAX_BYTES = 1 << 26;
/** Names of which it is said what they were taken for. */
const SPOKEN = 5;
/** Digits of a mark that are shown, and the fewest that name an entry. */
const MARK_DIGITS = 12;

const kind = (command: Command): Command =>
  command.oneOf("--kind <kind>", "what the words are (default: as they look)", SUPPRESSED_KINDS);
const note = (command: Command): Command =>
  command.option("--note <text>", "why, kept with each entry as it is: name nobody in it");

export function addListCommands<Options extends SuppressOptions>(
  parent: Command,
  context: Context,
  place: ListPlace<Options>,
): void {
  const { touches, options: own = (command) => command } = place;
  const adding = (command: Command): Command =>
    (place.addOptions ?? ((it) => it))(own(note(kind(command))));
  const { now, sleep, interrupted: signal } = context;
  const disk = diskOf(context);

  const open = async (desk: Desk<Options>): Promise<Opened> => ({
    ...desk,
    place: place.name,
    list: new SuppressionList(await place.folder(desk.options, context), disk, {
      now,
      sleep,
      signal,
    }),
    kept: place.kept?.(context),
    added: async (names) => place.added?.(names, desk),
  });

  const opening = <Args extends unknown[]>(
    work: (opened: Opened, ...args: Args) => Promise<void>,
  ) =>
    atDesk(context, async (desk: Desk<Options>, ...args: Args) => work(await open(desk), ...args));

  adding(parent.command("add <who...>"))
    .description("leave people out: by profile address, id or domain")
    .does(
      touches.add,
      opening(async (opened, words: readonly string[]) => {
        const names: SuppressedName[] = [];
        for (const word of words) names.push(...(await namesOf(word, namingOf(opened))));
        await add(opened, names);
      }),
    );

  adding(parent.command("import <file>"))
    .description("leave out everybody in a file (- for stdin): an address, id or domain a line")
    .option("--column <name>", "the column of the file that tells people")
    .does(
      touches.import,
      opening(async (opened, file: string) => {
        const table = await readTableFile(context, file, "suppression", MAX_BYTES);
        await add(opened, namesIn(table, file, opened));
      }),
    );

  own(parent.command("list", { isDefault: true }))
    .description("show when, as what and why; nobody's name is kept")
    .does(touches.list, opening(show));

  own(kind(parent.command("check <who...>")))
    .description("say who is on the list, since when and why; exit 6 where somebody is not")
    .does(touches.check, opening(check));
  own(kind(parent.command("remove <who...>")))
    .description("take people off the list: as they were added, or by a mark of the list")
    .does(touches.remove, opening(remove));
}

interface Opened extends Desk<SuppressOptions> {
  /** `headcount suppress`. */
  readonly place: string;
  readonly list: SuppressionList;
  readonly kept: ReturnType<typeof keptPeople> | undefined;
  readonly added: (names: readonly SuppressedName[]) => Promise<void>;
}

const namingOf = ({ kept, options: { kind } }: Opened) => ({ kept, kind });

/** How a list names who is asked about: somebody who is kept by every name of theirs. */
async function namesAsked(word: string, opened: Opened): Promise<readonly SuppressedName[]> {
  const { kept, options } = opened;
  const name = suppressedName(word, options.kind);
  if (options.kind !== undefined || kept === undefined || name?.kind === "domain")
    return name === undefined ? namesOf(word, namingOf(opened)) : [name];

  // Whom the list is about is known without the rest of what is kept.
  const person = await kept.learn(word).catch((error: unknown) => {
    if (name === undefined) throw error;
    return undefined;
  });
  if (person?.isKnown) return person.suppressed;
  if (name === undefined) throw noForm(word, undefined);
  return [name];
}

interface Checked {
  readonly who: string;
  readonly entry: SuppressedEntry | null;
}

const CHECKED: readonly ColumnOf<Checked>[] = [
  { name: "who", long: true },
  {
    name: "suppressed",
    value: ({ entry }) => (entry ? "yes" : "no"),
    json: ({ entry }) => entry !== null,
  },
  { name: "kind", title: null, value: ({ entry }) => entry?.kind ?? null },
  { name: "at", value: ({ entry }) => entry?.at ?? null },
  { name: "note", long: true, value: ({ entry }) => entry?.note ?? null },
];

async function check(opened: Opened, words: readonly string[]) {
  const { list, place, printer } = opened;
  const checked: Checked[] = [];
  for (const who of words) {
    const names = await namesAsked(who, opened);
    const entries = await Promise.all(names.map((name) => list.find(name)));
    const [entry = null] = entries.flat();
    checked.push({ who, entry });
  }

  if (printer.json) printer.document({ checked: documentsOf(CHECKED, checked) });
  else await printList(CHECKED, checked, printer, "none");

  const absent = checked.filter(({ entry }) => entry === null);
  if (absent.length === 0) return;

  throw failed.not_found(
    `not on the list: ${absent.map(({ who }) => echo(who)).join(", ")}`,
    `${place} add leaves somebody out; who is not kept, and is on the list ` +
      "by address alone, is not found by id, nor the other way round",
    "not_suppressed",
  );
}

/** Where it is told by how it was added: no look at who is kept. */
function nameOf(word: string, kind: SuppressedKind | undefined): SuppressedName {
  const name = suppressedName(word, kind);
  if (name === undefined) throw noForm(word, kind);
  return name;
}

/** What somebody was taken for, in words. */
const spoken = ({ kind, id, address, domain }: SuppressedName): string =>
  kind === "domain"
    ? `everybody of the domain ${echo(domain ?? "")}`
    : kind === "address"
      ? `the address ${echo(address ?? "")}`
      : `the id ${echo(id ?? "")}${address ? ", or the last part of an address" : ""}`;

/**
 * A list, one a line (those that begin with # are none), or a table with a column that tells
 * people: of each row the best of what it has.
 */
function namesIn(
  input: InputTable,
  file: string,
  { kept, options: { kind: said, column }, printer }: Opened,
): readonly SuppressedName[] {
  const table = headedBy(input, column);
  const { columns, headings, isList, rows } = table;
  const isOther = (place: number): boolean => {
    const name = squeezed(headings[place] ?? "");
    // Of a table of people the domain is the employer's, which is not whom they objected for.
    if (name === "domain") return columns.length > 1;
    // What a CRM numbers its records by is known to a service of one's own at most.
    return name === "recordid" && kept !== undefined && said === undefined;
  };
  const places = columnsSought(
    table,
    "person",
    [inputName(file), column, said !== undefined],
    columnsFor(table, "person", column).filter((place) => column || !isOther(place)),
  );

  const silent: string[] = [];
  const names = rows.flatMap((row) => {
    const { line, cells, object } = row;
    if (!isList && object === undefined && asideOf(cells) !== undefined) return [];
    const words = filledCells(row, places).map(({ text, place }) => ({
      text,
      kind: said ?? (isList ? undefined : personKind(headings[place] ?? "")),
    }));
    const [word] = words;
    if (word === undefined) silent.push(String(line));
    if (word === undefined || (isList && word.text.startsWith("#"))) return [];

    // A row of several columns would be taken for an id that nobody has.
    const name = words
      .filter(({ text, kind }) => !/[\s,;"]/.test(text) && (kind !== undefined || !isAnyWord(text)))
      .flatMap(({ text, kind }) => suppressedName(text, kind) ?? [])[0];
    if (name !== undefined) return [name];

    throw usageError(
      `line ${line} of ${inputName(file)} is "${echo(word.text)}": ` +
        "no profile address, id or domain; nobody was added",
      "the file has one of them a line, or a column of them that has a name",
      "bad_name",
    );
  });
  // Each may be somebody's objection.
  if (silent.length > 0)
    printer.say(
      `warning: ${inputName(file)} names nobody in ${counted(silent.length, "row")}, ` +
        `whom nothing leaves out: line ${someOf(silent)}`,
    );
  if (names.length > 0) return names;

  throw usageError(
    `${inputName(file)} names nobody`,
    "the file has an address, id or domain a line",
    "bad_name",
  );
}

async function add(opened: Opened, names: readonly SuppressedName[]) {
  const { list: suppression, options, printer } = opened;
  const { note } = options;
  const added = await suppress(names, note, suppression);

  // Also where all were there before: the process that added them may have died here.
  await opened.added(names);

  const { length: entries } = await suppression.entries();
  if (printer.json)
    printer.document<"suppress add">({ added, known: names.length - added, entries });

  const again = added === names.length ? "" : `, ${names.length - added} there already`;
  printer.note(`added ${counted(added, "entry", "entries")}${again}; the list has ${entries}`);

  const hidden = await opened.kept?.hiddenBy(names);
  for (const name of names.slice(0, SPOKEN)) printer.note(`taken for ${spoken(name)}`);
  if (hidden !== undefined) printer.note(`of the people you have that hides ${grouped(hidden)}`);
}

async function remove({ list, options, place, printer }: Opened, words: readonly string[]) {
  const isMark = (word: string): boolean =>
    options.kind === undefined && /^[0-9a-f]{12,32}$/.test(word);
  const names = words.map((word) => nameOf(word, options.kind));
  const removed = await list.remove(names, words.filter(isMark));
  const { length: entries } = await list.entries();

  if (removed === 0) {
    throw usageError(
      `nobody who is named so is on the list of ${counted(entries, "entry", "entries")}`,
      `name them as they were added, or by the mark that ${place} list shows`,
      "not_suppressed",
    );
  }

  if (printer.json) printer.document<"suppress remove">({ removed, entries });
  printer.note(`removed ${counted(removed, "entry", "entries")}; the list has ${entries}`);
}

async function show({ list, printer }: Opened) {
  const entries = await list.entries();
  if (printer.json) printer.document({ entries: documentsOf(ENTRIES, entries) });
  else await printList(ENTRIES, entries, printer, "nobody is suppressed");
}

const ENTRIES: readonly ColumnOf<SuppressedEntry>[] = [
  {
    name: "mark",
    value: ({ marks: [first = ""] }) => first.slice(0, MARK_DIGITS),
  },
  { name: "kind" },
  { name: "at" },
  { name: "note", long: true },
];
