import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { importDataset } from "../../src/dataset/build/import.ts";
import { rebuildDataset } from "../../src/dataset/build/rebuild.ts";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { suppressionDir } from "../../src/dataset/suppression.ts";
import { SuppressionList } from "../../src/engine/library/suppression.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { cases } from "../support/campaign.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";
import { startTestService } from "../support/service.ts";

const PEOPLE = 400;
const EVERYBODY: CanonicalFilters = { exact: {}, prefix: {}, range: {} };
const filtersOf = (value: unknown): CanonicalFilters => {
  const check = checkFilters(value);
  if (!check.ok) throw new Error(JSON.stringify(check.issues));
  return check.canonical;
};

interface Person {
  readonly id: string;
  readonly network_url: string | null;
  readonly company_domain: string | null;
  readonly company_network_url: string | null;
  readonly department: string;
  readonly country: string;
}

const options = (datasetDir: string) => ({ datasetDir, now: Date.now, sleep, resources: SMALL });

async function made(): Promise<string> {
  const datasetDir = join(await tempFolder(), "dataset");
  await generateDataset({ people: PEOPLE, seed: 3 }, options(datasetDir));
  return datasetDir;
}

const opened: Engine[] = [];
afterAll(() => Promise.all(opened.map((engine) => engine.close())));
async function open(datasetDir: string): Promise<Engine> {
  const engine = await openDataset(datasetDir);
  opened.push(engine);
  return engine;
}

async function recordsOf(engine: Engine, filters = EVERYBODY): Promise<readonly string[]> {
  const { records, total } = await engine.people(filters, { offset: 0, limit: PEOPLE });
  expect(records).toHaveLength(total);
  expect(await engine.count(filters)).toBe(total);
  return records.map(String);
}
const personOf = (record: string): Person => JSON.parse(record) as Person;

const suppress = async (datasetDir: string, words: readonly string[]): Promise<void> => {
  const list = new SuppressionList(suppressionDir(datasetDir), new Disk(), {
    now: Date.now,
    sleep,
  });
  await list.add(
    words.map((word) => suppressedName(word) ?? { kind: "id" }),
    null,
  );
};

/** Who of these people is meant by the words, by rules of the test's own. */
const meant = (words: readonly string[]) => (person: Person) =>
  words.some(
    (word) =>
      word === person.id ||
      word === person.network_url ||
      person.company_domain === word ||
      person.company_domain?.endsWith(`.${word}`) === true,
  );

test("counts, rows, facets and employees are those of everybody else, and every other record is as it was", async () => {
  const datasetDir = await made();
  const before = await recordsOf(await open(datasetDir));
  const people = before.map(personOf);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(PEOPLE - 1), { minLength: 1, maxLength: 6 }),
      async (picks) => {
        const words = picks.map((pick, index) => {
          const person = people[pick] as Person;
          return [person.id, person.network_url, person.company_domain][index % 3] ?? person.id;
        });
        await suppress(datasetDir, words);
        gone.push(...words);
        await rebuildDataset(options(datasetDir));
        const engine = await open(datasetDir);
        const hidden = meant(gone);
        const left = before.filter((_, index) => !hidden(people[index] as Person));
        expect(await recordsOf(engine)).toEqual(left);
        expect(await engine.verify()).toEqual([]);
        for (const word of gone) {
          const person = people.find(({ id }) => id === word);
          if (person?.network_url)
            expect(await engine.count(filtersOf({ network_url: person.network_url }))).toBe(0);
        }
        const [first] = left.map(personOf);
        for (const filters of [
          { department: first?.department },
          { country: first?.country, department: ["Sales", "Marketing"] },
          { name_prefix: "a" },
          { connections_min: 100 },
          { company_network_url: first?.company_network_url },
        ]) {
          if (Object.values(filters).includes(null)) continue;
          const records = await recordsOf(engine, filtersOf(filters));
          expect(records.map(personOf).filter(hidden)).toEqual([]);
        }
        const facet = await engine.facet(
          EVERYBODY,
          { key: "country", prefix: "", limit: 500, least: 1 },
          60_000,
        );
        expect(facet.count).toBe(left.length);
        for (const { value, count } of facet.values)
          expect(await engine.count(filtersOf({ country: value }))).toBe(count);
      },
    ),
    { numRuns: cases(2, 60), seed: 11 },
  );
});
const gone: string[] = [];

test("importing the same people again does not bring them back, and off the list it does", async () => {
  const datasetDir = await made();
  const before = await recordsOf(await open(datasetDir));
  const person = personOf(before[7] ?? "");
  await suppress(datasetDir, [person.id]);
  const scratch = await tempFolder();
  mkdirSync(scratch, { recursive: true });
  writeFileSync(join(scratch, "people.ndjson"), `${before.join("\n")}\n`);
  const left: (readonly [taken: number, suppressed: number | null])[] = [];
  const again = async () => {
    const input = {
      people: ["people.ndjson"],
      companies: [],
      cwd: scratch,
      rejects: "rejects.ndjson",
    };
    const { people, suppressed } = await importDataset(input, options(datasetDir));
    left.push([people.taken, suppressed]);
    return (await recordsOf(await open(datasetDir))).map((record) => personOf(record).id);
  };
  const ids = await again();
  expect(ids).toHaveLength(PEOPLE - 1);
  expect(ids).not.toContain(person.id);
  const list = new SuppressionList(suppressionDir(datasetDir), new Disk(), {
    now: Date.now,
    sleep,
  });
  await list.remove([suppressedName(person.id) ?? { kind: "id" }], []);
  expect(await again()).toContain(person.id);
  expect(left).toEqual([
    [PEOPLE, 1],
    [PEOPLE, 0],
  ]);
});

test("nobody to take out leaves the version, and a list that cannot be read builds nothing", async () => {
  const datasetDir = await made();
  expect(await rebuildDataset(options(datasetDir))).toBeUndefined();
  await suppress(datasetDir, ["somebody-else"]);
  expect(await rebuildDataset(options(datasetDir))).toBeUndefined();
  writeFileSync(join(suppressionDir(datasetDir), "key"), "short");
  await expect(rebuildDataset(options(datasetDir))).rejects.toThrow(/cannot be used/);
  await expect(generateDataset({ people: 5, seed: 1 }, options(datasetDir))).rejects.toThrow(
    /cannot be used/,
  );
  expect(await recordsOf(await open(datasetDir))).toHaveLength(PEOPLE);
});

test("a running service has nobody of them in its next answer, also where a count was kept", async () => {
  const datasetDir = await made();
  let now = 0;
  const engine = await ReloadingEngine.open(datasetDir, { now: () => now });
  const service = await startTestService({ engine });
  try {
    const [record = ""] = (await engine.people(EVERYBODY, { offset: 3, limit: 1 })).records.map(
      String,
    );
    const { id, network_url } = personOf(record);
    const body = { filters: { network_url } };
    const count = async () =>
      (await service.call("/v1/person/count", { method: "POST", body })).json.result.count;
    expect([await count(), await count()]).toEqual([1, 1]);
    await suppress(datasetDir, [id]);
    await rebuildDataset(options(datasetDir));
    now += 1_000;
    expect(await count()).toBe(0);
    const found = await service.call("/v1/person/search", {
      method: "POST",
      body: { filters: { network_url } },
    });
    expect(found.text).not.toContain(id);
  } finally {
    await service.close();
    await engine.close();
  }
});
