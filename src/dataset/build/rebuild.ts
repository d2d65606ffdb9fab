import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS, type Person } from "../../shared/contract/records.ts";
import type { Suppression } from "../../shared/contract/suppression.ts";
import { RecordStore } from "../embedded/record-store.ts";
import { currentVersion, type DatasetMeta, markInUse, newVersion, readPointer } from "../layout.ts";
import { noteLeftOut, readHiddenPeople, suppressionDir } from "../suppression.ts";
import { dropPrevious } from "../versions.ts";
import { buildDataset } from "./build.ts";
import type { BuildOptions } from "./options.ts";
import { loadRecords, peopleOf, stagedBytes, stagePeople } from "./records-table.ts";

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
      const people = peopleLeft(store, meta, suppression, options);
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
        store.companies(),
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
  { people }: DatasetMeta,
  suppression: Suppression,
  { signal, onProgress }: BuildOptions,
): AsyncGenerator<string> {
  const onRead = (done: number): void => onProgress?.({ phase: "read", done, total: people });
  for await (const record of peopleOf(store, people, signal, onRead)) {
    const { id, network_url: address, company_domain: domain } = JSON.parse(record) as Person;
    if (!suppression.hides({ id, address, domain })) yield record;
  }
}

/**
 * Every person of the current version as JSON text,
 * in public order; nobody where there is no dataset.
 */
export async function* currentPeople(
  datasetDir: string,
  { onProgress, signal }: Pick<BuildOptions, "signal" | "onProgress">,
): AsyncGenerator<string> {
  if ((await readPointer(datasetDir)) === undefined) return;

  const { folder, meta } = await currentVersion(datasetDir);
  const mark = markInUse(folder);
  const store = await RecordStore.open(folder);
  const onRead = (done: number): void => onProgress?.({ phase: "read", done, total: meta.people });

  try {
    yield* peopleOf(store, meta.people, signal, onRead);
  } finally {
    await store.close();
    mark.release();
  }
}
