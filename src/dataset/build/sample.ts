import type { DuckDBConnection } from "@duckdb/node-api";
import type { Person } from "../../shared/contract/records.ts";
import type { Suppression } from "../../shared/contract/suppression.ts";
import { DATASET_FORMAT, type DatasetMeta, hasDataset, newVersion } from "../layout.ts";
import { isHidden, noteLeftOut, readHiddenPeople, suppressionDir } from "../suppression.ts";
import { buildDataset, buildVersion } from "./build.ts";
import { companiesFor, type GenerateOptions, generateInto, Population } from "./generate.ts";
import type { BuildOptions } from "./options.ts";
import { stagedBytes } from "./records-table.ts";
import { writeSmall } from "./write-small.ts";

export const SAMPLE_PEOPLE = 50_000;
export const SAMPLE_COMPANIES = companiesFor(SAMPLE_PEOPLE);
const SAMPLE_SEED = 20_260_101;
/**
 * The same on every machine, so that caches and runs
 * agree; raised when the generator or its words change.
 */
export const SAMPLE_VERSION = "sample-1";

/**
 * Where there is none; of several processes one builds, the others wait.
 * @returns whether this call made it
 */
export const ensureSample = (
  datasetDir: string,
  options: Partial<BuildOptions> = {},
): Promise<boolean> =>
  ensureGenerated(
    {
      name: `sample of ${SAMPLE_PEOPLE} people`,
      version: SAMPLE_VERSION,
      people: SAMPLE_PEOPLE,
      seed: SAMPLE_SEED,
    },
    { ...options, datasetDir },
  );

/** Few enough for memory, and made without DuckDB. @returns as {@link ensureSample} */
export async function ensureGenerated(
  {
    name,
    version,
    ...generate
  }: GenerateOptions & { readonly name: string; readonly version: string },
  build: Partial<BuildOptions> & Pick<BuildOptions, "datasetDir">,
): Promise<boolean> {
  const options = { now: Date.now, sleep: wait, ...build };
  const { datasetDir } = options;
  const isDone = (): Promise<boolean> => hasDataset(datasetDir);
  if (await isDone()) return false;

  const result = await buildVersion({ version, isDone }, options, async (draft) => {
    const population = new Population(generate);
    const hidden = await readHiddenPeople(options.suppression ?? suppressionDir(datasetDir));
    if (!hidden.isEmpty) await noteLeftOut(datasetDir, version, hidden);

    const companies = [...population.companies()];
    const people = await writeSmall(draft, visible(population.people(), hidden), companies);
    const created_at = new Date(options.now()).toISOString();

    return {
      format: DATASET_FORMAT,
      version,
      people,
      companies: companies.length,
      created_at,
      source: name,
    };
  });
  return result !== undefined;
}

function* visible(people: Iterable<Person>, hidden: Suppression): Generator<Person> {
  for (const person of people) {
    if (!isHidden(person, hidden)) yield person;
  }
}

/**
 * Replaces the dataset of a folder by a synthetic one.
 * @throws RangeError where people or seed are out of bounds
 */
export async function generateDataset(
  generate: GenerateOptions,
  options: BuildOptions,
): Promise<DatasetMeta> {
  const { people, seed } = generate;
  if (!Number.isInteger(people) || people < 1 || people > 4_000_000_000) {
    throw new RangeError(`people must be a whole number from 1 to 4,000,000,000, not ${people}`);
  }
  if (!Number.isInteger(seed) || seed < 0 || seed > 4_294_967_295) {
    throw new RangeError(`the seed must be a whole number from 0 to 4,294,967,295, not ${seed}`);
  }

  const stage = async (connection: DuckDBConnection, scratch: string): Promise<string> => {
    await generateInto({ connection, scratch }, generate);
    return `generated: ${people} people, seed ${seed}`;
  };

  const bytes = (): Promise<number> => Promise.resolve(stagedBytes(people));
  const meta = await buildDataset({ version: newVersion(options.now()), stage, bytes }, options);
  if (!meta) throw new Error("nothing was built");

  return meta;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
