import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine } from "../engine.ts";
import { currentPointer, readPointer } from "../layout.ts";
import { EmbeddedEngine, type EmbeddedEngineOptions } from "./engine.ts";

/** A folder (a path or `file:` URL), read-only; stays on its version. @throws NoDatasetError */
export async function openDataset(
  dataset: string | URL,
  options: EmbeddedEngineOptions = {},
): Promise<Engine> {
  const datasetDir = typeof dataset === "string" ? dataset : fileURLToPath(dataset);
  let failure: unknown;
  // An import may replace and remove the version between our reading its name and our opening it.
  for (let attempt = 0; attempt < 5; attempt++) {
    const { folder } = await currentPointer(datasetDir);
    try {
      return await EmbeddedEngine.open(join(datasetDir, folder), options);
    } catch (error) {
      failure = error;
      if ((await readPointer(datasetDir))?.folder === folder) throw error;
    }
  }

  throw failure;
}
