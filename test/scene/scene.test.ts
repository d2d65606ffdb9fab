import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/campaign.ts";
import { type Ran, seeded, spentBy } from "../support/export.ts";
import type { ForeignOptions } from "../support/foreign-service.ts";
import { idsIn, loadsFirst, openScene, run, type Scene } from "./scene.ts";

// Services of somebody else, drawn at random: whatever they choose where the contract is silent, an export ends complete with each
// row once and each paid once, or not with 0, having said what is missing. `HEADCOUNT_SEED` plays one seed.

const SEED = Number(process.env.HEADCOUNT_SEED ?? 1);

/** Services of each half of a command. */
const EACH = cases(6, 65);

const TARGETS = {
  search: "search --country x",
  slug: "employees acme",
  domain: "employees a.example",
  several: "employees a.example b.example missing.example c.example",
} as const;

type Target = keyof typeof TARGETS;

const often = (share: number): fc.Arbitrary<boolean> =>
  fc.integer({ min: 1, max: 100 }).map((at) => at > 100 - 100 * share);

/** Mostly the first, which is what a failing case is reduced to. */
const mostly = <T>(first: T, share: number, ...others: readonly T[]): fc.Arbitrary<T> =>
  often(share).chain((differs) => (differs ? fc.constantFrom(...others) : fc.constant(first)));

const crowd = fc.constantFrom(7, 0, 1, 40, 99, 100, 101, 237, 260, 300);

const REFUSALS = ["wordless", "misleading", "bad-request"] as const;
const COST_NAMES = ["path", "snake", "camel", "list"] as const;
const MISHAPS = ["503", "500", "drop", "cut"] as const;

const DRAWN = {
  people: crowd,
  others: fc.tuple(crowd, crowd),
  maxPerPage: mostly(1_000, 0.7, 100, 100, 50, 30, 25),
  hasSizes: often(0.1),
  total: mostly<ForeignOptions["total"]>(undefined, 0.6, "header", "result", "own-length"),
  paging: mostly<ForeignOptions["paging"]>("page", 0.4, "offset", "cursor"),
  fromZero: often(0.2),
  price: mostly(1, 0.5, 0.25, 3),
  tellsCosts: mostly(true, 0.2, false),
  fails: fc.oneof({ weight: 7, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 4 })),
  mishap: fc.constantFrom(...MISHAPS),
  isDeep: often(0.3),
  rowsUnder: fc.constantFrom("people", undefined, "results", "hits"),
  clamps: often(0.3),
  hasLeast: often(0.15),
  refusal: fc.constantFrom(...REFUSALS),
  pageIgnored: often(0.1),
  strict: often(0.3),
  isAfter: often(0.1),
  costNames: fc.constantFrom(...COST_NAMES),
  missesCharge: often(0.1),
  jitterMs: mostly(0, 0.3, 6),
  idempotent: often(0.5),
  countedTooMany: mostly(0, 0.25, 30),
  duplicateEvery: mostly(0, 0.2, 10),
  isKnown: mostly(true, 0.3, false),
  cap: mostly<number | undefined>(undefined, 0.3, 1, 51, 78, 201),
  limit: fc.constantFrom(5, 60, 250, 1_000),
  isLimited: often(0.2),
  perPage: mostly<number | undefined>(undefined, 0.4, 20, 30, 100),
  concurrency: fc.constantFrom(1, 4, 8),
  chargesRequests: often(0.15),
  refusesKey: often(0.04),
  seed: fc.nat(),
} as const;

type Drawn = {
  [K in keyof typeof DRAWN]: (typeof DRAWN)[K] extends fc.Arbitrary<infer T> ? T : never;
};

interface Bought {
  readonly options: Partial<ForeignOptions>;
  readonly line: string;
  /** The most that may be charged. */
  readonly cap: number;
  /** Rows that are wanted, at most. */
  readonly wanted: number;
}

function purchaseOf(target: Target, drawn: Drawn): Bought {
  const { maxPerPage, paging, price, tellsCosts, fails } = drawn;
  const [a, b] = drawn.others;
  const companies =
    target === "several" ? { "a.example": a, "b.example": b, "c.example": 7 } : undefined;
  const people = companies === undefined ? drawn.people : a + b + 7;
  const isCounted = target === "search" || target === "slug";
  const firstPage = paging === "page" && drawn.fromZero ? 0 : 1;

  // A total or a cursor beside rows needs an object to stand in.
  const isPlain = drawn.isDeep || drawn.rowsUnder === undefined;
  const isObject = paging === "cursor" || !isPlain;
  const total = isObject || drawn.total === "header" ? drawn.total : undefined;
  const isTold = isCounted || total === "header";

  const sizes = drawn.hasSizes ? [10, 25, 50, 100].filter((size) => size <= maxPerPage) : undefined;
  const options: Partial<ForeignOptions> = {
    people,
    companies,
    maxPerPage,
    sizes,
    paging,
    firstPage,
    price,
    tellsCosts,
    total,
    rowsUnder: paging === "cursor" && isPlain ? "people" : drawn.rowsUnder,
    shape:
      drawn.isDeep && paging !== "cursor" ? (rows) => ({ data: { members: rows } }) : undefined,
    balance: 20_000,
    clamp: sizes === undefined && drawn.clamps,
    minPerPage: sizes === undefined && drawn.hasLeast ? 10 : 1,
    refusal: drawn.refusal,
    pageIgnored: drawn.pageIgnored,
    strict: drawn.strict,
    nextUnder: isTold && drawn.isAfter ? "after" : "next_cursor",
    costNames: drawn.costNames,
    usedIs: tellsCosts && drawn.missesCharge ? "missing" : undefined,
    jitterMs: drawn.jitterMs,
    random: seeded(drawn.seed),
    idempotent: drawn.idempotent,
    countedTooMany: drawn.countedTooMany,
    duplicateEvery: drawn.duplicateEvery,
    mishap: (call) => (call === fails ? drawn.mishap : undefined),
    // Without a cap: what it means in rows is known to the service alone.
    chargesRequests: drawn.cap === undefined && drawn.chargesRequests,
    refusesKey: drawn.refusesKey,
  };

  const isKnown = drawn.isKnown || (!isCounted && total === undefined);
  const spoken = !isKnown ? "page" : paging === "page" && firstPage === 0 ? "page0" : paging;
  const limit = !isCounted || drawn.isLimited ? drawn.limit : undefined;
  const words = [
    TARGETS[target],
    `--paging ${spoken} --yes -o o.csv --concurrency ${drawn.concurrency}`,
    ...(drawn.cap === undefined ? [] : [`--max-credits ${drawn.cap}`]),
    ...(limit === undefined ? [] : [`--limit ${limit}`]),
    ...(drawn.perPage === undefined ? [] : [`--per-page ${drawn.perPage}`]),
  ];
  const { cap = Number.POSITIVE_INFINITY } = drawn;
  // Where nobody tells the price, the first row does.
  const untold = tellsCosts ? 0 : 1;
  return {
    options,
    line: words.join(" "),
    cap: Math.max(cap, untold * price),
    wanted: Math.min(limit ?? people, Math.max(Math.floor(cap / price), untold), people),
  };
}

/** The same command, twice where it was not whole: what stopped it once is not paid for again. */
async function tryPurchase(bought: Bought): Promise<void> {
  const scene = await openScene(bought.options);
  const { service } = scene;
  try {
    const first = await buy(scene, bought);
    if (first.code === 0) return;

    const before = service.charged();
    service.options.mishap = () => undefined;
    await buy(scene, bought);
    if (first.stderr.includes("gave a page twice")) expect(service.charged()).toBe(before);
  } finally {
    await service.close();
  }
}

async function buy(scene: Scene, { options, line, cap, wanted }: Bought): Promise<Ran> {
  const { service, u } = scene;
  const { price = 1, people } = options;
  const ran = await scene.take(
    run(line, [0, 2, 4, 5, 8], { mayDoubt: true, mayPass: true, chargedAtMost: cap }),
  );
  const spent = await spentBy(u);
  // Where neither a reply nor the price of a row tells what a call took, it is booked at that price, and that is said.
  const isBelieved = options.usedIs === "missing" && options.chargesRequests === true;
  if (isBelieved) expect(spent.settled).toBeGreaterThanOrEqual(service.charged());
  else if (spent.uncertain === 0) expect(spent.settled).toBeCloseTo(service.charged(), 6);

  if (ran.code !== 0) {
    if (options.refusesKey) expect(service.charged()).toBe(0);
    expect(ran.stderr).toMatch(/^error: .{20}/m);
    return ran;
  }

  // What a lost reply may have cost counts against the cap.
  const paying = Math.floor((cap - spent.uncertain) / price);
  const rows = spent.uncertain > 0 ? Math.min(wanted, paying) : wanted;
  // A limit is any so many of them: a service that begins at page 0 gives others first.
  if (rows === people) expect(idsIn(u)).toEqual(service.ids());
  else expect(new Set(idsIn(u)).size).toBe(rows);
  if (options.chargesRequests !== true) expect(spent.settled / price).toBeCloseTo(rows, 6);
  return ran;
}

loadsFirst(false);

for (const target of Object.keys(TARGETS) as Target[])
  for (const part of [0, 1])
    test(`services drawn at random: ${target}, ${part}`, () =>
      fc.assert(
        fc.asyncProperty(fc.record(DRAWN), (drawn) => tryPurchase(purchaseOf(target, drawn))),
        { seed: SEED + part, numRuns: EACH },
      ));
