import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  marksAsked,
  marksOf,
  NOBODY_SUPPRESSED,
  SUPPRESSION_FILES,
  type SuppressedEntry,
  type SuppressedName,
  Suppression,
  suppressedText,
} from "../../shared/contract/suppression.ts";
import { failed } from "../../shared/errors.ts";
import { makeFolder } from "../../shared/folder.ts";
import { readSuppressionList } from "../../shared/suppression-list.ts";
import type { Disk } from "./disk.ts";
import { type LockOptions, withLock } from "./lock.ts";

export const suppressionFolder = (stateDir: string): string => join(stateDir, "suppression");

/**
 * @throws CliError exit 5 where the list cannot be read
 * whole: nothing is written then rather than too much
 */
export async function readSuppression(folder: string): Promise<Suppression> {
  const { key, entries } = await readList(folder);
  return key === undefined || entries.length === 0
    ? NOBODY_SUPPRESSED
    : new Suppression(key, entries);
}

const readList = (folder: string) =>
  readSuppressionList(folder, (why) =>
    failed.incomplete(
      "the suppression list cannot be used, and nobody is shown without it: " +
        `${join(folder, SUPPRESSION_FILES.list)}: ${why}`,
      "restore the folder from a backup, or remove it whole and add the people again",
      "damaged_suppression",
    ),
  );

export function suppressionList(
  folder: string,
  disk: Disk,
  lock: Pick<LockOptions, "now" | "sleep" | "signal">,
) {
  async function find(name: SuppressedName): Promise<readonly SuppressedEntry[]> {
    const { key, entries } = await readList(folder);
    const marks = key === undefined ? [] : marksAsked(key, name);
    return entries.filter((entry) => entry.marks.some((mark) => marks.includes(mark)));
  }

  /** @returns how many were not on it before */
  async function add(names: readonly SuppressedName[], note: string | null): Promise<number> {
    return change((entries, key) => {
      const all = new Set(entries.flatMap(({ marks }) => marks));
      const at = new Date(lock.now()).toISOString();
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
  async function remove(
    names: readonly SuppressedName[],
    marks: readonly string[],
  ): Promise<number> {
    return change((entries, key) => {
      // Not by the last part of a whole address, which somebody of another host may have too.
      const own = new Set(
        names.flatMap((name) =>
          marksOf(key, name).slice(0, name.kind === "address" ? 1 : undefined),
        ),
      );
      const goes = (mark: string): boolean =>
        own.has(mark) || marks.some((beginning) => mark.startsWith(beginning));
      const rest = entries.filter((entry) => !entry.marks.some(goes));
      return { entries: rest, changed: entries.length - rest.length };
    });
  }

  async function change(
    work: (
      entries: readonly SuppressedEntry[],
      key: Buffer,
    ) => { entries: SuppressedEntry[]; changed: number },
  ): Promise<number> {
    makeFolder(folder);
    return await withLock(
      join(folder, "lock"),
      { ...lock, what: "the suppression list", wait: true },
      async () => {
        const { key = await makeKey(), entries } = await readList(folder);
        const { entries: after, changed } = work(entries, key);
        if (changed === 0) return 0;
        const text = suppressedText(after, key);
        await disk.replaceFile(join(folder, SUPPRESSION_FILES.list), text, "suppression");
        return changed;
      },
    );
  }

  /** A key without a list is one whose list was lost. */
  async function makeKey(): Promise<Buffer> {
    const key = randomBytes(32);
    await disk.replaceFile(
      join(folder, SUPPRESSION_FILES.list),
      suppressedText([], key),
      "suppression",
    );
    await disk.replaceFile(join(folder, SUPPRESSION_FILES.key), key, "suppression key", false);
    return key;
  }

  return { entries: async () => (await readList(folder)).entries, find, add, remove, change };
}
