import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { stateDir } from "../../../engine/connections/paths.ts";
import { bodiesOf, listedIn } from "../../../engine/library/forget.ts";
import { Library } from "../../../engine/library/library.ts";
import { openLibrary, shelfOfPlan, withLibrary } from "../../../engine/library/take-in.ts";
import { kindOf } from "../../../engine/output/distinct.ts";
import type { JournalRecord } from "../../../engine/runs/journal.ts";
import type { Plan } from "../../../engine/runs/plan.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { read } from "../../../shared/contract/naming/read.ts";
import { takenFor } from "../../../shared/contract/naming/who.ts";
import { normalForm, withoutMarks } from "../../../shared/contract/normalise.ts";
import { marksOf, type SuppressedName, Suppression } from "../../../shared/contract/suppression.ts";
import { echo, someOf } from "../../../shared/contract/text.ts";
import { type CliError, failed } from "../../../shared/errors.ts";
import { missingPackage, toInstall } from "../../../shared/packages.ts";
import {
  type Identity,
  identityIn,
  PersonMatcher,
  requireOne,
  type Sighting,
  whoIs,
} from "../../../shared/person.ts";
import { Page } from "../../../shared/rows/page.ts";
import { type JsonValue, parseExact, stringifyExact } from "../../../shared/rows/values.ts";
import { openRuns } from "../store.ts";

export interface RunFound extends KeptData {
  readonly rows: number;
  /**
   * Whether it was bought by the person's name, or a part
   * or a table that it keeps has the name: it cannot stay.
   */
  readonly isNamed: boolean;
  /** Whether its journal names the person in whatever form. */
  readonly isIn: boolean;
  readonly receipt: Receipt | undefined;
}

/** What is read of a run's receipt, and what forgetting writes into it. */
interface Receipt {
  readonly output?: { readonly file: string; readonly sha256: string | null } | null;
  readonly forgotten?: number;
  /** The rows that are being forgotten, while that is under way. */
  readonly forgetting?: number;
  /** SHA-256 of the output that the one of `output` is about to take the place of. */
  readonly replaces?: string | null;
}

interface KeptData {
  readonly plan: Plan;
  /** The library that its people belong to: ids mean the same person in it. */
  readonly service: string;
}

/** Every run and library that can be read, with all that was bought taken in. */
export async function keptOf(stateDir: string, store: RunStore) {
  const runs: KeptData[] = [];
  /** What cannot be read, and why: nobody knows whom it holds. */
  const unread = new Map<string, string>();
  const paths = new Set<string>();
  for (const id of await store.ids()) {
    const plan = await store.readPlan(id).catch((error: { code?: string; message: string }) => {
      // It died before it bought anything.
      if (error.code !== "no_such_run") unread.set(`run ${id}`, error.message);
      return undefined;
    });
    if (plan === undefined) continue;

    const shelf = shelfOfPlan(stateDir, plan);
    const run = { plan, service: shelf?.path ?? "" };
    runs.push(run);
    await rowsOf(run, store).catch((error: Error) => unread.set(`run ${id}`, error.message));
    if (shelf === undefined || paths.has(shelf.path)) continue;

    paths.add(shelf.path);

    const opened = await openLibrary(shelf, store).catch(ifNoSqlite);
    opened?.library.close();
    for (const { run, why } of opened?.taken.unread ?? []) unread.set(`run ${run}`, why);
  }

  const folder = join(stateDir, "library");
  const files = await readdir(folder).catch(() => []);
  const libraries: string[] = [];
  for (const path of files
    .filter((name) => name.endsWith(".db"))
    .map((name) => join(folder, name))) {
    const library = await Library.open(path, await store.suppression()).catch(ifNoSqlite);
    library?.close();
    if (library !== undefined) libraries.push(path);
    else unread.set(path, `SQLite is not installed: ${toInstall("@photostructure/sqlite")}`);
  }

  return { runs: runs.filter(({ plan }) => !unread.has(`run ${plan.id}`)), unread, libraries };
}

/** Whoever bought without the optional half of the program forgets without it. */
export function ifNoSqlite(error: { code?: string }): undefined {
  if ((missingPackage(error) ?? error).code !== "missing_package") throw error;
}

type Everything = Awaited<ReturnType<typeof keptOf>>;

/** What every machine calls a library's service, wherever its state folder is. */
export const serviceName = (library: string): string => basename(library, ".db");

/** As the list takes who is forgotten: an id is one of a service. */
export const forgottenNames = (person: PersonMatcher): readonly SuppressedName[] =>
  person.suppressed.map(({ services = [], ...name }) => ({
    ...name,
    services: services.map(serviceName),
  }));

/** Whether a record tells one person from others: mail alone does not. */
const isTold = (who: Identity | undefined): who is Identity =>
  (who?.id ?? who?.address) !== undefined;

async function* sightings(
  { runs, libraries }: Everything,
  store: RunStore,
): AsyncGenerator<Sighting> {
  for (const path of libraries) {
    const library = await Library.open(path, await store.suppression());
    try {
      for (const { body } of bodiesOf(library)) {
        const who = identityIn(parseExact(body));
        if (isTold(who)) yield { who, service: path };
      }
      for (const identity of listedIn(library)) yield { who: whoIs(identity), service: path };
    } finally {
      library.close();
    }
  }

  for (const run of runs) yield* await rowsOf(run, store);
}

/** Everybody who is kept, without their records. */
export async function sightingsIn(
  everything: Everything,
  store: RunStore,
): Promise<readonly Sighting[]> {
  const all: Sighting[] = [];
  for await (const sighting of sightings(everything, store)) all.push(sighting);
  return all;
}

/**
 * Who is meant by a profile address, its last part, an id, mail or a whole name, by all that
 * anything kept tells. Of an address or an id that nobody kept has, files may have rows.
 * @throws CliError exit 2 where a word names several, exit 6 for what can be nobody's
 */
export async function learn(
  word: string,
  everything: Everything,
  store: RunStore,
): Promise<PersonMatcher> {
  const reading = read(word);
  if (["nothing", "several", "company"].includes(reading.is))
    throw await nobody(word, everything, store);

  const person = new PersonMatcher(reading.is === "name" ? undefined : word);
  const called = normalForm(word);
  const isCalled = ({ names = [], email }: Identity): boolean =>
    names.includes(called) || (reading.is === "mail" && email === reading.value);
  const last = lastPart(word);
  let isUnsure = reading.is === "name";

  for (let pass = 0, fresh = true; fresh; pass++) {
    const hits: Sighting[] = [];
    for await (const sighting of sightings(everything, store)) {
      const { who, service } = sighting;
      if (person.is(who, service) || (pass === 0 && isCalled(who))) hits.push(sighting);
      else {
        person.addOther(who);
        isUnsure ||= endsIn(last, who);
      }
    }

    if (pass === 0) requireOne(word, hits);
    fresh = false;
    for (const { who, service } of hits) fresh = person.add(who, service) || fresh;
  }

  if (isUnsure && !person.isKnown) throw await nobody(word, everything, store);
  return person;
}

/** Who is kept, for the suppression list: each look reads everything that is kept. */
export function keptPeople(context: Context) {
  const store = openRuns(context);
  const everything = (): Promise<Everything> => keptOf(stateDir(context), store);

  return {
    /** @throws CliError as {@link learn} */
    learn: async (word: string): Promise<PersonMatcher> => learn(word, await everything(), store),

    /** A hint at those who are called almost so; undefined: nobody is. */
    almostCalled: async (word: string) => almostCalled(word, await everything(), store),

    /** How many of them these names stand for; undefined where that cannot be read. */
    hiddenBy: async (names: readonly SuppressedName[]): Promise<number | undefined> => {
      const key = randomBytes(32);
      const marks = names.flatMap((name) => marksOf(key, name));
      const list = new Suppression({ key, entries: [{ marks, kind: "id", at: "", note: null }] });
      const hidden = new Set<string>();
      try {
        for await (const { who, service } of sightings(await everything(), store))
          if (list.hides(who)) hidden.add(who.address ?? `${service} ${who.id}`);
        return hidden.size;
      } catch {
        return undefined;
      }
    },
  };
}

/** Exit 6: nobody of these. */
export async function nobody(
  word: string,
  everything: Everything,
  store: RunStore,
): Promise<CliError> {
  return failed.not_found(
    `nobody who is kept is "${echo(word)}", which was taken for ${takenFor(word)}`,
    (await almostCalled(word, everything, store)) ??
      "their profile address, its last part or an id may be kept; headcount suppress " +
        "add with one of them leaves somebody out who is not here yet",
    "nobody_kept",
  );
}

/** A hint at those who are called almost so, as a name is seldom asked for as it is kept. */
async function almostCalled(
  word: string,
  everything: Everything,
  store: RunStore,
): Promise<string | undefined> {
  const near = new Set<string>();
  const asked = wordsOf(word);
  const last = lastPart(word);
  for await (const { who } of sightings(everything, store))
    if (isAlmostCalled(asked, who) || endsIn(last, who))
      near.add(echo(who.address ?? who.id ?? ""));
  if (near.size === 0) return undefined;
  return `called almost so: ${someOf([...near])}; name whoever is meant by that`;
}

/** Of the address of a person: at another network, or at none, it may be the same one's. */
function lastPart(word: string): string | undefined {
  const reading = read(word);
  return reading.is === "person" ? reading.value.replace(/.*\//, "/") : undefined;
}

const endsIn = (last: string | undefined, { address }: Identity): boolean =>
  last !== undefined && `/${address}`.endsWith(last);

/** Whether a name is somebody's but for accents, order, or words that only one of the two has. */
function isAlmostCalled(asked: readonly string[], { names = [] }: Identity): boolean {
  return names.map(wordsOf).some((own) => {
    const both = own.filter((one) => asked.includes(one)).length;
    return both > 0 && both >= Math.min(own.length, asked.length);
  });
}

const wordsOf = (name: string): readonly string[] =>
  withoutMarks(normalForm(name)).match(/[\p{L}\p{N}]+/gu) ?? [];

async function rowsOf({ plan, service }: KeptData, store: RunStore): Promise<Sighting[]> {
  if (kindOf({ plan }) !== "person") return [];
  const rows: Sighting[] = [];
  for await (const { body } of (await store.open(plan.id)).pages()) {
    const page = Page.read(body, "person");
    // Of a row that is no JSON as much as can be read tells whose it is.
    const broken = page.partlyRead();
    for (const row of [...page.rows(), ...broken]) {
      const who = identityIn(row);
      if (isTold(who)) rows.push({ who, service });
    }
  }
  return rows;
}

/** What of a run's journal is the person's: rows, and what names the person beside them. */
export const forgettingOf = (person: PersonMatcher, service: string) => ({
  change: (body: Buffer): Buffer | undefined => person.without(body, service),

  /** A cursor that names the person is as one that was too long to be kept. */
  facts: (record: JournalRecord): JournalRecord => {
    const named = Object.entries(record).filter(
      ([, value]) => typeof value === "string" && person.isNamedInFact(value),
    );
    if (named.length === 0) return record;
    const cut = named.map(([name, value]) =>
      name === "next" ? ["cursorLength", value.length] : [name, "forgotten"],
    );
    const { next, ...others } = { next: undefined, ...record };
    const kept = named.some(([name]) => name === "next") ? others : record;
    return { ...kept, ...Object.fromEntries(cut) } as JournalRecord;
  },
});

/** Whether a plan asks for the person: by a filter, by the id, or as what was not reached. */
export function isAskedFor(
  person: PersonMatcher,
  { target, parts, unreached, digests }: Pick<Plan, "target" | "parts" | "unreached" | "digests">,
  service: string,
): boolean {
  const { named } = { named: undefined, ...target };
  return (
    person.isNamedByFilters(JSON.stringify([target, parts])) ||
    person.isNamedIn(JSON.stringify(unreached ?? [])) ||
    [named ?? [], digests ?? []].flat().some((id) => person.is({ id, address: undefined }, service))
  );
}

export async function runsWith(
  person: PersonMatcher,
  runs: readonly KeptData[],
  store: RunStore,
): Promise<RunFound[]> {
  const matches: RunFound[] = [];
  for (const run of runs) {
    const { plan, service } = run;
    const rows = (await rowsOf(run, store)).filter(({ who }) => person.is(who, service)).length;
    const asked = kindOf(run) === "person" ? (await store.open(plan.id)).plan : plan;
    const input = await store.input(plan.id).catch(() => "");
    const isNamed = isAskedFor(person, asked, service) || person.isNamedIn(input);
    const receipt = (await store.receipt(plan.id)) as Receipt | undefined;
    const isIn = kindOf(run) === "person" && store.has(plan.id, forgettingOf(person, service));
    matches.push({ ...run, rows, isNamed, isIn, receipt });
  }

  return matches;
}

/**
 * Where the person stands within what is kept of others, once their own is gone: in rows that tell
 * somebody else, and in what cannot be read. Paths, each once.
 */
export async function keptWithin(
  person: PersonMatcher,
  {
    runs,
    libraries,
  }: { readonly runs: readonly KeptData[]; readonly libraries: readonly string[] },
  store: RunStore,
): Promise<string[]> {
  const isWithin = (row: JsonValue): boolean =>
    person.isNamedIn(stringifyExact(row), !person.isNamesake(row));
  const places: string[] = [];

  for (const { plan } of runs) {
    if (!(await store.ids()).includes(plan.id)) continue;
    if (
      !(await person.isNamedInAll(createReadStream(join(store.folder, plan.id, "journal.ndjson"))))
    )
      continue;

    const rows: JsonValue[] = [];
    if (kindOf({ plan }) === "person")
      for await (const { body } of (await store.open(plan.id)).pages())
        rows.push(...Page.read(body, "person").rows());
    if (rows.length === 0 || rows.some(isWithin)) places.push(join(store.folder, plan.id));
  }

  for (const path of libraries) {
    await withLibrary(path, store, (library) => {
      for (const { body } of bodiesOf(library))
        if (!places.includes(path) && isWithin(parseExact(body))) places.push(path);
    });
  }

  return places;
}
