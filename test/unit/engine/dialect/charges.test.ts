import { expect, test } from "vitest";
import { shippedVendor } from "../../../../src/app/vendors.ts";
import { type CallSpan, Charges } from "../../../../src/engine/dialect/charges.ts";
import { type Credits, parseCredits } from "../../../../src/shared/contract/money.ts";
import type { VendorCall } from "../../../../src/shared/dialect/shape.ts";

// Who tells what a page cost: each story is of one vendor, who sells rows at 2 credits.

const { file } = await shippedVendor("coresignal");
const SELLS: VendorCall = {
  method: "POST",
  path: "/",
  reply: { charged: "charged", balance: "left" },
  price: { per: "row", credits: "2" },
};
const ASKS: VendorCall = { method: "GET", path: "/", reply: { balance: "left" } };
const told = (body: Readonly<Record<string, number>>) => ({ body, header: () => undefined });
const credits = (text: string): Credits => parseCredits(text) as Credits;

function desk(othersPay = false) {
  const charges = new Charges(file, () => 0, { pays: () => othersPay });
  /** A call that is over at once. */
  const call = (isPaid: boolean): CallSpan => {
    const span = charges.begin(isPaid);
    charges.end(span);
    return span;
  };
  const free = (left: number) => {
    const span = call(false);
    charges.ofFree(ASKS, told({ left }), span);
    return { span };
  };
  const page = (
    body: Readonly<Record<string, number>>,
    ask?: () => Promise<{ readonly span: CallSpan }>,
  ) => charges.ofPage(SELLS, told(body), 3, call(true), ask);
  return { call, charges, free, page };
}

test("what a reply says counts, whatever the balance does", async () => {
  const { free, page } = desk();
  free(100);
  const cost = await page({ charged: 5, left: 80 });
  expect(cost).toEqual({ declared: credits("6"), told: credits("5"), balance: credits("80") });
});

test("else a balance that fell while nothing else was under way", async () => {
  const { charges, free, page } = desk();
  expect((await page({ left: 94 })).told).toBeUndefined();
  expect((await page({ left: 88 })).told).toBe(credits("6"));
  free(80);
  expect((await page({ left: 73 })).told).toBe(credits("7"));
  // It was filled up.
  expect((await page({ left: 500 })).told).toBeUndefined();

  const other = charges.begin(true);
  expect((await page({ left: 488 })).told).toBeUndefined();
  charges.end(other);
  expect((await page({ left: 470 })).told).toBeUndefined();
  expect((await page({ left: 464 })).told).toBe(credits("6"));
});

test("a balance is not asked for where the reply told one, be it late", async () => {
  const { free, page } = desk();
  free(100);
  let asked = 0;
  const ask = async () => {
    asked++;
    return free(94);
  };
  expect((await page({ left: 100 }, ask)).told).toBeUndefined();
  expect(asked).toBe(0);
});

test.each([1, 3, 100])(
  "a balance that is late by %i pages tells no page for nothing",
  async (late) => {
    const { free, page } = desk();
    free(100);
    const booked: Credits[] = [];
    for (let pages = 1; pages <= 8; pages++) {
      const { declared, told } = await page({ left: 100 - 6 * Math.max(0, pages - late) });
      booked.push(told ?? declared);
    }
    expect(booked).toEqual(Array.from({ length: 8 }, () => credits("6")));
  },
);

test("a late balance that shows several pages at once is no dearer page", async () => {
  const { free, page } = desk();
  free(100);
  for (const left of [100, 100]) expect((await page({ left })).told).toBeUndefined();
  expect((await page({ left: 82 })).told).toBe(credits("6"));
  expect((await page({ left: 75 })).told).toBe(credits("7"));
});

test("what was lost, or others of this machine took, is in the fall of no balance", async () => {
  const { call, free, page } = desk();
  free(100);
  // Nothing came of it.
  call(true);
  expect((await page({ left: 88 })).told).toBeUndefined();

  const shared = desk(true);
  shared.free(100);
  expect((await shared.page({ left: 94 })).told).toBeUndefined();

  const byFile = new Charges({ ...file, shared: true }, () => 0, undefined);
  for (const left of [100, 94]) {
    const span = byFile.begin(true);
    byFile.end(span);
    expect((await byFile.ofPage(SELLS, told({ left }), 3, span, undefined)).told).toBeUndefined();
  }
});

test("others of this machine are told until when a call may be charged, and asked since when", async () => {
  const pays: [until: number, since: number][] = [];
  let now = 1_000;
  const payer = {
    pays: (until: number, since: number) => {
      pays.push([until, since]);
      return since < 1_000;
    },
  };
  const charges = new Charges(file, () => now, payer);
  const asked = charges.begin(false);
  charges.end(asked);
  charges.ofFree(ASKS, told({ left: 100 }), asked);
  expect(pays).toEqual([]);

  now = 2_000;
  const span = charges.begin(true);
  now = 3_000;
  charges.end(span);
  expect(pays.splice(0)).toEqual([
    [302_000, 2_000],
    [3_000, 2_000],
  ]);
  // Who paid before the balance was told is no part of its fall.
  expect((await charges.ofPage(SELLS, told({ left: 94 }), 3, span, undefined)).told).toBe(
    credits("6"),
  );
  expect(pays).toEqual([[3_000, 1_000]]);

  // A vendor who says what he charged leaves nothing to ask of others.
  const { balance: _, ...reply } = SELLS.reply ?? {};
  const telling = { ...file, calls: { search: { ...SELLS, reply }, account: ASKS } };
  const other = new Charges(telling as typeof file, () => 0, payer);
  other.end(other.begin(true));
  expect(pays).toHaveLength(1);
});

test("a call of its own is asked once, and a fall that is too small proves nothing", async () => {
  const asks: number[] = [];
  const story = async (left: number) => {
    const { free, page } = desk();
    free(100);
    const ask = async () => {
      asks.push(left);
      return free(left);
    };
    const first = await page({}, ask);
    await page({}, ask);
    return first.told;
  };

  expect(await story(94)).toBe(credits("6"));
  expect(await story(90)).toBe(credits("10"));
  expect(await story(99)).toBeUndefined();
  expect(asks).toEqual([94, 90, 99]);
});

test("who tells a charge or a balance is not asked, nor is anybody of a page that is free or not alone", async () => {
  const { charges, free, call, page } = desk();
  let asks = 0;
  const ask = async () => {
    asks++;
    return free(83);
  };
  free(100);
  expect((await page({ charged: 5 }, ask)).told).toBe(credits("5"));
  free(95);
  expect((await page({ left: 89 }, ask)).told).toBe(credits("6"));
  const gives = { ...SELLS, price: { per: "row", credits: "0" } } as VendorCall;
  expect((await charges.ofPage(gives, told({}), 3, call(true), ask)).told).toBeUndefined();
  // Another one went out since the balance was told.
  expect((await page({}, ask)).told).toBeUndefined();
  expect(asks).toBe(0);

  free(89);
  expect((await page({}, ask)).told).toBe(credits("6"));
  expect(asks).toBe(1);
});

test("an answer without a balance leaves the last one told", async () => {
  const { call, charges, free, page } = desk();
  free(100);
  charges.ofFree(ASKS, told({}), call(false));
  expect((await page({ left: 94 })).told).toBe(credits("6"));
});

test("a page that went out while the balance was asked for is in the answer", async () => {
  const { call, free, page } = desk();
  free(100);
  const cost = await page({}, async () => {
    call(true);
    return free(88);
  });
  expect(cost.told).toBeUndefined();
});

test("a page that finds nobody, for nothing, leaves the balance told; what it cost falls on the next", async () => {
  const { call, charges, free, page } = desk();
  free(100);
  charges.passed(call(true));
  expect((await page({ left: 93 })).told).toBe(credits("7"));
});

test("a free call that took credits says so; the fall of a balance is of a call that has a price", () => {
  const { call, charges } = desk();
  const none = [100, 90].map((left) => charges.ofFree(ASKS, told({ left }), call(false)));
  expect(none).toEqual([0n, 0n]);
  const counts: VendorCall = { ...ASKS, price: { per: "call", credits: "0" } };
  expect(charges.ofFree(counts, told({ left: 89 }), call(false))).toBe(credits("1"));
  expect(charges.ofFree(SELLS, told({ charged: 1 }), call(false))).toBe(credits("1"));
});
