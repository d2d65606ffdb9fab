import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { findFolder, stateDir } from "../../engine/connections/paths.ts";
import { totalsOf } from "../../engine/library/library.ts";
import { withLibrary } from "../../engine/library/take-in.ts";
import { REGISTER } from "../../engine/output/register.ts";
import { engineOf } from "../../engine/output/tables/target.ts";
import { Disk } from "../../engine/runs/disk.ts";
import type { RunSummary } from "../../engine/runs/reader.ts";
import type { RunStore } from "../../engine/runs/run-store.ts";
import { suppressionFolder } from "../../engine/runs/suppression.ts";
import type { Context } from "../../shared/context.ts";
import { openRuns, registerOf, usersFiles } from "./store.ts";

/** One kind of thing that is kept in one place. Times are epoch milliseconds. */
export interface Holding extends Files {
  readonly what: string;
  readonly path: string;
  /** Different people; null where it holds none, or nobody knows. */
  readonly people: number | null;
  readonly rows: number | null;
}

interface Files {
  readonly items: number;
  /** Null for what is no file. */
  readonly bytes: number | null;
  readonly oldest: number | null;
  readonly newest: number | null;
}

const NOBODY = { people: null, rows: null } as const;
const NO_FILE = { items: 1, bytes: null, oldest: null, newest: null } as const;

async function filesAt(path: string): Promise<Files & { readonly bytes: number }> {
  const info = await stat(path).catch(() => undefined);
  const entries =
    info?.isDirectory() === true
      ? await readdir(path, { recursive: true, withFileTypes: true })
      : [];
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const all =
    info?.isDirectory() === true ? files.map((file) => stat(file).catch(() => undefined)) : [info];
  const infos = (await Promise.all(all)).filter((one) => one !== undefined);
  const times = infos.map(({ mtimeMs }) => mtimeMs);

  return {
    items: infos.length,
    bytes: infos.reduce((sum, { size }) => sum + size, 0),
    oldest: times.length === 0 ? null : Math.min(...times),
    newest: times.length === 0 ? null : Math.max(...times),
  };
}

const filesKept = async (
  what: string,
  path: string,
  more: Partial<Holding> = {},
): Promise<Holding> => ({
  ...NOBODY,
  ...(await filesAt(path)),
  what,
  path,
  ...more,
});

const below = async (folder: string | undefined): Promise<readonly string[]> =>
  folder === undefined ? [] : (await readdir(folder).catch(() => [])).sort();

/** What this user keeps, place by place, and what was written and is not there. Changes nothing. */
export async function holdingsHere(context: Context): Promise<readonly Holding[]> {
  const state = stateDir(context);
  const store = openRuns(context);
  const runs = await store.list();
  const { libraries, lists } = await librariesIn(state, store);
  const holdings = [
    ...(await runsKept(runs, state)),
    ...libraries,
    ...(await written(runs, lists, context)),
  ];

  const marks = await marksOn(store, state);
  const list = join(state, "suppression");
  if (marks > 0) holdings.push(await filesKept("suppression list", list, { items: marks }));

  const names = new Set(["runs", "library", "suppression", REGISTER]);
  for (const name of (await below(state)).filter((one) => !names.has(one)))
    holdings.push(await filesKept(name.replace(/\.\w+$/, ""), join(state, name)));
  for (const { path, what } of (await usersFiles(context)).filter(
    (file) => file.what !== "segment",
  ))
    holdings.push(await filesKept(what, path));

  holdings.push(...(await configured(context)));

  // Of services.
  const data = findFolder("data", context);
  for (const name of await below(data))
    holdings.push(await filesKept("data folder", join(data ?? "", name)));

  return holdings.filter(({ items, what }) => items > 0 || what === OWN);
}

async function runsKept(runs: readonly RunSummary[], state: string): Promise<Holding[]> {
  if (runs.length === 0) return [];
  const path = join(state, "runs");
  const times = runs.map(({ lastAt }) => lastAt);
  const { bytes } = await filesAt(path);
  const rows = runs.reduce((sum, run) => sum + run.rows, 0);
  const [oldest, newest] = [Math.min(...times), Math.max(...times)];
  return [{ what: "runs", path, items: runs.length, people: null, rows, bytes, oldest, newest }];
}

async function librariesIn(state: string, store: RunStore) {
  const libraries: Holding[] = [];
  const lists: string[] = [];
  for (const name of (await below(join(state, "library"))).filter((one) => one.endsWith(".db"))) {
    const path = join(state, "library", name);
    const { bytes } = await filesAt(path);
    await withLibrary(path, store, (library) => {
      const { firstAt: oldest, lastAt: newest, purchases: rows } = totalsOf(library.database);
      libraries.push({
        what: "library",
        path,
        items: 1,
        people: library.size,
        rows,
        bytes,
        oldest,
        newest,
      });
      lists.push(...library.lists.outputs());
    });
  }

  return { libraries, lists };
}

async function written(
  runs: readonly RunSummary[],
  lists: readonly string[],
  context: Context,
): Promise<Holding[]> {
  const holdings: Holding[] = [];
  const rowsOfRun = new Map(runs.map(({ plan, rows }) => [plan.id, rows] as const));
  const entries = await registerOf(context).entries();

  for (const { by, path, what } of entries.filter(
    (entry) => entry.what !== "log" && entry.what !== "jobs",
  )) {
    const rows = what === "output" ? (rowsOfRun.get(by) ?? null) : null;
    const isList = lists.includes(path);
    if (engineOf(path) !== undefined)
      holdings.push({ ...NO_FILE, what: "table", path, people: null, rows });
    else if (existsSync(path))
      holdings.push(await filesKept(isList ? "list" : what, path, isList ? {} : { rows }));
    else holdings.push({ ...NO_FILE, what: "moved or removed", path, people: null, rows });
  }

  return holdings;
}

async function marksOn(store: RunStore, state: string): Promise<number> {
  await store.suppression();
  const { SuppressionList } = await import("../../engine/library/suppression.ts");
  const idle = { now: () => 0, sleep: async () => undefined };
  return (await new SuppressionList(suppressionFolder(state), new Disk(), idle).entries()).length;
}

const OWN = "connections and keys";

/** Saved segments, connections and keys. A keychain is named, and not asked. */
async function configured(context: Context): Promise<readonly Holding[]> {
  const path = findFolder("config", context);
  if (path === undefined) return [];

  const { readConfig } = await import("../../engine/connections/config.ts");
  const connections = Object.values(readConfig(path).connections);
  const inKeychain = connections.filter(({ keyStore }) => keyStore === "keychain").length;
  const files = await filesAt(path);
  const segments = await filesKept("segments", join(path, "segments"));
  const jobs = await filesAt(join(path, "jobs.jsonc"));
  const bytes = files.bytes - (segments.bytes ?? 0) - jobs.bytes;
  const own = { ...NOBODY, ...files, what: OWN, path, items: connections.length, bytes };

  return [
    ...(files.items > segments.items + jobs.items ? [own] : []),
    { ...NOBODY, ...NO_FILE, what: "keys", path: "keychain", items: inKeychain },
    segments,
  ];
}
