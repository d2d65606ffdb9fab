import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isPlaced, KEY_INDEXES, type KeyIndex } from "../../src/dataset/columns.ts";
import type { KeyList } from "../../src/dataset/embedded/keys.ts";
import type { PaceOptions } from "../../src/dataset/embedded/pace.ts";
import { RecordStore } from "../../src/dataset/embedded/record-store.ts";
import { RecordWriter } from "../../src/dataset/embedded/record-writer.ts";
import { FILES } from "../../src/dataset/layout.ts";
import { afterPrefix } from "../../src/shared/contract/conditions.ts";
import { keyLines, type OwnKey, sortedKeys } from "../support/blocks.ts";
import { cases } from "../support/campaign.ts";
import { tempFolder } from "../support/dataset.ts";
import { HOSTILE, seededRandom } from "../support/exactness.ts";

type Indexes = Readonly<Partial<Record<KeyIndex, readonly OwnKey[]>>>;

/** The file of these keys, handed over in pieces as an import does: a larger one where no block fits. */
async function written(indexes: Indexes, pieceBytes = 2 ** 24): Promise<string> {
  const folder = await tempFolder();
  const writer = await RecordWriter.create(folder, 1);
  writer.packAgainst("headline", ["who ", "what is there of a headline"]);
  for (const [index, keys] of Object.entries(indexes) as [KeyIndex, readonly OwnKey[]][]) {
    const lines = keyLines(keys);
    const rids: number[] = [];
    let most = pieceBytes;
    for (let at = 0; at < lines.length; ) {
      const isLast = at + most >= lines.length;
      const added = await writer.addKeys(index, lines.subarray(at, at + most), isLast);
      rids.push(...added.rids);
      if (added.size === 0) most *= 2;
      at += added.size;
    }
    expect(rids).toEqual(keys.map(({ rid }) => rid));
  }
  await writer.finish();
  return folder;
}

/** What a naive look at all keys finds: positions, or of long texts places in their order. */
function naively(index: KeyIndex, keys: readonly OwnKey[], wanted: KeyList): number[][] {
  const all = keys.map(({ key, rid }, place) => ({
    bytes: Buffer.from(key),
    who: isPlaced(index) ? place : rid,
  }));
  return wanted.map((one) => {
    const isKey = typeof one === "string";
    const from = Buffer.from(isKey ? one : one.from);
    const end = isKey || one.before === undefined ? undefined : Buffer.from(one.before);
    const isIn = (bytes: Buffer): boolean =>
      isKey
        ? bytes.equals(from)
        : bytes.compare(from) >= 0 && (end === undefined || bytes.compare(end) < 0);
    return all.flatMap(({ bytes, who }) => (isIn(bytes) ? [who] : [])).sort((a, b) => a - b);
  });
}

async function found(file: RecordStore, index: KeyIndex, wanted: KeyList): Promise<number[][]> {
  if (isPlaced(index)) {
    const spans = await file.spans(index, wanted);
    return spans.map(([from, before]) =>
      Array.from({ length: before - from }, (_, at) => from + at),
    );
  }
  const all: number[][] = [];
  for (const one of wanted) {
    const rids: number[] = [];
    for await (const piece of file.find(index, [one])) rids.push(...piece);
    all.push(rids.sort((a, b) => a - b));
  }
  return all;
}

let disk = 0;
/** Kept or not, read here or where nothing waits for it. */
const WAYS: readonly (readonly [bytes: number, PaceOptions])[] = [
  [2 ** 24, {}],
  [0, {}],
  [2 ** 12, { slowMs: -1, diskReads: () => disk++ }],
];

async function compare(folder: string, indexes: Indexes, wanted: KeyList): Promise<void> {
  for (const [bytes, pace] of WAYS) {
    const file = await RecordStore.open(folder, bytes, pace);
    for (const index of KEY_INDEXES) {
      const keys = indexes[index] ?? [];
      expect(file.rows(index)).toBe(keys.length);
      const expected = naively(index, keys, wanted);
      expect(await found(file, index, wanted), `${index} of ${JSON.stringify(wanted)}`).toEqual(
        expected,
      );
    }
    for await (const damage of file.damage()) expect(damage).toBeUndefined();
    await file.close();
  }
}

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", "a", "ab", "a-b", "a.b", "b", "who 1", "who 12") },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE.filter((one) => !one.includes("/"))) },
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom(
    "x".repeat(127),
    "x".repeat(128),
    `${"x".repeat(20_000)}y`,
    "\ud7ff",
    "\u{10ffff}",
  ),
);
/** Slugs alone, with the beginning of an address behind them, and what is neither. */
const key = fc.oneof(
  text,
  fc
    .tuple(text, fc.constantFrom("", "x.example/in/", "y.example/", "/", "a/b"))
    .map(([slug, rest]) => `${slug}/${rest}`),
);
const keys = fc
  .array(fc.tuple(key, fc.constantFrom(1, 1, 1, 2, 63, 64, 65, 200)), { maxLength: 12 })
  .map((some) =>
    sortedKeys(
      some
        .flatMap(([own, many]) => Array.from({ length: many }, () => own))
        .map((own, at) => ({ key: own, rid: (at * 7_919) % 4_093 })),
    ),
  );

test("keys, beginnings and ranges of all indexes are those of a naive look, however the file is read", async () => {
  await fc.assert(
    fc.asyncProperty(
      keys,
      fc.array(key, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(40, 3_000, 2 ** 24),
      async (own, asked, pieceBytes) => {
        const indexes: Indexes = Object.fromEntries(KEY_INDEXES.map((index) => [index, own]));
        const some = [
          ...new Set([
            ...asked,
            ...own.filter((_, at) => [63, 0].includes(at % 64)).map((k) => k.key),
          ]),
        ];
        const wanted = some.flatMap((from): KeyList[number][] => [
          from,
          { from, before: undefined },
          { from, before: afterPrefix(from) },
          // A bare slug: "0" comes right after "/".
          { from: `${from}/`, before: `${from}0` },
        ]);
        await compare(await written(indexes, pieceBytes), indexes, wanted);
      },
    ),
    { numRuns: cases(4, 500) },
  );
}, 600_000);

/** One is the beginning of another. */
const TAILS = ["", "x.example/", "x.example/in/"];

/** So many that there are blocks of every sort, and one key that many have. */
const MANY: readonly OwnKey[] = sortedKeys(
  Array.from({ length: 4_000 }, (_, rid) => ({
    key: rid % 5 === 0 ? "all/x.example/" : `who ${(rid * 31) % 1_500}/${TAILS[rid % 3]}`,
    rid,
  })),
);

test("many keys at once, in more than one piece, from many blocks", async () => {
  const folder = await written({ address: MANY, name: MANY });
  const wanted: KeyList = [
    // The first of each block, the last before it, and some between.
    ...MANY.flatMap(({ key }, at) => ([63, 0, 7].includes(at % 64) ? [key] : [])),
    ...Array.from({ length: 100 }, (_, at) => ({
      from: `who ${at * 11}/`,
      before: `who ${at * 11}0`,
    })),
    ...Array.from({ length: 30 }, (_, at) => TAILS.map((tail) => `who ${at * 50}/${tail}`)).flat(),
    "all/x.example/",
    { from: "all/", before: "all0" },
  ];
  const named = naively("name", MANY, wanted);
  const together = (all: readonly (readonly number[])[]): number[] =>
    [...new Set(all.flat())].sort((a, b) => a - b);

  const addressed = together(naively("address", MANY, wanted));
  for (const [bytes, pace] of WAYS) {
    const file = await RecordStore.open(folder, bytes, pace);
    expect(await found(file, "name", wanted)).toEqual(named);
    const pieces: (readonly number[])[] = [];
    for await (const piece of file.find("address", wanted)) pieces.push(piece);
    expect(together(pieces)).toEqual(addressed);
    await file.close();
  }
});

test("a file that is not whole is not opened", async () => {
  const folder = await written({ name: MANY });
  await expect(RecordStore.open(`${folder}.gone`)).rejects.toThrow(/ENOENT/);
  const file = await open(join(folder, FILES.records), "r+");
  const { size } = await file.stat();
  await file.truncate(size - 1);
  await file.close();
  await expect(RecordStore.open(folder)).rejects.toThrow(/records.bin is damaged \(its header\)/);
});

test("a flipped bit of the keys is never a wrong answer: an error, or a name of what nobody asked for", async () => {
  const indexes: Indexes = { address: MANY, name: MANY, headline: MANY.slice(0, 700) };
  const folder = await written(indexes);
  const path = join(folder, FILES.records);
  const wanted: KeyList = [
    "who 7/x.example/",
    { from: "who 3", before: "who 4" },
    "all/x.example/",
  ];
  const answersOf = async (file: RecordStore): Promise<string[]> => {
    const answers: string[] = [];
    for (const index of ["address", "name", "headline"] as const)
      answers.push(
        await found(file, index, wanted).then(
          (all) => JSON.stringify(all),
          (error: Error) => {
            expect(error.message).toMatch(/records.bin is damaged \(/);
            return "damaged";
          },
        ),
      );
    return answers;
  };

  const sound = await RecordStore.open(folder, 2 ** 20);
  const right = await answersOf(sound);
  expect(right).toEqual(
    (["address", "name", "headline"] as const).map((index) =>
      JSON.stringify(naively(index, indexes[index] ?? [], wanted)),
    ),
  );
  await sound.close();

  const { size } = await stat(path);
  const file = await open(path, "r+");
  const random = seededRandom(8);
  const outcomes = { unopened: 0, thrown: 0, named: 0, unread: 0 };
  for (let flip = 0; flip < cases(60, 1_000); flip++) {
    // Some of them where the header lies, which is a small part of all.
    const at = flip % 10 === 0 ? size - 1 - (flip % 1_000) : Math.floor(random() * size);
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    await file.write(Buffer.of((byte[0] ?? 0) ^ (1 << Math.floor(8 * random()))), 0, 1, at);

    const hurt = await RecordStore.open(folder, 2 ** 20).catch((error: Error) => {
      expect(error.message).toMatch(/records.bin is damaged/);
    });
    if (hurt) {
      const answers = await answersOf(hurt);
      for (const [index, answer] of answers.entries())
        expect(["damaged", right[index]], `byte ${at}`).toContain(answer);
      const named: string[] = [];
      for await (const damage of hurt.damage()) if (damage !== undefined) named.push(damage);
      expect(named.length, `byte ${at}`).toBeLessThanOrEqual(1);
      if (answers.includes("damaged")) expect(named, `byte ${at}`).toHaveLength(1);
      await hurt.close();
      // Zeros between two arrays: what is asked for has nothing of them.
      outcomes[answers.includes("damaged") ? "thrown" : named.length === 1 ? "named" : "unread"]++;
    } else outcomes.unopened++;
    await file.write(byte, 0, 1, at);
  }
  await file.close();
  expect(outcomes.unopened).toBeGreaterThan(0);
  expect(outcomes.thrown).toBeGreaterThan(0);
  expect(outcomes.named).toBeGreaterThan(0);
  expect(outcomes.unread).toBeLessThan(cases(3, 10));
});
