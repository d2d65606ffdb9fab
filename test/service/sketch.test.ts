import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey } from "../../src/service/admin/keys.ts";
import { digestsOf } from "../../src/shared/contract/person-digest.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import {
  type Difference,
  differenceIn,
  hexOf,
  SketchCells,
} from "../../src/shared/contract/sketch.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";
import { wrapped } from "../support/dataset.ts";
import { type CallInit, startTestService, type TestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

// POST /sketch and POST /people: who of one's own people is in a segment, and the others bought by their digests.

const PEOPLE = 1_500;
const RICH = { perMinute: 100_000, perDay: 1_000_000 };

const service = testService({ people: PEOPLE, plan: RICH });
let all: Person[];

beforeAll(async () => {
  all = await peopleOf(service, {});
});

async function peopleOf({ engine }: TestService, exact: Filters): Promise<Person[]> {
  const filters = { exact: {}, prefix: {}, range: {}, ...(exact as object) };
  const { records } = await engine.people(filters, { offset: 0, limit: PEOPLE });
  return records.map((record) => JSON.parse(record.toString()) as Person);
}

const sketch = (body: object, init: CallInit = {}, of = service) =>
  of.call("/sketch", { body, ...init });
const people = (body: object, init: CallInit = {}) => service.call("/people", { body, ...init });

/** What a client does with its own people. */
async function differenceTo(
  own: readonly string[],
  filters: Filters,
  cells: number,
  init: CallInit = {},
) {
  const { json, status } = await sketch({ filters, cells }, init);
  expect(status).toBe(200);
  const { key, count } = json.result as { key: string; count: number };
  const difference = SketchCells.read(json.result.cells as string, 0);
  difference?.minus(SketchCells.of(digestsOf(key, own), 0, cells));
  return { key, count, found: difference && differenceIn(difference) };
}

function hexesOf(key: string, ids: readonly string[]): string[] {
  const { high, low } = digestsOf(key, ids);
  return ids.map((_, at) => hexOf(high[at] ?? 0, low[at] ?? 0)).sort();
}

const sorted = ({ fewer, more }: Difference) => ({
  fewer: [...fewer].sort(),
  more: [...more].sort(),
});

test.each([
  [0, 0, 16],
  [1, 0, 16],
  [0, 1, 16],
  [37, 12, 128],
  [600, 300, 2_000],
])("%i new and %i gone are read out of %i cells", async (fresh, gone, cells) => {
  const ids = all.map(({ id }) => id);
  const strangers = Array.from({ length: gone }, (_, at) => `nobody-${at}`);
  const { count, found, key } = await differenceTo([...ids.slice(fresh), ...strangers], {}, cells);
  expect(count).toBe(PEOPLE);
  expect(found && sorted(found)).toEqual({
    more: hexesOf(key, ids.slice(0, fresh)),
    fewer: hexesOf(key, strangers),
  });
});

test("it is of the segment, and too few cells tell nothing rather than something wrong", async () => {
  const filters = { department: "Sales" };
  const own = all.filter(({ department }) => department === "Sales").map(({ id }) => id);
  const { count, found } = await differenceTo(own, filters, 16);
  expect([count, found]).toEqual([own.length, { more: [], fewer: [] }]);
  expect((await differenceTo(own.slice(200), filters, 50)).found).toBeUndefined();
});

test("cells may be asked for one after the other", async () => {
  const whole = (await sketch({ filters: {}, cells: 50 })).json.result as { cells: string };
  const [first, next] = await Promise.all(
    [0, 30].map(async (from) => {
      const { json } = await sketch({ filters: {}, from, cells: from === 0 ? 30 : 20 });
      expect(json.result.from).toBe(from);
      return SketchCells.read(json.result.cells as string, from);
    }),
  );
  expect(String(next && first?.followedBy(next))).toBe(whole.cells);
});

describe("people by digest", () => {
  const filters = { department: "Sales" };

  test("cost a credit each, and who is not there is left out and free", async () => {
    const own = all.filter(({ department }) => department === "Sales");
    const wanted = own.slice(0, 3);
    const { found, key } = await differenceTo(
      own.slice(3).map(({ id }) => id),
      filters,
      32,
    );
    const [nobody = ""] = hexesOf(key, ["nobody"]);
    const body = { filters, digests: [nobody, ...(found?.more ?? [])] };
    const headers = { "idempotency-key": "sketch-1" };
    const first = await people(body, { headers });
    expect(first.json).toMatchObject({ status: true, credits_used: 3 });
    const byId = (a: Person, b: Person) => (a.id < b.id ? -1 : 1);
    expect([...(first.json.result as Person[])].sort(byId)).toEqual([...wanted].sort(byId));
    expect(first.headers.get("x-suppressed-count")).toBe("1");
    const again = await people(body, { headers });
    expect([again.headers.get("idempotent-replayed"), again.text]).toEqual(["true", first.text]);
  });

  test("of another segment, or of another key, sell nobody", async () => {
    const { found } = await differenceTo([], filters, 600);
    const digests = (found?.more ?? []).slice(0, 5);
    expect(digests).toHaveLength(5);
    const other = await createKey(service.store, { name: "other", mode: "live", now: Date.now });
    const elsewhere = [
      await people({ filters: {}, digests }),
      await people({ filters, digests }, { key: other.key }),
    ];
    for (const { headers, json } of elsewhere) {
      expect([json.result, json.credits_used, headers.get("x-suppressed-count")]).toEqual([
        [],
        0,
        "5",
      ]);
    }
    const { found: seen } = await differenceTo([], filters, 600, { key: other.key });
    expect((seen?.more ?? []).filter((digest) => digests.includes(digest))).toEqual([]);
  });

  test("a key that was rotated sells what the one before it read out", async () => {
    const { found } = await differenceTo([], filters, 600);
    const digests = (found?.more ?? []).slice(0, 2);
    const next = await createKey(service.store, {
      ...{ name: "next", mode: "live", now: Date.now, rotatedFrom: service.keyId },
    });
    expect((await people({ filters, digests }, { key: next.key })).json).toMatchObject({
      credits_used: 2,
    });
  });
});

test.each([
  ["/sketch", {}, "filters is required"],
  ["/sketch", { filters: {}, cells: 0 }, "cells must be between 1 and 32768"],
  ["/sketch", { filters: {}, cells: 32_769 }, "cells must be between 1 and 32768"],
  ["/sketch", { filters: {}, from: -1 }, "from must be between 0 and"],
  ["/sketch", { filters: {}, key: "x" }, "key"],
  ["/people", { filters: {} }, "digests is required: 1 to 1000 texts"],
  ["/people", { filters: {}, digests: [] }, "digests is required"],
  ["/people", { filters: {}, digests: ["1AF63423DC3B710E"] }, "16 hexadecimal digits"],
  ["/people", { filters: {}, digests: [7] }, "16 hexadecimal digits"],
  ["/people", { filters: {}, digests: ["1af63423dc3b710e", "1af63423dc3b710e"] }, "twice"],
])("%s with %j is refused", async (path, body, detail) => {
  const { json, status } = await service.call(path, { body });
  expect([status, String(json.detail)]).toEqual([422, expect.stringContaining(detail)]);
});

test("it takes a call of the minute for each thousand cells begun", async () => {
  const left = async (body: object) =>
    Number((await sketch(body)).headers.get("x-ratelimit-remaining"));
  const before = await left({ filters: {}, cells: 1 });
  expect(await left({ filters: {}, cells: 2_001 })).toBe(before - 3);
});

test("who was suppressed since the dataset was built is in no sketch, and the places of the others hold", async () => {
  const hidden = all[4]?.id;
  // As a service shows its pages to everybody from that moment on.
  const without = await startTestService({
    ...{ people: PEOPLE, plan: RICH },
    wrapEngine: (engine) =>
      wrapped(engine, {
        people: async (filters, slice) => {
          const page = await engine.people(filters, slice);
          const isHidden = (record: Buffer): boolean =>
            record.toString().includes(`"id":"${hidden}"`);
          const leftOut = [...page.records.keys()].filter((at) =>
            isHidden(page.records[at] ?? Buffer.of()),
          );
          return { ...page, records: page.records.filter((record) => !isHidden(record)), leftOut };
        },
      }),
  });
  try {
    const { json } = await sketch({ filters: {}, cells: 64 }, {}, without);
    const { count, key } = json.result as { count: number; key: string };
    expect(count).toBe(PEOPLE - 1);
    const [digest = "", gone = ""] = [all[7]?.id ?? "", hidden ?? ""].flatMap((id) =>
      hexesOf(key, [id]),
    );
    const sold = await without.call("/people", { body: { filters: {}, digests: [gone, digest] } });
    expect((sold.json.result as Person[]).map(({ id }) => id)).toEqual([all[7]?.id]);
  } finally {
    await without.close();
  }
});

describe("where the plan bounds small counts", () => {
  let bounded: TestService;
  beforeAll(async () => {
    bounded = await startTestService({ people: PEOPLE, plan: { ...RICH, smallCounts: 5 } });
  });
  afterAll(() => bounded.close());

  test("few people are not sketched, and sketches of ever other segments end with the day's small counts", async () => {
    const [lone] = all.filter(
      ({ title }) => all.filter((other) => other.title === title).length === 1,
    );
    const few = await sketch({ filters: { title: lone?.title } }, {}, bounded);
    expect([few.status, String(few.json.detail)]).toEqual([
      422,
      expect.stringContaining("fewer than 5 people"),
    ]);
    // The attack: segments that differ by one person, whose digests differ by hers.
    const statuses: number[] = [];
    for (let most = 0; most < 12; most++) {
      statuses.push((await sketch({ filters: { connections_min: most } }, {}, bounded)).status);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(200), 422, 422]);
    // What was told already is told again.
    expect((await sketch({ filters: { connections_min: 0 } }, {}, bounded)).status).toBe(200);
  });

  test("known people beside the one who is asked after, and other keys of the account, get no more of them", async () => {
    const padded = await startTestService({ people: PEOPLE, plan: { ...RICH, smallCounts: 5 } });
    try {
      const keys = [padded.key];
      for (const name of ["two", "three"])
        keys.push((await createKey(padded.store, { name, mode: "live", now: Date.now })).key);
      const names = all.map(({ name }) => name);
      const statuses: number[] = [];
      for (let n = 0; n < 15; n++) {
        const filters = { name: [...names.slice(0, 6), names[20 + n]] };
        statuses.push(
          (await sketch({ filters, cells: 32 }, { key: keys[n % 3] ?? "" }, padded)).status,
        );
      }
      expect(statuses).toEqual([...Array<number>(10).fill(200), ...Array<number>(5).fill(422)]);
    } finally {
      await padded.close();
    }
  });
});
