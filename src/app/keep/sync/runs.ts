// Tested by test/cli/sync.test.ts.
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { replay } from "../../../engine/runs/journal.ts";
import { isElsewhere } from "../../../engine/runs/plan.ts";
import { LAYOUT } from "../../../engine/runs/reader.ts";
import { keptText, ofKept } from "../../../engine/runs/record.ts";
import { isOver, type RunCopy } from "../../../engine/runs/run-store.ts";
import {
  netOf,
  putSpend,
  type RunSpend,
  readRemoved,
  spendIn,
} from "../../../engine/runs/spend.ts";
import {
  comparedTo,
  linesOf,
  packetOf,
  runInPacket,
  withoutPaths,
} from "../../../engine/share/packet.ts";
import { FORGOTTEN } from "../../../shared/contract/suppression.ts";
import type { CliError } from "../../../shared/errors.ts";
import { groupsBy } from "../../../shared/groups.ts";
import { forgottenNames } from "../forget/find.ts";
import { redacted } from "../forget/redact.ts";
import { diskOf, suppressionHere } from "../store.ts";
import type { Syncing } from "./syncing.ts";

const idIn = (name: string): string => name.slice(0, name.indexOf("."));

/**
 * Runs that named somebody who is forgotten: no machine keeps them, and what they spent stays.
 * @returns their ids
 */
export async function takeInRemoved(syncing: Syncing): Promise<ReadonlySet<string>> {
  const { folder, store, context, synced } = syncing;
  const disk = diskOf(context);
  const mine = (await readRemoved(store.folder)).runs;
  const gone = new Map(
    mine.flatMap((spend) => (spend.forgotten === undefined ? [] : [[spend.run, spend] as const])),
  );

  for (const name of await folder.names("removed")) {
    if (gone.has(idIn(name))) continue;
    const bytes = await folder.read("removed", name);
    if (bytes === undefined) {
      synced.unread.set(`removed/${name}`, "not whole");
      continue;
    }
    const spend = ofKept(bytes.toString()) as RunSpend;
    if (existsSync(join(store.folder, spend.run))) {
      await store.remove({ plan: await store.readPlan(spend.run) }, context, true);
      synced.forgotten.add(spend.run);
    }
    await putSpend(disk, store.folder, spend);
    gone.set(spend.run, spend);
  }

  for (const spend of mine.filter(({ run }) => gone.has(run))) await giveRemoved(spend, syncing);
  return new Set(gone.keys());
}

async function giveRemoved(spend: RunSpend, { folder, store }: Syncing): Promise<void> {
  const whole = { machine: store.machine, ...spend };
  await folder.put("removed", spend.run, Buffer.from(keptText(whole)));
}

/** @param removed runs that no machine keeps: their files go */
export async function takeInRuns(removed: ReadonlySet<string>, syncing: Syncing): Promise<void> {
  const { folder, store, memory, synced } = syncing;
  const removedHere = (await readRemoved(store.folder)).runs;
  const own = new Map(removedHere.map((spend) => [spend.run, spend] as const));
  for (const name of await folder.names("runs")) {
    const id = idIn(name);
    if (removed.has(id)) {
      await folder.drop("runs", name);
      continue;
    }
    const isHere = own.has(id) || existsSync(join(store.folder, id));
    if (memory.taken.has(name) && isHere) continue;

    const bytes = await folder.read("runs", name);
    const why =
      bytes === undefined
        ? "not whole"
        : await takeInRun(name, bytes, own, syncing).catch(whyDamaged);
    if (why === undefined) continue;
    synced.unread.set(`runs/${name}`, why);
  }
}

/** One run that cannot be read keeps nothing else back. @throws whatever else it was */
function whyDamaged(error: unknown): string {
  const { code = "", message } = error as CliError;
  if (["damaged_run", "damaged_log"].includes(code)) return message;
  throw error;
}

/** @returns why it is left; undefined: it is in, or there was no more in it */
async function takeInRun(
  name: string,
  bytes: Buffer,
  own: ReadonlyMap<string, RunSpend>,
  syncing: Syncing,
): Promise<string | undefined> {
  const { folder, store, context, memory, synced } = syncing;
  const came = runInPacket(bytes);
  const { id, version } = came.plan;
  if (version !== LAYOUT) return "written by another version of headcount";

  const { copy, person } = redacted(came, await store.suppression(), syncing.stateDir);
  if (person !== undefined) {
    synced.forgotten.add(id);
    await suppressionHere(context).add(forgottenNames(person), FORGOTTEN);
  }
  if (copy === undefined) {
    const spend = spendIn(came.plan, replay(linesOf(came)));
    await giveRemoved({ ...spend, forgotten: true }, syncing);
    await folder.drop("runs", name);
    return undefined;
  }

  const clean = person === undefined ? name : await folder.put("runs", id, packetOf(copy));
  if (clean !== name) await folder.drop("runs", name);

  const here = await stateHere(copy, own.get(id), syncing);
  if (here === "apart")
    return "two copies of one machine went on with the run, and what is here differs";
  if (here === "less") {
    await store.takeIn(copy, context);
    const from = copy.plan.machine?.name ?? "";
    const { ids = [], rows = 0 } = synced.tookIn.get(from) ?? {};
    const state = replay(linesOf(copy));
    synced.tookIn.set(from, { ids: [...ids, id], rows: rows + state.rows });
  }
  memory.taken.add(clean);
  return undefined;
}

/**
 * How what is here of a run stands to what came.
 * @param kept what it had spent as it was removed here: it comes back only if it went on since
 */
async function stateHere(
  copy: RunCopy,
  kept: RunSpend | undefined,
  { store }: Syncing,
): Promise<ReturnType<typeof comparedTo>> {
  const { plan } = copy;
  if (existsSync(join(store.folder, plan.id))) return comparedTo(await store.copyOf(plan.id), copy);
  if (kept === undefined) return "less";
  const came = spendIn(plan, replay(linesOf(copy)));
  return netOf([came]) > netOf([kept]) ? "less" : "more";
}

/**
 * Gives the runs that this machine began and that are not at work, as they are by now.
 * @returns whether one has somebody who is forgotten: it is not given
 */
export async function giveRuns(syncing: Syncing): Promise<boolean> {
  const { folder, store, memory, synced } = syncing;
  const { machine } = store;
  const there = groupsBy(await folder.names("runs"), idIn);
  let isHeld = false;
  for (const id of (await store.ids()).toReversed()) {
    const names = there.get(id) ?? [];
    const stamp = await stampOf(id, names, syncing);
    if (memory.given.get(id) === stamp) continue;

    const summary = await store.summary(id);
    if (summary === undefined || isElsewhere(summary.plan, machine)) continue;
    // One that stopped half-way is paid for too, and a container that is gone cannot go on with it.
    if (!isOver(summary) && summary.status !== "unfinished") continue;
    // The sample's people are invented, and each machine has its own.
    if (summary.plan.base_url.startsWith("sample:")) continue;

    const before = folder.written;
    const given = await giveOwn(id, names, syncing).catch((error) => {
      synced.unread.set(`run ${id}`, whyDamaged(error));
      return [];
    });
    isHeld ||= given === undefined;
    if (given === undefined || given.length === 0) continue;

    memory.given.set(id, await stampOf(id, given, syncing));
    if (folder.written > before) synced.gave++;
  }
  return isHeld;
}

/**
 * @param names of the run's files in the folder
 * @returns those that are there by now; undefined: it has somebody who is forgotten
 * @throws CliError where it is damaged
 */
async function giveOwn(
  id: string,
  names: readonly string[],
  syncing: Syncing,
): Promise<readonly string[] | undefined> {
  const { store, stateDir } = syncing;
  const copy = withoutPaths(await store.copyOf(id), store.machine);
  if (redacted(copy, await store.suppression(), stateDir).person !== undefined) return undefined;
  return await giveRun(copy, names, syncing);
}

/** In place of what says less: rows that are forgotten since, or not yet bought. */
async function giveRun(
  copy: RunCopy,
  names: readonly string[],
  { folder, memory }: Syncing,
): Promise<readonly string[]> {
  const name = await folder.put("runs", copy.plan.id, packetOf(copy));
  memory.taken.add(name);

  const there = [name];
  for (const other of names) {
    if (other === name) continue;
    const bytes = await folder.read("runs", other);
    // Of a run of this machine nobody else has more: a torn file has nothing to wait for.
    const said = bytes === undefined ? "less" : comparedTo(runInPacket(bytes), copy);
    if (said === "less" || said === "same") await folder.drop("runs", other);
    else there.push(other);
  }
  return there.sort();
}

/**
 * Another one where the run changed here, or its file in the folder is not as it was given.
 * @param names of the run's files in the folder, in their order
 */
async function stampOf(
  id: string,
  names: readonly string[],
  { folder, store }: Syncing,
): Promise<string> {
  const own = ["journal.ndjson", "receipt.json"].map((name) => join(store.folder, id, name));
  const there = names.map((name) => folder.at("runs", name));
  const infos = [...own, ...there].map(async (path) => {
    const info = await stat(path).catch(() => undefined);
    return `${basename(path)} ${info?.size} ${info?.mtimeMs}`;
  });
  return (await Promise.all(infos)).join(" ");
}
