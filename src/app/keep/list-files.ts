// Tested by test/cli/refresh.test.ts.
import { basename, dirname, join } from "node:path";
import { packedName } from "../../engine/output/packing.ts";

export const MOVES = ["added", "removed", "changed"] as const;
export const LIST_FILES = ["list", ...MOVES] as const;
type File = (typeof LIST_FILES)[number];

/** `people.csv` and `added` make `people.added.csv`. */
export function besideName(path: string, what: File): string {
  if (what === "list") return path;
  const name = basename(path);
  const [, stem = name] = /^(.+?)(?:\.[a-z0-9]+)?$/i.exec(packedName(name).inner) ?? [];
  return join(dirname(path), `${stem}.${what}${name.slice(stem.length)}`);
}

/** All that a refresh writes for a list. */
export const filesOf = (path: string): string[] => LIST_FILES.map((what) => besideName(path, what));
