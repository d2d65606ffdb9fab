import { chmod, cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { currentVersion, FILES } from "../../src/dataset/layout.ts";
import { placeOfBlock } from "../support/blocks.ts";
import { testContext } from "../support/client.ts";
import { SMALL, sleep, smallDatasetFolder, tempFolder } from "../support/dataset.ts";
import { seededRandom } from "../support/exactness.ts";

/** A data folder with a version that is served and one that is kept. */
async function dataFolder(): Promise<string> {
  const data = await tempFolder();
  const datasetDir = join(data, "dataset");
  await cp(await smallDatasetFolder(400, 31), datasetDir, { recursive: true });
  await generateDataset(
    { people: 300, seed: 32 },
    { datasetDir, now: Date.now, sleep, resources: SMALL },
  );
  return data;
}

async function filesOf(
  datasetDir: string,
): Promise<{ readonly path: string; readonly bytes: number }[]> {
  const found = await readdir(datasetDir, { recursive: true, withFileTypes: true });
  const paths = found
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name));
  const files = await Promise.all(
    paths.map(async (path) => ({ path, bytes: (await stat(path)).size })),
  );
  return files.filter(({ bytes }) => bytes > 0);
}

async function verify(data: string) {
  const tested = testContext();
  const code = await main(["service", "verify", "--data", data, "--json"], tested.context);
  return { code, findings: JSON.parse(tested.stdout()) as { sound: boolean; dataset: string[] } };
}

test("service verify names the file, the block and the people, and works on a copy that nobody may write", async () => {
  const data = await dataFolder();
  const datasetDir = join(data, "dataset");
  const files = await filesOf(datasetDir);
  for (const { path } of files) await chmod(path, 0o400);
  for (const name of await readdir(datasetDir))
    await chmod(join(datasetDir, name), name.startsWith("v-") ? 0o500 : 0o400);
  await chmod(datasetDir, 0o500);
  expect(await verify(data)).toMatchObject({ code: 0, findings: { sound: true, dataset: [] } });
  await chmod(datasetDir, 0o700);
  const { folder } = JSON.parse(await readFile(join(datasetDir, "CURRENT"), "utf8")) as {
    folder: string;
  };
  const records = join(datasetDir, folder, "records.bin");
  const bytes = await readFile(records);
  const { at } = placeOfBlock(records, "people", 3);
  bytes[at + 40] = (bytes[at + 40] ?? 0) ^ 8;
  await chmod(records, 0o600);
  await writeFile(records, bytes);
  const { code, findings } = await verify(data);
  expect({ code, sound: findings.sound }).toEqual({ code: 1, sound: false });
  expect(findings.dataset).toEqual([
    `${records} is not what was written: its SHA-256 is not that of ${join(datasetDir, folder, "manifest.sha256")}`,
    expect.stringContaining(`${records} is damaged (block 3 of people`),
  ]);
  expect(findings.dataset[1]).toContain("people 96 to 127 in public order");
  for (const name of await readdir(datasetDir)) await chmod(join(datasetDir, name), 0o700);
});

test("a bit that flips in what a version says of itself is told at opening: no version, date or number is wrong", async () => {
  const datasetDir = join(await tempFolder(), "dataset");
  await cp(await smallDatasetFolder(400, 31), datasetDir, { recursive: true });
  const path = join((await currentVersion(datasetDir)).folder, FILES.meta);
  const sound = await readFile(path);
  const random = seededRandom(9_017);
  for (let flip = 0; flip < 150; flip++) {
    const bytes = Buffer.from(sound);
    const at = Math.floor(random() * bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    await writeFile(path, bytes);
    await expect(openDataset(datasetDir), `flip ${flip}, byte ${at}`).rejects.toMatchObject({
      name: "DatasetDamagedError",
    });
  }
  await writeFile(path, sound);
  await (await openDataset(datasetDir)).close();
});
