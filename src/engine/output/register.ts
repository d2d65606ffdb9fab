// Tested by test/cli/forget.test.ts.
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { jsonIn } from "../../shared/contract/text.ts";
import { makeFolder } from "../../shared/folder.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import { type Disk, remove } from "../runs/disk.ts";

export interface Writing {
  /** Absolute path, or a table (`tables/target.ts`). */
  readonly path: string;
  readonly what: "output" | "receipt" | "misses" | "log" | "jobs";
  readonly by: string;
  /** Whom its rows are of; null: no rows. */
  readonly kind: RecordKind | null;
  /** `csv`, `csv.gz`; null: text. */
  readonly format: string | null;
  /** What it may be as it was written: of two while one takes the place of the other. */
  readonly sha256: readonly string[];
}

export interface RegisterEntry extends Writing {
  /** ISO-8601. */
  readonly at: string;
}

/** By any door. Entered before it appears: a killed process leaves nothing unknown. */
export function registerIn(stateDir: string, disk: Disk, now: () => number) {
  const folder = join(stateDir, REGISTER);
  const fileOf = (path: string): string =>
    join(folder, `${hash("sha256", path).slice(0, 32)}.json`);

  const at = async (path: string): Promise<RegisterEntry | undefined> =>
    entryIn(await readFile(fileOf(path), "utf8").catch(() => ""));

  async function enter(writing: Writing): Promise<void> {
    const before = await at(writing.path);
    if (before !== undefined && isSame(before, writing)) return;
    makeFolder(folder);
    // While the new one takes its place, the old one is known too.
    const sha256 = [...new Set([...writing.sha256, ...(before?.sha256.slice(0, 1) ?? [])])];
    const entry: RegisterEntry = { ...writing, sha256, at: new Date(now()).toISOString() };
    await disk.replaceFile(fileOf(writing.path), `${JSON.stringify(entry)}\n`, "register");
  }

  async function entries(): Promise<readonly RegisterEntry[]> {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
    const texts = await Promise.all(
      names.map((name) => readFile(join(folder, name), "utf8").catch(() => "")),
    );
    return texts
      .flatMap((text) => entryIn(text) ?? [])
      .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.path < b.path ? -1 : 1));
  }

  const has = (path: string): boolean => existsSync(fileOf(path));

  return { enter, entries, at, has, drop: (path: string): Promise<void> => remove(fileOf(path)) };
}

export interface OutputPlace {
  /** Keeps two unfinished outputs apart. */
  readonly name: string;
  readonly by: string;
  readonly disk: Disk;
  readonly register: ReturnType<typeof registerIn>;
}

export const enterOutput = (
  path: string,
  rows: Pick<Writing, "kind" | "format">,
  { by, register }: OutputPlace,
  sha256: readonly string[] = [],
): Promise<void> => register.enter({ path, what: "output", by, sha256, ...rows });

const isSame = (a: Writing, b: Writing): boolean =>
  a.what === b.what &&
  a.by === b.by &&
  a.kind === b.kind &&
  a.format === b.format &&
  a.sha256[0] === b.sha256[0];

export const REGISTER = "register";

const entryIn = (text: string) => jsonIn(text) as RegisterEntry | undefined;
