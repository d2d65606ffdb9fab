import { hash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ensureGenerated, generateDataset } from "../../src/dataset/build/sample.ts";
import { BLOCK_NUMBERS } from "../../src/dataset/embedded/block-file.ts";
import { currentVersion, FILES } from "../../src/dataset/layout.ts";
import { arraysOf } from "../support/blocks.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";

/** All bytes of the files but where blocks begin, which is not the same twice. */
async function contentOf(datasetDir: string): Promise<readonly unknown[]> {
  const { folder, meta } = await currentVersion(datasetDir);
  const files = [FILES.columns, FILES.records].map((file) =>
    arraysOf(join(folder, file), (name, bytes) => {
      for (let at = 0; name === "blocks" && at < bytes.length; at += 4 * BLOCK_NUMBERS)
        bytes.fill(0, at, at + 8);
      return hash("sha256", bytes);
    }),
  );
  return [meta.companies, ...files];
}

// More companies than there are names at first, so that some are told apart by what comes behind.
test.each([
  [1, 3],
  [700, 0],
  [6_000, 4_294_967_295],
])(
  "%i people with the seed %i are the same, byte for byte, with DuckDB and without",
  async (people, seed) => {
    const [large, small] = [await tempFolder(), await tempFolder()];
    await generateDataset(
      { people, seed },
      { datasetDir: large, now: Date.now, sleep, resources: SMALL },
    );
    expect(
      await ensureGenerated({ name: "small", version: "1", people, seed }, { datasetDir: small }),
    ).toBe(true);
    expect(await contentOf(small)).toEqual(await contentOf(large));
  },
  300_000,
);
