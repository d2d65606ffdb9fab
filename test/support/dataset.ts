import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { onceARun } from "./once-a-run.ts";

/** For tests: one thread and little memory, because many test files run side by side. */
export const SMALL = { threads: 1, memoryBytes: 512 * 2 ** 20 };

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

const made = new Map<string, Promise<string>>();
/** A new folder that goes with the file of tests. */
export const tempFolder = (prefix = "headcount-test-"): Promise<string> =>
  mkdtemp(join(tmpdir(), prefix));

/** The folder (with CURRENT) of a generated dataset; of this process. */
export function smallDatasetFolder(people = 2_000, seed = 1): Promise<string> {
  const key = `${people}:${seed}`;
  let folder = made.get(key);
  if (!folder) {
    folder = onceARun(`people-${people}-seed-${seed}`, (datasetDir) =>
      generateDataset(
        { people, seed },
        { datasetDir, now: () => 1_767_225_600_000, sleep, resources: SMALL },
      ),
    );
    made.set(key, folder);
  }
  return folder;
}

/** An open engine over a generated dataset; the caller closes it. */
export async function smallDataset(people = 2_000, seed = 1): Promise<Engine> {
  return openDataset(await smallDatasetFolder(people, seed));
}

/** An engine that does some things otherwise. */
export const wrapped = (engine: Engine, other: Partial<Engine>): Engine => ({
  info: () => engine.info(),
  count: (filters) => engine.count(filters),
  people: (filters, slice) => engine.people(filters, slice),
  company: (lookup) => engine.company(lookup),
  employees: (id, slice) => engine.employees(id, slice),
  facet: (filters, question, limitMs) => engine.facet(filters, question, limitMs),
  verify: () => engine.verify(),
  close: () => engine.close(),
  ...other,
});
