import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { stateDir } from "../../../engine/connections/paths.ts";
import { bodiesOf } from "../../../engine/library/forget.ts";
import { Library } from "../../../engine/library/library.ts";
import { openLibrary, shelfOfPlan } from "../../../engine/library/take-in.ts";
import { kindOf } from "../../../engine/output/distinct.ts";
import type { Plan } from "../../../engine/runs/plan.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { normalForm } from "../../../shared/contract/normalise.ts";
import { type SuppressedName, suppressedName } from "../../../shared/contract/suppression.ts";
import { echo } from "../../../shared/contract/text.ts";
import { type CliError, failed, usageError } from "../../../shared/errors.ts";
import {
  type Identity,
  identityIn,
  isEmail,
  isName,
  PersonMatcher,
  requireOne,
  type Sighting,
} from "../../../shared/person.ts";
import { Page } from "../../../shared/rows/page.ts";
import { parseExact } from "../../../shared/rows/values.ts";
import { openRuns } from "../store.ts";

export interface RunFound extends KeptData {
  readonly rows: number;
  /**
   * Whether it was bought by the person's name, or a part
   * or a table that it keeps has the name: it cannot stay.
   */
  readonly isNamed: boolean;
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

/**
 * Every run and every library, with all that was bought taken in.
 * @throws CliError where a run cannot be read
 */
export async function keptOf(
  stateDir: string,
  store: RunStore,
): Promise<{ runs: KeptData[]; libraries: string[] }> {
  const runs: KeptData[] = [];
  const paths = new Set<string>();
  for (const id of await store.ids()) {
    const plan = await store.readPlan(id).catch((error: { code?: string }) => {
      // It died before it bought anything.
      if (error.code === "no_such_run") return undefined;
      throw error;
    });
    if (plan === undefined) continue;

    const shelf = shelfOfPlan(stateDir, plan);
    runs.push({ plan, service: shelf?.path ?? "" });
    if (shelf === undefined || paths.has(shelf.path)) continue;

    paths.add(shelf.path);

    const opened = await openLibrary(shelf, store).catch((error: { code?: string }) => {
      if (error.code === "missing_package" && !existsSync(shelf.path)) return undefined;
      throw error;
    });
    opened?.library.close();

    const [unread] = opened?.taken.unread ?? [];
    if (unread === undefined) continue;

    throw usageError(
      `run ${unread.run} cannot be read, and nobody knows whom it holds: ${unread.why}`,
      `headcount runs remove ${unread.run} --force --yes removes it; nothing was forgotten yet`,
      "unread_run",
    );
  }

  const folder = join(stateDir, "library");
  const files = await readdir(folder).catch(() => []);
  return {
    runs,
    libraries: files.filter((name) => name.endsWith(".db")).map((name) => join(folder, name)),
  };
}

type Everything = Awaited<ReturnType<typeof keptOf>>;

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
    } finally {
      library.close();
    }
  }

  for (const run of runs) yield* await rowsOf(run, store);
}

/**
 * Who is meant by a profile address, its last part, an id, mail or a whole name, by all that
 * anything kept tells. Of mail that nobody kept has, files may have rows.
 * @throws CliError exit 2 where a word names several, exit 6 for a name that nobody has
 */
export async function learn(
  word: string,
  everything: Everything,
  store: RunStore,
): Promise<PersonMatcher> {
  const [byName, mailed] = [isName(word), isEmail(word)];
  if (!byName && !mailed && !["id", "address"].includes(suppressedName(word)?.kind ?? ""))
    throw notOne(word);

  const person = new PersonMatcher(byName ? undefined : word);
  const [wanted, email] = [normalForm(word), word.trim().toLowerCase()];

  for (let pass = 0, fresh = true; fresh; pass++) {
    const hits: Sighting[] = [];
    for await (const sighting of sightings(everything, store)) {
      const { who, service } = sighting;
      const byWord =
        pass === 0 &&
        ((byName && normalForm(who.name ?? "") === wanted) || (mailed && who.email === email));
      if (byWord || person.is(who, service)) hits.push(sighting);
      else person.addOther(who);
    }

    if (pass === 0 && !word.includes("/")) requireOne(word, hits);
    if (byName && hits.length === 0) throw nobody(word);

    fresh = false;
    for (const { who, service } of hits) fresh = person.add(who, service) || fresh;
  }

  return person;
}

/**
 * How the suppression list names the one person who has a whole name.
 * @throws CliError as {@link learn}
 */
export async function namesOfName(
  name: string,
  context: Context,
): Promise<readonly SuppressedName[]> {
  const store = openRuns(context);
  return (await learn(name, await keptOf(stateDir(context), store), store)).suppressed;
}

const notOne = (word: string): CliError =>
  usageError(
    `"${echo(word)}" is no profile address, last part of one, ` +
      "id, address of mail or name of a person",
    "for example network.example/in/ada-lovelace, p_0000000042, ada@example.com or 'Ada Lovelace'",
    "bad_name",
  );

export const nobody = (word: string): CliError =>
  failed.not_found(
    `nobody who is kept is "${echo(word)}"`,
    "their profile address, its last part or an id may be kept; headcount suppress " +
      "add with one of them leaves somebody out who is not here yet",
    "nobody_kept",
  );

async function rowsOf({ plan, service }: KeptData, store: RunStore): Promise<Sighting[]> {
  if (kindOf({ plan }) !== "person") return [];
  const rows: Sighting[] = [];
  for await (const { body } of (await store.open(plan.id)).pages()) {
    for (const row of Page.read(body, "person").rows()) {
      const who = identityIn(row);
      if (isTold(who)) rows.push({ who, service });
    }
  }
  return rows;
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
    const { target, parts, unreached } =
      kindOf(run) === "person" ? (await store.open(plan.id)).plan : plan;
    const input = await store.input(plan.id).catch(() => "");
    const isNamed = [JSON.stringify([target, parts, unreached]), input].some((text) =>
      person.isNamedIn(text),
    );
    const receipt = (await store.receipt(plan.id)) as Receipt | undefined;
    matches.push({ ...run, rows, isNamed, receipt });
  }

  return matches;
}
