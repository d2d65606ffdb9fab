import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type Building,
  currentPointer,
  type DatasetMeta,
  lostPointer,
  pointTo,
  readMeta,
  readPointer,
  removeUnused,
  withBuildLock,
} from "./layout.ts";
import { checkManifest } from "./manifest.ts";
import { checkLeftOut } from "./suppression.ts";

export interface KeptVersion extends DatasetMeta {
  readonly path: string;
  readonly serves: boolean;
  readonly bytes: number;
}

export class UnknownVersionError extends Error {
  override readonly name = "UnknownVersionError";
}

/**
 * The version that is served, then those kept, the last served first.
 * @throws NoDatasetError where there is none
 */
export async function versionsOf(datasetDir: string): Promise<KeptVersion[]> {
  const { folder, previous } = await currentPointer(datasetDir);
  const versions: KeptVersion[] = [];
  for (const name of [folder, ...previous]) {
    const path = join(datasetDir, name);
    try {
      versions.push({
        ...(await readMeta(path)),
        path,
        serves: name === folder,
        bytes: await sizeOf(path),
      });
    } catch (error) {
      // What was kept may be of another format, or gone by hand.
      if (name === folder) throw error;
    }
  }

  return versions;
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/**
 * @param wanted by default the one that was served last.
 * @throws UnknownVersionError where it is not kept
 */
export async function rollBack(
  wanted: string | undefined,
  building: Building,
): Promise<KeptVersion> {
  const { datasetDir } = building;
  await currentPointer(datasetDir);

  return withBuildLock(building, async () => {
    const versions = await versionsOf(datasetDir);
    const chosen = versionNamed(versions, wanted ?? "previous");
    if (chosen.serves) return chosen;
    const { folder, previous } = await currentPointer(datasetDir);
    const name = chosen.path.slice(datasetDir.length + 1);
    const others = [folder, ...previous].filter((other) => other !== name);
    await pointTo(datasetDir, { version: chosen.version, folder: name, previous: others });
    return { ...chosen, serves: true };
  });
}

/** @param name a version, `current` or `previous`. @throws UnknownVersionError */
export function versionNamed(versions: readonly KeptVersion[], name: string): KeptVersion {
  const [current, previous] = versions;
  const match =
    name === "current"
      ? current
      : name === "previous"
        ? previous
        : versions.find(({ version }) => version === name);
  if (match) return match;

  throw new UnknownVersionError(
    name === "previous"
      ? "no version before the one that is served is kept"
      : `no version "${name}" is kept`,
  );
}

export const dropPrevious = (building: Building): Promise<void> =>
  withBuildLock(building, async () => {
    const pointer = await readPointer(building.datasetDir);
    if (pointer === undefined || pointer.previous.length === 0) return;
    await pointTo(building.datasetDir, { ...pointer, previous: [] });
    await removeUnused(building.datasetDir);
  });

/**
 * Reads every byte, writes nothing.
 * @returns a sentence for each file that is hurt; undefined without a dataset
 */
export async function checkVersionFiles(datasetDir: string): Promise<string[] | undefined> {
  const current = join(datasetDir, "CURRENT");
  const problems = await checkLeftOut(datasetDir);

  try {
    const pointer = await readPointer(datasetDir);
    if (pointer === undefined) {
      const damage = await lostPointer(datasetDir);
      if (damage !== undefined) problems.push(damage);
      return problems.length > 0 ? problems : undefined;
    }

    if ((await readFile(current, "utf8")) !== `${JSON.stringify(pointer)}\n`)
      problems.push(`${current} is not as it was written`);

    for (const name of [pointer.folder, ...pointer.previous]) {
      const folder = join(datasetDir, name);
      const breaches = await checkManifest(folder);
      problems.push(...breaches);
      if (name !== pointer.folder || breaches.length > 0) continue;
      const { version } = await readMeta(folder);
      if (version !== pointer.version)
        problems.push(`${current} names version ${pointer.version}, ${folder} is ${version}`);
    }

    return problems;
  } catch (error) {
    return [...problems, error instanceof Error ? error.message : String(error)];
  }
}
