import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect } from "vitest";
import {
  type ImportInput,
  type ImportReport,
  importDataset,
} from "../../src/dataset/build/import.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { SMALL, sleep, tempFolder } from "./dataset.ts";

const ALL = { exact: {}, prefix: {}, range: {} };

export interface Imports {
  /** A new one for each test, unless a test says which. */
  folder: string;
  readonly write: (name: string, content: string | Buffer) => Promise<void>;
  readonly load: (input?: Partial<ImportInput>, resources?: typeof SMALL) => Promise<ImportReport>;
  /** Opens what was imported for the time of `work`. */
  readonly reading: <Result>(work: (engine: Engine) => Promise<Result>) => Promise<Result>;
  readonly everybody: () => Promise<Person[]>;
  readonly rejects: () => Promise<Record<string, unknown>[]>;
}

/** Imports of files into a dataset of the test that runs. */
export function importing(): Imports {
  const at: Imports = {
    folder: "",
    write: (name, content) => writeFile(join(at.folder, name), content),

    load: (input = {}, resources = SMALL) =>
      importDataset(
        {
          people: ["people.csv"],
          companies: [],
          cwd: at.folder,
          rejects: join(at.folder, "rejects.ndjson"),
          ...input,
        },
        { datasetDir: join(at.folder, "dataset"), now: Date.now, sleep, resources },
      ),

    reading: async (work) => {
      const engine = await openDataset(join(at.folder, "dataset"));
      try {
        expect(await engine.verify()).toEqual([]);
        return await work(engine);
      } finally {
        await engine.close();
      }
    },

    everybody: () =>
      at.reading(async (engine) => {
        const page = await engine.people(ALL, { offset: 0, limit: 50_000 });
        return page.records.map((record) => JSON.parse(record.toString()) as Person);
      }),

    rejects: async () => {
      const text = await readFile(join(at.folder, "rejects.ndjson"), "utf8");
      return text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };

  beforeEach(async () => {
    at.folder = await tempFolder();
  });
  return at;
}
