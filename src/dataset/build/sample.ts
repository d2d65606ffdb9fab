import { type DatasetMeta, hasDataset, newVersion } from "../layout.ts";
import { type BuildOptions, buildDataset } from "./build.ts";
import { companiesFor, type GenerateOptions, generateInto } from "./generate.ts";

export const SAMPLE_PEOPLE = 50_000;
export const SAMPLE_COMPANIES = companiesFor(SAMPLE_PEOPLE);
const SAMPLE_SEED = 20_260_101;
/** The same on every machine, so that caches and runs agree; raised when the generator or its words change. */
export const SAMPLE_VERSION = "sample-1";

/** Where there is none; of several processes one builds, the others wait. @returns whether this call made it */
export async function ensureSample(datasetDir: string, options: Partial<BuildOptions> = {}): Promise<boolean> {
  if (await hasDataset(datasetDir)) return false;
  const made = await buildDataset(
    {
      name: `sample of ${SAMPLE_PEOPLE} people`,
      version: SAMPLE_VERSION,
      stage: (connection) => generateInto(connection, { people: SAMPLE_PEOPLE, seed: SAMPLE_SEED }),
      isDone: () => hasDataset(datasetDir),
    },
    { now: Date.now, sleep: wait, ...options, datasetDir },
  );
  return made !== undefined;
}

/** Replaces the dataset of a folder by a synthetic one. @throws RangeError where people or seed are out of bounds */
export async function generateDataset(generate: GenerateOptions, options: BuildOptions): Promise<DatasetMeta> {
  const { people, seed } = generate;
  if (!Number.isInteger(people) || people < 1 || people > 4_000_000_000) {
    throw new RangeError(`people must be a whole number from 1 to 4,000,000,000, not ${people}`);
  }
  if (!Number.isInteger(seed) || seed < 0 || seed > 4_294_967_295) {
    throw new RangeError(`the seed must be a whole number from 0 to 4,294,967,295, not ${seed}`);
  }
  const meta = await buildDataset(
    {
      name: `generated: ${people} people, seed ${seed}`,
      version: newVersion(options.now()),
      stage: (connection) => generateInto(connection, generate),
    },
    options,
  );
  if (!meta) throw new Error("nothing was built");
  return meta;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
