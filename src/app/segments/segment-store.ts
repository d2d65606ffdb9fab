import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { checkWord } from "../../engine/connections/config.ts";
import { configDir, findFolder } from "../../engine/connections/paths.ts";
import { Disk, errorCode } from "../../engine/runs/disk.ts";
import type { Context } from "../../shared/context.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import { ifMissing, makeFolder } from "../../shared/folder.ts";

const NAMED = /^([a-z0-9][a-z0-9_-]{0,63})\.json$/;

/** Each is a filter file of its own, so that an editor opens it and `-f` reads it too. */
const folderIn = (config: string): string => join(config, "segments");

export interface SavedSegment {
  readonly name: string;
  readonly file: string;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

export const checkSegmentName = (name: string): string => checkWord(name, "segment", "eu-legal");

export async function savedSegments(context: Context): Promise<readonly SavedSegment[]> {
  const config = findFolder("config", context);
  if (config === undefined) return [];

  const names = await readdir(folderIn(config)).catch(ifMissing<string[]>([], "ENOTDIR"));
  const saved: SavedSegment[] = [];
  for (const each of names.sort()) {
    const name = NAMED.exec(each)?.[1];
    const file = join(folderIn(config), each);
    const info = name === undefined ? undefined : await stat(file).catch(() => undefined);
    if (name !== undefined && info?.isFile() === true)
      saved.push({ name, file, savedAt: info.mtimeMs });
  }

  return saved;
}

/** What words after -s name, `*` for any letters. @throws CliError exit 2 where there is none */
export async function namedSegments(
  context: Context,
  words: readonly string[],
): Promise<readonly SavedSegment[]> {
  const saved = await savedSegments(context);
  const matches = words.flatMap((word) => {
    const glob = word.includes("*") ? word : checkSegmentName(word);
    const pattern = new RegExp(`^${glob.replace(/[^*a-z0-9_-]/g, "\\$&").replaceAll("*", ".*")}$`);
    const matched = saved.filter(({ name }) => pattern.test(name));
    if (matched.length === 0) throw noSuch(glob, saved);
    return matched;
  });
  return [...new Set(matches)];
}

function noSuch(name: string, saved: readonly SavedSegment[]) {
  const names = saved.map((segment) => segment.name);
  const example = `headcount segment save ${name.replaceAll("*", "x")} --department Legal`;
  const others =
    names.length === 0
      ? `none is saved yet; for example: ${example}`
      : "headcount segment list shows them";

  return usageError(
    `there is no segment "${echo(name)}"`,
    didYouMean(name, names) ?? others,
    "unknown_segment",
  );
}

/** Whole or not at all. @throws Error EEXIST where another is there and may not be replaced */
export async function writeSegment(
  context: Context,
  name: string,
  text: string,
  replace: boolean,
): Promise<void> {
  const folder = folderIn(configDir(context));
  makeFolder(folder);
  const file = join(folder, `${checkSegmentName(name)}.json`);
  await new Disk().replaceFile(file, text, "segment", replace);
}

/** Whole or not at all. @throws CliError exit 2 where another is there and may not be replaced */
export async function saveSegment(
  context: Context,
  name: string,
  filters: Filters,
  replace: boolean,
): Promise<SavedSegment> {
  const text = `${JSON.stringify(filters, undefined, 2)}\n`;
  const file = join(folderIn(configDir(context)), `${checkSegmentName(name)}.json`);

  try {
    await writeSegment(context, name, text, replace);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    // The same once more is no change.
    if ((await readFile(file, "utf8").catch(() => "")) !== text) {
      throw usageError(
        `there is a segment "${name}" already, with other filters`,
        say`${option("overwrite")} replaces it; headcount segment show ${name} prints it`,
        "segment_exists",
      );
    }
  }

  return { name, file, savedAt: context.now() };
}

/** @throws CliError exit 2 where one of them is not there: then none goes */
export async function removeSegments(
  context: Context,
  names: readonly string[],
): Promise<readonly SavedSegment[]> {
  const segments = await namedSegments(context, names);
  await Promise.all(segments.map(({ file }) => rm(file, { force: true })));
  return segments;
}
