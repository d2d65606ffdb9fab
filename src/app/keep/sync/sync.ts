// Tested by test/cli/sync.test.ts.
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stateDir } from "../../../engine/connections/paths.ts";
import { mergedEntries, ringName } from "../../../engine/library/suppression.ts";
import { withLock } from "../../../engine/runs/lock.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import { type FolderHead, SharedFolder } from "../../../engine/share/folder.ts";
import type { FolderKey } from "../../../engine/share/seal.ts";
import type { Context } from "../../../shared/context.ts";
import { FORGOTTEN, type SuppressedEntry } from "../../../shared/contract/suppression.ts";
import { makeFolder } from "../../../shared/folder.ts";
import { forgetTraces, tracesOfForgotten } from "../forget/forget.ts";
import { diskOf, openRuns, suppressionHere } from "../store.ts";
import { syncHistories } from "./histories.ts";
import {
  type CopyClaim,
  type FolderStatus,
  folderStatus,
  requireOneMachine,
  tellOfMachine,
} from "./machines.ts";
import { giveRuns, takeInRemoved, takeInRuns } from "./runs.ts";
import { syncSegments } from "./segments.ts";
import type { KnownSegment, Memory, Synced, Syncing } from "./syncing.ts";
import { countPaidTwice } from "./twice.ts";

interface Keyed {
  readonly head: FolderHead;
  readonly key: FolderKey;
}

/**
 * Takes in what others put into a folder, and gives what is here. Killed anywhere, the next one
 * does the rest; two at once lose nothing.
 * @param claim what is said of a state folder that is a copy
 * @throws CliError exit 2 where this state folder is a copy of another that syncs; exit 3 where
 * the key is another folder's
 */
export async function sync(
  path: string,
  { head, key }: Keyed,
  context: Context,
  claim?: CopyClaim,
): Promise<Synced> {
  const state = stateDir(context);
  const disk = diskOf(context);
  const store = openRuns(context, disk);
  const opened = () => SharedFolder.open(path, head, key, { disk, machine: store.machine.id });
  const synced: Synced = {
    tookIn: new Map(),
    paidTwice: 0,
    gave: 0,
    lists: { came: 0, gave: 0 },
    forgotten: new Set(),
    unread: new Map(),
    left: new Set(),
    twins: new Set(),
  };

  makeFolder(join(state, "sync"));
  const { now, sleep, interrupted: signal } = context;
  const lock = { now, sleep, signal, wait: true, what: `the sync with ${path}` };
  await withLock(join(state, "sync", `${head.id}.lock`), lock, async () => {
    const memory = await remembered(state, head.id);
    const before = memoryText(memory);
    await requireOneMachine({ folder: opened(), store, stateDir: state, memory }, claim);
    const folder = opened();
    const syncing: Syncing = { folder, store, stateDir: state, context, memory, synced };

    await store.sweep();
    await folder.sweep(false);
    await untilSettled(syncing);
    await syncSegments(syncing);
    await syncHistories(syncing);
    await countPaidTwice(syncing);
    const hasChanged = memoryText(memory) !== before;
    await tellOfMachine(syncing, hasChanged, () =>
      disk.replaceFile(memoryFile(state, head.id), memoryText(memory), "sync memory"),
    );
  });
  return synced;
}

/** What stands in a folder; nothing is changed. @throws CliError as `sync` */
export async function statusOf(
  path: string,
  { head, key }: Keyed,
  context: Context,
): Promise<FolderStatus> {
  const disk = diskOf(context);
  const store = openRuns(context, disk);
  const folder = SharedFolder.open(path, head, key, { disk, machine: store.machine.id });
  return await folderStatus(folder, store, await remembered(stateDir(context), head.id));
}

/**
 * Who is left out first, and before a row of theirs is written here. A run that comes may tell
 * further names of somebody who was forgotten: then once more.
 */
async function untilSettled(syncing: Syncing): Promise<void> {
  const { store, memory, folder } = syncing;
  for (let settled = false; !settled; ) {
    await takeInLists(syncing);
    const forgotten = await forgottenIn(store);
    if (forgotten !== memory.forgotten) {
      await forgetHere(syncing);
      memory.taken.clear();
      await folder.sweep(true);
    }
    await giveLists(syncing);

    const removed = await takeInRemoved(syncing);
    await takeInRuns(removed, syncing);
    memory.forgotten = forgotten;
    settled = (await forgottenIn(store)) === forgotten;
  }

  // What was bought since may have brought somebody again who is forgotten.
  if (await giveRuns(syncing)) {
    await forgetHere(syncing);
    await giveLists(syncing);
    await giveRuns(syncing);
  }
}

const forgottenIn = async (store: RunStore): Promise<string> => {
  const { forgottenDigest } = await store.suppression();
  return hash("sha256", forgottenDigest);
};

/** Rows, files and histories of this machine, as `forget` deletes them. */
async function forgetHere({ context, synced }: Syncing): Promise<void> {
  const traces = await tracesOfForgotten(context);
  if (traces === undefined) return;

  for (const { plan } of traces.runs) synced.forgotten.add(plan.id);
  const { left } = await forgetTraces(traces, context);
  for (const place of left?.details ?? []) synced.left.add(`${place}`);
}

interface SharedList {
  /** Base64. */
  readonly key: string;
  readonly entries: readonly SuppressedEntry[];
}

const listIn = (bytes: Buffer): SharedList => JSON.parse(bytes.toString()) as SharedList;

async function takeInLists({ folder, context, synced }: Syncing): Promise<void> {
  const list = suppressionHere(context);
  for (const name of await folder.names("lists")) {
    const bytes = await folder.read("lists", name);
    if (bytes === undefined) {
      synced.unread.set(`lists/${name}`, "not whole");
      continue;
    }
    const { key, entries } = listIn(bytes);
    await list.merge({ key: Buffer.from(key, "base64"), entries });
  }
}

/** Each list as it is here by now, in place of what says less. Notes may name people: they stay. */
async function giveLists({ folder, context }: Syncing): Promise<void> {
  const names = await folder.names("lists");
  for (const ring of await suppressionHere(context).rings()) {
    const of = ringName(ring);
    const before: string[] = [];
    let all = ring.entries.map((entry) => ({
      ...entry,
      note: entry.note === FORGOTTEN ? FORGOTTEN : null,
    }));
    for (const name of names.filter((one) => one.startsWith(`${of}.`))) {
      const bytes = await folder.read("lists", name);
      if (bytes === undefined) continue;
      all = mergedEntries(all, listIn(bytes).entries);
      before.push(name);
    }

    const entries = all.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    const name = await folder.put(
      "lists",
      of,
      Buffer.from(JSON.stringify({ key: ring.key.toString("base64"), entries })),
    );
    for (const old of before) if (old !== name) await folder.drop("lists", old);
  }
}

const memoryFile = (state: string, folder: string): string => join(state, "sync", folder);

const memoryText = ({ forgotten, taken, given, tokens, segments }: Memory): string =>
  JSON.stringify({
    forgotten,
    tokens,
    taken: [...taken],
    given: [...given],
    segments: [...segments],
  });

/** Without it everything is looked through again, and somebody says that this machine is one. */
async function remembered(state: string, folder: string): Promise<Memory> {
  try {
    const { forgotten, taken, given, tokens, segments } = JSON.parse(
      await readFile(memoryFile(state, folder), "utf8"),
    ) as {
      forgotten: string;
      taken: string[];
      given: [string, string][];
      tokens: string[];
      segments?: [string, KnownSegment][];
    };

    return {
      forgotten,
      taken: new Set(taken),
      given: new Map(given),
      tokens,
      segments: new Map(segments),
    };
  } catch {
    return { forgotten: "", taken: new Set(), given: new Map(), tokens: [], segments: new Map() };
  }
}
