import { describe, expect, test } from "vitest";
import { price, purchaseOf, SELLING, userOf } from "../support/vendors/selling.ts";
import { Book, creditsOf, millionthsOf } from "../support/vendors/shared.ts";

// Each vendor that people can be bought from, against the book that it keeps itself: whatever is lost
// or charged otherwise, what `spend` has is what was charged, or more where nothing tells it, and never less.
// What is killed: test/e2e/killed.long.test.ts.

describe.each(SELLING)("$name", (selling) => {
  const { isOfIds, parcel, pages: PAGES, buy: BUY, rows } = purchaseOf(selling);

  test.each(["drop", "cut"] as const)(
    "a paid reply is lost (%s): its price counts",
    async (lostAs) => {
      const user = await userOf(selling, { loseReply: [2], lostAs });
      const { german, run, spend, charged, files } = user;
      const ran = await run(`${BUY} --limit ${rows(15)} --max-credits ${price(selling, 60)}`);
      expect(ran.code, ran.stderr).toBe(5);
      const isBooked = async (): Promise<void> => {
        const { settled, uncertain, foreign } = await spend();
        expect(settled + uncertain + foreign, ran.stderr).toBe(charged());
      };
      await isBooked();
      expect(charged()).toBeLessThanOrEqual(millionthsOf(price(selling, 15)));

      await run(
        `resume last --max-credits ${price(selling, 60)} --limit ${rows(15)} --yes --overwrite`,
      );
      expect(new Set(files()).size).toBe(rows(15));
      for (const id of files()) expect(german).toContain(id);
      await isBooked();
    },
  );

  test.each(parcel === 1 ? [1, 26] : [5, 35])(
    "the cap of %i people is landed on",
    async (people) => {
      const user = await userOf(selling);
      const { run, spend, charged, files } = user;
      // Pages of no given size: of five people each no whole number makes seven.
      const ran = await run(`${BUY} --max-credits ${price(selling, people)}`.replace(PAGES, ""));
      expect(ran.code, ran.stderr).toBe(0);
      expect(files().length).toBe(rows(people));
      expect(charged()).toBe(millionthsOf(price(selling, people)));
      expect(await spend()).toEqual({ settled: charged(), uncertain: 0n, foreign: 0n });
    },
  );

  test("no credits, at once and in the middle: said with exit 4, kept, booked", async () => {
    for (const people of [0, 5]) {
      const user = await userOf(selling, { credits: price(selling, people) });
      const { run, spend, charged } = user;
      const ran = await run(`${BUY} --limit ${rows(40)} --max-credits ${price(selling, 60)}`);
      expect(ran.code, ran.stderr).toBe(4);
      const { settled, uncertain, foreign } = await spend();
      expect(settled, ran.stderr).toBe(charged());
      expect({ uncertain, foreign }, ran.stderr).toEqual({ uncertain: 0n, foreign: 0n });
    }
  });

  test("a minute's limit is waited for", async () => {
    const user = await userOf(selling, { limitPerMinute: 2, windowMs: 100 });
    const { run, spend, charged, vendor } = user;
    const ran = await run(`${BUY} --limit ${rows(40)} --max-credits ${price(selling, 60)} --wait`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(charged()).toBe(millionthsOf(price(selling, 40)));
    expect(await spend()).toEqual({ settled: charged(), uncertain: 0n, foreign: 0n });
    if (isOfIds) expect(vendor.book.calls.some(({ status }) => status === 429)).toBe(true);
  });

  test.each([2, 0.5])(
    "a price that is told %d times as high is booked as it was charged",
    async (factor) => {
      const user = await userOf(selling, { chargeFactor: factor });
      const { run, spend, charged, vendor, files } = user;
      const ran = await run(`${BUY} --limit ${rows(10)} --max-credits ${price(selling, 40)}`);
      if (factor > 1) {
        expect(ran.code, ran.stderr).toBe(5);
        expect(ran.stderr).toContain("charged");
        // A cursor that is bound to its size begins with it.
        expect(vendor.book.charges.length, ran.stderr).toBe(1);
        const first = { crustdata: 5, prospeo: parcel }[selling.name as string] ?? 1;
        expect(vendor.book.sold().length).toBe(first);
      } else {
        expect(ran.code, ran.stderr).toBe(0);
        expect(files().length).toBe(rows(10));
      }
      // A balance that fell by less may be late: what no reply tells is booked as declared.
      const isDeclared = factor < 1 && selling.told === "balance";
      const settled = isDeclared ? millionthsOf(price(selling, 10)) : charged();
      expect(await spend(), ran.stderr).toEqual({ settled, uncertain: 0n, foreign: 0n });
    },
  );

  test.each([1, 5, 1_000])(
    "a balance that is late by %i charges makes nothing free, and no cap is passed",
    async (late) => {
      const { run, spend, charged, vendor, files } = await userOf(selling);
      const { book } = vendor;
      book.balance = () => {
        const told = new Book("1000");
        told.charges.push(...book.charges.slice(0, Math.max(0, book.charges.length - late)));
        return creditsOf(told.left());
      };
      const ran = await run(`${BUY} --max-credits ${price(selling, 10)}`);
      expect(ran.code, ran.stderr).toBe(0);
      expect(files().length).toBe(rows(10));
      expect(charged()).toBe(millionthsOf(price(selling, 10)));
      expect(await spend(), ran.stderr).toEqual({
        settled: charged(),
        uncertain: 0n,
        foreign: 0n,
      });
    },
  );

  test("a filter that the vendor passes over sells its smallest page at most", async () => {
    const user = await userOf(selling, { swallow: [selling.country] });
    const { run, spend, charged, vendor } = user;
    const ran = await run(
      `${BUY.replace("Germany", "Ireland")} --max-credits ${price(selling, 40)}`,
    );
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("passes the filter country over");
    expect(vendor.book.charges.length).toBe(selling.counts ? 0 : 1);
    expect(await spend()).toEqual({ settled: charged(), uncertain: 0n, foreign: 0n });
  });
});
