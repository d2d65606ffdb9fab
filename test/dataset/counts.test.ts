import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { afterPrefix, type Condition } from "../../src/contract/conditions.ts";
import { Counts, CountsWriter } from "../../src/dataset/embedded/counts.ts";
import type { KeyRange } from "../../src/dataset/embedded/keys.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { RecordStore } from "../../src/dataset/embedded/record-store.ts";
import { RecordWriter } from "../../src/dataset/embedded/record-writer.ts";
import { FORMAT, readPointer } from "../../src/dataset/layout.ts";
import { SMALL, smallDatasetFolder, tempFolder } from "../support/dataset.ts";
import { HOSTILE, seededRandom } from "../support/exactness.ts";

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

type Row = Readonly<Record<string, string | number | null>>;
const TEXTS = [...HOSTILE.slice(0, 12), "a", "ab", "abc", "b", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"];
const SETS = [["kind"], ["size"], ["kind", "size"], ["place", "kind", "size"]] as const;

/** The groups of rows in the order that a table of counts is written in: values rising, missing ones last. */
function grouped(rows: readonly Row[], columns: readonly string[]): [(string | number | null)[], number][] {
  const groups = new Map<string, [(string | number | null)[], number]>();
  for (const row of rows) {
    const values = columns.map((column) => row[column] ?? null);
    const key = JSON.stringify(values);
    groups.set(key, [values, (groups.get(key)?.[1] ?? 0) + 1]);
  }
  return [...groups.values()].sort(([a], [b]) => {
    for (let index = 0; index < a.length; index++) {
      const [x, y] = [a[index] ?? null, b[index] ?? null];
      if (x === y) continue;
      if (x === null || y === null) return x === null ? 1 : -1;
      return typeof x === "string" && typeof y === "string" ? byBytes(x, y) : Number(x) - Number(y);
    }
    return 0;
  });
}

function meets(row: Row, condition: Condition): boolean {
  const own = row[condition.column];
  if (own === null || own === undefined) return false;
  if (condition.kind === "in") return condition.values.includes(String(own));
  if (condition.kind === "prefix") return String(own).startsWith(condition.from);
  if (condition.kind === "range") return Number(own) >= (condition.min ?? 0) && Number(own) <= (condition.max ?? 1e300);
  return false;
}

const text = fc.constantFrom(...TEXTS);
const size = fc.constantFrom(0, 1, 2, 499, 500, 501, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER);
const bound = fc.option(size, { nil: undefined });
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    kind: fc.constant("in" as const),
    column: fc.constantFrom("kind", "place"),
    values: fc.array(fc.oneof(text, fc.constant("nobody")), { minLength: 1, maxLength: 6 }),
  }),
  fc.tuple(fc.constantFrom("kind", "place"), text, fc.nat(3)).map(([column, value, length]) => {
    const from = [...value].slice(0, 1 + length).join("");
    return { kind: "prefix" as const, column, from, before: afterPrefix(from) };
  }),
  fc.record({ kind: fc.constant("range" as const), column: fc.constant("size"), min: bound, max: bound }),
);

test("counts in memory are those of a naive matcher: lists, beginnings, ranges, several on a column, missing values", async () => {
  const path = join(await tempFolder(), "counts.bin");
  const row = fc.record({
    kind: fc.option(text),
    place: fc.option(fc.constantFrom("here", "there", "\ufffe", "\u{10fffe}")),
    size: fc.option(size),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 120 }),
      fc.array(fc.array(condition, { minLength: 1, maxLength: 4 }), { minLength: 20, maxLength: 20 }),
      async (rows, questions) => {
        const writer = new CountsWriter();
        for (const columns of SETS) writer.add(columns, grouped(rows, columns));
        await writer.write(path, rows.length);
        const counts = await Counts.load(path, rows.length);
        for (const conditions of questions) {
          const expected = rows.filter((person) => conditions.every((one) => meets(person, one))).length;
          expect(counts?.count(conditions), JSON.stringify(conditions)).toBe(expected);
        }
        for (const columns of SETS) expect([...(counts?.rows(columns) ?? [])]).toEqual(grouped(rows, columns));
      },
    ),
    { numRuns: process.env.HEADCOUNT_LONG ? 2_000 : 100 },
  );
});

test("only what a table has all columns for is answered, and only a whole file is read", async () => {
  const path = join(await tempFolder(), "counts.bin");
  const rows = [{ kind: "a", place: "x", size: 1 }];
  const writer = new CountsWriter();
  writer.add(["kind"], grouped(rows, ["kind"]));
  await writer.write(path, 1);
  const kind: Condition = { kind: "in", column: "kind", values: ["a"] };
  const place: Condition = { kind: "in", column: "place", values: ["x"] };
  const counts = await Counts.load(path, 1);
  expect(counts?.count([kind])).toBe(1);
  expect(counts?.count([kind, place])).toBeUndefined();
  expect(counts?.count([place])).toBeUndefined();
  await expect(Counts.load(join(path, "..", "missing"), 1)).rejects.toThrow(/ENOENT/);
  await expect(Counts.load(path, 2)).rejects.toThrow(/damaged/);
  const whole = await readFile(path);
  for (const broken of [
    whole.subarray(0, -1),
    whole.subarray(0, 9),
    whole.map((byte, at) => byte ^ (at === 90 ? 1 : 0)),
  ]) {
    await writeFile(path, broken);
    await expect(Counts.load(path, 1)).rejects.toThrow(/damaged/);
  }
  const unsorted = new CountsWriter();
  unsorted.add(
    ["kind"],
    [
      [["b"], 1],
      [["a"], 1],
    ],
  );
  await expect(unsorted.write(path, 2)).rejects.toThrow(/out of order/);
  const short = new CountsWriter();
  short.add(["kind"], [[["a"], 1]]);
  await expect(short.write(path, 2)).rejects.toThrow(/not all people/);
});

test("names and headlines are counted by marks as they are found one by one", async () => {
  const folder = await tempFolder();
  const writer = new RecordWriter(folder, 2);
  const random = seededRandom(7);
  // Some keys alone are more than the entries between two marks, most are one person's.
  const keys = Array.from({ length: 6_000 }, (_, index) =>
    random() < 0.6 ? (HOSTILE[Math.floor(random() * random() * HOSTILE.length)] ?? "") : `who ${index % 2_000}`,
  ).sort(byBytes);
  const lines = keys.map((key, rid) => Buffer.from(`${rid} ${Buffer.byteLength(key)} ${key}\n`));
  await writer.addKeys("name", Buffer.concat(lines));
  await writer.addKeys("headline", Buffer.concat(lines.slice(0, 256)));
  await writer.finish();
  const store = new RecordStore(folder);
  const ask = async (wanted: KeyRange): Promise<void> => {
    const isWanted = (key: string): boolean => {
      if ("values" in wanted) return wanted.values.includes(key);
      return byBytes(key, wanted.from) >= 0 && (wanted.before === undefined || byBytes(key, wanted.before) < 0);
    };
    for (const [index, entries] of [["name", keys] as const, ["headline", keys.slice(0, 256)] as const]) {
      const what = `${index} ${JSON.stringify(wanted)}`;
      const found: number[] = [];
      for await (const piece of store.find(index, wanted)) found.push(...piece);
      const expected = entries.flatMap((key, rid) => (isWanted(key) ? [rid] : []));
      expect(
        found.sort((a, b) => a - b),
        what,
      ).toEqual(expected);
      expect(await store.count(index, wanted, 1_000), what).toBe(expected.length);
      if ("values" in wanted) continue;
      const [first = 0] = expected;
      const places = await store.places(index, wanted);
      expect(expected.length === 0 ? places[1] - places[0] : places, what).toEqual(
        expected.length === 0 ? 0 : [first, first + expected.length],
      );
    }
  };
  const edges = [
    ...HOSTILE,
    "who",
    "who 1",
    "who 1999",
    "",
    "a",
    "\u{10ffff}",
    ...keys.filter((_, at) => at % 256 < 2),
  ];
  for (const from of edges) {
    await ask({ values: [from] });
    if (from !== "") await ask({ from, before: afterPrefix(from) });
    await ask({ from, before: undefined });
  }
  await ask({ values: [...new Set(edges)] });
  expect(await store.count("name", { values: edges }, 10)).toBeUndefined();
  expect(await store.count("name", { from: "", before: undefined }, 1)).toBe(6_000);
  await store.close();
});

/** A copy of a generated dataset's folder that a test may spoil. */
async function copyOf(people: number, seed: number): Promise<{ datasetDir: string; folder: string }> {
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
  for (const format of [FORMAT - 1, FORMAT + 1]) {
    await setFormat(folder, format);
    const message = `has format ${format}, this version reads ${FORMAT}; import or generate it again`;
    await expect(openDataset(datasetDir, { resources: SMALL })).rejects.toThrow(message);
  }
});

test("counts that are damaged are not served, and counts of other people are found by verify", async () => {
  const { datasetDir, folder } = await copyOf(2_000, 11);
  const path = join(folder, "counts.bin");
  const other = await copyOf(2_000, 12);
  await cp(join(other.folder, "counts.bin"), path);
  const engine = await openDataset(datasetDir, { resources: SMALL });
  expect(await engine.verify()).toContain("counts by country are not those of the people");
  await engine.close();
  await writeFile(
    path,
    (await readFile(path)).map((byte, at) => (at === 5_000 ? byte ^ 8 : byte)),
  );
  await expect(openDataset(datasetDir, { resources: SMALL })).rejects.toThrow(/counts.bin is damaged/);
});
