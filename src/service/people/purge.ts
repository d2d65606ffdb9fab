import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { rebuildDataset } from "../../dataset/build/rebuild.ts";
import type { ServedPeople } from "../../dataset/clickhouse/left-out.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import type { RecordNames, SuppressedName } from "../../shared/contract/suppression.ts";
import { type Identity, identityIn, PersonMatcher, requireOne } from "../../shared/person.ts";
import { parseExact } from "../../shared/rows/values.ts";
import type { KeptFilters } from "../ledger/records.ts";

type BuildSetup = Parameters<typeof rebuildDataset>[0];

type KeptPeople = Awaited<ReturnType<typeof openKept>>;
export type InFolder = Awaited<ReturnType<typeof findInFolder>>;

export async function openKept(
  dir: string,
  place: { readonly now: () => number; readonly actor: string; readonly store?: string },
  servers?: ServedPeople,
) {
  const { openStore } = await import("../admin/data-folder.ts");
  const { peopleFolders } = await import("../admin/datasets.ts");
  const store = await openStore(dir, { ...place, create: false }).catch((error: Error) => {
    if (error.name === "NoLedgerError" && place.store === undefined) return undefined;
    throw error;
  });
  const folders = peopleFolders(dir);

  return {
    dir,
    folders,
    store,
    servers,
    hides: async (name: SuppressedName) => {
      const { readHiddenPeople } = await import("../../dataset/suppression.ts");
      return (await readHiddenPeople(folders.suppression)).hides(name);
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

const identityOf = ({ address, id }: RecordNames): Identity => ({
  id: id ?? undefined,
  address: canonicalAddress(address ?? "") ?? address ?? undefined,
});

/**
 * Learns every name of the person, and counts what there is.
 * @throws CliError exit 2 where a word names several
 */
export async function findInFolder(word: string, places: KeptPeople, setup: BuildSetup) {
  const { currentPeople } = await import("../../dataset/build/rebuild.ts");
  const person = new PersonMatcher(word);

  const theirs = async (
    records: AsyncIterable<string> | Iterable<string>,
    service = LIVE,
  ): Promise<Identity[]> => {
    const identities: Identity[] = [];
    for await (const record of records) {
      const who = identityIn(parseExact(record));
      if (who !== undefined && person.is(who, service)) identities.push(who);
    }
    return identities;
  };

  let records = 0;
  let kept = { replies: 0, exports: 0 };
  for (let pass = 0, fresh = true; fresh; pass++) {
    const away = (await places.servers?.records(person.suppressed)) ?? [];
    const there = [
      ...(await theirs(currentPeople(places.folders.dataset, setup))),
      ...(await theirs(away)),
    ];
    records = there.length;

    const { identities, ...counts } = await inReplies(person, places);
    kept = counts;

    const matches = [...there, ...identities];
    if (pass === 0)
      requireOne(
        word,
        matches.map((who) => ({ who, service: LIVE })),
      );

    fresh = false;
    for (const who of matches) fresh = person.add(who, LIVE) || fresh;
  }

  const { length: test } = await theirs(currentPeople(places.folders.testDataset, setup), "test");
  const filters = await namedBy(person, places);
  const owned = (await places.store?.people.ownedByAny(idsOf(person))) ?? [];

  return {
    person,
    records,
    test,
    ...kept,
    filters,
    anything: records + test + kept.replies + filters.length + owned.length > 0,
  };
}

/** Where the replies that are kept have the person, and as whom those of live keys. */
async function inReplies(person: PersonMatcher, { store }: KeptPeople) {
  const { peopleIn } = await import("./suppressed.ts");
  const identities: Identity[] = [];
  const exports = new Set<string>();
  let replies = 0;

  for await (const { key, mode, reply } of store?.people.replies() ?? []) {
    const own = peopleIn(reply)
      .map(identityOf)
      .filter((who) => person.is(who, mode));
    if (own.length === 0) continue;
    replies++;
    const [, page] = PAGE_OF_EXPORT.exec(key) ?? [];
    if (page !== undefined) exports.add(page);
    if (mode === LIVE) identities.push(...own);
  }

  return { identities, replies, exports: exports.size };
}

const idsOf = ({ suppressed }: PersonMatcher): readonly string[] =>
  suppressed.flatMap(({ id }) => id ?? []);

const namedBy = async (
  person: PersonMatcher,
  { store }: KeptPeople,
): Promise<readonly KeptFilters[]> =>
  ((await store?.people.filters()) ?? []).filter(
    ({ filters, name }) => person.isNamedByFilters(filters) || person.isNamedIn(name),
  );

const PATIENCE_MS = 60_000;

export interface Eraser {
  readonly setup: BuildSetup;
  readonly actor: string;
  suppress(names: readonly SuppressedName[]): Promise<unknown>;
  step?(what: string): void;
}

/**
 * Deletes it all: first the list, so that no answer has
 * the person; last the dataset, which knows every name.
 */
export async function purge(
  { exports, person, records, replies }: InFolder,
  places: KeptPeople,
  { setup, actor, suppress, step }: Eraser,
): Promise<{ readonly files: readonly string[]; readonly inUse: readonly string[] }> {
  const { rebuildDataset } = await import("../../dataset/build/rebuild.ts");
  const { purgeOldVersions } = await import("../../dataset/layout.ts");
  const { folders, store } = places;
  const names = person.suppressed;
  await suppress(names);
  step?.("listed");
  const removed = await purgeLedger(person, places);

  step?.("replies");

  for (const datasetDir of [folders.dataset, folders.testDataset]) {
    await rebuildDataset({ ...setup, datasetDir, suppression: folders.suppression });
    step?.("dataset");
  }

  await places.servers?.leaveOut(names);
  await places.servers?.erase(names);
  // A call that had read its rows before the list was written may have been charged since.
  await purgeLedger(person, places);
  if (records + replies > 0)
    await store?.people.note({ records, replies, exports, filters: removed }, actor);
  step?.("replies again");

  const inUse = (await store?.people.wipe()) === false ? ["the ledger"] : [];
  step?.("wiped");

  for (const datasetDir of [folders.dataset, folders.testDataset]) {
    const versions = await purgeOldVersions(datasetDir, setup.sleep, PATIENCE_MS);
    inUse.push(...versions.map((name) => join(datasetDir, name)));
    step?.("versions");
  }

  return { inUse, files: await strangers(person, places) };
}

async function purgeLedger(person: PersonMatcher, places: KeptPeople): Promise<number> {
  const { store } = places;
  if (store === undefined) return 0;
  const { leaveOutSuppressed: leaveOut } = await import("./suppressed.ts");
  await store.people.rewrite(({ mode, reply }) => {
    const after = leaveOut(reply, (who) => person.is(identityOf(who), mode));
    return after === reply ? undefined : after;
  });
  await store.people.disown(idsOf(person));
  const named = await namedBy(person, places);
  await store.people.removeFilters(named);
  return named.length;
}

/** Files of the folder, beside the service's own, that have the person: somebody put them there. */
async function strangers(person: PersonMatcher, { dir }: KeptPeople): Promise<readonly string[]> {
  const files: string[] = [];
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const own = /^(?:test-)?dataset[\\/](?:v-|build-|suppression)|^ledger\.db/.test(
      relative(dir, path),
    );
    if (entry.isFile() && !own && (await person.isNamedInAll(createReadStream(path))))
      files.push(path);
  }
  return files;
}
