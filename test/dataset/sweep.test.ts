import fc from "fast-check";
import { LRUCache } from "lru-cache";
import { afterEach, expect, test, vi } from "vitest";
import type * as Scan from "../../src/dataset/embedded/scan.ts";
import type { Passing } from "../../src/dataset/embedded/sweep.ts";
import { cases } from "../support/campaign.ts";
import { seededRandom } from "../support/exactness.ts";
import { long } from "../support/long.ts";

afterEach(() => vi.unstubAllGlobals());

interface Column {
  /** Of who has no value: that of the others are below it. */
  readonly size: number;
  readonly wanted: readonly number[];
}

/** Codes of one byte, of two, and of four; lists of single codes and of neighbours. */
const column: fc.Arbitrary<Column> = fc
  .constantFrom(1, 2, 128, 129, 255, 256, 300, 40_000, 65_535, 65_536, 100_000)
  .chain((size) => {
    const code = fc.oneof(fc.nat(size - 1), fc.constantFrom(0, size - 1, size >>> 1));
    const run = fc.tuple(code, fc.nat(size)).map(([from, many]) => {
      const length = Math.min(many, size - from);
      return Array.from({ length }, (_, at) => from + at);
    });
    const wanted = fc.oneof(fc.array(code, { maxLength: 30 }), run, fc.tuple(run, run));
    return fc.record({ size: fc.constant(size), wanted: wanted.map((all) => all.flat()) });
  });

const people = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: 70 }) },
  fc.constantFrom(4_095, 65_521, 65_535, 65_536),
);

function rangesOf(codes: readonly number[]): (readonly [number, number])[] {
  const all: [number, number][] = [];
  for (const code of [...new Set(codes)].sort((a, b) => a - b)) {
    const last = all.at(-1);
    if (last?.[1] === code) last[1] = code + 1;
    else all.push([code, code + 1]);
  }
  return all;
}

/** Of a chunk, some of whom have no value. */
function openTest(scan: typeof Scan, { size, wanted }: Column, many: number, seed: number) {
  const random = seededRandom(seed);
  const Kind = size < 256 ? Uint8Array : size < 65_536 ? Uint16Array : Uint32Array;
  const codes: Scan.Codes = new Kind(many);
  for (const at of codes.keys()) codes[at] = Math.floor(random() * (size + 1));
  const coded = new scan.CodedColumn({
    people: many,
    size,
    least: Kind.of(0),
    most: Kind.of(size),
    chunks: new LRUCache({ max: 10 }),
    first: 0,
    load: () => Promise.resolve(codes),
  });
  const isWanted = new Set(wanted);
  const passing = [...codes].filter((code) => isWanted.has(code)).length;
  return {
    codes,
    isWanted,
    open: { test: scan.testOf(coded, rangesOf(wanted), passing), own: { codes } },
  };
}

function bitsOf(places: readonly number[]): Uint32Array {
  const bits = new Uint32Array(2_048);
  for (const place of places) bits[place >>> 5] = (bits[place >>> 5] ?? 0) | (1 << (place & 31));
  return bits;
}

const bytesOf = ({ buffer, byteLength, byteOffset }: NodeJS.TypedArray): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** @returns how many of the chunks were swept */
async function compare(runs: number): Promise<number> {
  vi.resetModules();
  const scan = await import("../../src/dataset/embedded/scan.ts");
  let swept = 0;
  fc.assert(
    fc.property(
      fc.array(column, { minLength: 1, maxLength: 3 }),
      people,
      fc.nat(),
      (columns, many, seed) => {
        const tests = columns.map((one, at) => openTest(scan, one, many, seed + at));
        const expected = Array.from({ length: many }, (_, place) => place).filter((place) =>
          tests.every(({ codes, isWanted }) => isWanted.has(codes[place] ?? -1)),
        );

        const open = tests.map((each) => each.open);
        // Postings of the first column are made where a list is less work.
        const ask = (): Passing => scan.passing(open, 0, many);
        for (const found of [ask(), ask()]) {
          expect(found.count).toBe(expected.length);
          if (!found.bits) continue;
          swept++;
          expect(Buffer.compare(bytesOf(found.bits), bytesOf(bitsOf(expected)))).toBe(0);
        }
        const places = ask().places.slice().sort();
        expect(Buffer.compare(bytesOf(places), bytesOf(Uint16Array.from(expected)))).toBe(0);
      },
    ),
    { numRuns: runs, seed: 7 },
  );
  return swept;
}

test("who passes is who a naive matcher finds, of codes of every width and chunks of every length", async () => {
  expect(await compare(cases(100, 5_000))).toBeGreaterThan(60);
});

long(
  "the same where there is no WebAssembly, as under `node --jitless`, or none of SIMD",
  async () => {
    vi.stubGlobal("WebAssembly", undefined);
    expect(await compare(cases(50, 1_000))).toBe(0);

    const Module = class {
      constructor() {
        throw new Error("invalid numeric opcode");
      }
    };
    vi.stubGlobal("WebAssembly", { Module });
    expect(await compare(cases(20, 100))).toBe(0);
  },
);
