// Tested by test/cli/suppress.test.ts.
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  FORGOTTEN,
  isOn,
  marksAsked,
  marksOf,
  SUPPRESSION_FILES,
  type SuppressedEntry,
  type SuppressedName,
  type SuppressionRing,
  suppressedText,
} from "../../shared/contract/suppression.ts";
import { makeFolder } from "../../shared/folder.ts";
import { type Disk, remove as removeFolder } from "../runs/disk.ts";
import { type LockOptions, withLock } from "../runs/lock.ts";
import { readList, readRings } from "../runs/suppression.ts";

/** What two machines call the same ring. */
export const ringName = ({ key }: Pick<SuppressionRing, "key">): string =>
  createHash("sha256").update("ring ").update(key).digest("hex").slice(0, 32);

const idOf = ({ marks, at }: SuppressedEntry): string => JSON.stringify([marks, at]);

/** Of two states of one list: what was taken off in either is off. */
export function mergedEntries(
  one: readonly SuppressedEntry[],
  other: readonly SuppressedEntry[],
): SuppressedEntry[] {
  const all = new Map(one.map((entry) => [idOf(entry), entry]));
  for (const entry of other) {
    const own = all.get(idOf(entry));
    if (own === undefined) all.set(idOf(entry), entry);
    else if (!isOn(entry)) all.set(idOf(entry), { ...own, lifted: true });
  }
  return [...all.values()];
}

type Change = (
  entries: readonly SuppressedEntry[],
  key: Buffer,
) => { entries: SuppressedEntry[]; changed: number };

/** Those that are named, by a name or the beginning of a mark, are off from now on. */
function lifted(
  entries: readonly SuppressedEntry[],
  key: Buffer,
  names: readonly SuppressedName[],
  marks: readonly string[],
): ReturnType<Change> {
  // Not by the last part of a whole address, which somebody of another host may have too.
  const own = new Set(
    names.flatMap((name) => marksOf(key, name).slice(0, name.kind === "address" ? 1 : undefined)),
  );
  const goes = (mark: string): boolean =>
    own.has(mark) || marks.some((beginning) => mark.startsWith(beginning));
  let changed = 0;
  const after = entries.map((entry) => {
    if (!isOn(entry) || !entry.marks.some(goes)) return entry;
    changed++;
    return { ...entry, lifted: true as const };
  });

  return { entries: after, changed };
}

type ListLock = Pick<LockOptions, "now" | "sleep" | "signal">;

/** The people who are left out: the list in a folder, and those of other machines beside it. */
export class SuppressionList {
  readonly #folder: string;
  readonly #disk: Disk;
  readonly #lock: ListLock;

  constructor(folder: string, disk: Disk, lock: ListLock) {
    this.#folder = folder;
    this.#disk = disk;
    this.#lock = lock;
  }

  async entries(): Promise<readonly SuppressedEntry[]> {
    return (await this.rings()).flatMap(({ entries }) => entries.filter(isOn));
  }

  /** Each with what was taken off it. */
  rings(): Promise<readonly SuppressionRing[]> {
    return readRings(this.#folder);
  }

  async find(name: SuppressedName): Promise<readonly SuppressedEntry[]> {
    return (await this.rings()).flatMap(({ key, entries }) => {
      const marks = marksAsked(key, name);
      return entries.filter((entry) => isOn(entry) && entry.marks.some((it) => marks.includes(it)));
    });
  }

  /** @returns how many were not on it before */
  async add(names: readonly SuppressedName[], note: string | null): Promise<number> {
    return this.change((entries, key) => {
      // Whoever was only left out is not forgotten yet.
      const isAlike = (entry: SuppressedEntry): boolean =>
        isOn(entry) && (note !== FORGOTTEN || entry.note === FORGOTTEN);
      const all = new Set(entries.filter(isAlike).flatMap(({ marks }) => marks));
      const at = new Date(this.#lock.now()).toISOString();
      const fresh: SuppressedEntry[] = [];
      for (const name of names) {
        const marks = marksOf(key, name);
        if (marks.every((mark) => all.has(mark))) continue;
        for (const mark of marks) all.add(mark);
        fresh.push({ marks, kind: name.kind, at, note });
      }
      return { entries: [...entries, ...fresh], changed: fresh.length };
    });
  }

  /** @param marks as they are listed, or their beginnings @returns how many entries went */
  async remove(names: readonly SuppressedName[], marks: readonly string[]): Promise<number> {
    const lift: Change = (entries, key) => lifted(entries, key, names, marks);
    let removed = 0;
    for (const { folder } of await readRings(this.#folder))
      removed += await this.change(lift, folder);
    return removed;
  }

  async change(work: Change, place = this.#folder): Promise<number> {
    return this.#locked(async () => {
      const { key = await this.#makeKey(place, randomBytes(32)), entries } = await readList(place);
      const { entries: after, changed } = work(entries, key);
      if (changed === 0) return 0;
      await this.#write(place, after, key);
      return changed;
    });
  }

  /** Takes in what another machine has of a list, this one's own or one of theirs. */
  async merge(ring: SuppressionRing): Promise<void> {
    const place =
      (await readRings(this.#folder)).find(({ key }) => key.equals(ring.key))?.folder ??
      (await this.#begin(ring.key));
    await this.change((entries) => {
      const after = mergedEntries(entries, ring.entries);
      return { entries: after, changed: Number(!isDeepStrictEqual(after, entries)) };
    }, place);
  }

  async #begin(key: Buffer): Promise<string> {
    const others = join(this.#folder, "others");
    const place = join(others, ringName({ key }));
    const draft = join(others, `.${ringName({ key })}`);
    await this.#locked(async () => {
      await removeFolder(draft);
      makeFolder(draft);
      await this.#makeKey(draft, key);
      await this.#disk.rename(draft, place, "suppression ring");
    });
    return place;
  }

  /** A key without a list is one whose list was lost. */
  async #makeKey(place: string, key: Buffer): Promise<Buffer> {
    await this.#write(place, [], key);
    const file = join(place, SUPPRESSION_FILES.key);
    await this.#disk.replaceFile(file, key, "suppression key", false);
    return key;
  }

  #write(place: string, entries: readonly SuppressedEntry[], key: Buffer): Promise<void> {
    const file = join(place, SUPPRESSION_FILES.list);
    return this.#disk.replaceFile(file, suppressedText(entries, key), "suppression");
  }

  #locked<T>(work: () => Promise<T>): Promise<T> {
    makeFolder(this.#folder);
    const options = { ...this.#lock, what: "the suppression list", wait: true };
    return withLock(join(this.#folder, "lock"), options, work);
  }
}
