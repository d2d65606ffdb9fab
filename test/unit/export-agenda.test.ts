import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Dialect } from "../../src/client/types.ts";
import { Agenda } from "../../src/purchase/next-page.ts";
import type { SettledRecord } from "../../src/runs/journal.ts";
import { seeded } from "../support/export.ts";

interface Ask {
  readonly target: number;
  readonly offset: number;
  readonly perPage: number;
}

interface World {
  readonly paging: Dialect["paging"];
  /** Rows of each target. */
  readonly rows: readonly number[];
  readonly perPage: number;
  /** The service silently gives no more rows a page than this. */
  readonly clamp: number;
  readonly tellsTotal: boolean;
  /** Whether the sizes are known beforehand, as with a counted search. */
  readonly counted: boolean;
  readonly concurrency: number;
  readonly seed: number;
}

/** Works an agenda off against an imagined service that fails now and then. @returns every row that was settled, by target */
function workOff(world: World): { readonly got: number[][]; readonly asks: Ask[] } {
  const { paging, rows, perPage, clamp, tellsTotal, counted, concurrency } = world;
  const random = seeded(world.seed);
  const source = {
    targets: rows.length,
    size: (target: number) => (counted ? rows[target] : undefined),
    expectsAll: counted,
  };
  const agenda = new Agenda(source, paging, perPage);
  const got: number[][] = rows.map(() => []);
  const asks: Ask[] = [];
  const flying: Ask[] = [];
  let settledOnce = false;
  for (let turns = 0; turns < 100_000; turns++) {
    const allowed = settledOnce ? concurrency : 1;
    const slot =
      flying.length < allowed ? agenda.next((target) => flying.some((ask) => ask.target === target)) : undefined;
    if (slot !== undefined && (flying.length === 0 || random() < 0.7)) {
      const room = settledOnce ? 1 + Math.floor(random() * 3 * perPage) : Number.MAX_SAFE_INTEGER;
      const ask = { target: slot.target, offset: slot.from, perPage: agenda.sizeFor(slot, room) };
      agenda.take(ask);
      flying.push(ask);
      asks.push(ask);
      continue;
    }
    const [ask] = flying.splice(Math.floor(random() * flying.length), 1);
    if (ask === undefined) break;
    if (random() < 0.2) {
      agenda.giveBack(ask);
      continue;
    }
    const total = rows[ask.target] ?? 0;
    const count = Math.max(0, Math.min(ask.perPage, clamp, total - ask.offset));
    for (let row = 0; row < count; row++) got[ask.target]?.push(ask.offset + row);
    const more = ask.offset + count < total;
    const record = { rows: count, ...(tellsTotal ? { total } : {}), ...(more ? { next: "cursor" } : {}) };
    agenda.learn(ask, record as SettledRecord);
    settledOnce = true;
  }
  expect(agenda.somethingLeft).toBe(false);
  return { got, asks };
}

const world = fc.record({
  paging: fc.constantFrom<Dialect["paging"]>("page", "offset", "cursor"),
  rows: fc.array(fc.nat(400), { minLength: 1, maxLength: 4 }),
  perPage: fc.integer({ min: 1, max: 60 }),
  clamp: fc.constant(1_000),
  tellsTotal: fc.boolean(),
  counted: fc.boolean(),
  concurrency: fc.integer({ min: 1, max: 6 }),
  seed: fc.nat(),
});

describe("an agenda", () => {
  test("asks for every row of every target once, whatever fails and in whatever order replies come", () => {
    fc.assert(
      fc.property(world, (one) => {
        const { got, asks } = workOff(one);
        expect(got.map((rows) => rows.sort((a, b) => a - b))).toEqual(
          one.rows.map((count) => Array.from({ length: count }, (_, row) => row)),
        );
        if (one.paging === "page") expect(asks.filter(({ offset, perPage }) => offset % perPage !== 0)).toEqual([]);
      }),
    );
  });

  test("a target without rows does not hide the ones after it", () => {
    const world = {
      paging: "page",
      perPage: 5,
      clamp: 1_000,
      tellsTotal: false,
      counted: true,
      concurrency: 1,
      seed: 0,
    } as const;
    expect(workOff({ ...world, rows: [0, 0, 3, 0, 7] }).got.map((rows) => rows.length)).toEqual([0, 0, 3, 0, 7]);
  });

  test("of a service that silently gives smaller pages, too", () => {
    const clamped = fc.record({
      ...{
        paging: fc.constantFrom<Dialect["paging"]>("page", "offset", "cursor"),
        rows: fc.tuple(fc.integer({ min: 1, max: 400 })),
      },
      ...{ perPage: fc.integer({ min: 1, max: 60 }), clamp: fc.integer({ min: 1, max: 40 }), tellsTotal: fc.boolean() },
      ...{ counted: fc.constant(true), concurrency: fc.integer({ min: 1, max: 6 }), seed: fc.nat() },
    });
    fc.assert(
      fc.property(clamped, (one) => {
        const { got } = workOff(one);
        expect(got[0]?.sort((a, b) => a - b)).toEqual(Array.from({ length: one.rows[0] }, (_, row) => row));
      }),
    );
  });
});
