import { describe, expect, test } from "vitest";
import { readCount } from "../../src/service/http/requests.ts";
import { versionCache } from "../../src/service/ledger/version-cache.ts";

describe("what a ledger remembers until somebody commits", () => {
  let generation = 1;
  const cache = (size = 10, asked: () => number | Promise<number> = () => generation) =>
    versionCache<string | undefined>(asked, size);
  let reads = 0;
  const read = (value: string | undefined) => async () => {
    reads += 1;
    return value;
  };

  test("is read once, also by two who ask at the same time, and again after a commit", async () => {
    const values = cache(10, async () => generation);
    reads = 0;
    expect(await Promise.all([values.get("k", read("a")), values.get("k", read("b"))])).toEqual([
      "a",
      "a",
    ]);
    expect(reads).toBe(1);
    generation += 1;
    expect(await values.get("k", read("c"))).toBe("c");
  });

  test("is never that something is not there, nor that it could not be read", async () => {
    const values = cache();
    expect(await values.get("k", read(undefined))).toBeUndefined();
    await expect(values.get("k", () => Promise.reject(new Error("locked")))).rejects.toThrow(
      "locked",
    );
    expect(await values.get("k", read("there now"))).toBe("there now");
  });

  test("is not what was read before a commit that came while it was read", async () => {
    const values = cache();
    let answer: (value: string) => void = () => undefined;
    const reading = values.get("k", () => new Promise((resolve) => (answer = resolve)));
    values.drop();
    answer("as it was");
    expect(await reading).toBe("as it was");
    expect(await values.get("k", read("as it is"))).toBe("as it is");
  });

  test("is bounded: what finds no room is read each time", async () => {
    const values = cache(1);
    expect([await values.get("k", read("a")), await values.get("l", read("b"))]).toEqual([
      "a",
      "b",
    ]);
    expect([await values.get("k", read("c")), await values.get("l", read("d"))]).toEqual([
      "a",
      "d",
    ]);
  });
});

test("a count that was read before means the same, and one of other bytes does not", () => {
  const canonical = (name: string) =>
    readCount(Buffer.from(JSON.stringify({ filters: { name } }))).canonical;
  // The second has the bytes of the first where they are taken for Latin-1.
  const texts = ["Zoë", Buffer.from("Zoë").toString("latin1")];
  const first = texts.map(canonical);
  expect(new Set(first).size).toBe(2);
  expect(texts.map(canonical)).toEqual(first);
  for (const bytes of [
    '{"filters":{"nme":"x"}}',
    '{"filters":{},"filters":{}}',
    '{"filters":{"name":"\xff"}}',
  ]) {
    for (let time = 0; time < 2; time++)
      expect(() => readCount(Buffer.from(bytes, "latin1"))).toThrow();
  }
});
