// Tested by test/cli/sync.test.ts.
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { jsonIn, withoutSecrets } from "../../shared/contract/text.ts";
import { failed, usageError } from "../../shared/errors.ts";
import { FOLDER_MODE, ifMissing } from "../../shared/folder.ts";
import { type Disk, errorCode, remove } from "../runs/disk.ts";
import { type FolderKey, openSealed, sealedDigest, sealFile } from "./seal.ts";

const HEAD = "headcount-sync.json";
const FORMAT = 1;
const DRAFTS = "drafts";

/**
 * `lists`: who is left out. `runs`: purchases. `removed`: what runs spent that no one may keep.
 * `machines`: who syncs. `segments`: filters under a name. `histories`: of lists.
 */
const KINDS = ["lists", "runs", "removed", "machines", "segments", "histories"] as const;
export type SharedKind = (typeof KINDS)[number];

/** The one file that is not sealed. */
export interface FolderHead {
  readonly format: number;
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Tells the right key from another. */
  readonly check: string;
  /** The folder within it that has all else; undefined: itself. */
  readonly place?: string;
}

/**
 * The head of a synced folder; undefined where the folder is empty.
 * @throws CliError exit 2 where there is no folder, it has other things in it, or a later version
 * wrote it
 */
export async function readFolderHead(path: string): Promise<FolderHead | undefined> {
  const told = withoutSecrets(path);
  const names = await readdir(path).catch((error: unknown) => {
    if (!["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) throw error;
    const isFile = errorCode(error) === "ENOTDIR";
    throw usageError(
      isFile ? `${told} is not a folder` : `there is no folder ${told}`,
      isFile ? "name a folder" : "make it, or mount it: an empty one is begun anew",
      "no_such_folder",
    );
  });
  if (!names.includes(HEAD)) {
    if (names.every((name) => name.startsWith("."))) return undefined;
    throw usageError(
      `${told} is no synced folder, and holds other things`,
      "name an empty folder, or the one that others sync with",
      "no_synced_folder",
    );
  }

  const text = `${await plainFile(join(path, HEAD))}`;
  const head = jsonIn(text) as FolderHead | undefined;
  if (head?.format === FORMAT) return head;
  throw usageError(
    `${join(path, HEAD)} was written by another version of headcount, or is not whole yet`,
    "nothing was changed; update headcount, or wait until the file is there whole",
    "other_format",
  );
}

/**
 * A folder that several machines share. No file is ever changed and no name has two contents, so
 * there is nothing to lock: a file that is torn, mixed or still on its way does not open.
 */
export class SharedFolder {
  readonly path: string;
  /** How many files were. */
  written = 0;
  readonly #head: FolderHead;
  readonly #place: string;
  readonly #key: FolderKey;
  readonly #parts: FolderParts;
  readonly #drafts: string;

  private constructor(path: string, head: FolderHead, key: FolderKey, parts: FolderParts) {
    this.path = path;
    this.#head = head;
    this.#place = join(path, head.place ?? "");
    this.#key = key;
    this.#parts = parts;
    this.#drafts = join(this.#place, DRAFTS, parts.machine);
  }

  /** @throws CliError exit 3 where the key is another folder's */
  static open(path: string, head: FolderHead, key: FolderKey, parts: FolderParts): SharedFolder {
    if (head.check !== sealedDigest(key, head.id)) {
      throw failed.auth(
        `the key is not that of ${path}; nothing was read or written`,
        "give the key that was shown when the folder was first synced",
        "bad_sync_key",
      );
    }
    return new SharedFolder(path, head, key, parts);
  }

  /** @throws Error EEXIST where another machine began it meanwhile */
  static async begin(path: string, head: FolderHead, key: FolderKey, parts: FolderParts) {
    const text = `${JSON.stringify(head)}\n`;
    await parts.disk.replaceFile(join(path, HEAD), text, "sync head", false);
    await openedAs(path, join(path, HEAD));
    return SharedFolder.open(path, head, key, parts);
  }

  /**
   * Seals all that is whole anew, in a place that nobody reads before the head says so; what is
   * not, its machine gives again.
   */
  async rekey(key: FolderKey): Promise<void> {
    const head: FolderHead = {
      ...headUnder(key, this.#head.id),
      place: randomBytes(8).toString("hex"),
    };
    const anew = new SharedFolder(this.path, head, key, this.#parts);
    for (const kind of KINDS)
      for (const name of await this.names(kind)) {
        const plain = await this.read(kind, name);
        if (plain !== undefined) await anew.put(kind, name.slice(0, name.indexOf(".")), plain);
      }
    await anew.#make(anew.#place);

    const file = join(this.path, HEAD);
    await this.#parts.disk.replaceFile(file, `${JSON.stringify(head)}\n`, "sync head");
    await openedAs(this.path, file);
    for (const name of await readdir(this.path))
      if (name !== HEAD && name !== head.place && !name.startsWith("."))
        await remove(join(this.path, name));
  }

  /** Where a file is. */
  at(kind: SharedKind, name: string): string {
    return join(this.#place, kind, name);
  }

  async names(kind: SharedKind): Promise<string[]> {
    const names = await readdir(join(this.#place, kind)).catch(ifMissing([]));
    return names.filter((name) => /^[\w-]+\.[0-9a-f]{32}$/.test(name)).sort();
  }

  /** Undefined where it is not whole, or gone. */
  async read(kind: SharedKind, name: string): Promise<Buffer | undefined> {
    const bytes = await plainFile(this.at(kind, name));
    return bytes && openSealed(this.#key, `${kind}/${name}`, bytes);
  }

  /**
   * Writes what is not there whole yet, and reads it back.
   * @param of what it is about: the first half of its name
   * @returns its name
   */
  async put(kind: SharedKind, of: string, plain: Buffer): Promise<string> {
    const name = `${of}.${sealedDigest(this.#key, plain)}`;
    if ((await this.read(kind, name)) !== undefined) return name;

    const folder = join(this.#place, kind);
    for (const needed of [this.#place, folder, dirname(this.#drafts), this.#drafts])
      await this.#make(needed);
    const draft = join(this.#drafts, name);
    const { disk } = this.#parts;
    await disk.replaceFile(draft, sealFile(this.#key, `${kind}/${name}`, plain), "sync draft");
    await openedAs(this.path, draft);
    await disk.rename(draft, join(folder, name), "sync");
    this.written++;

    if ((await this.read(kind, name)) !== undefined) return name;
    throw failed.filesystem(
      `${join(folder, name)} was written, and does not come back as it was`,
      "the folder's disk or mount loses what is written; nothing of this machine is lost",
      "sync_unsound",
    );
  }

  async #make(folder: string): Promise<void> {
    const made = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    if (made !== undefined) await openedAs(this.path, folder);
  }

  async drop(kind: SharedKind, name: string): Promise<void> {
    await rm(this.at(kind, name), { force: true });
  }

  /** What processes left that died as they wrote: of this machine, or of all. */
  sweep(all: boolean): Promise<void> {
    return remove(all ? dirname(this.#drafts) : this.#drafts);
  }
}

/** Undefined where there is none: reading a pipe may never end. */
async function plainFile(path: string): Promise<Buffer | undefined> {
  const info = await stat(path).catch(ifMissing(undefined));
  return info?.isFile() === true ? readFile(path).catch(ifMissing(undefined)) : undefined;
}

/**
 * Whoever may read and write the shared folder may do so with what is in it: machines of one
 * folder have users of their own. A mount that knows no such thing decides itself.
 */
async function openedAs(shared: string, path: string): Promise<void> {
  const [{ mode }, own] = [await stat(shared), await stat(path)];
  const allowed = own.isDirectory() ? mode & 0o7777 : mode & 0o666;
  await chmod(path, allowed).catch(() => undefined);
}

interface FolderParts {
  readonly disk: Disk;
  /** The id of this machine. */
  readonly machine: string;
}

export function newFolderHead(key: FolderKey): FolderHead {
  return headUnder(key, randomBytes(16).toString("hex"));
}

const headUnder = (key: FolderKey, id: string): FolderHead => ({
  format: FORMAT,
  id,
  check: sealedDigest(key, id),
});
