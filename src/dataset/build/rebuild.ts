import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS, type Person } from "../../shared/contract/records.ts";
import type { Suppression } from "../../shared/contract/suppression.ts";
import { RecordStore } from "../embedded/record-store.ts";
import { currentVersion, markInUse, newVersion, readPointer } from "../layout.ts";
import { isHidden, noteLeftOut, readHiddenPeople, suppressionDir } from "../suppression.ts";
import { dropPrevious } from "../versions.ts";
import { buildDataset } from "./build.ts";
import type { BuildOptions } from "./options.ts";
import { loadRecords, stagedBytes, stagePeople } from "./records-table.ts";

/**
 * Builds the current version without whom it leaves out now.
 * @returns undefined where nobody had to go
 */
export async function rebuildDataset(options: BuildOptions) {
  const { datasetDir } = options;
  if ((await readPointer(datasetDir)) === undefined) return undefined;

  let removed = 0;
  const stage = async (
    connection: DuckDBConnection,
    scratch: string,
  ): Promise<string | undefined> => {
    const { folder, meta } = await currentVersion(datasetDir);
    const suppression = await readHiddenPeople(options.suppression ?? suppressionDir(datasetDir));
    const store = await RecordStore.open(folder);

    try {
      const people = peopleLeft(store, suppression, options);
      const remainder = await stagePeople({ connection, scratch }, people);
      removed = meta.people - remainder;

      if (removed === 0) {
        await noteLeftOut(datasetDir, meta.version, suppression);
        return undefined;
      }

      await loadRecords(
        { connection, scratch },
        "staged_companies",
        COMPANY_FIELDS,
        store.all("companies"),
      );

      return meta.source;
    } finally {
      await store.close();
    }
  };

  const bytes = async (): Promise<number> =>
    stagedBytes((await currentVersion(datasetDir)).meta.people);
  const meta = await buildDataset(
    { version: newVersion(options.now()), stage, bytes },
    { ...options, keep: 0 },
  );
  if (meta === undefined) await dropPrevious(options);

  return meta && { meta, removed };
}

async function* peopleLeft(
  store: RecordStore,
  suppression: Suppression,
  options: Watched,
): AsyncGenerator<string> {
  for await (const record of peopleOf(store, options)) {
    if (!isHidden(JSON.parse(record) as Person, suppression)) yield record;
  }
}

type Watched = Pick<BuildOptions, "signal" | "onProgress">;

const peopleOf = (store: RecordStore, { onProgress, signal }: Watched): AsyncGenerator<string> =>
  store.all("people", (done) => {
    signal?.throwIfAborted();
    onProgress?.({ phase: "read", done, total: store.rows("people") });
  });

/**
 * Every person of the current version as JSON text,
 * in public order; nobody where there is no dataset.
 */
export async function* currentPeople(datasetDir: string, options: Watched): AsyncGenerator<string> {
  if ((await readPointer(datasetDir)) === undefined) return;

  const { folder } = await currentVersion(datasetDir);
  const mark = markInUse(folder);
  const store = await RecordStore.open(folder);

  try {
    yield* peopleOf(store, options);
  } finally {
    await store.close();
    mark.release();
  }
}
