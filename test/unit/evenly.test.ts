import { expect, test } from "vitest";
import { evenly } from "../../src/engine/purchase/paging.ts";
import { makeQuote } from "../../src/engine/purchase/quote.ts";
import type { Credits } from "../../src/shared/contract/money.ts";
import { seeded } from "../support/export.ts";

// Whom of several companies to buy, in small worlds: against the best of all choices, each looked at.

interface World {
  /** Of each part, in order; the parts of a company are its titles, the best first. */
  readonly counts: readonly number[];
  readonly of: readonly number[];
  readonly most: number | null;
  readonly rows: number;
}

function worldOf(seed: number): World {
  const random = seeded(seed);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const of = Array.from({ length: 1 + upTo(3) }, (_, company) =>
    Array.from({ length: 1 + upTo(1) }, () => company),
  ).flat();
  const most = random() < 0.2 ? null : 1 + upTo(2);
  return { of, counts: of.map(() => upTo(3)), most, rows: upTo(9) };
}

/** Every choice of so many of each part. */
function* choices(counts: readonly number[]): Generator<number[]> {
  const [first, ...others] = counts;
  if (first === undefined) return yield [];
  for (const rest of choices(others))
    for (let some = 0; some <= first; some++) yield [some, ...rest];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

const atEach = (choice: readonly number[], { of }: World): number[] =>
  [...new Set(of)].map((company) => sum(choice.filter((_, part) => of[part] === company)));

/** More people; then more companies that have one, that have two, ...; then earlier companies; then better titles. */
function worth(choice: readonly number[], world: World): number[] {
  const each = atEach(choice, world);
  const levels = [1, 2, 3, 4, 5, 6].map((level) => each.filter((people) => people >= level).length);
  return [sum(choice), ...levels, ...each, ...choice];
}

const compare = (a: readonly number[], b: readonly number[]): number => {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
};

function best(world: World): number[] {
  const { counts, most, rows } = world;
  const allowed = [...choices(counts)].filter(
    (choice) =>
      sum(choice) <= rows && atEach(choice, world).every((people) => people <= (most ?? people)),
  );
  return allowed.reduce((top, each) =>
    compare(worth(each, world), worth(top, world)) > 0 ? each : top,
  );
}

test("1,000 small worlds: the picks are the best that there are, and quote and bounds are theirs", () => {
  for (let seed = 1; seed <= 1_000; seed++) {
    const world = worldOf(seed);
    const { counts, of, most, rows } = world;
    const picks = evenly(counts, of, { rows, most });
    expect([seed, picks]).toEqual([seed, best(world)]);
    const price = 1 + (seed % 3);
    const perPage = 1 + (seed % 2);
    const all = sum(evenly(counts, of, { rows: 1_000, most }));
    const quote = makeQuote({
      target: { kind: "search", filters: {}, canonical: "", union: [], staff: { most } },
      matches: all,
      price: BigInt(price) as Credits,
      balance: undefined,
      limit: undefined,
      // A cap that pays for so many, and a bit that pays for nobody.
      maxCredits: BigInt(rows * price + price - 1) as Credits,
      maxDepth: undefined,
      perPage,
      perMinute: undefined,
      paging: "offset",
      spent: { rows: 0, settled: 0n as Credits, uncertain: 0n as Credits, floor: 0n as Credits },
      parts: { counts, of },
    });
    const requests = sum(picks.map((some) => Math.ceil(some / perPage)));
    expect([seed, quote.rows, quote.credits, quote.requests]).toEqual([
      ...[seed, sum(picks)],
      BigInt(sum(picks) * price),
      requests,
    ]);
    // With more rows nowhere fewer: so a larger cap goes on with what was bought.
    const more = evenly(counts, of, { rows: rows + 1, most });
    expect([seed, more.every((some, part) => some >= (picks[part] ?? 0))]).toEqual([seed, true]);
  }
});
