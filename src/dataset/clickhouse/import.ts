import { rm } from "node:fs/promises";
import type { BuildOptions } from "../build/build.ts";
import { type ImportInput, type ImportReport, importDataset } from "../build/import.ts";
import { currentVersion } from "../layout.ts";
import { InputError } from "../text/input-file.ts";
import { parseClickHouseAddress } from "./address.ts";
import { loadIntoClickHouse } from "./load.ts";
import { connectClickHouse, DatasetUnavailableError } from "./open.ts";

/**
 * Builds the dataset in `options.datasetDir`, copies it and removes the folder. The servers keep theirs until the copy is whole.
 * @throws InputError where the address or a file is wrong, DatasetUnavailableError where a server fails
 */
export async function importIntoClickHouse(
  address: string,
  password: string,
  input: ImportInput,
  options: BuildOptions,
): Promise<ImportReport> {
  try {
    parseClickHouseAddress(address, password);
  } catch (error) {
    throw new InputError(error instanceof Error ? error.message : String(error));
  }
  const servers = await reaching(() => connectClickHouse(address, password));
  try {
    const report = await importDataset(input, options);
    const version = await currentVersion(options.datasetDir);
    const loaded = await reaching(() =>
      loadIntoClickHouse(servers, {
        ...version,
        now: options.now,
        onProgress: ({ done, total }) => options.onProgress?.({ phase: "copy", done, total }),
        ...(options.signal && { signal: options.signal }),
      }),
    );
    return { ...report, version: loaded.version };
  } finally {
    for (const client of servers.clients) await client.close();
    await rm(options.datasetDir, { recursive: true, force: true });
  }
}

async function reaching<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new DatasetUnavailableError(`${message}; the dataset there is unchanged`, { cause: error });
  }
}
