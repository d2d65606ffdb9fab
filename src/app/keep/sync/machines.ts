// Tested by test/cli/sync-machines.test.ts.
import { randomUUID } from "node:crypto";
import { renewMachine } from "../../../engine/runs/machine.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { SharedFolder } from "../../../engine/share/folder.ts";
import { command, option, say, usageError } from "../../../shared/errors.ts";
import type { Memory, Syncing } from "./syncing.ts";

/** What people say of a state folder that another machine's seems to be a copy of. */
export type CopyClaim = "moved" | "copied";

/** What a machine says of itself in the shared folder. */
interface MachineFact {
  readonly id: string;
  readonly name: string;
  /** Of its last sync that changed anything: a copy that did not make that one does not know it. */
  readonly token: string;
  /** The day of its last sync by its own clock, for people. */
  readonly day: string;
  /** The files of who is left out that it has taken in. */
  readonly lists: readonly string[];
}

/** @param of a machine's id; default: all. What is not whole is its machine's to write again. */
async function factsIn(folder: SharedFolder, of = ""): Promise<Map<string, MachineFact>> {
  const facts = new Map<string, MachineFact>();
  for (const name of await folder.names("machines")) {
    if (!name.startsWith(of)) continue;
    const bytes = await folder.read("machines", name);
    if (bytes !== undefined) facts.set(name, JSON.parse(bytes.toString()) as MachineFact);
  }
  return facts;
}

/**
 * Two state folders of one identity would both go on with the same runs, and pay twice.
 * @throws CliError exit 2 where another one syncs as this machine, and nobody said which is so;
 * or where it was said, and there is no other
 */
export async function requireOneMachine(
  { folder, store, stateDir, memory }: Pick<Syncing, "folder" | "store" | "stateDir" | "memory">,
  claim: CopyClaim | undefined,
): Promise<void> {
  const { id, name } = store.machine;
  const facts = [...(await factsIn(folder, id))];
  const others = facts.filter(([, { token }]) => !memory.tokens.includes(token));

  if (others.length === 0) {
    if (claim === undefined) return;
    throw usageError(
      `no other state folder has synced with ${folder.path} as this machine: ` +
        "there is nothing to settle",
      say`${command("sync", { arguments: [folder.path] })} does it as it is`,
      "no_copied_state",
    );
  }
  if (claim === "copied") return renewMachine(stateDir);
  if (claim === "moved") {
    for (const [other] of others) await folder.drop("machines", other);
    return;
  }

  const settle = (how: CopyClaim) =>
    command("sync", { arguments: [folder.path], options: [option(how)] });
  throw usageError(
    `this state folder and another one that synced with ${folder.path} are the same machine, ` +
      `${name}: one is a copy of the other; nothing was synced`,
    say`${settle("copied")} makes this one a machine of its own; if the other one is gone for good,
      ${settle("moved")} goes on as it`,
    "copied_state",
  );
}

/**
 * After a sync: in place of what this machine said before.
 * @param hasChanged whether it gave or took in anything: else the token stays
 * @param remember writes the memory down, with the token: after a kill both know one
 */
export async function tellOfMachine(
  syncing: Syncing,
  hasChanged: boolean,
  remember: () => Promise<void>,
): Promise<void> {
  const { folder, store, memory, context, synced } = syncing;
  const { id, name } = store.machine;
  const lists = (await folder.names("lists")).filter((one) => !synced.unread.has(`lists/${one}`));
  const known = [...(await factsIn(folder, id)).values()].map((fact) => fact.token);
  const [last] = hasChanged ? [] : known;
  const token = last ?? randomUUID();
  if (last === undefined) memory.tokens = [...known, token];
  await remember();

  const fact: MachineFact = {
    id,
    name,
    token,
    day: new Date(context.now()).toISOString().slice(0, 10),
    lists,
  };

  const file = await folder.put("machines", id, Buffer.from(JSON.stringify(fact)));
  for (const before of await folder.names("machines"))
    if (before.startsWith(`${id}.`) && before !== file) await folder.drop("machines", before);
}

export interface FolderStatus {
  readonly machines: readonly MachineStatus[];
  /** Runs in the folder, and those of them that were not taken in here. */
  readonly runs: number;
  readonly waiting: number;
}

interface MachineStatus {
  readonly machine: string;
  readonly isHere: boolean;
  /** The day of its last sync, by its own clock. */
  readonly synced: string;
  /** Whether whoever the folder knows as forgotten or left out is so there as well. */
  readonly isUpToDate: boolean;
}

/** What stands in the folder, read alone: the last one that synced first. */
export async function folderStatus(
  folder: SharedFolder,
  store: RunStore,
  { taken }: Memory,
): Promise<FolderStatus> {
  const lists = await folder.names("lists");
  const runs = await folder.names("runs");
  const machines = [...(await factsIn(folder)).values()].map((fact) => ({
    machine: fact.name,
    isHere: fact.id === store.machine.id,
    synced: fact.day,
    isUpToDate: lists.every((name) => fact.lists.includes(name)),
  }));

  return {
    machines: machines.sort((a, b) => (a.synced < b.synced ? 1 : -1)),
    runs: runs.length,
    waiting: runs.filter((name) => !taken.has(name)).length,
  };
}
