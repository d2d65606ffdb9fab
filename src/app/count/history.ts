import {
  appendFileSync,
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { locked } from "../../engine/client/lock-file.ts";
import { findFolder } from "../../engine/connections/paths.ts";
import type { Context } from "../../shared/context.ts";
import { type CanonicalFilters, canonicalJson } from "../../shared/contract/filters.ts";
import { makeFolder } from "../../shared/folder.ts";

/** Whose counts: the service's address (or `sample:FOLDER`), and which kind of key sees its data. */
export interface CountedService {
  readonly serviceId: string;
  readonly mode: "live" | "test";
}

export interface PastCount {
  readonly at: number;
  readonly count: number;
  readonly version: string | null;
}

/** The newest counts of a segment, with room for as many again before the oldest go. */
const KEPT = 1_000;
const LINE_BYTES = 80;
const SEGMENTS = 1_000;
const PATIENCE_MS = 500;

/** Names a file without telling what it is about. Node's own hashes would cost a count its start-up. */
function nameOf(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

const folderOf = (state: string, { serviceId, mode }: CountedService): string =>
  join(state, "counts", nameOf(`${mode} ${serviceId}`));

const fileOf = (folder: string, filters: CanonicalFilters): string =>
  join(folder, `${nameOf(canonicalJson(filters))}.ndjson`);

/** Where that fails the count itself is answered all the same. */
export function keepCount(context: Context, where: CountedService, filters: CanonicalFilters, past: PastCount): void {
  const state = findFolder("state", context);
  if (state === undefined) return;
  const folder = folderOf(state, where);
  const file = fileOf(folder, filters);
  const line = `${JSON.stringify({ at: past.at, count: past.count, version: past.version })}\n`;
  try {
    makeFolder(folder);
    locked(`${file}.lock`, PATIENCE_MS, () => {
      const size = statSync(file, { throwIfNoEntry: false })?.size;
      if (size === undefined) dropOldest(folder);
      appendFileSync(file, line, { mode: 0o600 });
      if ((size ?? 0) > 2 * KEPT * LINE_BYTES) shorten(file);
    });
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
  }
}

function shorten(file: string): void {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean).slice(-KEPT);
  const shorter = `${file}.tmp`;
  writeFileSync(shorter, `${lines.join("\n")}\n`, { mode: 0o600 });
  chmodSync(shorter, 0o600);
  renameSync(shorter, file);
}

function dropOldest(folder: string): void {
  const files = readdirSync(folder).filter((name) => name.endsWith(".ndjson"));
  if (files.length < SEGMENTS) return;
  const timeOf = (name: string): number => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const aged = files.map((name) => ({ name, at: timeOf(name) })).sort((a, b) => a.at - b.at);
  for (const { name } of aged.slice(0, files.length - SEGMENTS + 1)) rmSync(join(folder, name), { force: true });
}

/** Oldest first. A line that a crash cut short is passed over. */
export function pastCounts(context: Context, where: CountedService, filters: CanonicalFilters): readonly PastCount[] {
  const state = findFolder("state", context);
  if (state === undefined) return [];
  let text: string;
  try {
    text = readFileSync(fileOf(folderOf(state, where), filters), "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
  return text
    .split("\n")
    .flatMap((line) => past(line) ?? [])
    .sort((a, b) => a.at - b.at);
}

function past(line: string): PastCount | undefined {
  try {
    const { at, count, version } = JSON.parse(line) as Partial<PastCount>;
    if (typeof at !== "number" || typeof count !== "number") return undefined;
    return { at, count, version: typeof version === "string" ? version : null };
  } catch {
    return undefined;
  }
}
