import { cp, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { ColumnFile } from "../../src/dataset/embedded/column-file.ts";
import { ColumnWriter, codesFor, valueLines } from "../../src/dataset/embedded/column-writer.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { RecordStore } from "../../src/dataset/embedded/record-store.ts";
import { RecordWriter } from "../../src/dataset/embedded/record-writer.ts";
import { PEOPLE_A_CHUNK } from "../../src/dataset/embedded/scan.ts";
import { PeopleSelection } from "../../src/dataset/embedded/selection.ts";
import { DATASET_FORMAT, FILES, readPointer } from "../../src/dataset/layout.ts";
import { afterPrefix, type Condition } from "../../src/shared/contract/conditions.ts";
import type { FacetKey } from "../../src/shared/contract/vocabulary.ts";
import { byBytes, keyLines, sortedKeys } from "../support/blocks.ts";
import { cases, LONG } from "../support/campaign.ts";
import { smallDatasetFolder, tempFolder } from "../support/dataset.ts";
import { HOSTILE, seededRandom } from "../support/exactness.ts";

interface Row {
  readonly kind: string | null;
  readonly place: string | null;
  readonly size: number | null;
  readonly name: string | null;
  readonly address: string;
}
const TEXTS = [
  ...HOSTILE.slice(0, 12),
  "a",
  "ab",
  "abc",
  "b",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "\u{10000}",
  "\u{10ffff}",
];
const COLUMNS = ["kind", "place", "size"] as const;

function meets(row: Row, condition: Condition): boolean {
  if (condition.kind === "address")
    return condition.values.some(
      ({ slug, address }) => (address ?? `x.example/${slug}`) === row.address,
    );
  const own = row[condition.column as keyof Row];
  if (own === null) return false;
  if (condition.kind === "in") return condition.values.includes(String(own));
  if (condition.kind === "prefix") return String(own).startsWith(condition.from);
  return Number(own) >= (condition.min ?? 0) && Number(own) <= (condition.max ?? 1e300);
}

// Few of them, so that lists and people meet.
const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("a", "ab", "b", "\u{10ffff}") },
  fc.constantFrom(...TEXTS),
);
const texts = fc.uniqueArray(fc.oneof(text, fc.constant("nobody")), { minLength: 1, maxLength: 6 });
const size = fc.constantFrom(
  0,
  1,
  2,
  499,
  500,
  501,
  Number.MAX_SAFE_INTEGER - 1,
  Number.MAX_SAFE_INTEGER,
);
const bound = fc.option(size, { nil: undefined });
const anyText = fc.constantFrom("kind", "place", "name");
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ kind: fc.constant("in" as const), column: anyText, values: texts }),
  fc.tuple(anyText, text, fc.nat(3)).map(([column, value, length]) => {
    const from = [...value].slice(0, 1 + length).join("");
    return { kind: "prefix" as const, column, from, before: afterPrefix(from) };
  }),
  fc.record({
    kind: fc.constant("range" as const),
    column: fc.constant("size"),
    min: bound,
    max: bound,
  }),
  fc.uniqueArray(fc.nat(4_000), { minLength: 1, maxLength: 40 }).map((slugs) => ({
    kind: "address" as const,
    column: "network_url",
    values: slugs.map((slug) => ({
      slug: String(slug),
      address: slug % 3 === 0 ? undefined : `x.example/${slug}`,
    })),
  })),
);

const byValue = (a: string | number, b: string | number): number =>
  typeof a === "string" && typeof b === "string" ? byBytes(a, b) : Number(a) - Number(b);

/** The files of these people, as a build writes them. */
async function written(rows: readonly Row[]) {
  const folder = await tempFolder();
  const writer = await ColumnWriter.create(join(folder, FILES.columns), rows.length);
  for (const column of COLUMNS) {
    const values = [...new Set(rows.map((row) => row[column]))]
      .filter((value) => value !== null)
      .sort(byValue);
    const places = new Map<string | number | null, number>(
      values.map((value, code) => [value, code]),
    );
    const codes = codesFor(values.length, rows.length);
    for (const [rid, row] of rows.entries()) codes[rid] = places.get(row[column]) ?? values.length;
    const isNumber = typeof values[0] === "number";
    await writer.add(column, valueLines(values, isNumber), codes);
  }
  const records = await RecordWriter.create(folder, 1);
  const keys = (own: (row: Row) => string | null) =>
    sortedKeys(
      rows.flatMap((row, rid) =>
        [own(row)].filter((key) => key !== null).map((key) => ({ key, rid })),
      ),
    );
  const named = keys((row) => row.name);
  await records.addKeys("name", keyLines(named), true);
  const addressed = keys((row) => `${row.address.slice("x.example/".length)}/x.example/`);
  await records.addKeys("address", keyLines(addressed), true);
  await records.finish();
  for (const column of ["name", "headline"] as const)
    await writer.addOrder(
      column,
      Uint32Array.from(column === "name" ? named : [], ({ rid }) => rid),
    );
  await writer.finish();
  return { path: join(folder, FILES.columns), folder };
}

/** Runs of people who have the same, as in the order of a dataset: many blocks have one code, some end with one. */
const people = fc
  .array(
    fc.record({
      kind: fc.option(text),
      place: fc.option(fc.constantFrom("here", "there", "\ufffe", "\u{10fffe}")),
      size: fc.option(size),
      name: fc.option(text),
      many: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1_023, 1_024, 1_500)),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((runs): Row[] =>
    runs
      .flatMap(({ many, ...row }) => Array.from({ length: many }, () => row))
      .map((row, rid) => ({ ...row, address: `x.example/${rid}` })),
  );

/** In the order of these columns, missing values last. */
const inOrder = (rows: readonly Row[], columns: readonly (typeof COLUMNS)[number][]): Row[] =>
  rows.toSorted((a, b) => {
    for (const column of columns) {
      const [own, other] = [a[column], b[column]];
      const order =
        own === null || other === null
          ? Number(own === null) - Number(other === null)
          : byValue(own, other);
      if (order !== 0) return order;
    }
    return 0;
  });

/** Memory for all chunks, for some that come and go, and for none. */
const BUDGETS = [2 ** 30, 400_000, 0] as const;

/** Whether counts, people and groups are those of a naive matcher, with each of the memories. */
async function compare(
  rows: readonly Row[],
  questions: readonly (readonly Condition[])[],
): Promise<void> {
  const { folder, path } = await written(rows);
  const options = { limitMs: 60_000, monotonic: () => performance.now() };
  const files: (ColumnFile | RecordStore)[] = [];
  const selections: PeopleSelection[] = [];
  for (const budget of BUDGETS) {
    const columns = await ColumnFile.open(path, rows.length, budget);
    const store = await RecordStore.open(folder, Math.floor(budget / 100));
    files.push(columns, store);
    selections.push(new PeopleSelection({ people: rows.length, columns, store }, options));
  }
  for (const [index, conditions] of questions.entries()) {
    const expected = rows.flatMap((row, rid) =>
      conditions.every((one) => meets(row, one)) ? [rid] : [],
    );
    const what = JSON.stringify(conditions);
    const groups = new Map<string, number>();
    for (const rid of expected) {
      const own = rows[rid]?.kind;
      if (typeof own === "string") groups.set(own, (groups.get(own) ?? 0) + 1);
    }
    const values = [...groups].map(([value, count]) => ({ value, count }));
    const counts = selections.map((each) => each.count(conditions));
    const selection = selections[index % selections.length] as PeopleSelection;
    expect(await Promise.all(counts), what).toEqual(counts.map(() => expected.length));
    const segment = await selection.segment(conditions);
    expect(segment.count, what).toBe(expected.length);
    expect([...segment.slice(0, rows.length)], what).toEqual(expected);
    const middle = Math.floor(expected.length / 2);
    expect([...segment.slice(middle, 3)], what).toEqual(expected.slice(middle, middle + 3));
    // All values, and then the first few of them.
    const question = {
      key: "kind" as FacetKey,
      prefix: "",
      limit: index % 2 === 0 ? 100 : 2,
      least: 1,
    };
    expect(await selection.facet(conditions, question, 60_000), what).toMatchObject({
      count: expected.length,
      distinct: groups.size,
      values: values
        .sort((a, b) => b.count - a.count || byBytes(a.value, b.value))
        .slice(0, question.limit),
    });
  }
  for (const file of files) await file.close();
}

const someConditions = fc.array(condition, { minLength: 1, maxLength: 4 });

test("lists, beginnings, ranges and addresses, several on a column, missing values: counts, people and groups of a naive matcher", async () => {
  await fc.assert(
    fc.asyncProperty(
      people,
      fc.nat(COLUMNS.length).map((length) => COLUMNS.slice(0, length)),
      fc.array(someConditions, { minLength: 12, maxLength: 12 }),
      (some, sortedBy, questions) => compare(inOrder(some, sortedBy), questions),
    ),
    { numRuns: cases(15, 500) },
  );
});

test("the same over several chunks of people: some of one value, some of many, the last one short", async () => {
  const random = seededRandom(3);
  const texts = (many: number): string => `${Math.floor(random() * many)}`;
  const rows = Array.from({ length: 2.1 * PEOPLE_A_CHUNK }, (_, rid): Row => {
    const sizes = [null, 1, 499, Math.floor(random() * 5_000)];
    const name = random() < 0.1 ? null : `${rid % 3 === 0 ? "a" : "b"}${texts(40_000)}`;
    const kind = ["a", "ab", null][Math.floor((rid / PEOPLE_A_CHUNK) * 1.2)] ?? null;
    return {
      kind,
      place: texts(300),
      size: sizes[rid % 4] ?? null,
      name,
      address: `x.example/${rid}`,
    };
  });
  const names = rows.slice(0, 30).flatMap(({ name }) => name ?? []);
  const address = (rid: number) => ({ slug: String(rid), address: undefined });
  const addresses = [7, 65_535, 65_536, 140_000].map(address);
  const all: Condition[] = [
    { kind: "in", column: "kind", values: ["a", "ab"] },
    { kind: "prefix", column: "kind", from: "ab", before: "ac" },
    { kind: "in", column: "place", values: ["7"] },
    { kind: "in", column: "place", values: Array.from({ length: 150 }, (_, at) => String(2 * at)) },
    { kind: "prefix", column: "name", from: "a1", before: "a2" },
    { kind: "in", column: "name", values: [...new Set(names)] },
    { kind: "range", column: "size", min: 1, max: undefined },
    { kind: "range", column: "size", min: 499, max: 499 },
    { kind: "address", column: "network_url", values: addresses },
  ];
  const pairs = all.flatMap((one, at) =>
    all.slice(at).map((other) => (one === other ? [one] : [one, other])),
  );
  await compare(rows, LONG ? pairs : pairs.filter((_, at) => at % 5 === 0));
});

const PERSON: Row = { kind: "a", place: "x", size: 1, name: "n", address: "x.example/0" };

/** Two chunks of people, of whom each column has some. */
const manyPeople = (): Row[] =>
  Array.from({ length: 1.2 * PEOPLE_A_CHUNK }, (_, rid) => ({
    kind: TEXTS[rid % 7] ?? null,
    place: rid % 11 === 0 ? null : `place ${rid % 900}`,
    size: rid % 5 === 0 ? null : rid % 400,
    name: rid % 3 === 0 ? null : `name ${rid % 1_000}`,
    address: `x.example/${rid}`,
  }));

test("a file that is not whole, or of other people, is not opened", async () => {
  const { path } = await written(
    Array.from({ length: 3_000 }, (_, rid) => ({ ...PERSON, address: `x.example/${rid}` })),
  );
  await expect(ColumnFile.open(`${path}.gone`, 3_000, 1)).rejects.toThrow(/ENOENT/);
  await expect(ColumnFile.open(path, 2_999, 1)).rejects.toThrow(/damaged/);
  const whole = await readFile(path);
  for (const broken of [
    whole.subarray(0, -1),
    whole.subarray(0, 9),
    whole.map((byte, at) => (at === whole.length - 40 ? byte ^ 1 : byte)),
    whole.map((byte, at) => (at === whole.length - 12 ? byte ^ 64 : byte)),
  ]) {
    await writeFile(path, broken);
    await expect(ColumnFile.open(path, 3_000, 1)).rejects.toThrow(/columns.bin is damaged/);
  }
});

test("a flipped bit is never a wrong number: who asks for it gets an error, the pass names it, or nobody reads it", async () => {
  const rows = manyPeople();
  const { folder, path } = await written(rows);
  const store = await RecordStore.open(folder);
  const questions: Condition[][] = [
    [{ kind: "in", column: "kind", values: ["a", "abc"] }],
    [
      { kind: "prefix", column: "place", from: "place 7", before: "place 8" },
      { kind: "range", column: "size", min: 17, max: 300 },
    ],
    [
      { kind: "prefix", column: "name", from: "name 5", before: "name 6" },
      { kind: "in", column: "kind", values: ["ab", "b"] },
    ],
  ];
  const question = { key: "place" as FacetKey, prefix: "", limit: 5, least: 1 };

  const answersOf = async (columns: ColumnFile): Promise<string[]> => {
    const options = { limitMs: 60_000, monotonic: () => performance.now() };
    const selection = new PeopleSelection({ people: rows.length, columns, store }, options);
    const failed = (error: Error): string => {
      expect(error.message).toMatch(/columns.bin is damaged/);
      return "damaged";
    };
    const answers: string[] = [];
    for (const conditions of questions) {
      answers.push(await selection.count(conditions).then(String, failed));
      const facet = selection.facet(conditions, question, 60_000);
      answers.push(await facet.then((found) => JSON.stringify(found), failed));
    }
    return answers;
  };

  const sound = await ColumnFile.open(path, rows.length, 2 ** 30);
  const right = await answersOf(sound);
  for await (const found of sound.damage()) expect(found).toBeUndefined();
  await sound.close();

  const file = await open(path, "r+");
  const { size } = await file.stat();
  const random = seededRandom(8);
  const FLIPS = cases(100, 1_000);
  const outcomes = { unopened: 0, thrown: 0, named: 0, unread: 0 };
  for (let flip = 0; flip < FLIPS; flip++) {
    // Some of them where the header lies, which is a small part of all.
    const at = flip % 10 === 0 ? size - 1 - (flip % 1_000) : Math.floor(random() * size);
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    const flipped = Buffer.of((byte[0] ?? 0) ^ (1 << Math.floor(8 * random())));
    await file.write(flipped, 0, 1, at);

    const columns = await ColumnFile.open(path, rows.length, 2 ** 30).catch((error: Error) => {
      expect(error.message).toMatch(/columns.bin is damaged/);
    });
    if (columns) {
      const answers = await answersOf(columns);
      for (const [index, answer] of answers.entries())
        expect(["damaged", right[index]], `byte ${at}`).toContain(answer);

      const named: string[] = [];
      for await (const found of columns.damage()) if (found !== undefined) named.push(found);
      expect(named.length, `byte ${at}`).toBeLessThanOrEqual(1);

      if (answers.includes("damaged")) outcomes.thrown++;
      else if (named.length === 1) outcomes.named++;
      // Zeros between two arrays: what is asked for has nothing of them.
      else outcomes.unread++;
      if (answers.includes("damaged")) expect(named, `byte ${at}`).toHaveLength(1);
      await columns.close();
    } else outcomes.unopened++;
    await file.write(byte, 0, 1, at);
  }
  await file.close();
  await store.close();
  expect(outcomes.unopened).toBeGreaterThan(0);
  expect(outcomes.thrown).toBeGreaterThan(0);
  expect(outcomes.named).toBeGreaterThan(0);
  expect(outcomes.unread).toBeLessThan(5);
});

test("codes that no value has are not written", async () => {
  const writer = await ColumnWriter.create(join(await tempFolder(), FILES.columns), 2);
  await expect(writer.add("kind", valueLines(["a"]), Uint8Array.of(0, 2))).rejects.toThrow(
    "a person has value 2 of kind, of 1",
  );
  await writer.abandon();
});

/** A copy of a generated dataset's folder that a test may spoil. */
async function copyOf(
  people: number,
  seed: number,
): Promise<{ datasetDir: string; folder: string }> {
  const made = await smallDatasetFolder(people, seed);
  const datasetDir = join(await tempFolder(), "dataset");
  await cp(made, datasetDir, { recursive: true });
  return { datasetDir, folder: join(datasetDir, (await readPointer(datasetDir))?.folder ?? "") };
}

async function setFormat(folder: string, format: number): Promise<void> {
  const path = join(folder, "meta.json");
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), format }));
}

test("a folder of another format is refused with what to do", async () => {
  const { datasetDir, folder } = await copyOf(2_000, 9);
  for (const format of [DATASET_FORMAT - 1, DATASET_FORMAT + 1]) {
    await setFormat(folder, format);
    const message = `has format ${format}, this version reads ${DATASET_FORMAT}; import or generate it again`;
    await expect(openDataset(datasetDir)).rejects.toThrow(message);
  }
});

test("columns that are damaged are not sold, and columns of other people are found by verify", async () => {
  const { datasetDir, folder } = await copyOf(2_000, 11);
  const path = join(folder, FILES.columns);
  const other = await copyOf(2_000, 12);
  await cp(join(other.folder, FILES.columns), path);
  const engine = await openDataset(datasetDir);
  expect((await engine.verify()).join("\n")).toMatch(/records those unlike/s);
  await engine.close();

  const whole = await readFile(path);
  await writeFile(
    path,
    whole.map((byte, at) => (at === 5_000 ? byte ^ 8 : byte)),
  );
  const told: (string | undefined)[] = [];
  const hurt = await openDataset(datasetDir, { onChecked: (found) => told.push(found) });
  await vi.waitUntil(() => told.includes(undefined), { timeout: 20_000 });
  const [damage, ...others] = told;
  expect(others).toEqual([undefined]);
  expect(damage).toContain(`${path} is damaged (`);
  expect(hurt.damage).toEqual([damage]);
  expect(await hurt.verify()).toContain(damage);
  await hurt.close();
});
