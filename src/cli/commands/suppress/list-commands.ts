import { Disk, failpoint } from "../../../engine/runs/disk.ts";
import { suppressionList } from "../../../engine/runs/suppression.ts";
import type { Context } from "../../../shared/context.ts";
import {
  SUPPRESSED_KINDS,
  type SuppressedEntry,
  type SuppressedKind,
  type SuppressedName,
  suppressedName,
} from "../../../shared/contract/suppression.ts";
import { counted, echo } from "../../../shared/contract/text.ts";
import { failed, usageError } from "../../../shared/errors.ts";
import { inputName, readTableFile } from "../../../shared/input.ts";
import { isName } from "../../../shared/person.ts";
import { columnsFor } from "../../../shared/tables/headings.ts";
import { type InputTable, unguarded } from "../../../shared/tables/table.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";

export type SuppressOptions = GlobalOptions & {
  readonly kind?: SuppressedKind;
  readonly note?: string;
};

export interface ListPlace<Options extends SuppressOptions> {
  readonly name: string;
  readonly folder: (options: Options, context: Context) => Promise<string>;
  readonly byName?: (name: string, context: Context) => Promise<readonly SuppressedName[]>;
  /** What is done for those who were added before it is reported. */
  readonly added?: (names: readonly SuppressedName[], desk: Desk<Options>) => Promise<void>;
  readonly options?: (command: Command) => Command;
  readonly addOptions?: (command: Command) => Command;
}

const MAX_BYTES = 1 << 26;
const NOTE_LENGTH = 200;
/** Digits of a mark that are shown, and the fewest that name an entry. */
const MARK_DIGITS = 12;

export function addListCommands<Options extends SuppressOptions>(
  parent: Command,
  context: Context,
  place: ListPlace<Options>,
): void {
  const own = place.options ?? ((command: Command) => command);
  const kind = (command: Command): Command =>
    command.oneOf("--kind <kind>", "what the words are (default: as they look)", SUPPRESSED_KINDS);
  const note = (command: Command): Command =>
    command.option("--note <text>", "why, kept with each entry as it is: name nobody in it");
  const adding = (command: Command): Command =>
    (place.addOptions ?? ((it) => it))(own(note(kind(command))));
  const { now, sleep, interrupted: signal } = context;
  const disk = new Disk(failpoint(context.env));

  const open = async (desk: Desk<Options>): Promise<Opened> => ({
    ...desk,
    place: place.name,
    list: suppressionList(await place.folder(desk.options, context), disk, { now, sleep, signal }),
    namesOf: async (word) =>
      desk.options.kind === undefined && place.byName !== undefined && isName(word)
        ? place.byName(word, context)
        : [nameOf(word, desk.options.kind)],
    added: async (names) => place.added?.(names, desk),
  });

  const opening = <Args extends unknown[]>(
    work: (opened: Opened, ...args: Args) => Promise<void>,
  ) =>
    atDesk(context, async (desk: Desk<Options>, ...args: Args) => work(await open(desk), ...args));

  adding(parent.command("add <who...>"))
    .description("leave people out: by profile address, id or domain")
    .does(
      opening(async (opened, words: readonly string[]) => {
        const names: SuppressedName[] = [];
        for (const word of words) names.push(...(await opened.namesOf(word)));
        await add(opened, names);
      }),
    );

  adding(parent.command("import <file>"))
    .description("leave out everybody in a file (- for stdin): an address, id or domain a line")
    .does(
      opening(async (opened, file: string) => {
        const table = await readTableFile(context, file, "suppression", MAX_BYTES);
        await add(opened, namesIn(table, file, opened.options.kind));
      }),
    );

  own(parent.command("list", { isDefault: true }))
    .description("show when, as what and why; nobody's name is kept")
    .does(opening(show));

  own(kind(parent.command("check <who...>")))
    .description("say who is on the list, since when and why; exit 6 where somebody is not")
    .does(opening(check));
  own(kind(parent.command("remove <who...>")))
    .description("take people off the list: as they were added, or by a mark of the list")
    .does(opening(remove));
}

interface Opened extends Desk<SuppressOptions> {
  /** `headcount suppress`. */
  readonly place: string;
  readonly list: ReturnType<typeof suppressionList>;
  /**
   * How somebody is named on the list; by a whole name where the one person who has it is known.
   */
  readonly namesOf: (word: string) => Promise<readonly SuppressedName[]>;
  readonly added: (names: readonly SuppressedName[]) => Promise<void>;
}

async function check(
  { list, namesOf, place, printer }: Opened,
  words: readonly string[],
): Promise<void> {
  const checked: {
    readonly who: string;
    readonly suppressed: boolean;
    readonly entry: SuppressedEntry | null;
  }[] = [];
  for (const who of words) {
    const names = await namesOf(who);
    const entries = await Promise.all(names.map((name) => list.find(name)));
    const [entry = null] = entries.flat();
    checked.push({ who, suppressed: entry !== null, entry });
  }

  if (printer.json) {
    printer.document<"suppress check">({
      checked: checked.map(({ who, suppressed, entry }) => ({
        who,
        suppressed,
        kind: entry?.kind ?? null,
        at: entry?.at ?? null,
        note: entry?.note ?? null,
      })),
    });
  } else {
    await printer.rows(
      [
        { title: "who" },
        { title: "suppressed", fixed: true },
        { title: "at", fixed: true },
        { title: "note" },
      ],
      checked.map(({ who, suppressed, entry }) => [
        who,
        suppressed ? "yes" : "no",
        entry?.at ?? "",
        entry?.note ?? "",
      ]),
    );
  }

  const absent = checked.filter(({ suppressed }) => !suppressed);
  if (absent.length === 0) return;

  throw failed.not_found(
    `not on the list: ${absent.map(({ who }) => echo(who)).join(", ")}`,
    `${place} add leaves somebody out; a name on the list by address ` +
      "alone is not found by id, nor the other way round",
    "not_suppressed",
  );
}

function nameOf(word: string, kind: SuppressedKind | undefined): SuppressedName {
  const name = suppressedName(word, kind);
  if (name !== undefined) return name;
  throw usageError(
    `"${echo(word)}" is ${kind === undefined ? "no profile address, id or domain" : `no ${kind}`}`,
    isName(word)
      ? "several people may have a name: " +
          "for example network.example/in/ada-lovelace, or p_0000000042"
      : "for example network.example/in/ada-lovelace, p_0000000042 or northwind.example",
    "bad_name",
  );
}

/**
 * A list, one a line (those that begin with # are none), or a table with a column that tells
 * people: of each row the best of what it has.
 */
function namesIn(
  table: InputTable,
  file: string,
  kind: SuppressedKind | undefined,
): SuppressedName[] {
  const { columns, isList, rows } = table;
  const places = columnsFor(table, "person");
  if (places.length === 0 && !isList) {
    throw usageError(
      `${inputName(file)} has no column that tells people: ${columns.map(echo).join(", ")}`,
      "one of network_url, profile_url, id or domain is needed, or a list with one of them a line",
      "bad_name",
    );
  }

  const names = rows.flatMap(({ line, cells }) => {
    const texts = (isList ? [0] : places)
      .map((place) => unguarded(cells[place] ?? "").trim())
      .filter((text) => text !== "");
    const [word] = texts;
    if (word === undefined || (isList && word.startsWith("#"))) return [];

    // A row of several columns would be taken for an id that nobody has.
    const name = texts
      .filter((text) => !/[\s,;"]/.test(text))
      .flatMap((text) => suppressedName(text, kind) ?? [])[0];
    if (name !== undefined) return [name];

    throw usageError(
      `line ${line} of ${inputName(file)} is "${echo(word)}": ` +
        "no profile address, id or domain; nobody was added",
      "the file has one of them a line, or a column of them that has a name",
      "bad_name",
    );
  });
  if (names.length > 0) return names;

  throw usageError(
    `${inputName(file)} names nobody`,
    "the file has an address, id or domain a line",
    "bad_name",
  );
}

async function add(opened: Opened, names: readonly SuppressedName[]): Promise<void> {
  const { list: suppression, options, printer } = opened;
  const { note } = options;
  if (note !== undefined && (note.length > NOTE_LENGTH || /\p{Cc}/u.test(note))) {
    throw usageError(`--note takes at most ${NOTE_LENGTH} characters on one line`);
  }

  const added = await suppression.add(names, note ?? null);

  // Also where all were there before: the process that added them may have died here.
  await opened.added(names);

  const { length: entries } = await suppression.entries();
  if (printer.json)
    printer.document<"suppress add">({ added, known: names.length - added, entries });

  const again = added === names.length ? "" : `, ${names.length - added} there already`;
  printer.note(`added ${counted(added, "entry", "entries")}${again}; the list has ${entries}`);
}

async function remove(
  { list, options, place, printer }: Opened,
  words: readonly string[],
): Promise<void> {
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

async function show({ list, printer }: Opened): Promise<void> {
  const entries = await list.entries();
  const mark = ({ marks: [first = ""] }: SuppressedEntry): string => first.slice(0, MARK_DIGITS);

  if (printer.json) {
    return printer.document<"suppress list">({
      entries: entries.map((entry) => ({
        mark: mark(entry),
        kind: entry.kind,
        at: entry.at,
        note: entry.note,
      })),
    });
  }
  if (entries.length === 0 && printer.terminal) return printer.note("nobody is suppressed");

  await printer.rows(
    [
      { title: "mark", fixed: true },
      { title: "kind", fixed: true },
      { title: "at", fixed: true },
      { title: "note" },
    ],
    entries.map((entry) => [mark(entry), entry.kind, entry.at, entry.note ?? ""]),
  );
}
