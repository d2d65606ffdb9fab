import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Dialect } from "../../src/engine/client/dialect.ts";
import { type Limits, nextPage, type State } from "../../src/engine/purchase/next-page.ts";
import { type Open, Remaining } from "../../src/engine/purchase/remaining.ts";
import type { SettledRecord } from "../../src/engine/runs/journal.ts";
import { seeded } from "../support/export.ts";

interface Ask {
  readonly target: number;
  readonly offset: number;
  readonly perPage: number;
}

const FREE: Limits = {
  rows: Number.POSITIVE_INFINITY,
  covered: undefined,
  whole: Number.POSITIVE_INFINITY,
  priced: true,
  moving: false,
  busy: new Set(),
  proving: false,
};
const TURNING = {
  sizes: {
    least: 1,
    behind: Number.POSITIVE_INFINITY,
    accepted: new Set<number>(),
    refused: new Set<number>(),
  },
  turns: "yes",
} as const;

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

/** Buys from an imagined service that fails now and then. @returns every row that was settled, by target */
function buyAll(world: World): { readonly got: number[][]; readonly asks: Ask[] } {
  const { paging, rows, perPage, clamp, tellsTotal, counted, concurrency } = world;
  const random = seeded(world.seed);
  const source = {
    targets: rows.length,
    size: () => undefined,
    count: (target: number) => (counted ? rows[target] : undefined),
    trusted: false,
  };
  const remaining = new Remaining(source, { paging }, perPage, true);
  const got: number[][] = rows.map(() => []);
  const asks: Ask[] = [];
  const flying: Ask[] = [];
  let settledOnce = false;
  for (let turns = 0; turns < 100_000; turns++) {
    const allowed = settledOnce ? concurrency : 1;
    const room = settledOnce ? 1 + Math.floor(random() * 3 * perPage) : Number.MAX_SAFE_INTEGER;
    const busy = new Set(flying.map(({ target }) => target));
    const limits = { ...FREE, rows: room, moving: flying.length > 0, busy };
    const open = () => remaining.open();
    const state = { ...TURNING, paging, perPage: remaining.perPage, open };
    const ask = flying.length < allowed ? nextPage(state, limits) : "wait";
    if (typeof ask !== "string" && (flying.length === 0 || random() < 0.7)) {
      remaining.take(ask);
      flying.push(ask);
      asks.push(ask);
      continue;
    }
    const [landed] = flying.splice(Math.floor(random() * flying.length), 1);
    if (landed === undefined) break;
    if (random() < 0.2) {
      remaining.giveBack(landed);
      continue;
    }
    const total = rows[landed.target] ?? 0;
    const count = Math.max(0, Math.min(landed.perPage, clamp, total - landed.offset));
    for (let row = 0; row < count; row++) got[landed.target]?.push(landed.offset + row);
    const more = landed.offset + count < total;
    const record = {
      rows: count,
      ...(tellsTotal ? { total } : {}),
      ...(more ? { next: "cursor" } : {}),
    };
    remaining.learn(landed, record as SettledRecord);
    settledOnce = true;
  }
  expect(remaining.somethingLeft).toBe(false);
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

/** The page by number that failed is given back after another target told a cursor. */
const CURSOR_LATE: World = {
  paging: "page",
  rows: [1, 0, 2, 0],
  perPage: 1,
  clamp: 1_000,
  tellsTotal: false,
  counted: false,
  concurrency: 3,
  seed: 391470385,
};

describe("what remains", () => {
  test("asks for every row of every target once, whatever fails and in whatever order replies come", () => {
    fc.assert(
      fc.property(world, (one) => {
        const { got, asks } = buyAll(one);
        expect(got.map((rows) => rows.sort((a, b) => a - b))).toEqual(
          one.rows.map((count) => Array.from({ length: count }, (_, row) => row)),
        );
        if (one.paging === "page")
          expect(asks.filter(({ offset, perPage }) => offset % perPage !== 0)).toEqual([]);
      }),
      { examples: [[CURSOR_LATE]] },
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
    expect(buyAll({ ...world, rows: [0, 0, 3, 0, 7] }).got.map((rows) => rows.length)).toEqual([
      0, 0, 3, 0, 7,
    ]);
  });

  test("of a service that silently gives smaller pages, too", () => {
    const clamped = fc.record({
      ...{
        paging: fc.constantFrom<Dialect["paging"]>("page", "offset", "cursor"),
        rows: fc.tuple(fc.integer({ min: 1, max: 400 })),
      },
      ...{
        perPage: fc.integer({ min: 1, max: 60 }),
        clamp: fc.integer({ min: 1, max: 40 }),
        tellsTotal: fc.boolean(),
      },
      ...{
        counted: fc.constant(true),
        concurrency: fc.integer({ min: 1, max: 6 }),
        seed: fc.nat(),
      },
    });
    fc.assert(
      fc.property(clamped, (one) => {
        const { got } = buyAll(one);
        expect(got[0]?.sort((a, b) => a - b)).toEqual(
          Array.from({ length: one.rows[0] }, (_, row) => row),
        );
      }),
    );
  });
});

describe("the next page", () => {
  const one = { target: 0, from: 0, left: 260, sequential: false, cursor: undefined };
  const state = (...open: Partial<Open>[]): State => ({
    ...TURNING,
    paging: "page",
    perPage: 100,
    open: () => open.map((each) => ({ ...one, ...each })),
  });
  const limits = FREE;
  const LEAST = { least: 50, behind: 100, accepted: new Set([100]), refused: new Set([25]) };
  const OWN = {
    least: 1,
    behind: 100,
    own: 25,
    accepted: new Set([25]),
    refused: new Set<number>(),
  };
  const moving = { ...limits, moving: true };
  const staked = { ...state({ ...one, from: 875, left: 37 }), sizes: OWN };
  const choosy = (accepted: number[]): State => ({
    ...state({ ...one, left: 30 }),
    sizes: { least: 1, behind: 100, accepted: new Set(accepted), refused: new Set([30]) },
  });

  test.each<[string, State, Limits, unknown]>([
    ["a whole page", state(one), limits, { target: 0, offset: 0, perPage: 100 }],
    [
      "no more than is left",
      state({ ...one, left: 7 }),
      limits,
      { target: 0, offset: 0, perPage: 7 },
    ],
    [
      "no more than is allowed",
      state(one),
      { ...limits, rows: 30 },
      { target: 0, offset: 0, perPage: 30 },
    ],
    [
      "no more than the balance covers",
      state(one),
      { ...limits, covered: 3 },
      { target: 0, offset: 0, perPage: 3 },
    ],
    [
      "a size that divides the offset",
      state({ ...one, from: 250, left: 40 }),
      limits,
      { perPage: 25, offset: 250 },
    ],
    [
      "a cursor",
      { ...state({ ...one, from: 7, cursor: "c" }), paging: "cursor" },
      limits,
      { cursor: "c", perPage: 100 },
    ],
    ["nothing left", state(), limits, "end"],
    ["nothing left now", state(), moving, "wait"],
    ["nothing allowed", state(one), { ...limits, rows: 0 }, "end"],
    ["nothing allowed now", state(one), { ...moving, rows: 0 }, "wait"],
    ["no balance", state(one), { ...limits, covered: 0 }, "broke"],
    ["a balance that what is in flight may leave", state(one), { ...moving, covered: 50 }, "wait"],
    [
      "room that what is in flight may leave, where all pages may have one size",
      { ...state({ ...one, from: 875, left: 37 }), sizes: OWN },
      { ...moving, rows: 12 },
      "wait",
    ],
    ["a cursor that nothing told", state({ ...one, from: 7, cursor: null }), limits, "end"],
    [
      "one page after the other",
      state({ ...one, sequential: true }),
      { ...moving, busy: new Set([0]) },
      "wait",
    ],
    [
      "the second page",
      { ...state({ ...one, from: 100 }), turns: "unknown" },
      limits,
      { offset: 100 },
    ],
    [
      "no third page beside it",
      { ...state({ ...one, from: 200 }), turns: "unknown" },
      { ...moving, proving: true },
      "wait",
    ],
    [
      "no second page beside the first",
      { ...state({ ...one, from: 100 }), turns: "unknown" },
      { ...moving, busy: new Set([0]) },
      "wait",
    ],
    ["nothing more where a page came again", { ...state(one), turns: "no" }, limits, "end"],
    [
      "a drawn page as it was drawn",
      state({ ...one, left: 3, page: 5 }),
      limits,
      { offset: 0, perPage: 5, most: 3 },
    ],
    [
      "no part of a drawn page",
      state({ ...one, left: 3, page: 5 }),
      { ...limits, rows: 2 },
      "indivisible",
    ],
    [
      "nor where the balance is short",
      state({ ...one, left: 3, page: 5 }),
      { ...limits, covered: 2 },
      "indivisible",
    ],
    [
      "no second drawn page beside the first",
      { ...state({ ...one, left: 1, page: 1 }), turns: "unknown" },
      moving,
      "wait",
    ],
    [
      "one row where nobody told the price",
      state(one),
      { ...limits, priced: false },
      { perPage: 1 },
    ],
    ["nothing beside that row", state(one), { ...moving, priced: false }, "wait"],
    [
      "a whole page for the end of a target",
      { ...state({ ...one, from: 200, left: 37 }), sizes: LEAST },
      limits,
      { perPage: 100, most: 37 },
    ],
    [
      "no more of it than a cap allows",
      { ...state({ ...one, from: 200, left: 37 }), sizes: LEAST },
      { ...limits, whole: 49 },
      "indivisible",
    ],
    [
      "nothing where a limit leaves less",
      { ...state({ ...one, from: 200 }), sizes: LEAST },
      { ...limits, rows: 20 },
      "indivisible",
    ],
    [
      "another target meanwhile",
      state({ ...one, sequential: true }, { ...one, target: 3 }),
      { ...moving, busy: new Set([0]) },
      { target: 3, perPage: 100 },
    ],
    ["the last row of a balance", state(one), { ...limits, covered: 1 }, { perPage: 1 }],
    [
      "what is asked for alone once nothing is in flight",
      state({ ...one, alone: true }),
      moving,
      "wait",
    ],
    [
      "a first page while a second one is proved",
      { ...state(one), turns: "unknown" },
      { ...moving, proving: true },
      { offset: 0 },
    ],
    [
      "no smaller last page beside another, where all have one size",
      { ...state({ ...one, from: 875, left: 24 }), sizes: { ...OWN, proven: true } },
      { ...moving, busy: new Set([0]) },
      "wait",
    ],
    [
      "a whole one beside it",
      { ...state({ ...one, from: 875, left: 25 }), sizes: { ...OWN, proven: true } },
      { ...moving, busy: new Set([0]) },
      { perPage: 25 },
    ],
    [
      "a drawn page by the last of the balance",
      state({ ...one, left: 3, page: 5 }),
      { ...limits, covered: 3 },
      { most: 3 },
    ],
    [
      "nothing that may cost a whole page",
      staked,
      { ...limits, rows: 12, whole: 24 },
      "indivisible",
    ],
    [
      "a page that is staked, where a cap has room",
      staked,
      { ...limits, rows: 12, whole: 25 },
      { perPage: 7 },
    ],
    [
      "a smaller page where one came",
      { ...staked, sizes: { ...OWN, proven: true } },
      { ...limits, rows: 12, whole: 24 },
      { perPage: 7 },
    ],
    [
      "a first page larger than those behind it",
      { ...state(one), sizes: { ...LEAST, behind: 50 } },
      limits,
      { perPage: 100 },
    ],
    ["a size that came, before a larger one", choosy([20, 100]), limits, { perPage: 20 }],
    [
      "a size that was not refused, for the end of a target",
      choosy([]),
      limits,
      { perPage: 31, most: 30 },
    ],
  ])("%s", (_, given, within, expected) => {
    const next = nextPage(given, within);
    if (typeof expected === "string") expect(next).toBe(expected);
    else expect(next).toMatchObject(expected as object);
  });

  test("is never larger than any limit, never empty, and the same for the same state", () => {
    const amount = fc.integer({ min: 0, max: 500 });
    const any = fc.record({
      ...{
        from: amount,
        left: fc.integer({ min: 1, max: 500 }),
        perPage: fc.integer({ min: 1, max: 100 }),
      },
      ...{ rows: amount, covered: fc.option(amount, { nil: undefined }), moving: fc.boolean() },
      paging: fc.constantFrom<Dialect["paging"]>("page", "offset"),
    });
    fc.assert(
      fc.property(any, ({ from, left, perPage, rows, covered, moving, paging }) => {
        const given = { ...TURNING, paging, perPage, open: () => [{ ...one, from, left }] };
        const next = nextPage(given, { ...FREE, rows, covered, moving });
        expect(nextPage(given, { ...FREE, rows, covered, moving })).toEqual(next);
        if (typeof next === "string") return;
        expect(next.perPage).toBeGreaterThanOrEqual(1);
        expect(next.perPage).toBeLessThanOrEqual(Math.min(left, perPage, rows, covered ?? rows));
        if (paging === "page") expect(next.offset % next.perPage).toBe(0);
      }),
    );
  });
});
