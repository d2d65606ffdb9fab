import { setTimeout } from "node:timers/promises";
import { inflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { type Pieces, packing } from "../../src/dataset/embedded/blocks.ts";
import { BlockPacker } from "../../src/dataset/embedded/record-writer.ts";
import { long } from "../support/long.ts";

const dictionary = Buffer.from("a block of which much is known before ".repeat(40));

function blocks(count: number): { readonly texts: readonly string[]; readonly pieces: Pieces } {
  const texts = Array.from(
    { length: count },
    (_, index) => `block ${index}: ${"much is known ".repeat(index % 50)}`,
  );
  let length = 0;
  const ends = texts.map((text) => (length += text.length));
  return { texts, pieces: { bytes: new Uint8Array(Buffer.from(texts.join(""))), ends } };
}

async function packedBy(
  packer: BlockPacker,
  pieces: Pieces,
  options = packing(dictionary),
): Promise<string[]> {
  const found: string[] = [];
  for await (const { bytes, ends } of packer.pack(pieces, options)) {
    for (const [index, end] of ends.entries()) {
      const block = inflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), { dictionary });
      found.push(block.toString());
    }
  }
  return found;
}

test.each([0, 1, 127, 128, 1_000])("%i blocks come back in their order", async (count) => {
  const packer = new BlockPacker(2);
  const { texts, pieces } = blocks(count);
  expect(await packedBy(packer, pieces)).toEqual(texts);
  // What the caller gave is still the caller's.
  expect(Buffer.from(pieces.bytes).toString()).toBe(texts.join(""));
  await packer.close();
});

test("what cannot be packed is an error, and the next blocks are packed; nothing is after the end", async () => {
  const packer = new BlockPacker(2);
  const { texts, pieces } = blocks(1_000);
  await expect(packedBy(packer, pieces, { level: 99 })).rejects.toThrow(/level/);
  expect(await packedBy(packer, pieces)).toEqual(texts);
  const under = expect(packedBy(packer, pieces)).rejects.toThrow("the packer is closed");
  await packer.close();
  await under;
  await expect(packedBy(packer, pieces)).rejects.toThrow("the packer is closed");
});

// Node aborts the whole process where a thread is terminated between the making of a zlib stream and its first use.
long("a packer is closed at any moment of its work", async () => {
  const { pieces } = blocks(4_000);
  for (let round = 0; round < 24; round++) {
    const packer = new BlockPacker(2);
    const first = packer.pack(pieces, packing(dictionary)).next();
    await first;
    await setTimeout(round % 6);
    await packer.close();
  }
});
