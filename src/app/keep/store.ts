import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { configDir, stateDir } from "../../engine/connections/paths.ts";
import { SuppressionList } from "../../engine/library/suppression.ts";
import { sha256Of } from "../../engine/output/paths.ts";
import { registerIn } from "../../engine/output/register.ts";
import { Disk, failpoint } from "../../engine/runs/disk.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { suppressionFolder } from "../../engine/runs/suppression.ts";
import type { Context } from "../../shared/context.ts";
import { failed, option, say } from "../../shared/errors.ts";
import { filesOf } from "./list-files.ts";

/** What writes here, and fails where a test says so. */
export const diskOf = ({ env }: Context): Disk => new Disk(failpoint(env));

export const registerOf = (context: Context, disk = new Disk()) =>
  registerIn(stateDir(context), disk, context.now);

/** Who is left out here: `headcount suppress`. */
export function suppressionHere(context: Context) {
  const { now, sleep, interrupted: signal } = context;
  const folder = suppressionFolder(stateDir(context));
  return new SuppressionList(folder, diskOf(context), { now, sleep, signal });
}

/**
 * A file that headcount wrote is its own to replace only as it wrote it.
 * @param isList whether it is refreshed, with files beside it
 * @throws CliError exit 5 where somebody changed one since
 */
export async function requireAsWritten(
  output: string,
  context: Context,
  isList: boolean,
): Promise<void> {
  for (const path of isList ? filesOf(output) : [output]) {
    const written = (await registerOf(context).at(path))?.sha256 ?? [];
    if (written.length === 0 || !existsSync(path)) continue;

    const sha256 = await sha256Of(path);
    if (sha256 === undefined || written.includes(sha256)) continue;
    throw failed.incomplete(
      `${path} is not as it was written: somebody changed it since, and it stays; ` +
        "nothing was spent",
      say`rename it, and the next one is written in its place; ${option("overwrite")} replaces it`,
      "file_changed",
    );
  }
}

export const openRuns = (context: Context, disk = new Disk()): RunStore =>
  new RunStore(stateDir(context), disk);

/** A file of the user's own that may name people: a log, a file of jobs, a saved segment. */
interface UsersFile {
  readonly what: "log" | "jobs" | "segment";
  /** Absolute. */
  readonly path: string;
}

/** Enters a file of the user's own that a command was given: nothing else knows where it lies. */
export const enterOwn = (what: "log" | "jobs", path: string, context: Context): Promise<void> =>
  registerOf(context).enter({ path, what, by: what, kind: null, format: null, sha256: [] });

export async function usersFiles(context: Context): Promise<readonly UsersFile[]> {
  const config = configDir(context);
  const folder = join(config, "segments");
  const segments = (await readdir(folder).catch(() => [])).sort();
  const all: UsersFile[] = [
    ...(await registerOf(context).entries()).flatMap(({ what, path }) =>
      what === "log" || what === "jobs" ? [{ what, path }] : [],
    ),
    { what: "jobs", path: join(config, "jobs.jsonc") },
    ...segments.map((name) => ({ what: "segment" as const, path: join(folder, name) })),
  ];
  const once = new Map(all.map((file) => [file.path, file]));

  return [...once.values()].filter(({ path }) => existsSync(path));
}
