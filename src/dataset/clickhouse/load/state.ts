import { hash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { jsonIn } from "../../../shared/contract/text.ts";
import { replaceFile } from "../../../shared/folder.ts";
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
export const readLoad = async (folder: string): Promise<LoadState | undefined> =>
  jsonIn(await readFile(join(folder, NAME), "utf8").catch(() => "")) as LoadState | undefined;

export function keepLoad(folder: string, state: LoadState): LoadState {
  replaceFile(join(folder, NAME), JSON.stringify(state));
  return state;
}

export const forgetLoad = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true });

export const fingerprintOf = (value: unknown): string => hash("sha256", JSON.stringify(value));

const NAME = "load.json";
