import { createHash } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ImportReport } from "../../build/import.ts";
import type { LoadSizes } from "./pieces.ts";

/** A load whose pieces are made. It lies beside them, so that the next process goes on. */
export interface LoadState extends LoadSizes {
  /** What it is made of: other files are another load. */
  readonly fingerprint: string;
  readonly report: ImportReport;
  /** Whether the servers have every row: it may be served already. */
  readonly isWhole: boolean;
}

/** Undefined where there is none whose pieces are all there. */
export async function readLoad(folder: string): Promise<LoadState | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, NAME), "utf8")) as LoadState;
  } catch {
    return undefined;
  }
}

export async function keepLoad(folder: string, state: LoadState): Promise<LoadState> {
  const draft = join(folder, `${NAME}.new`);
  await writeFile(draft, JSON.stringify(state), { mode: 0o600, flush: true });
  await rename(draft, join(folder, NAME));
  return state;
}

export const forgetLoad = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true });

export const fingerprintOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex");

const NAME = "load.json";
