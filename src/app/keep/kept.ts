import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { findFolder, stateDir } from "../../engine/connections/paths.ts";
import { Library } from "../../engine/library/library.ts";
import { REGISTER } from "../../engine/output/register.ts";
import { engineOf } from "../../engine/output/tables/target.ts";
import { Disk } from "../../engine/runs/disk.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import type { Context } from "../../shared/context.ts";
import { usersFiles } from "./places.ts";
import { registerOf } from "./store.ts";

/** One kind of thing that is kept in one place. Times are epoch milliseconds. */
export interface Kept {
  readonly what: string;
  readonly path: string;
  readonly items: number;
  /** Different people; null where it holds none, or nobody knows. */
  readonly people: number | null;
  /** Rows, the same person perhaps more than once. */
  readonly rows: number | null;
  /** Null for what is no file. */
  readonly bytes: number | null;
  readonly oldest: number | null;
  readonly newest: number | null;
}

interface Files {
  readonly items: number;
  readonly bytes: number;
  readonly oldest: number | null;
  readonly newest: number | null;
}

const NOBODY = { people: null, rows: null } as const;

/** A file, or all files below a folder. Nothing there is nothing. */
export async function filesAt(path: string): Promise<Files> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return { items: 0, bytes: 0, oldest: null, newest: null };
  if (!info.isDirectory()) return { items: 1, bytes: info.size, oldest: info.mtimeMs, newest: info.mtimeMs };
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const infos = (await Promise.all(files.map((file) => stat(file).catch(() => undefined)))).filter(
    (one) => one !== undefined,
  );
  const times = infos.map(({ mtimeMs }) => mtimeMs);
  return {
    items: infos.length,
    bytes: infos.reduce((sum, { size }) => sum + size, 0),
    oldest: times.length === 0 ? null : Math.min(...times),
    newest: times.length === 0 ? null : Math.max(...times),
  };
}

/** What this user keeps, place by place; what is not there is left out. Takes nothing in and changes nothing. */
export async function keptHere(context: Context): Promise<readonly Kept[]> {
  const state = stateDir(context);
  const store = new RunStore(state, new Disk());
  const runs = await store.list();
  const kept: Kept[] = [];
  const known = new Set(["runs", "library", "suppression", REGISTER]);
  if (runs.length > 0) {
    const path = join(state, "runs");
    const { bytes } = await filesAt(path);
    const times = runs.map(({ lastAt }) => lastAt);
    const rows = runs.reduce((sum, run) => sum + run.rows, 0);
    const oldest = Math.min(...times);
    kept.push({
      what: "runs",
      path,
      items: runs.length,
      people: null,
      rows,
      bytes,
      oldest,
      newest: Math.max(...times),
    });
  }
  const lists: string[] = [];
  for (const name of (await readdir(join(state, "library")).catch(() => [])).filter((one) => one.endsWith(".db"))) {
    const path = join(state, "library", name);
    const library = await Library.open(path, await store.suppression());
    try {
      const { firstAt, lastAt, purchases } = library.totals();
      const { bytes } = await filesAt(path);
      kept.push({
        what: "library",
        path,
        items: 1,
        people: library.size,
        rows: purchases,
        bytes,
        oldest: firstAt,
        newest: lastAt,
      });
      lists.push(...library.lists.outputs());
    } finally {
      library.close();
    }
  }
  const entries = await registerOf(context).entries();
  const rowsOfRun = new Map(runs.map(({ plan, rows }) => [plan.id, rows] as const));
  for (const { by, path, what: written } of entries.filter((entry) => entry.what !== "log" && entry.what !== "jobs")) {
    const what = lists.includes(path) ? "list" : written;
    const rows = written === "output" ? (rowsOfRun.get(by) ?? null) : null;
    if (engineOf(path) !== undefined) {
      kept.push({ what: "table", path, items: 1, people: null, rows, bytes: null, oldest: null, newest: null });
    } else if (existsSync(path)) {
      kept.push({ what, path, ...(await filesAt(path)), people: null, rows: what === "list" ? null : rows });
    }
  }
  const { length: marks } = await suppressed(store, state);
  const list = join(state, "suppression");
  if (marks > 0) kept.push({ ...(await filesAt(list)), what: "suppression list", path: list, items: marks, ...NOBODY });
  for (const name of (await readdir(state).catch(() => [])).sort()) {
    const path = join(state, name);
    const files = await filesAt(path);
    if (!known.has(name) && files.items > 0) kept.push({ what: name.replace(/\.\w+$/, ""), path, ...files, ...NOBODY });
  }
  const files = await usersFiles(context);
  for (const { path, what } of files.filter((file) => file.what !== "segment")) {
    kept.push({ what, path, ...(await filesAt(path)), ...NOBODY });
  }
  return [...kept, ...(await configured(context)), ...(await served(context))];
}

async function suppressed(store: RunStore, state: string): Promise<readonly unknown[]> {
  await store.suppression();
  const { SuppressionList, suppressionFolder } = await import("../../engine/runs/suppression.ts");
  const idle = { now: () => 0, sleep: async () => undefined };
  return new SuppressionList(suppressionFolder(state), new Disk(), idle).entries();
}

/** Saved segments, connections and keys. A keychain is named, and not asked. */
async function configured(context: Context): Promise<readonly Kept[]> {
  const config = findFolder("config", context);
  if (config === undefined) return [];
  const { readConfig } = await import("../../engine/connections/config.ts");
  const connections = Object.values(readConfig(config).connections);
  const inKeychain = connections.filter(({ keyStore }) => keyStore === "keychain").length;
  const kept: Kept[] = [];
  const files = await filesAt(config);
  const segments = await filesAt(join(config, "segments"));
  // A file of jobs is named by itself.
  const jobs = await filesAt(join(config, "jobs.jsonc"));
  if (files.items > segments.items + jobs.items) {
    const bytes = files.bytes - segments.bytes - jobs.bytes;
    kept.push({ ...files, what: "connections and keys", path: config, items: connections.length, bytes, ...NOBODY });
  }
  if (inKeychain > 0) {
    kept.push({
      what: "keys",
      path: "keychain",
      items: inKeychain,
      ...NOBODY,
      bytes: null,
      oldest: null,
      newest: null,
    });
  }
  if (segments.items > 0) kept.push({ what: "segments", path: join(config, "segments"), ...segments, ...NOBODY });
  return kept;
}

/** Data folders of services: `headcount service data` looks into one. */
async function served(context: Context): Promise<readonly Kept[]> {
  const folder = findFolder("data", context);
  const kept: Kept[] = [];
  for (const name of folder === undefined ? [] : await readdir(folder).catch(() => [])) {
    const path = join(folder ?? "", name);
    const files = await filesAt(path);
    if (files.items > 0) kept.push({ what: "data folder", path, ...files, ...NOBODY });
  }
  return kept;
}
