import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importDataset } from "../../src/dataset/build/import.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { type Engine, OutOfTimeError } from "../../src/dataset/engine.ts";
import { canonicalJson } from "../../src/shared/contract/filters.ts";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { cases } from "../support/campaign.ts";
import { SMALL, sleep, smallDataset, smallDatasetFolder, tempFolder } from "../support/dataset.ts";
import {
  hostilePeople,
  matches,
  publicOrder,
  randomFilters,
  seededRandom,
} from "../support/exactness.ts";
import { naiveFacet, randomFacet } from "../support/facets.ts";

/** Of each kind: 2,000 together, facets included. */
const SETS = cases(90, 5_000);
const TIMEOUT_MS = 180_000 + SETS * 400;
const SEED = Number(process.env.HEADCOUNT_SEED ?? 42);

/** Records and keys read by another thread every time. */
const IN_THREAD = { slowReadMs: 0 };

let hostile: Person[];
let hostileEngine: Engine;
let hostileInThread: Engine;
let generated: Person[];
let generatedEngine: Engine;
let generatedInThread: Engine;

beforeAll(async () => {
  const people = hostilePeople(3_000, SEED);
  const folder = await tempFolder();
  await writeFile(
    join(folder, "people.ndjson"),
    people.map((person) => `${JSON.stringify(person)}\n`).join(""),
  );
  const datasetDir = join(folder, "dataset");
  const report = await importDataset(
    {
      people: ["people.ndjson"],
      companies: [],
      cwd: folder,
      rejects: join(folder, "rejects.ndjson"),
    },
    { datasetDir, now: () => 0, sleep, resources: SMALL },
  );
  expect(report.people).toMatchObject({ taken: 3_000, refused: 0 });
  hostileEngine = await openDataset(datasetDir, { segmentBytes: 100_000 });
  hostileInThread = await openDataset(datasetDir, IN_THREAD);
  hostile = publicOrder(people);
  generatedEngine = await smallDataset(4_000, 3);
  generatedInThread = await openDataset(await smallDatasetFolder(4_000, 3), IN_THREAD);
  const all = await generatedEngine.people(
    { exact: {}, prefix: {}, range: {} },
    { offset: 0, limit: 10_000 },
  );
  generated = all.records.map((record) => JSON.parse(record.toString()) as Person);
});

afterAll(async () => {
  for (const engine of [hostileEngine, hostileInThread, generatedEngine, generatedInThread])
    await engine?.close();
});

const idsOf = (records: readonly Buffer[]): string[] =>
  records.map((record) => (JSON.parse(record.toString()) as Person).id);

async function compare(
  engine: Engine,
  inThread: Engine,
  people: readonly Person[],
  sets: number,
  seed: number,
  further: (random: () => number) => Partial<CanonicalFilters> = () => ({}),
): Promise<number> {
  const random = seededRandom(seed);
  let nonEmpty = 0;
  for (let set = 0; set < sets; set++) {
    const filters = { ...randomFilters(people, random), ...further(random) };
    const expected = people.filter((person) => matches(person, filters)).map((person) => person.id);
    const what = `seed ${seed}, set ${set}: ${canonicalJson(filters)}`;
    // Counting first and last takes both ways: from the columns, and from the segment that is kept.
    expect(await engine.count(filters), what).toBe(expected.length);
    expect(await inThread.count(filters), `${what}, in a thread`).toBe(expected.length);
    const page = await engine.people(filters, { offset: 0, limit: 10_000 });
    expect(page.total, what).toBe(expected.length);
    expect(idsOf(page.records), what).toEqual(expected);
    if (set % 10 === 0)
      expect(await inThread.people(filters, { offset: 0, limit: 10_000 }), what).toEqual(page);
    expect(await engine.count(filters), what).toBe(expected.length);
    if (expected.length > 0) nonEmpty++;
  }
  return nonEmpty;
}

test(
  "hostile values: count, ids and order are those of a naive matcher",
  async () => {
    expect(await compare(hostileEngine, hostileInThread, hostile, SETS, SEED)).toBeGreaterThan(
      SETS / 3,
    );
  },
  TIMEOUT_MS,
);

test(
  "generated people: count, ids and order are those of a naive matcher",
  async () => {
    expect(generated).toEqual(publicOrder(generated));
    expect(
      await compare(generatedEngine, generatedInThread, generated, SETS, SEED + 1),
    ).toBeGreaterThan(SETS / 3);
  },
  TIMEOUT_MS,
);

test(
  "people of one company who meet more: as a naive matcher finds them",
  async () => {
    const companies = [...new Set(hostile.map((person) => person.company_network_url))].filter(
      (url) => url !== null,
    );
    const company = (random: () => number) => {
      const address =
        canonicalAddress(companies[Math.floor(random() * companies.length)] ?? "") ?? "";
      return { company_network_url: random() < 0.5 ? address : slugOf(address) };
    };
    const sets = SETS / 3;
    expect(
      await compare(hostileEngine, hostileInThread, hostile, sets, SEED + 3, company),
    ).toBeGreaterThan(sets / 6);
  },
  TIMEOUT_MS,
);

test(
  "long lists of addresses, whole and bare, with and without more: as a naive matcher finds them",
  async () => {
    const random = seededRandom(SEED + 4);
    const everyone = { exact: {}, prefix: {}, range: {} };
    const known = hostile.map(({ network_url }) => network_url).filter((url) => url !== null);
    const form = (url: string): string => {
      const address = canonicalAddress(url) ?? "";
      return random() < 0.2 ? slugOf(address) : address;
    };
    for (let set = 0; set < cases(9, 24); set++) {
      const length = [5, 150, 1_000][set % 3] ?? 1;
      const wanted = Array.from({ length }, () =>
        form(known[Math.floor(random() * known.length)] ?? ""),
      );
      // A person may be wanted twice, by the whole address and by the slug.
      const network_url = [
        ...new Set([...wanted, slugOf(wanted[0] ?? ""), "nobody", "other.example/nobody"]),
      ].sort();
      const others = set < 6 ? everyone : randomFilters(hostile, random);
      const company = set % 5 === 4 ? { company_network_url: "co-4" } : {};
      const filters = { ...others, ...company, exact: { ...others.exact, network_url } };
      const expected = hostile
        .filter((person) => matches(person, filters))
        .map((person) => person.id);
      for (const engine of [hostileEngine, hostileInThread]) {
        expect(await engine.count(filters), `set ${set}`).toBe(expected.length);
        expect(
          idsOf((await engine.people(filters, { offset: 0, limit: 10_000 })).records),
          `set ${set}`,
        ).toEqual(expected);
      }
    }
  },
  TIMEOUT_MS,
);

test(
  "facets: values, others and missing are those of a naive count, here and in a thread",
  async () => {
    const random = seededRandom(SEED + 5);
    for (let set = 0; set < SETS; set++) {
      const everyone = { exact: {}, prefix: {}, range: {} };
      const [people, ...engines] =
        set % 2 === 0
          ? [hostile, hostileEngine, hostileInThread]
          : [generated, generatedEngine, generatedInThread];
      const filters = set % 5 === 0 ? everyone : randomFilters(people, random);
      const question = randomFacet(people, random);
      const inside = people.filter((person) => matches(person, filters));
      const expected = naiveFacet(inside, question);
      expect(
        expected.values.reduce((sum, { count }) => sum + count, expected.others + expected.missing),
      ).toBe(inside.length);
      for (const engine of engines) {
        const what = `seed ${SEED + 5}, set ${set}: ${canonicalJson(filters)} by ${JSON.stringify(question)}`;
        expect(await engine.facet(filters, question, TIMEOUT_MS), what).toEqual(expected);
      }
    }
  },
  TIMEOUT_MS,
);

test("a facet that takes too long is given up", async () => {
  const question = { key: "city", prefix: "", limit: 5, least: 1 } as const;
  const slow = await openDataset(await smallDatasetFolder(4_000, 3), IN_THREAD);
  const filters = { exact: {}, prefix: {}, range: { followers_min: 1 } };
  // In line behind others there is no time left, however quick it would be.
  const many = Array.from({ length: 30 }, (_, least) =>
    slow.facet(filters, { ...question, least }, 60_000),
  );
  const late = slow.facet(filters, question, 0);
  await expect(late).rejects.toThrow(OutOfTimeError);
  expect(await Promise.all(many)).toHaveLength(30);
  await slow.close();
});

test("the pages of a segment are its people once each, whatever the page size", async () => {
  const random = seededRandom(SEED + 2);
  const segments = [
    { exact: {}, prefix: {}, range: {} },
    ...Array.from({ length: 4 }, () => randomFilters(hostile, random)),
  ];
  for (const filters of segments) {
    const expected = hostile
      .filter((person) => matches(person, filters))
      .map((person) => person.id);
    for (const limit of [7, 100, 1_000, ...(expected.length < 400 ? [1] : [])]) {
      const found: string[] = [];
      for (let offset = 0; offset <= expected.length; offset += limit) {
        found.push(...idsOf((await hostileEngine.people(filters, { offset, limit })).records));
      }
      expect(found, `${canonicalJson(filters)} by ${limit}`).toEqual(expected);
    }
  }
});

test("a page beyond the end is empty and knows the total", async () => {
  const filters = { exact: {}, prefix: {}, range: {} };
  expect(await hostileEngine.people(filters, { offset: 3_000, limit: 10 })).toEqual({
    records: [],
    total: 3_000,
  });
  expect(await hostileEngine.people(filters, { offset: 1e12, limit: 10 })).toEqual({
    records: [],
    total: 3_000,
  });
});
