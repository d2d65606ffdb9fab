import fc from "fast-check";
import { expect, test } from "vitest";
import { addNormalForms } from "../../src/dataset/build/normal-sql.ts";
import { literal, startDuckDb } from "../../src/dataset/duckdb.ts";
import { addressKeys } from "../../src/dataset/embedded/keys.ts";
import {
  ChunkedSegment,
  listSegment,
  segmentCache,
  wholeDataset,
} from "../../src/dataset/segment.ts";
import { afterPrefix, conditionsOf, whereSql } from "../../src/shared/contract/conditions.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { canonicalAddress, canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import { SMALL } from "../support/dataset.ts";
import { long } from "../support/long.ts";

/** In pieces, as a pass over the people finds them: those of a chunk in another order than theirs. */
function chunked(rids: readonly number[]): ChunkedSegment {
  const segment = new ChunkedSegment();
  for (const chunk of [0, 1, 2, 3]) {
    const places = rids.filter((rid) => rid >>> 16 === chunk).map((rid) => rid % 65_536);
    segment.add(chunk, { count: places.length, places: Uint16Array.from(places.toReversed()) });
  }
  return segment;
}

test("a segment in pieces gives the same slices as the list of its people", () => {
  const list = fc.uniqueArray(fc.nat(200_000), { maxLength: 500 });
  const dense = fc.integer({ min: 1, max: 20 }).map((step) => {
    return Array.from({ length: Math.floor(200_000 / step) }, (_, index) => index * step);
  });
  fc.assert(
    fc.property(
      fc.oneof(list, dense),
      fc.nat(200_000),
      fc.integer({ min: 1, max: 70_000 }),
      (people, from, limit) => {
        const rids = Uint32Array.from(people).sort();
        const segment = chunked([...rids]);
        expect(segment.count).toBe(rids.length);
        // A bit for each person of a chunk at most.
        expect(segment.bytes).toBeLessThanOrEqual(4 * 8_192);
        const offset = from % (rids.length + 10);
        expect([...segment.slice(offset, limit)]).toEqual([
          ...listSegment(rids).slice(offset, limit),
        ]);
      },
    ),
    { numRuns: 50 },
  );
});

test("the whole dataset is its own order", () => {
  const whole = wholeDataset(10);
  expect([...whole.slice(3, 4)]).toEqual([3, 4, 5, 6]);
  expect([...whole.slice(8, 4)]).toEqual([8, 9]);
  expect([...whole.slice(10, 4)]).toEqual([]);
});

test("the cache keeps within its budget and drops what was not used for longest", () => {
  const cache = segmentCache(3_000);
  const segment = listSegment(new Uint32Array(175));
  for (const key of ["a", "b", "c"]) cache.set(key, segment);
  expect(cache.get("a")).toBe(segment);
  cache.set("d", segment);
  expect([cache.get("a"), cache.get("b"), cache.get("c"), cache.get("d")]).toEqual([
    segment,
    undefined,
    segment,
    segment,
  ]);
  cache.set("huge", listSegment(new Uint32Array(10_000)));
  expect(cache.get("huge")).toBeUndefined();
  expect(cache.get("d")).toBe(segment);
});

test("a prefix ends where the next code point begins", () => {
  expect(afterPrefix("ab")).toBe("ac");
  expect(afterPrefix("a\u{10ffff}")).toBe("b");
  expect(afterPrefix("a\ud7ff")).toBe("a\ue000");
  expect(afterPrefix("\uffff")).toBe("\u{10000}");
  expect(afterPrefix("\u{10ffff}\u{10ffff}")).toBeUndefined();
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(text, text, (prefix, other) => {
      const after = afterPrefix(prefix);
      const compare = (a: string, b: string): number =>
        Buffer.compare(Buffer.from(a), Buffer.from(b));
      const inside =
        compare(other, prefix) >= 0 && (after === undefined || compare(other, after) < 0);
      expect(inside).toBe(other.startsWith(prefix));
    }),
  );
});

test("no value is ever part of the SQL text", () => {
  const check = checkFilters({
    title: ["X'; DROP TABLE people; --", "b"],
    headline_prefix: "X%_\\",
    network_url: ["X'", "network.example/in/X'"],
    company_network_url: "X'",
    connections_min: 1_234,
  });
  if (!check.ok) throw new Error("the filters are fine");
  const sql = whereSql(conditionsOf(check.canonical), {
    placeholder: () => "?",
    addressColumns: (column) => ({ slug: `${column}_slug`, address: column }),
  });
  expect(sql.text).not.toMatch(/x'|drop|1234/);
  expect(sql.text.split("?")).toHaveLength(sql.values.length + 1);
  expect(sql.text).toMatchInlineSnapshot(
    `" WHERE title IN (?, ?) AND ((network_url_slug = ?) OR (network_url_slug = ? AND network_url = ?)) AND headline >= ? AND headline < ? AND connections >= ? AND ((company_network_url_slug = ?))"`,
  );
});

test("whole addresses are keys of the index, and a bare slug is a range of it", () => {
  const check = checkFilters({ network_url: ["ada", "network.example/in/grace", "edsger"] });
  if (!check.ok) throw new Error("the filters are fine");
  const [condition] = conditionsOf(check.canonical);
  if (condition?.kind !== "address") throw new Error("that is a condition on addresses");
  expect(addressKeys(condition.values)).toEqual([
    { from: "ada/", before: "ada0" },
    { from: "edsger/", before: "edsger0" },
    "grace/network.example/in/",
  ]);
});

long(
  "the normal form of every character is the contract's, alone, between others and beside marks",
  async () => {
    const duckdb = await startDuckDb(SMALL);
    const connection = await duckdb.connect();
    await addNormalForms(connection);
    const texts = [
      "c",
      "'aΣ' || c || 'B'",
      "'I ' || c || chr(775) || chr(803) || c || chr(769)",
      "chr(4352) || c || chr(4520)",
    ];
    const planes = [
      [1, 0xd7ff],
      [0xe000, 0xffff],
      [0x10400, 0x1049f],
      [0x1d100, 0x1d1ff],
      [0x1f000, 0x1faff],
      [0x2f800, 0x2fa1f],
      [0xe0000, 0xe01ff],
    ];
    for (const [first, last] of planes) {
      const found = await connection.runAndReadAll(
        `SELECT x, normal_form(x) FROM (SELECT unnest([${texts.join(", ")}]) AS x
        FROM (SELECT chr(i::INTEGER) AS c FROM range(${first}, ${Number(last) + 1}) AS t (i)))`,
      );
      const wrong = found
        .getRowsJS()
        .filter(([text, form]) => (normalForm(String(text)) || null) !== form);
      expect(wrong).toEqual([]);
    }
    duckdb.closeSync();
  },
);

test("what SQL does by itself is what the functions of the contract do", async () => {
  const duckdb = await startDuckDb(SMALL);
  const connection = await duckdb.connect();
  await addNormalForms(connection);
  const parts = [
    "a",
    "B",
    ".",
    "/",
    "-",
    "%",
    "%41",
    "%20",
    "www.",
    "xn--",
    "xn--mnchen-3ya",
    ":443",
    "https://",
    "HTTP://",
    "//",
    "?x=/y",
    "#",
    "ſ",
    "K",
    "İ",
    "@",
    " ",
    "ü",
    "~",
    "_",
    "9",
    "network.example",
    "uk.network.example/in/",
    "/company/",
    "linkedin.com/pub/",
    "mwlite/",
    "ß",
    "*.",
    "mailto:",
    "\u200b",
    "<",
    ">",
    '"',
    "。",
  ];
  const text = fc
    .array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 })
    .map((found) => found.join(""));
  const texts = fc.sample(text, { numRuns: 3_000, seed: 7 });
  const values = texts.map((value) => `(${literal(value)})`).join(", ");
  const found = await connection.runAndReadAll(
    `SELECT x, normal_form(x), address_form(x), domain_form(x), slug_of(address_form(x)) FROM (VALUES ${values}) AS t (x)`,
  );
  duckdb.closeSync();
  for (const [value, normal, address, domain, slug] of found.getRowsJS()) {
    const given = String(value);
    const canonical = canonicalAddress(given);
    expect({ given, normal, address, domain, slug }).toEqual({
      given,
      normal: normalForm(given) || null,
      address: canonical ?? null,
      domain: canonicalDomain(given) ?? null,
      slug: canonical === undefined ? null : slugOf(canonical),
    });
  }
});
