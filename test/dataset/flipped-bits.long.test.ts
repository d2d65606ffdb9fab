import { chmod, cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { checkVersionFiles } from "../../src/dataset/versions.ts";
import { cases } from "../support/campaign.ts";
import { testContext } from "../support/client.ts";
import { SMALL, sleep, smallDatasetFolder, tempFolder } from "../support/dataset.ts";
import { seededRandom } from "../support/exactness.ts";

const FLIPS = cases(200, 1_000);

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

test(`each of ${FLIPS} single bits that flip anywhere in a dataset's folder is found, and the file is named`, async () => {
  const datasetDir = join(await dataFolder(), "dataset");
  expect(await checkVersionFiles(datasetDir)).toEqual([]);
  const files = await filesOf(datasetDir);
  expect(files.length).toBeGreaterThanOrEqual(2 * 5 + 1);
  const random = seededRandom(5);
  for (let flip = 0; flip < FLIPS; flip++) {
    // Small files as often as large ones.
    const { bytes, path } = files[flip % files.length] ?? { bytes: 0, path: "" };
    const sound = await readFile(path);
    const hurt = Buffer.from(sound);
    const bit = Math.floor(random() * bytes * 8);
    hurt[bit >> 3] = (hurt[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await writeFile(path, hurt);
    const problems = (await checkVersionFiles(datasetDir)) ?? [];
    const what = `bit ${bit} of ${relative(datasetDir, path)}`;
    expect(problems, what).not.toEqual([]);
    // A changed CURRENT may name another folder, which is not there.
    if (!path.endsWith("CURRENT")) expect(problems.join("\n"), what).toContain(path);
    await writeFile(path, sound);
  }
  expect(await checkVersionFiles(datasetDir)).toEqual([]);
});

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
  const records = join(datasetDir, folder, "records.db");
  const bytes = await readFile(records);
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const db = new DatabaseSync(records, { readOnly: true });
  const { data: block } = db.prepare("SELECT data FROM people WHERE block = 3").get();
  db.close();
  const at = bytes.indexOf(block);
  expect(at).toBeGreaterThan(0);
  bytes[at + 40] = (bytes[at + 40] ?? 0) ^ 8;
  await chmod(records, 0o600);
  await writeFile(records, bytes);
  const { code, findings } = await verify(data);
  expect({ code, sound: findings.sound }).toEqual({ code: 1, sound: false });
  expect(findings.dataset).toEqual([
    `${records} is not what was written: its SHA-256 is not that of ${join(datasetDir, folder, "manifest.sha256")}`,
    expect.stringContaining(`${records}: people: block 3 is damaged`),
  ]);
  expect(findings.dataset[1]).toContain("people 96 to 127 in public order");
  for (const name of await readdir(datasetDir)) await chmod(join(datasetDir, name), 0o700);
});
