import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect } from "vitest";
import { FILES } from "../../../src/dataset/layout.ts";
import { MANIFEST_FILE } from "../../../src/dataset/manifest.ts";
import { checkVersionFiles } from "../../../src/dataset/versions.ts";
import type { Campaign, Course } from "../campaign.ts";
import {
  type DataFolder,
  everything,
  filesIn,
  flip,
  serveHurt,
  suppressionFiles,
  verify,
} from "./data-folder.ts";
import { seeded, throwAll } from "./rig.ts";

/** What a data folder has. A new kind of file belongs here, and under a checksum. */
const KNOWN: readonly string[] = [
  "ledger.db",
  "ledger.db-seal",
  ...["CURRENT", "left-out.json", "lock.db", "suppression/key", "suppression/list.ndjson"].map(
    (name) => `dataset/${name}`,
  ),
  ...["CURRENT", "left-out.json", "lock.db"].map((name) => `test-dataset/${name}`),
  ...["dataset", "test-dataset"].flatMap((dataset) =>
    [...Object.values(FILES), MANIFEST_FILE].map((name) => `${dataset}/VERSION/${name}`),
  ),
];

const filled = (files: readonly string[]): readonly string[] =>
  files.filter((path) => statSync(path).size > 0);

/** Flips one bit of each file in turn, and asks `service verify`, which is to name the file. */
async function flipBits(
  data: string,
  { cases, isBroken, isWhole: hasTestData }: Course,
  random: () => number,
): Promise<void> {
  const flips = isBroken ? Math.min(cases, 7) : cases;
  const files = filesIn(data);
  const names = files.map((path) => relative(data, path).replaceAll(/v-[^/]+/g, "VERSION"));
  const problems = [
    ...names.filter((name) => !KNOWN.includes(name)).map((name) => `nobody knows ${name}`),
    ...KNOWN.filter((name) => hasTestData || !name.startsWith("test-dataset"))
      .filter((name) => !names.includes(name))
      .map((name) => `${name} is not there`),
  ];
  const hurt = filled(files);
  for (let trial = 0; trial < flips; trial += 1) {
    const path = hurt[trial % hurt.length] ?? "";
    const bit = Math.floor(random() * statSync(path).size * 8);
    const restore = flip(path, bit);
    const { code, dataset, ledger } = await verify(data);
    restore();

    const told = [...(ledger ?? []), ...(dataset ?? [])].join("\n");
    const inSuppression = relative(data, path).startsWith("dataset/suppression");
    const folder = inSuppression ? join(data, "dataset/suppression") : path;
    const isNamed = path.endsWith("ledger.db")
      ? /file: |ledger\.db/.test(told)
      : path.endsWith("CURRENT") || told.includes(folder);
    if (code === 0 || !isNamed)
      problems.push(`not found: bit ${bit} of ${relative(data, path)}: ${told}`);
  }
  throwAll(problems);
}

/** The same of a dataset alone, by what opens it: quick, so that many are tried. */
async function flipDataset(data: string, flips: number, random: () => number): Promise<void> {
  const folder = join(data, "dataset");
  const files = filled(filesIn(folder)).filter((path) => !path.includes("/suppression/"));
  const problems: string[] = [];
  expect(await checkVersionFiles(folder)).toEqual([]);
  for (let trial = 0; trial < flips; trial += 1) {
    const path = files[trial % files.length] ?? "";
    const bit = Math.floor(random() * statSync(path).size * 8);
    const restore = flip(path, bit);
    const told = ((await checkVersionFiles(folder)) ?? []).join("\n");
    restore();
    // A changed CURRENT may name another folder, which is not there.
    if (told === "" || !(path.endsWith("CURRENT") || told.includes(path)))
      problems.push(`not found: bit ${bit} of ${relative(data, path)}: ${told}`);
  }
  throwAll(problems);
}

/** Files that are cut, longer, gone, or in the place of another. @returns how many */
async function damage(data: string, random: () => number): Promise<number> {
  const files = filled(filesIn(data));
  // A seal or a note that is gone says no more than one that was never made, and test data is made again.
  const optional = /ledger\.db-seal$|left-out\.json$|test-dataset\/CURRENT$/;
  const problems: string[] = [];
  let trials = 0;
  const look = async (what: string): Promise<void> => {
    trials += 1;
    if ((await verify(data)).code === 0) problems.push(`not found: ${what}`);
  };

  for (const path of files) {
    const sound = readFileSync(path);
    const name = relative(data, path);
    const cuts = Array.from({ length: 8 }, () => Math.floor(random() * sound.length));
    for (const size of new Set([0, sound.length - 1, ...cuts])) {
      writeFileSync(path, sound.subarray(0, size));
      await look(`${name} cut to ${size} of ${sound.length} bytes`);
    }
    for (const more of [Buffer.alloc(1), Buffer.alloc(4_096), sound]) {
      writeFileSync(path, Buffer.concat([sound, more]));
      await look(`${name} longer by ${more.length} bytes`);
    }
    rmSync(path);
    if (!optional.test(path)) await look(`${name} gone`);
    writeFileSync(path, sound, { mode: 0o600 });
  }

  const pairs = files.flatMap((one, n) => files.slice(n + 1).map((other) => [one, other] as const));
  for (const [one, other] of pairs) {
    const [first, second] = [readFileSync(one), readFileSync(other)];
    if (first.equals(second)) continue;
    // Each note is whole, and names a version: one of another is none, and every page is looked through.
    if (/left-out\.json$/.test(one) && /left-out\.json$/.test(other)) continue;
    writeFileSync(one, second);
    writeFileSync(other, first);
    await look(`${relative(data, one)} and ${relative(data, other)} in the place of each other`);
    writeFileSync(one, first);
    writeFileSync(other, second);
  }
  throwAll(problems);
  return trials;
}

async function serveAll(scene: DataFolder, services: number, random: () => number): Promise<void> {
  const places = suppressionFiles(scene.data);
  for (let trial = 0; trial < services; trial += 1) {
    const path = places[trial % places.length] ?? "";
    const restore = flip(path, Math.floor(random() * statSync(path).size * 8));
    await serveHurt(scene, path);
    restore();
  }
}

async function playAll(scene: DataFolder, course: Course): Promise<Record<string, number>> {
  const random = seeded(course.seed);
  const { data } = scene;
  const uncovered = join(data, "dataset/uncovered");
  if (course.isBroken) writeFileSync(uncovered, "under no checksum");
  await flipBits(data, course, random).finally(() => rmSync(uncovered, { force: true }));
  await flipDataset(data, course.isWhole ? course.cases : 12, random);
  if (!course.isWhole) return { flips: course.cases };

  const damaged = await damage(data, random);
  await serveAll(scene, 30, random);
  expect(await verify(data)).toMatchObject({ code: 0, sound: true });
  return { flips: course.cases, damaged, services: 30 };
}

const scenes: Record<string, Promise<DataFolder>> = {};

export const flips: Campaign = {
  name: "flips",
  seed: 17,
  cases: { quick: 12, whole: 1_000 },
  control: {
    without: "a checksum over one of the files",
    seen: /not found: bit \d+ of dataset\/uncovered/,
  },

  async run(course) {
    // The control and the short form have one folder between them.
    scenes[String(course.isWhole)] ??= everything(course.isWhole);
    const scene = await (scenes[String(course.isWhole)] as Promise<DataFolder>);
    expect(await verify(scene.data)).toMatchObject({ code: 0, sound: true });
    return playAll(scene, course);
  },
};
