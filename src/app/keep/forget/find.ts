import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Library } from "../../../engine/library/library.ts";
import { openLibrary, shelfOfPlan } from "../../../engine/library/take-in.ts";
import { kindOf } from "../../../engine/output/distinct.ts";
import type { Plan } from "../../../engine/runs/plan.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import { echo } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { Page } from "../../../shared/rows/page.ts";
import { parseExact } from "../../../shared/rows/values.ts";
import { type Identity, identityIn, type Person } from "./person.ts";

/** A run that has something of the person. */
export interface RunFound {
  readonly plan: Plan;
  /** The library that its people belong to: ids mean the same person in it. */
  readonly service: string;
  /** Rows of the person in its replies. */
  readonly rows: number;
  /** Whether it was bought by the person's name, or a table that it keeps has the name: then it cannot stay. */
  readonly named: boolean;
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

export interface Kept {
  readonly plan: Plan;
  readonly service: string;
}

/** Every run whose rows are people, and every library, with all that was bought taken in. @throws CliError where a run cannot be read */
export async function keptOf(stateDir: string, store: RunStore): Promise<{ runs: Kept[]; libraries: string[] }> {
  const runs: Kept[] = [];
  const taken = new Set<string>();
  for (const id of await store.ids()) {
    const plan = await store.readPlan(id).catch((error: { code?: string }) => {
      // It died before it bought anything.
      if (error.code === "no_such_run") return undefined;
      throw error;
    });
    if (plan === undefined) continue;
    const shelf = shelfOfPlan(stateDir, plan);
    runs.push({ plan, service: shelf?.path ?? "" });
    if (shelf === undefined || taken.has(shelf.path)) continue;
    taken.add(shelf.path);
    const opened = await openLibrary(shelf, store).catch((error: { code?: string }) => {
      if (error.code === "missing_package" && !existsSync(shelf.path)) return undefined;
      throw error;
    });
    opened?.library.close();
    const [unread] = opened?.taken.unread ?? [];
    if (unread === undefined) continue;
    throw usageError(
      `run ${unread.run} cannot be read, and nobody knows whom it holds: ${unread.why}`,
      `headcount runs remove ${unread.run} --force removes it; nothing was forgotten yet`,
      "unread_run",
    );
  }
  const folder = join(stateDir, "library");
  const files = await readdir(folder).catch(() => []);
  return { runs, libraries: files.filter((name) => name.endsWith(".db")).map((name) => join(folder, name)) };
}

/** Learns every name of the person from everything that is kept, until nothing new is found. @throws CliError exit 2 where a word names several */
export async function learn(
  person: Person,
  word: string,
  { runs, libraries }: Awaited<ReturnType<typeof keptOf>>,
  store: RunStore,
): Promise<void> {
  for (let pass = 0, fresh = true; fresh; pass++) {
    const found: Met[] = [];
    for (const path of libraries) {
      const library = await Library.open(path, await store.suppression());
      try {
        for (const { body } of library.bodies()) {
          const who = identityIn(parseExact(body));
          if (who !== undefined && person.is(who, path)) found.push({ who, service: path });
        }
      } finally {
        library.close();
      }
    }
    for (const run of runs) found.push(...(await rowsOf(run, store)).filter(({ who }) => person.is(who, run.service)));
    if (pass === 0 && !word.includes("/")) requireOne(word, found);
    fresh = false;
    for (const { who, service } of found) fresh = person.add(who, service) || fresh;
  }
}

export interface Met {
  readonly who: Identity;
  readonly service: string;
}

/** Records are of one person where they share an address, or an id of the same service. */
export function requireOne(word: string, found: readonly Met[]): void {
  const people: Set<string>[] = [];
  for (const { who, service } of found) {
    const names = [who.address, who.id === undefined ? undefined : `${service} ${who.id}`].filter(
      (one) => one !== undefined,
    );
    const same = people.filter((known) => names.some((one) => known.has(one)));
    const merged = new Set([...names, ...same.flatMap((known) => [...known])]);
    people.splice(0, people.length, ...people.filter((known) => !same.includes(known)), merged);
  }
  if (people.length < 2) return;
  const said = people.slice(0, 5).map(([first = ""]) => echo(first));
  throw usageError(
    `"${echo(word)}" names ${people.length} people: ${said.join(", ")}; nothing was forgotten`,
    "name one by the whole profile address",
    "ambiguous_person",
  );
}

async function rowsOf({ plan, service }: Kept, store: RunStore): Promise<Met[]> {
  if (kindOf({ plan }) !== "person") return [];
  const rows: Met[] = [];
  for await (const { body } of (await store.open(plan.id)).pages()) {
    for (const row of Page.read(body, "person").rows()) {
      const who = identityIn(row);
      if (who !== undefined) rows.push({ who, service });
    }
  }
  return rows;
}

/** The runs that have something of the person. */
export async function runsWith(person: Person, runs: readonly Kept[], store: RunStore): Promise<RunFound[]> {
  const found: RunFound[] = [];
  for (const run of runs) {
    const { plan, service } = run;
    const rows = (await rowsOf(run, store)).filter(({ who }) => person.is(who, service)).length;
    const input = await store.input(plan.id).catch(() => "");
    const named = person.isNamedIn(JSON.stringify(plan.target)) || person.isIn(input);
    const receipt = (await store.receipt(plan.id)) as Receipt | undefined;
    found.push({ plan, service, rows, named, receipt });
  }
  return found;
}
