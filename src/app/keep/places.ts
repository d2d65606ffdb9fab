import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { configDir, stateDir } from "../../engine/connections/paths.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { Context } from "../../shared/context.ts";

/** A file of the user's own that may name people: a log, a file of jobs, a saved segment. */
export interface UsersFile {
  readonly what: "log" | "jobs" | "segment";
  /** Absolute. */
  readonly path: string;
}

const fileOf = (context: Context): string => join(stateDir(context), "places.ndjson");

async function noted(context: Context): Promise<UsersFile[]> {
  const text = await readFile(fileOf(context), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    try {
      const { path, what } = JSON.parse(line) as UsersFile;
      return [{ what, path }];
    } catch {
      return [];
    }
  });
}

const write = async (context: Context, files: readonly UsersFile[]): Promise<void> => {
  const disk = new Disk();
  await disk.makeFolder(stateDir(context));
  const text = files.map((file) => `${JSON.stringify(file)}\n`).join("");
  await disk.replaceFile(fileOf(context), text, "places");
};

/** Remembers a file that a command was given, so that it can be named later: nothing else knows where it lies. */
export async function notePlace(context: Context, file: UsersFile): Promise<void> {
  const known = await noted(context);
  if (known.some(({ path }) => path === file.path)) return;
  await write(context, [...known, file]);
}

/** Forgets the files whose own name names somebody. */
export async function forgetPlaces(context: Context, names: (text: string) => boolean): Promise<void> {
  const known = await noted(context);
  if (known.some(({ path }) => names(path)))
    await write(
      context,
      known.filter(({ path }) => !names(path)),
    );
}

/** The files that are known of and there. */
export async function usersFiles(context: Context): Promise<readonly UsersFile[]> {
  const config = configDir(context);
  const folder = join(config, "segments");
  const segments = (await readdir(folder).catch(() => [])).sort();
  const all: UsersFile[] = [
    ...(await noted(context)),
    { what: "jobs", path: join(config, "jobs.jsonc") },
    ...segments.map((name) => ({ what: "segment" as const, path: join(folder, name) })),
  ];
  const once = new Map(all.map((file) => [file.path, file]));
  return [...once.values()].filter(({ path }) => existsSync(path));
}
