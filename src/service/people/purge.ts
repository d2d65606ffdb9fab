import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { requireOne } from "../../app/keep/forget/find.ts";
import { mentions } from "../../app/keep/forget/outputs.ts";
import { type Identity, identityIn, Person } from "../../app/keep/forget/person.ts";
import type { BuildSetup } from "../../cli/commands/service/build.ts";
import { actor, type FolderOptions, storeOf } from "../../cli/commands/service/folder.ts";
import type { ServedPeople } from "../../dataset/clickhouse/left-out.ts";
import type { PeopleFolders } from "../../dataset/suppression.ts";
import { Disk } from "../../engine/runs/disk.ts";
import { failpoint } from "../../engine/runs/failpoint.ts";
import { SuppressionList } from "../../engine/runs/suppression.ts";
import type { Context } from "../../shared/context.ts";
import { canonicalAddress } from "../../shared/contract/normalise.ts";
import { type Named, type SuppressedName, suppressedName } from "../../shared/contract/suppression.ts";
import { parseExact } from "../../shared/rows/values.ts";
import type { Store } from "../ledger/ledger.ts";
import type { KeptFilters } from "./people-store.ts";

/** A data folder that somebody is looked for in. */
export interface KeptPeople {
  readonly dir: string;
  readonly folders: PeopleFolders;
  /** Undefined where the folder has no accounts yet. */
  readonly store: Store | undefined;
  /** Where the dataset is in ClickHouse. */
  readonly servers: ServedPeople | undefined;
  hides(name: SuppressedName): Promise<boolean>;
  close(): Promise<void>;
}

/** What a data folder has of a person. */
export interface InFolder {
  readonly person: Person;
  readonly records: number;
  readonly test: number;
  readonly replies: number;
  /** Exports of the console with pages among the replies. */
  readonly exports: number;
  readonly filters: readonly KeptFilters[];
  readonly anything: boolean;
}

/** @throws NoLedgerError never: a folder without accounts is one */
export async function openKept(
  dir: string,
  options: FolderOptions,
  context: Context,
  servers?: ServedPeople,
): Promise<KeptPeople> {
  const { openStore, peopleFolders } = await import("../admin/data-folder.ts");
  const place = await storeOf(options, context);
  const shared = { now: context.now, create: false, actor: actor(context) };
  const store = await openStore(dir, { ...shared, ...(place === undefined ? {} : { store: place }) }).catch(
    (error: Error) => {
      if (error.name === "NoLedgerError" && place === undefined) return undefined;
      throw error;
    },
  );
  const folders = peopleFolders(dir);
  return {
    dir,
    folders,
    store,
    servers,
    hides: async (name) => {
      const { readHiddenPeople: readSuppression } = await import("../../dataset/suppression.ts");
      return (await readSuppression(folders.suppression)).hidesName(name);
    },
    close: async () => {
      await store?.close();
      await servers?.close();
    },
  };
}

/** Ids mean somebody within a dataset: that of live keys, or the invented one of test keys. */
const LIVE = "live";
const PAGE_OF_EXPORT = /^console-([0-9a-f]+)-\d+$/;

const namesOf = (person: Person): SuppressedName[] =>
  person.words.flatMap(({ kind, word }) => suppressedName(word, kind) ?? []);

const identityOf = ({ address, id }: Named): Identity => ({
  id,
  address: address === undefined ? undefined : (canonicalAddress(address) ?? address),
});

/** Learns every name of the person from the dataset and the replies, and counts what there is. @throws CliError exit 2 where a word names several */
export async function findInFolder(word: string, kept: KeptPeople, setup: BuildSetup): Promise<InFolder> {
  const [{ currentPeople }, { peopleIn }] = await Promise.all([
    import("../../dataset/build/rebuild.ts"),
    import("./suppressed.ts"),
  ]);
  const person = new Person(word);
  let records = 0;
  let replies = 0;
  let exports = new Set<string>();
  for (let pass = 0, fresh = true; fresh; pass++) {
    const found: Identity[] = [];
    for await (const record of currentPeople(kept.folders.dataset, setup)) {
      const who = identityIn(parseExact(record));
      if (who !== undefined && person.is(who, LIVE)) found.push(who);
    }
    for (const record of (await kept.servers?.records(namesOf(person))) ?? []) {
      const who = identityIn(parseExact(record));
      if (who !== undefined && person.is(who, LIVE)) found.push(who);
    }
    [records, replies, exports] = [found.length, 0, new Set()];
    for await (const { key, mode, reply } of kept.store?.people.replies() ?? []) {
      const here = peopleIn(reply)
        .map(identityOf)
        .filter((who) => person.is(who, mode));
      if (here.length === 0) continue;
      replies++;
      const [, page] = PAGE_OF_EXPORT.exec(key) ?? [];
      if (page !== undefined) exports.add(page);
      if (mode === LIVE) found.push(...here);
    }
    if (pass === 0 && !word.includes("/"))
      requireOne(
        word,
        found.map((who) => ({ who, service: LIVE })),
      );
    fresh = false;
    for (const who of found) fresh = person.add(who, LIVE) || fresh;
  }
  let test = 0;
  for await (const record of currentPeople(kept.folders.testDataset, setup)) {
    const who = identityIn(parseExact(record));
    if (who !== undefined && person.is(who, "test")) test++;
  }
  const filters = await namedBy(person, kept);
  return {
    person,
    records,
    test,
    replies,
    exports: exports.size,
    filters,
    anything: records + test + replies + filters.length > 0,
  };
}

const namedBy = async (person: Person, { store }: KeptPeople): Promise<readonly KeptFilters[]> =>
  ((await store?.people.filters()) ?? []).filter(({ filters }) => person.isIn(filters));

/** How long a running service is waited for that still reads the version before. */
const PATIENCE_MS = 60_000;

/**
 * Deletes it all. First the person goes onto the list, so that no answer has the person from there on; last the dataset, which knows every
 * name. Killed anywhere, the same again does the rest.
 */
export async function purge(
  { exports, person, records, replies }: InFolder,
  kept: KeptPeople,
  setup: BuildSetup,
  context: Context,
): Promise<{ readonly files: readonly string[]; readonly inUse: readonly string[] }> {
  const [{ rebuildDataset }, { purgeOldVersions }] = await Promise.all([
    import("../../dataset/build/rebuild.ts"),
    import("../../dataset/layout.ts"),
  ]);
  const step = failpoint(context.env);
  const { folders, store } = kept;
  const { now, sleep, interrupted: signal } = context;
  const list = new SuppressionList(folders.suppression, new Disk(step), { now, sleep, signal });
  const names = namesOf(person);
  await list.add(names, "forgotten");
  step?.("listed", "written");
  const removed = await purgeLedger(person, kept);
  step?.("replies", "written");
  for (const datasetDir of [folders.dataset, folders.testDataset]) {
    await rebuildDataset({ ...setup, datasetDir, suppression: folders.suppression });
    step?.("dataset", "written");
  }
  await kept.servers?.leaveOut(names);
  await kept.servers?.erase(names);
  // A call that had read its rows before the list was written may have been charged since.
  await purgeLedger(person, kept);
  if (records + replies > 0) await store?.people.note({ records, replies, exports, filters: removed }, actor(context));
  step?.("replies again", "written");
  const inUse = (await store?.people.wipe()) === false ? ["the ledger"] : [];
  step?.("wiped", "written");
  for (const datasetDir of [folders.dataset, folders.testDataset]) {
    const left = await purgeOldVersions(datasetDir, sleep, PATIENCE_MS);
    inUse.push(...left.map((name) => join(datasetDir, name)));
    step?.("versions", "written");
  }
  return { inUse, files: await strangers(person, kept) };
}

/** @returns how many filters of the console went */
async function purgeLedger(person: Person, kept: KeptPeople): Promise<number> {
  const { store } = kept;
  if (store === undefined) return 0;
  const { leaveOut } = await import("./suppressed.ts");
  await store.people.rewrite(({ mode, reply }) => {
    const after = leaveOut(reply, (who) => person.is(identityOf(who), mode));
    return after === reply ? undefined : after;
  });
  const named = await namedBy(person, kept);
  await store.people.removeFilters(named);
  return named.length;
}

/** Files of the folder, beside the service's own, that have the person: somebody put them there. */
async function strangers(person: Person, { dir }: KeptPeople): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const own = /^(?:test-)?dataset[\\/](?:v-|build-|suppression)|^ledger\.db/.test(relative(dir, path));
    if (entry.isFile() && !own && (await mentions(path, person))) found.push(path);
  }
  return found;
}
