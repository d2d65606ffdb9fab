// Tested by test/cli/sync-histories.test.ts.
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Library } from "../../../engine/library/library.ts";
import type { ListCopy } from "../../../engine/library/lists.ts";
import { FORMAT } from "../../../engine/library/schema.ts";
import { ifMissing } from "../../../shared/folder.ts";
import { namesAnybody, whoIs } from "../../../shared/person.ts";
import { ifNoSqlite } from "../forget/find.ts";
import { forgottenAmong } from "../forget/redact.ts";
import type { Syncing } from "./syncing.ts";

/** What `refresh` keeps of one list: only the machine that keeps it adds to it. */
interface History extends ListCopy {
  readonly format: number;
  /** The name of the library's file, which says of which service it is. */
  readonly library: string;
  readonly machine: string;
}

/** The sample's people are invented, and each machine has its own. */
const LIBRARY = /^(?!sample-)[\w.-]+\.db$/;

const idIn = (name: string): string => name.slice(0, name.indexOf("."));
const bytesOf = (history: History): Buffer => Buffer.from(JSON.stringify(history));

/** Gives each list that is kept here as it is by now, and takes in what others keep of theirs. */
export async function syncHistories(syncing: Syncing): Promise<void> {
  const { folder, synced } = syncing;
  const before = await folder.names("histories");
  const given = await giveHistories(before, syncing);

  for (const name of await folder.names("histories")) {
    const own = given.get(idIn(name));
    if (own === name || (await isTaken(name, syncing))) continue;
    if (own !== undefined) {
      await folder.drop("histories", name);
      continue;
    }
    const why = await takeIn(name, syncing);
    if (why !== undefined) synced.unread.set(`histories/${name}`, why);
  }
}

/** @returns the names of their files, by what they are called without what they hold */
async function giveHistories(
  before: readonly string[],
  syncing: Syncing,
): Promise<ReadonlyMap<string, string>> {
  const { folder, store, stateDir, synced } = syncing;
  const { id, name: machine } = store.machine;
  const given = new Map<string, string>();

  const files = await readdir(join(stateDir, "library")).catch(ifMissing([]));
  for (const library of files.filter((file) => LIBRARY.test(file)))
    await atLibrary(library, syncing, async ({ lists }) => {
      for (const path of lists.outputs()) {
        const copy = lists.copyOf(path);
        if (copy === undefined) continue;
        const own = hash("sha256", `${id} ${library} ${path}`);
        const history = { format: FORMAT, library, machine, ...copy };
        const of = `${id}-${own.slice(0, 16)}`;
        given.set(of, await folder.put("histories", of, bytesOf(history)));
      }
    });

  synced.lists.gave = [...given.values()].filter((name) => !before.includes(name)).length;
  return given;
}

/** A library that somebody moved away has lost what was taken in. */
async function isTaken(name: string, { memory, stateDir }: Syncing): Promise<boolean> {
  const library = memory.given.get(name);
  return memory.taken.has(name) && existsSync(join(stateDir, "library", library ?? ""));
}

/** @returns why it is left; undefined: it is in, or nobody may keep it */
async function takeIn(name: string, syncing: Syncing): Promise<string | undefined> {
  const { folder, memory, synced } = syncing;
  const bytes = await folder.read("histories", name);
  if (bytes === undefined) return "not whole";

  const came = JSON.parse(bytes.toString()) as History;
  if (came.format !== FORMAT || !LIBRARY.test(came.library))
    return "written by another version of headcount";

  const history = await redacted(came, syncing);
  const clean = history && (await folder.put("histories", idIn(name), bytesOf(history)));
  if (clean !== name) await folder.drop("histories", name);
  if (history === undefined || clean === undefined) return undefined;

  const called = `${history.machine}:${idIn(name).slice(-16, -8)}`;
  await atLibrary(history.library, syncing, ({ lists }) => {
    memory.taken.add(clean);
    memory.given.set(clean, history.library);
    const here = JSON.stringify(lists.copyOf(called)?.refresh ?? []);
    if (here.startsWith(JSON.stringify(history.refresh).slice(0, -1))) return;
    lists.takeIn(called, history.machine, history);
    synced.lists.came++;
  });
  return undefined;
}

/** Without whoever was forgotten; undefined where its filters may name one of them. */
async function redacted(
  history: History,
  { store, stateDir }: Syncing,
): Promise<History | undefined> {
  const service = join(stateDir, "library", history.library);
  const { member, changed, filters } = history;
  const people = [...member.map(([who]) => who), ...changed.map(([, who]) => who)];
  const seen = [...new Set(people)].map((who) => ({ who: whoIs(`${who}`), service }));
  const person = forgottenAmong(seen, await store.suppression());
  if (person === undefined) return history;
  if (namesAnybody(JSON.parse(filters))) return undefined;

  const isKept = (who: unknown): boolean => !person.is(whoIs(`${who}`), service);
  return {
    ...history,
    member: member.filter(([who]) => isKept(who)),
    changed: changed.filter(([, who]) => isKept(who)),
  };
}

/** Without SQLite nobody refreshes here, and nothing is taken in yet. */
async function atLibrary(
  name: string,
  { stateDir, store }: Syncing,
  work: (library: Library) => Promise<void> | void,
): Promise<void> {
  const path = join(stateDir, "library", name);
  const library = await Library.open(path, await store.suppression()).catch(ifNoSqlite);
  try {
    if (library !== undefined) await work(library);
  } finally {
    library?.close();
  }
}
